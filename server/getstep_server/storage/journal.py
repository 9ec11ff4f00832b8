"""The journal of the running matches: one line for each turn, written before the match goes on.

Theory of operation
-------------------

A line is eight hexadecimal digits (CRC-32 of the rest), a space, match, attempt and the line's number, a space, and
a JSON object. The number counts the lines of that attempt, so a missing line is detected.

A line that `append` or a commit has written is in the kernel: it survives the death of the server at any moment.
The journal does not wait for the disk between two moves, so a power cut takes at most the last half minute of
matches that were still running. The database, which holds the finished matches, loses nothing (storage/store.py).

*Segments.* All matches append to one file, the newest segment. One file that is written all the time costs half as
much for each write as a hundred files in turn. A full segment is followed by the next one. It is deleted when all
matches that have lines in it are over. A segment that is still needed is synced, so a power cut takes the end of
the journal and never its middle. Syncing and deleting are done in a thread. Appending is not: at that moment no
clock of the match is running, and handing the write to a thread would cost 146 µs, the write itself about 5 µs.

*Writers.* Several processes may judge matches of one contest, each with a journal of its own in the same folder.
The names of their segments differ by the number of the *writer*. A process never continues the segments of another
one: each has a higher number than all that wrote before it. So the lines of a match that goes on in another process
are still in order if the segments are read by writer, and then by number.

*Group commit.* Under load the poller reads up to 64 answers in a row. Inside `batch` the lines of all their turns
are collected, and one write takes them at its end. Until then `append` returns PENDING, and the judges of these
matches wait for `on_commit`. So nobody hears of a turn before it is written, and the cost of a write is shared.
"""

from __future__ import annotations

import contextlib
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from msgspec import Struct

from getstep_server.json_text import JsonError, decode
from getstep_server.limits import MAX_SEGMENT_BYTES, SEGMENT_BYTES

# O_EXCL: a segment of an earlier run is never written again
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
_FLAGS |= getattr(os, "O_BINARY", 0)  # on Windows, it keeps "\n" as it is
_NAME = re.compile(r"segment-(?:([1-9][0-9]{0,5})-)?([1-9][0-9]{0,11})\.journal")
WRITER = 10**12
"""A segment's number in memory is WRITER times that of its writer, and its number among the writer's own."""

_ID = rb"[1-9][0-9]{0,17}"
_LINE = re.compile(rb"([0-9a-f]{8}) ((%b-%b)-(%b) (\{.*\}))\n" % (_ID, _ID, _ID))


class JournalError(Exception):
    """The journal cannot be read: a line is damaged, missing or out of place. The message names file and line.

    A damaged database is a `StoreError`, a damaged record in it a `RecordError`.
    """


class WriteResult(Enum):
    """The outcome of appending lines."""

    WRITTEN = "written"
    """The kernel has them: others may hear of the turn."""
    PENDING = "pending"
    """They are part of a batch: `Journal.on_commit` tells the end of it."""
    FAILED = "failed"
    """The disk did not take them, and they are kept: `Journal.flush` tries again."""


_PENDING = WriteResult.PENDING  # in Python 3.11, looking up a member of an Enum takes longer than a call


def tag_of(match: int, attempt: int) -> bytes:
    """Return the key that the lines of one attempt to play a match share, such as ``b"7-1"``."""
    return b"%d-%d" % (match, attempt)


# --- writing ------------------------------------------------------------------------------------------------------


class _Batch:
    """The context of `Journal.batch`; a generator would take a microsecond more, in every batch of reads."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __enter__(self) -> None:
        self._journal._batching = True

    def __exit__(self, *_: object) -> None:
        self._journal._commit()


class Journal:
    """The journal of one run. Its first entry makes its first segment; those that are there are not written again.

    Args:
        folder: where the segments are.
        kept: what earlier runs have left there: by segment, the tags of the games in it that are not over.
        lines: by tag, how many lines they have of them.
        writer: the number of this process among those that write at the same time; see "Writers".
    """

    def __init__(
        self,
        folder: Path,
        kept: Mapping[int, Collection[bytes]] | None = None,
        lines: Mapping[bytes, int] | None = None,
        writer: int = 0,
    ) -> None:
        self.writer = writer
        self._folder = folder
        self._lines = dict(lines or {})
        self._needed = {number: set(tags) for number, tags in (kept or {}).items()}
        own = [number for number in self._needed if writer_of(number) == writer]
        self._newest = max(own, default=writer * WRITER)
        self._file = -1
        self._size = 0
        self._pending = b""
        self._lock = Lock()  # around what finish changes as well; nobody waits for the disk inside
        self._here: set[bytes] = set()  # what the newest segment is needed for
        self._next_due = True
        self._unsynced: dict[int, int] = {}  # of full segments, the descriptors
        self._batching = False
        self._waiting: list[Callable[[WriteResult], None]] = []  # called at the commit
        self._batch = _Batch(self)

    def batch(self) -> _Batch:
        """Return a context that collects what is appended; its end writes that and calls back all that wait."""
        return self._batch

    def _commit(self) -> None:
        self._batching = False
        waiting, self._waiting = self._waiting, []
        result = WriteResult.WRITTEN
        try:
            self.flush()
        except OSError:  # each of those that wait tries again
            result = WriteResult.FAILED
        for callback in waiting:
            callback(result)

    def on_commit(self, callback: Callable[[WriteResult], None]) -> None:
        """Call ``callback`` once at the end of the batch, with WRITTEN or FAILED.

        Raises:
            RuntimeError: there is no batch.
        """
        if not self._batching:
            raise RuntimeError("no batch is open: nothing is pending")
        self._waiting.append(callback)

    def lines_of(self, tag: bytes) -> int:
        """Return the number of lines that were written for a game."""
        return self._lines.get(tag, 0)

    def follow(self, tag: bytes, lines: int) -> None:
        """Go on with a game of which another process has written ``lines`` lines."""
        self._lines[tag] = lines

    def append(self, tag: bytes, *entries: bytes) -> WriteResult:
        """Write entries of one match, each a JSON object without a line break.

        Returns:
            WRITTEN, or PENDING inside a `batch`.

        Raises:
            OSError: the disk did not take all of it; the rest is kept for `flush` or the next entry.
        """
        if self._next_due:
            self._turn_over()
        self._here.add(tag)
        number = self._lines.get(tag, 0)
        for entry in entries:
            number += 1
            content = b"%b-%d %b" % (tag, number, entry)
            self._pending += b"%08x %b\n" % (zlib.crc32(content), content)
        self._lines[tag] = number
        if self._batching:
            return _PENDING
        self.flush()  # without a batch nobody else would
        return WriteResult.WRITTEN

    def flush(self) -> None:
        """Write what the disk has not taken yet.

        Raises:
            OSError: it still does not.
        """
        while self._pending:
            if self._file < 0:
                self._open()
            written = os.write(self._file, self._pending)  # a disk that becomes full takes a part of it
            self._pending = self._pending[written:]
            self._size += written
        if self._size > SEGMENT_BYTES:  # only here, where nothing is pending: no line is cut in two
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
                    os.fsync(file)  # outside the lock: it takes milliseconds, in which turns are written
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
        """Make the newest segment, which is empty until it is written: a server may die between the two."""
        self._file = os.open(_path_of(self._folder, self._newest), _FLAGS, 0o644)

    def _put_aside(self) -> None:
        """Put the newest segment aside, which is full."""
        with self._lock:
            if self._file >= 0:
                self._unsynced[self._newest] = self._file
            self._file, self._size, self._next_due = -1, 0, True

    def _take_unneeded(self) -> list[int]:
        """Remove and return the segments that no game needs and that get no more lines."""
        unneeded = [n for n, tags in self._needed.items() if not tags and (n != self._newest or self._next_due)]
        for number in unneeded:
            del self._needed[number]
        return unneeded


def _path_of(folder: Path, number: int) -> Path:
    writer, own = divmod(number, WRITER)
    return folder / (f"segment-{writer}-{own}.journal" if writer else f"segment-{own}.journal")


def writer_of(number: int) -> int:
    """Return the number of the process that has written a segment."""
    return number // WRITER


# --- reading ------------------------------------------------------------------------------------------------------


class JournalLine(NamedTuple):
    """A line of the journal: whose it is and which of its lines, what it says, and where it stands, for people."""

    tag: bytes
    number: int
    entry: dict[str, Any]
    where: str


class Segment(Struct, frozen=True):
    """A file of the journal: its lines, and the number of the torn last one that was left out, if any.

    ``good`` is the size of the lines in bytes.
    """

    path: Path
    number: int
    lines: list[JournalLine]
    good: int
    cut: int | None

    def mend(self) -> None:
        """Cut the torn line off the file.

        Raises:
            OSError: it cannot be written.
        """
        if self.cut is not None:
            os.truncate(self.path, self.good)


def segments(folder: Path, writer: int | None = None) -> list[Path]:
    """Return the files of the journal in ``folder``: those of one writer together, the oldest first.

    Args:
        folder: with the segments.
        writer: only its segments.
    """
    # The pattern of writer 0 also finds the segments of the others.
    pattern = "*" if writer is None else f"segment-{writer}-*" if writer else "segment-*"
    found = sorted((path for path in folder.glob(pattern) if _NAME.fullmatch(path.name)), key=_number)
    return found if writer is None else [path for path in found if writer_of_path(path) == writer]


def writer_of_path(path: Path) -> int:
    """Return the number of the process that has written the segment at ``path``."""
    return writer_of(_number(path))


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
    lines: list[JournalLine] = []
    good = 0
    for number, raw in enumerate(_lines(text), start=1):
        line = _parsed(raw, f"{path}, line {number}")
        if line is None:
            # Only the last line may be damaged: a power cut has taken its end.
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
    return int(found[1] or 0) * WRITER + int(found[2])  # the server's own segments have no number of a writer


def _lines(text: bytes) -> Iterator[bytes]:
    """Yield the lines of ``text`` with their ends; only a newline ends a line."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def parse_line(raw: bytes) -> tuple[bytes, int, bytes] | None:
    """Return the tag, the number and the JSON of a whole line; None if it is not what was written."""
    found = _LINE.fullmatch(raw)
    # the checksum finds lines that a power cut has cut or mixed
    if found is None or int(found[1], 16) != zlib.crc32(found[2]):
        return None
    return found[3], int(found[4]), found[5]


def _parsed(raw: bytes, where: str) -> JournalLine | None:
    """Return the parsed line, or None if it is not a whole line."""
    found = parse_line(raw)
    if found is None:
        return None
    tag, number, entry = found
    try:
        return JournalLine(tag, number, decode(entry), where)
    except JsonError:
        return None
