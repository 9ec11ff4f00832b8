"""The copy of a contest: writes what its first host sends, with the ordinary storage."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from getstep_server.config.contest import running_path
from getstep_server.storage.database import RecordRow
from getstep_server.storage.journal import segments
from getstep_server.storage.store import Store

from .messages import (
    MAX_FILES,
    MAX_SEGMENTS,
    Begin,
    FilePart,
    FromHost,
    Have,
    Kept,
    Rows,
    SegmentPart,
    Standbys,
    Tick,
    digest_of,
    is_copied,
)
from .source import segment_digest

_NEW = ".standby-new"


class CopyError(Exception):
    """What has arrived does not continue the copy; nothing of it was written."""


class CopyFolder:
    """A folder with the copy of a contest.

    Args:
        folder: of the copy; only this process writes there.
        store: its database, open to write.
        name: tells this copy from all others.
    """

    def __init__(self, folder: Path, store: Store, name: str) -> None:
        self._name = name
        self._folder = folder
        self._store = store
        self._journal = running_path(folder)
        self._journal.mkdir(exist_ok=True)
        self.place = store.chain()[0]

    def have(self) -> Have:
        """Return what the copy has, so that only the rest is sent."""
        place, digest = self._store.chain()
        kept = {}
        for path in segments(self._journal)[:MAX_SEGMENTS]:
            text = path.read_bytes()
            kept[path.name] = (len(text), segment_digest(text))
        names = [path.relative_to(self._folder).as_posix() for path in sorted(self._folder.rglob("*"))]
        files = [
            digest_of(name, (self._folder / name).read_bytes())
            for name in names
            if is_copied(name) and (self._folder / name).is_file()
        ]
        return Have(self._name, place, digest, kept, files[:MAX_FILES])

    def apply(self, message: FromHost) -> None:
        """Write a message.

        Raises:
            CopyError: it is not the next part of the copy.
            StoreError, DatabaseError, OSError: it cannot be written.
        """
        match message:
            case FilePart():
                self._write_file(message)
            case SegmentPart():
                self._write_segment(message)
            case Rows(rows=rows):
                self._append(rows)
            case Kept(segments=kept):
                for path in segments(self._journal):
                    if path.name not in kept:
                        path.unlink()
            case Tick(place=place):
                if place != self.place:
                    raise CopyError(f"the first host has sent {place} records, the copy has {self.place}")
            case Begin() | Standbys():
                pass

    def _append(self, rows: Sequence[RecordRow]) -> None:
        self._store.extend(rows)
        self.place = rows[-1][0]

    def _write_segment(self, part: SegmentPart) -> None:
        path = self._journal / part.name
        size = path.stat().st_size if path.exists() else 0
        if part.offset not in (0, size):
            raise CopyError(f"{path}: {size} bytes, and the next ones are for {part.offset}")
        with path.open("ab" if part.offset else "wb") as file:
            file.write(part.data)

    def _write_file(self, part: FilePart) -> None:
        path = self._folder / part.name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}{_NEW}")
        if not part.offset:
            new.unlink(missing_ok=True)
        # the tokens of all teams are in one of them
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(new, flags, 0o600), "ab") as file:
            if file.tell() != part.offset:
                raise CopyError(f"{path}: {file.tell()} bytes, and the next ones are for {part.offset}")
            file.write(part.data)
            file.flush()
            if part.last:
                os.fsync(file.fileno())
        if part.last:
            new.replace(path)
