"""Terminals: one that runs the command ``getstep``, and one whose screen can be looked at."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rich.cells import cell_len

from tests.support.patience import PATIENCE_SECONDS


def run_in_terminal(arguments: Sequence[str], typed: bytes = b"") -> tuple[str, int]:
    """Return what the terminal got, and the exit code. ``typed`` is typed at the start."""
    import fcntl  # not on Windows
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    with subprocess.Popen(
        [sys.executable, "-m", "getstep", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        os.write(ours, typed)
        shown: list[bytes] = []
        reader = threading.Thread(target=_read, args=(ours, shown), daemon=True)
        reader.start()
        code = process.wait(PATIENCE_SECONDS)
        reader.join(PATIENCE_SECONDS)
    os.close(ours)
    return b"".join(shown).decode("utf-8", "replace"), code


def _read(descriptor: int, shown: list[bytes]) -> None:
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # Linux's end of file
            return
        if not data:
            return
        shown.append(data)


# --- a terminal for tests: a program runs on it, and what is on the screen can be looked at ---------------------

_ESCAPE = re.compile(r"\x1b(?:\[([?\d;]*)([A-Za-z])|\](?:[^\x07\x1b]*)(?:\x07|\x1b\\)|[()].|[=>78cDEHM])")

_REDRAWN = re.compile(r"(?<=.)(?=\r\x1b\[2K|\x1b\[H)", re.DOTALL)
"""The place where rich returns to the beginning of its last output."""


class Screen:
    """The contents of a terminal after some output: the part of ECMA-48 that rich and the viewer use.

    What it does not know it keeps in ``unknown``.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.lines: list[list[str]] = [[]]
        self.row = self.column = 0
        self.cursor_shown = True
        self.wraps = True
        self.unknown: list[str] = []
        self._rest = ""
        self._first_screen = (self.lines, 0, 0)

    @property
    def text(self) -> str:
        """All lines, scrolled off ones included, without blanks at their ends."""
        return "\n".join("".join(line).rstrip() for line in self.lines).rstrip("\n")

    def resize(self, width: int, height: int) -> None:
        """Change the size. The second screen is cut, as terminals do; the first one keeps its lines whole."""
        self.width, self.height = width, height
        if self.lines is not self._first_screen[0]:
            self.lines[:] = [line[:width] for line in self.lines[:height]]
            self.row = min(self.row, len(self.lines) - 1)

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
            self._print(char, cell_len(char))
        else:
            self.unknown.append(char)

    def _print(self, char: str, cells: int) -> None:
        """Print a character: a wide one takes a second cell, which is empty, and a combining one none."""
        if self.column + cells > self.width and self.wraps:
            self._down()
            self.column = 0
        self.column = min(self.column, self.width - cells)
        line = self.lines[self.row]
        if cells == 0:
            if line[: self.column]:
                line[self.column - 1] += char
            return
        line.extend(" " * (self.column + cells - len(line)))
        line[self.column : self.column + cells] = [char] + [""] * (cells - 1)
        self.column += cells

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
        elif letter == "H":
            row, _, column = numbers.partition(";")
            self.row = max(0, len(self.lines) - self.height) + int(row or 1) - 1
            self.column = int(column or 1) - 1
            self.lines.extend([] for _ in range(self.row + 1 - len(self.lines)))
        elif (letter, numbers) == ("J", ""):
            self.lines[self.row :] = [self.lines[self.row][: self.column]]
        elif letter in "lh" and numbers == "?7":
            self.wraps = letter == "h"
        elif (letter, numbers) == ("J", "2"):
            del self.lines[max(0, len(self.lines) - self.height) + 1 :]
            self.lines[-1] = []
            self.row = len(self.lines) - 1
        elif (letter, numbers) == ("h", "?1049"):  # the second screen: the first one is kept
            self._first_screen = (self.lines, self.row, self.column)
            self.lines, self.row, self.column = [[]], 0, 0
        elif (letter, numbers) == ("l", "?1049"):
            self.lines, self.row, self.column = self._first_screen
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
        self._unshown = ""
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

    def resize(self, width: int, height: int) -> None:
        """Change the size of the window."""
        self.screen.resize(width, height)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    @property
    def settings(self) -> list[object]:
        """The terminal's settings: whether it echoes, sends single keys, and so on."""
        return termios.tcgetattr(self._master)

    def expect(self, pattern: str) -> re.Match[str]:
        """Wait until something has been on the screen, if only for a moment.

        Raises:
            AssertionError: it has not, after `PATIENCE_SECONDS` or at the program's end.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.screen.text, re.MULTILINE)):
            if not self._show(deadline):
                raise AssertionError(f"no {pattern!r} on the screen:\n{self.screen.text}")
        return found

    def wait(self) -> int:
        """Wait until it has ended, and return its exit code; all its output is then on the screen.

        Raises:
            TimeoutExpired: it has not, after `PATIENCE_SECONDS`.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._show(deadline):
            pass
        return self.process.wait(max(0.1, deadline - time.monotonic()))

    def _show(self, deadline: float) -> bool:
        """Show what was written up to where a picture is drawn over the one before; False if there is no more.

        A test that reads seldom finds several pictures at once, and has to see each of them.
        """
        if not self._unshown and not self._read(deadline - time.monotonic()):
            return False
        first, *rest = _REDRAWN.split(self._unshown, maxsplit=1)
        self._unshown = "".join(rest)
        self.screen.write(first)
        return True

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
        self._unshown = text
        return bool(data)
