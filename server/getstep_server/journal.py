"""The journal of one running game: a line for each entry, on its way to the disk before the game goes on.

A line is eight hexadecimal digits (CRC-32 of the rest), a blank, and a JSON object. It is written with one call
and without a buffer of ours, so what was written survives the server's death at any moment; what the machine's own
death takes is the last half minute of games that were still running (nobody waits for the disk between two moves).

Opening and removing are a thread's work. Appending is not: it is a few microseconds into the page cache, and
happens when no clock of this game is running.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from .limits import MAX_JOURNAL_BYTES

_CHECKSUM = 8
_FLAGS = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class JournalError(Exception):
    """A journal cannot be read; the message names file and line."""


class Journal:
    """An open journal.

    Args:
        path: the file.
        new: make it; else go on after its last line.

    Raises:
        OSError: it cannot be opened, or is there already and should be ``new``.
    """

    def __init__(self, path: Path, *, new: bool) -> None:
        self.path = path
        self._file = os.open(path, _FLAGS | (os.O_CREAT | os.O_EXCL if new else 0), 0o644)
        self._pending = b""

    def append(self, *entries: bytes) -> None:
        """Write entries, each a JSON object without a line break.

        Raises:
            OSError: the disk did not take all of it; the rest is kept for `flush` or the next entry.
        """
        for entry in entries:
            self._pending += b"%08x %b\n" % (zlib.crc32(entry), entry)
        self.flush()

    def flush(self) -> None:
        """Write what the disk has not taken yet.

        Raises:
            OSError: it still does not.
        """
        while self._pending:
            self._pending = self._pending[os.write(self._file, self._pending) :]

    def close(self) -> None:
        """Close the file and leave it there."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """Close and delete the file: its game is on record."""
        self.close()
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Entries:
    """What a journal holds: its entries, and the number of the torn last line that was cut off, if any."""

    entries: list[dict[str, Any]]
    cut: int | None


def read(path: Path, *, mend: bool) -> Entries:
    """Read a journal; a torn last line is left out, and with ``mend`` cut off the file.

    Raises:
        JournalError: a line other than the last is not what was written.
        OSError: the file cannot be read or mended.
    """
    if path.stat().st_size > MAX_JOURNAL_BYTES:
        raise JournalError(f"{path}: {path.stat().st_size} bytes, expected at most {MAX_JOURNAL_BYTES}")
    text = path.read_bytes()
    entries: list[dict[str, Any]] = []
    good = 0
    for number, line in enumerate(_lines(text), start=1):
        entry = _entry(line)
        if entry is None:
            if good + len(line) < len(text):
                raise JournalError(f"{path}, line {number}: {line[:60]!r} is not what was written there")
            if mend:
                os.truncate(path, good)
            return Entries(entries, number)
        entries.append(entry)
        good += len(line)
    return Entries(entries, None)


def _lines(text: bytes) -> Iterator[bytes]:
    """The lines of ``text`` with their ends; only a newline ends a line."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _entry(line: bytes) -> dict[str, Any] | None:
    """The entry of a whole line, or None."""
    if not line.endswith(b"\n") or line[_CHECKSUM : _CHECKSUM + 1] != b" ":
        return None
    content = line[_CHECKSUM + 1 : -1]
    if line[:_CHECKSUM] != b"%08x" % zlib.crc32(content):
        return None
    try:
        entry = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    return entry if isinstance(entry, dict) else None
