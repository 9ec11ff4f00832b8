"""The journal of the running games: a line for each entry, on its way to the disk before the game goes on.

A line is eight hexadecimal digits (CRC-32 of the rest), a blank, match, attempt and its number among their lines
(so that none can be missing without a word), a blank, and a JSON object. What was written survives the server's
death at any moment; what the machine's own death takes is the last half minute of games that were still running
(nobody waits for the disk between two moves).

All games append to one file, the newest *segment*: a write to a file that is written all the time costs half of one
to each of a hundred files in turn. Where many answers are read at once, one write takes the lines of all of them (a
*group commit*), before any of their games goes on. A segment that is full is followed by the next, and deleted as
soon as all games that have lines in it are over. Syncing and deleting are a thread's work. Appending is not: it
happens when no clock of that game is running.
"""

from __future__ import annotations

import contextlib
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import orjson

from .limits import MAX_SEGMENT_BYTES, SEGMENT_BYTES

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
_FLAGS |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NAME = re.compile(r"segment-([1-9][0-9]{0,17})\.journal")
_ID = rb"[1-9][0-9]{0,17}"
_LINE = re.compile(rb"([0-9a-f]{8}) ((%b-%b)-(%b) (\{.*\}))\n" % (_ID, _ID, _ID))


class JournalError(Exception):
    """The journal cannot be read; the message names file and line."""


def tag_of(match: int, attempt: int) -> bytes:
    """What the lines of one attempt to play a match have in common, such as ``b"7-1"``."""
    return b"%d-%d" % (match, attempt)


# --- writing ------------------------------------------------------------------------------------------------------


class Journal:
    """The journal of one run. Its first entry makes its first segment; those that are there are not written again.

    Args:
        folder: where the segments are.
        kept: what earlier runs have left there: by segment, the tags of the games in it that are not over.
        lines: by tag, how many lines they have of them.
    """

    def __init__(
        self,
        folder: Path,
        kept: Mapping[int, Collection[bytes]] | None = None,
        lines: Mapping[bytes, int] | None = None,
    ) -> None:
        self._folder = folder
        self._lines = Counter(lines)
        self._needed = {number: set(tags) for number, tags in (kept or {}).items()}
        self._newest = max(self._needed, default=0)
        self._file = -1
        self._size = 0
        self._pending = b""
        self._lock = Lock()  # around what finish changes as well; nobody waits for the disk inside
        self._here: set[bytes] = set()  # what the newest segment is needed for
        self._next_due = True
        self._unsynced: dict[int, int] = {}  # of full segments, the descriptors
        self._held = False
        self._waiting: list[Callable[[bool], None]] = []  # who goes on at the commit

    def hold(self) -> None:
        """Collect what is appended from now on, and write it all at the next `commit`."""
        self._held = True

    def commit(self) -> None:
        """Write what was collected, and have all who wait for it go on."""
        self._held = False
        waiting, self._waiting = self._waiting, []
        written = True
        try:
            self.flush()
        except OSError:  # who goes on does something about it
            written = False
        for go_on in waiting:
            go_on(written)

    def until_commit(self, go_on: Callable[[bool], None]) -> bool:
        """Have ``go_on`` called at the commit, with whether the disk has taken what was appended.

        Returns:
            False if nothing is being collected: then it will not be called.
        """
        if self._held:
            self._waiting.append(go_on)
        return self._held

    def append(self, tag: bytes, *entries: bytes) -> bool:
        """Write entries of one game, each a JSON object without a line break.

        Returns:
            Whether they are written; if not, they are being collected.

        Raises:
            OSError: the disk did not take all of it; the rest is kept for `flush` or the next entry.
        """
        if self._next_due:
            self._turn_over()
        self._here.add(tag)
        for entry in entries:
            self._lines[tag] += 1
            content = b"%b-%d %b" % (tag, self._lines[tag], entry)
            self._pending += b"%08x %b\n" % (zlib.crc32(content), content)
        if self._held:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        """Write what the disk has not taken yet.

        Raises:
            OSError: it still does not.
        """
        while self._pending:
            if self._file < 0:
                self._open()
            written = os.write(self._file, self._pending)
            self._pending = self._pending[written:]
            self._size += written
        if self._size > SEGMENT_BYTES:
            self._put_aside()

    def finish(self, tag: bytes) -> None:
        """Forget a game, and delete the segments that nobody needs any more; in a thread.

        A full segment that is still needed is synced: so a power cut takes the journal's end, and not its middle.

        Raises:
            OSError: a segment cannot be deleted or synced.
        """
        with self._lock:
            for tags in self._needed.values():
                tags.discard(tag)
            self._lines.pop(tag, None)
            unneeded = self._take_unneeded()
            unsynced, self._unsynced = self._unsynced, {}
        for number, file in unsynced.items():
            try:
                if number not in unneeded:
                    os.fsync(file)
            finally:
                os.close(file)
        for number in unneeded:
            _path_of(self._folder, number).unlink(missing_ok=True)

    def close(self) -> None:
        """Close it. What is left are the segments with games that are not over."""
        self._put_aside()
        with contextlib.suppress(OSError):  # the next run will see what is wrong
            self.finish(b"")

    def _turn_over(self) -> None:
        with self._lock:
            self._newest += 1
            self._here = self._needed[self._newest] = set()
            self._next_due = False

    def _open(self) -> None:
        self._file = os.open(_path_of(self._folder, self._newest), _FLAGS, 0o644)

    def _put_aside(self) -> None:
        """The newest segment is full."""
        with self._lock:
            if self._file >= 0:
                self._unsynced[self._newest] = self._file
            self._file, self._size, self._next_due = -1, 0, True

    def _take_unneeded(self) -> list[int]:
        """The segments that are not needed for any game and get no more lines."""
        unneeded = [n for n, tags in self._needed.items() if not tags and (n != self._newest or self._next_due)]
        for number in unneeded:
            del self._needed[number]
        return unneeded


def _path_of(folder: Path, number: int) -> Path:
    return folder / f"segment-{number}.journal"


# --- reading ------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """A line of the journal: whose it is and which of its lines, what it says, and where it stands, for people."""

    tag: bytes
    number: int
    entry: dict[str, Any]
    where: str


@dataclass(frozen=True)
class Segment:
    """A file of the journal: its lines, and the number of the torn last one that was left out, if any.

    ``good`` is the size of the lines in bytes.
    """

    path: Path
    number: int
    lines: list[Line]
    good: int
    cut: int | None

    def mend(self) -> None:
        """Cut the torn line off the file.

        Raises:
            OSError: it cannot be written.
        """
        if self.cut is not None:
            os.truncate(self.path, self.good)


def segments(folder: Path) -> list[Path]:
    """The files of the journal in ``folder``, the oldest first."""
    return sorted((path for path in folder.glob("*") if _NAME.fullmatch(path.name)), key=_number)


def read(path: Path, over: Collection[bytes] = ()) -> Segment:
    """Read a segment without a torn last line, and without the lines of games that are ``over``.

    Raises:
        JournalError: a line other than the last is not what was written.
        OSError: the file cannot be read.
    """
    if not path.is_file():
        raise JournalError(f"{path}: not a file")
    if path.stat().st_size > MAX_SEGMENT_BYTES:
        raise JournalError(f"{path}: {path.stat().st_size} bytes, expected at most {MAX_SEGMENT_BYTES}")
    text = path.read_bytes()
    lines: list[Line] = []
    good = 0
    for number, raw in enumerate(_lines(text), start=1):
        line = _parsed(raw, f"{path}, line {number}")
        if line is None:
            if good + len(raw) < len(text):
                raise JournalError(f"{path}, line {number}: {raw[:60]!r} is not what was written there")
            return Segment(path, _number(path), lines, good, number)
        if line.tag not in over:
            lines.append(line)
        good += len(raw)
    return Segment(path, _number(path), lines, good, None)


def _number(path: Path) -> int:
    found = _NAME.fullmatch(path.name)
    if found is None:
        raise JournalError(f"{path}, expected a name such as segment-1.journal")
    return int(found[1])


def _lines(text: bytes) -> Iterator[bytes]:
    """The lines of ``text`` with their ends; only a newline ends a line."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _parsed(raw: bytes, where: str) -> Line | None:
    """A whole line, or None."""
    found = _LINE.fullmatch(raw)
    if found is None or int(found[1], 16) != zlib.crc32(found[2]):
        return None
    try:
        return Line(found[3], int(found[4]), orjson.loads(found[5]), where)
    except orjson.JSONDecodeError:
        return None
