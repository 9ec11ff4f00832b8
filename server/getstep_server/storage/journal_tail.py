"""Follows the journal of a running contest from another process, without disturbing the server that writes it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from getstep_server.limits import JOURNAL_TAIL_BYTES

from .journal import parse_line, segments, writer_of_path


class TailedLine(NamedTuple):
    """A line of the journal: its match and attempt, its number among the lines of that attempt, and its JSON."""

    match: int
    attempt: int
    number: int
    entry: bytes


class JournalTail:
    """The lines that were added to a journal since the last `poll`.

    The server writes whole lines, but a reader may see half of one: the rest is read at the next poll. A segment
    that is deleted belonged to matches that are on record. Damage is not reported: the server does that.

    Args:
        folder: with the segments.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.written_at = 0.0
        """The time of the latest write to the newest segment, in seconds since the epoch."""
        self._read: dict[tuple[str, int], int] = {}
        """The bytes that were read of each segment, by its name and inode: a new run starts again at segment 1."""

    def poll(self) -> list[TailedLine]:
        """Return the new lines, of each writer at most JOURNAL_TAIL_BYTES; the rest at the next call.

        A match that one process begins goes on in the journal of a later one. So the later writers are read first:
        then the beginnings of all that they have written are there, and come first in the list.
        """
        lines: list[TailedLine] = []
        known = dict[tuple[str, int], int]()
        written_at = 0.0
        for writer in sorted({writer_of_path(path) for path in segments(self._folder)}, reverse=True):
            # listed again: an earlier writer may have begun a segment while those of the later ones were read
            found, newest = self._poll_writer(segments(self._folder, writer), known)
            lines, written_at = found + lines, max(newest, written_at)
        self._read, self.written_at = known, written_at or self.written_at
        return lines

    def _poll_writer(
        self, paths: Sequence[Path], known: dict[tuple[str, int], int]
    ) -> tuple[list[TailedLine], float]:
        """Return the new lines of one writer and the time of its latest write; note in ``known`` what was read."""
        lines: list[TailedLine] = []
        # the rest is read at the next call: a page that starts late must not read all at once
        room, written_at = JOURNAL_TAIL_BYTES, 0.0
        for path in paths:
            try:
                with path.open("rb") as file:
                    found = os.fstat(file.fileno())
                    # The inode too: a new run may begin a file of the same name.
                    key = (path.name, found.st_ino)
                    start = self._read.get(key, 0)
                    file.seek(start)
                    text = file.read(room) if room > 0 else b""
            except OSError:  # it was deleted just now
                continue
            end = text.rfind(b"\n") + 1
            lines += filter(None, map(_parsed, text[:end].splitlines(keepends=True)))
            known[key] = start + end
            if room > 0:
                written_at = found.st_mtime
            room -= end
        return lines, written_at


def _parsed(raw: bytes) -> TailedLine | None:
    found = parse_line(raw)
    if found is None:
        return None
    tag, number, entry = found
    match, _, attempt = tag.partition(b"-")
    return TailedLine(int(match), int(attempt), number, entry)
