"""The log file of a child's output: the whole output, or the beginning and the end of a long one.

A bot may print without end, such as a board at each turn. Its output is always read, so that the bot never blocks
on a full pipe. But only a bounded part is kept: a bot that printed 30 MB a turn filled the disk.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from getstep_server.text import escape_control_chars

BEGINNING_BYTES = 512 << 10
END_BYTES = 512 << 10
"""Bytes that are kept of one child's output. The beginning shows the set-up, the end why it failed; 512 KiB are
about 5,000 lines. Until the bot exits, up to twice END_BYTES are in memory, so 100 bots take 100 MiB at most."""

LAST_LINES = 20
LINE_CHARS = 200
"""Lines of a bot's output that an error message shows, and characters of each: a traceback of usual depth that
fits a terminal of 24 lines."""


class ChildLog:
    """The log file of one child; a context manager that opens and completes it.

    Args:
        path: the file; an older one is overwritten.
        append: continue the file: the child was started again, and its earlier end may say why. A file that is
            as long as a whole log is begun again.
    """

    def __init__(self, path: Path, *, append: bool = False) -> None:
        self._path = path
        self._append = append
        self._room = BEGINNING_BYTES
        self._end = bytearray()
        self._dropped = 0

    def __enter__(self) -> ChildLog:
        size = self._path.stat().st_size if self._append and self._path.exists() else 0
        # A log that is appended to begins anew when it is full: the latest runs matter.
        if size > BEGINNING_BYTES + END_BYTES:
            self._path.unlink()
            size = 0
        self._room = max(0, BEGINNING_BYTES - size)
        # unbuffered: after SIGKILL the log has all
        self._file = self._path.open("ab" if self._append else "wb", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        self._drop_surplus()
        if self._dropped:
            self._write(b"\n[%d bytes of output were dropped here]\n" % self._dropped)
        self._write(bytes(self._end))
        self._file.close()

    def append(self, data: bytes) -> None:
        """Add the next part of the output."""
        head, rest = data[: self._room], data[self._room :]
        self._room -= len(head)
        if head:
            self._write(head)
        self._end += rest
        if len(self._end) > 2 * END_BYTES:
            self._drop_surplus()

    def _drop_surplus(self) -> None:
        """Drop all but the last END_BYTES. Called once for every END_BYTES of output, not for every read."""
        surplus = max(0, len(self._end) - END_BYTES)
        self._dropped += surplus
        del self._end[:surplus]

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # a full disk: a contest does not stop for want of a log
            self._file.write(data)


def last_lines(path: Path) -> list[str]:
    """Return the end of a child's output, safe to show: at most LAST_LINES lines of LINE_CHARS characters."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - END_BYTES))
        # a program may write anything, and the read may begin within a character
        lines = file.read().decode(errors="replace").splitlines()[-LAST_LINES:]
    return [shorten(line) for line in lines]


def shorten(line: str) -> str:
    """Return a line of a child's output, safe to show: its first LINE_CHARS characters, and how many follow."""
    surplus = len(line) - LINE_CHARS
    shown = escape_control_chars(line[:LINE_CHARS])
    return f"{shown} [and {surplus} more characters]" if surplus > 0 else shown
