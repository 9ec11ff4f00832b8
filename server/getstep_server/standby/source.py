"""What a first host sends to a copy: what was added to its files, journal and chain since the last round."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from getstep_server.config.contest import Contest, contest_path, contest_text_without_database, teams_path
from getstep_server.config.invitations import invitations_path
from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_SEGMENT_BYTES
from getstep_server.records.lost import link_of
from getstep_server.storage.database import RecordRow
from getstep_server.storage.journal import segments, writer_of_path
from getstep_server.storage.store import Store

from .messages import MAX_SEGMENTS, FilePart, FromHost, Have, Kept, Rows, SegmentPart, Tick, digest_of, is_copied

PART_BYTES = 1 << 18
"""The bytes of a file or of records in a frame. One record may be longer: with all notes, a match has some MB."""

HEAD_BYTES = 64
"""The first bytes of a segment, with checksum, match and attempt: they tell two segments of one name apart."""


class OtherChainError(ConfigError):
    """The records of the copy are not the beginning of this contest's: it is of another one, or has gone on."""


class _Segment(NamedTuple):
    """A segment of the journal: its file, its size, and its first bytes."""

    path: Path
    size: int
    head: bytes


class Source:
    """The contest of a folder, as one copy gets it. Its functions block: call them in a thread.

    Args:
        contest: which another process may play.
        have: what the copy has.
    """

    def __init__(self, contest: Contest, have: Have) -> None:
        self._contest = contest
        self._have = have
        self._known = set(have.files)
        self._stamps: dict[str, tuple[int, int]] = {}
        self._sent: dict[str, tuple[bytes, int]] = {}
        """Of each segment, its first bytes, and how many of its bytes the copy has."""
        self._kept: Sequence[str] | None = None
        self.place = have.place
        self.name = have.name

    def check(self, store: Store) -> None:
        """Check that the copy's records are the beginning of those in ``store``.

        Raises:
            OtherChainError: they are not.
        """
        check_beginning(store, self.place, self._have.hash)

    def round(self, store: Store | None) -> Iterator[FromHost]:
        """Yield what was added since the last round, in an order that can end anywhere; at last a `Tick`.

        The journal comes before the records, and what it no longer needs after them. So a match that ends during
        the round is in the copy's journal until its record is in the copy's chain.
        """
        yield from self._files()
        found = self._look()
        for segment in found:
            yield from self._segment(segment)
        if store is not None:
            while rows := store.rows_after(self.place):
                yield from _parts(rows)
                self.place = rows[-1][0]
        names = [segment.path.name for segment in found]
        if names != self._kept:
            self._kept = names
            self._sent = {name: self._sent[name] for name in names if name in self._sent}
            yield Kept(names)
        yield Tick(self.place)

    def _look(self) -> list[_Segment]:
        """Return the segments with their sizes, those of a writer in order.

        A match that one process begins goes on in the journal of a later one. So the sizes of the later writers'
        segments are read first: then all that they follow on is within the sizes of the earlier ones. Of one
        writer, the list is made before the sizes are read: all but the last segment in it are complete.
        """
        writers = sorted({writer_of_path(path) for path in segments(self._contest.running)}, reverse=True)
        found: list[_Segment] = []
        for writer in writers:
            own = []
            for path in segments(self._contest.running, writer):
                try:
                    with path.open("rb") as file:
                        own.append(_Segment(path, os.fstat(file.fileno()).st_size, file.read(HEAD_BYTES)))
                except OSError:  # it was deleted just now: its matches are on record
                    continue
            found = own + found
        return found[:MAX_SEGMENTS]

    def _segment(self, found: _Segment) -> Iterator[FromHost]:
        name = found.path.name
        head, start = self._sent.get(name, (found.head, self._same(found.path)))
        if not found.head.startswith(head) or found.size < start:
            start = 0  # a new run begins a file of the same name, perhaps with the same inode
        anew = start == 0 and self._sent.get(name) != (found.head, 0)
        self._sent[name] = found.head, start
        while start < found.size or anew:
            try:
                with found.path.open("rb") as file:
                    file.seek(start)
                    data = file.read(min(PART_BYTES, found.size - start))
            except OSError:
                return  # it was deleted just now
            if not data and not anew:
                return
            yield SegmentPart(name, start, data)
            anew = False
            start += len(data)
            self._sent[name] = found.head, start

    def _same(self, path: Path) -> int:
        """Return the size of the copy's segment if this one begins with the same bytes; else 0."""
        size, digest = self._have.segments.get(path.name, (0, b""))
        if not 0 < size <= MAX_SEGMENT_BYTES:
            return 0
        try:
            with path.open("rb") as file:
                text = file.read(size)
        except OSError:
            return 0
        return size if len(text) == size and segment_digest(text) == digest else 0

    def _files(self) -> Iterator[FromHost]:
        """Yield the files that have changed. The number of a program's version comes after its files."""
        folder = self._contest.folder
        paths = [contest_path(folder), teams_path(folder), invitations_path(folder)]
        # by depth: programs/7/current is behind programs/7/2/files/bot
        paths += sorted(_files_below(folder / "programs"), key=lambda path: -len(path.parts))
        for path in paths:
            name = path.relative_to(folder).as_posix()
            try:
                stat = path.stat()
                stamp = stat.st_mtime_ns, stat.st_size
                if self._stamps.get(name) == stamp or not is_copied(name):
                    continue
                content = (
                    contest_text_without_database(folder).encode()
                    if path == contest_path(folder)
                    else path.read_bytes()
                )
            except OSError:  # it is being replaced: the next round sends it
                continue
            self._stamps[name] = stamp
            digest = digest_of(name, content)
            if digest in self._known:
                continue
            self._known.add(digest)
            yield from _file_parts(name, content)


def check_beginning(store: Store, place: int, digest: str) -> None:
    """Check that a copy's records, of which the last has this place and hash, are the beginning of those here.

    Raises:
        OtherChainError: they are not.
    """
    if not place:
        return
    rows = store.rows_after(place - 1)
    own = rows[0][-1].decode(errors="replace") if rows else ""
    # the turns of that game may have gone into an archive since
    if not rows or rows[0][0] != place or digest not in (own, link_of(rows[0][6], own)):
        raise OtherChainError(
            f"the copy has {place} records that are not the beginning of this contest's: it is of another contest,"
            " or it has gone on by itself. Follow into a new folder"
        )


def segment_digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()[:16]


def _files_below(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]  # a version that is being built
        yield from (Path(at) / name for name in names if not name.startswith("."))


def _file_parts(name: str, content: bytes) -> Iterator[FilePart]:
    for start in range(0, max(len(content), 1), PART_BYTES):
        end = start + PART_BYTES
        yield FilePart(name, start, content[start:end], end >= len(content))


def _parts(rows: Sequence[RecordRow]) -> Iterator[Rows]:
    """Yield rows in parts of about PART_BYTES, so that no frame is long."""
    part: list[RecordRow] = []
    size = 0
    for row in rows:
        part.append(row)
        size += len(row[6]) + len(row[7])
        if size >= PART_BYTES:
            yield Rows(part)
            part, size = [], 0
    if part:
        yield Rows(part)
