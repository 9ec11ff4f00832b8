"""A terminal for tests: a program runs on it, and what is on the screen can be looked at."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

_ESCAPE = re.compile(r"\x1b(?:\[([?\d;]*)([A-Za-z])|\](?:[^\x07\x1b]*)(?:\x07|\x1b\\)|[()].|[=>78cDEHM])")


class Screen:
    """What a terminal shows of what was written to it: the part of ECMA-48 that rich uses.

    What it does not know it keeps in ``unknown``.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.lines: list[list[str]] = [[]]
        self.row = self.column = 0
        self.cursor_shown = True
        self.unknown: list[str] = []
        self._rest = ""

    @property
    def text(self) -> str:
        """All lines, scrolled off ones included, without blanks at their ends."""
        return "\n".join("".join(line).rstrip() for line in self.lines).rstrip("\n")

    def write(self, text: str) -> None:
        """Show ``text``; an escape sequence may come in pieces."""
        text = self._rest + text
        self._rest = ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._put(text[at])
                at += 1
            elif found := _ESCAPE.match(text, at):
                self._obey(found[0], found[1] or "", found[2] or "")
                at = found.end()
            elif len(text) - at < 32:
                self._rest = text[at:]
                return
            else:
                self.unknown.append(text[at : at + 8])
                at += 1

    def _put(self, char: str) -> None:
        if char == "\n":
            self._down()
        elif char == "\r":
            self.column = 0
        elif char == "\b":
            self.column = max(0, self.column - 1)
        elif char >= " ":
            if self.column >= self.width:
                self._down()
                self.column = 0
            line = self.lines[self.row]
            line.extend(" " * (self.column + 1 - len(line)))
            line[self.column] = char
            self.column += 1
        else:
            self.unknown.append(char)

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])

    def _obey(self, whole: str, numbers: str, letter: str) -> None:
        count = int(numbers) if numbers.isdigit() else 1
        if letter == "A":
            self.row = max(0, len(self.lines) - self.height, self.row - count)
        elif letter == "K" and numbers == "2":
            self.lines[self.row] = []
        elif letter in "lh" and numbers == "?25":
            self.cursor_shown = letter == "h"
        elif letter != "m":  # colours
            self.unknown.append(whole)


class OnTerminal:
    """A program on a terminal of its own, watched as a person would."""

    def __init__(
        self, command: Sequence[str], *, width: int = 80, height: int = 24, cwd: Path | None = None
    ) -> None:
        self.screen = Screen(width, height)
        self.raw = ""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
        for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # its own terminal: Ctrl-C is for it
        )
        os.close(slave)

    def __enter__(self) -> OnTerminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.type("\x03")

    def expect(self, pattern: str, *, seconds: float = 30) -> re.Match[str]:
        """Wait until something has been on the screen.

        Raises:
            AssertionError: it has not, after ``seconds`` or at the program's end.
        """
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.screen.text, re.MULTILINE)):
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"no {pattern!r} on the screen:\n{self.screen.text}")
        return found

    def wait(self, *, seconds: float = 30) -> int:
        """Its exit code, once it has ended; all it wrote is then on the screen."""
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(max(0.1, deadline - time.monotonic()))

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # how Linux says that nobody has the terminal open any more
            return False
        text = data.decode(errors="replace")  # a letter cut in two would be replaced: no test looks for one
        self.raw += text
        self.screen.write(text)
        return bool(data)
