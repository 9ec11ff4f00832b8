"""What a bot prints, kept in a file: all of it, or if that is too much, its beginning and its end.

A bot may print without end. It is read all the same, so that it never waits, and what nobody will read is dropped.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ._text import printable

BEGINNING_BYTES = 512 << 10
END_BYTES = 512 << 10
"""Of what one bot prints so much is kept: the end in memory until the bot has ended."""

LAST_LINES = 20
LINE_CHARS = 200
"""What is shown of a bot's output: so many lines, and of each so many characters."""


class BotOutput:
    """The file with what a bot prints; a context manager that opens and completes it.

    Args:
        path: where; what was there before is gone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._room = BEGINNING_BYTES
        self._end = bytearray()
        self._dropped = 0

    def __enter__(self) -> BotOutput:
        self._file = self._path.open("wb", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        self._cut(END_BYTES)
        if self._dropped:
            self._write(b"\n[%d bytes that it printed here are not kept]\n" % self._dropped)
        self._write(bytes(self._end))
        self._file.close()

    def take(self, data: bytes) -> None:
        """Keep, for now, what it has printed next."""
        head, rest = data[: self._room], data[self._room :]
        self._room -= len(head)
        if head:
            self._write(head)
        self._end += rest
        if len(self._end) > 2 * END_BYTES:
            self._cut(END_BYTES)

    def _cut(self, most: int) -> None:
        surplus = max(0, len(self._end) - most)
        self._dropped += surplus
        del self._end[:surplus]

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # a full disk: what bots print is not worth a contest
            self._file.write(data)


def last_lines(path: Path) -> list[str]:
    """The end of what a bot has printed, safe to show: LAST_LINES lines of LINE_CHARS characters at most."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - END_BYTES))
        lines = file.read().decode(errors="replace").splitlines()[-LAST_LINES:]
    return list(_shortened(lines))


def _shortened(lines: list[str]) -> Iterator[str]:
    for line in lines:
        surplus = len(line) - LINE_CHARS
        shown = printable(line[:LINE_CHARS])
        yield f"{shown} [and {surplus} characters]" if surplus > 0 else shown
