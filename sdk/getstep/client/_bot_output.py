"""The output of a bot during a contest: the first lines of each match are shown, all of them are in a log."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from getstep.text import escape_control_chars

SHOWN_LINES = 20
"""Lines of a match that are shown: enough to follow one turn, and few beside the lines about matches."""

_MAX_LAST = 200  # characters of the end that are kept

LOG_CHARACTERS = 5_000_000
"""Of a log: then it is kept as a second file, and begun again. A bot that prints without end fills no disk."""


class OutputLog:
    """A file with what a bot prints, each line with its match and move in front.

    It is made when the bot prints for the first time. Lines are added to the file of an earlier run.

    Args:
        path: of the file; when it is full, its name with ``.1`` holds the lines before.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: TextIO | None = None
        self._where = ""
        self._begun = False  # a line without its end
        self._size = 0
        self._broken = False

    def write(self, where: str, text: str) -> None:
        """Add text that was printed in a move; nothing if the disk cannot be written: a log costs no turn."""
        if self._broken:
            return
        try:
            if self._file is None:
                # A line at a time: the program of a bot that hangs is replaced without closing its files.
                self._file = self.path.open("a", buffering=1, encoding="utf-8", errors="backslashreplace")
                self._size = self._file.tell()
            if self._begun and where != self._where:
                self._file.write("\n")
                self._begun = False
            self._where = where
            for line in text.splitlines(keepends=True):
                self._file.write(line if self._begun else f"{where}: {line}")
                self._begun = not line.endswith("\n")
                self._size += len(line)
            if self._size > LOG_CHARACTERS and not self._begun:
                self._file.close()
                self._file = None
                self.path.replace(self.path.with_name(f"{self.path.name}.1"))
        except (OSError, ValueError):
            self._broken = True

    def close(self) -> None:
        """Close the file; a later line opens it again."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file, self._begun = None, False


class BotOutput:
    """Stands in for ``sys.stdout`` while the bot is called.

    Args:
        log: has all that is printed; None for a bot without one.
    """

    def __init__(self, log: OutputLog | None = None) -> None:
        self.stream: Any = None
        """The real output, once the bot was called."""
        self._log = log
        self._where = ""
        self._lines = 0
        self._end = ""

    @contextlib.contextmanager
    def counted(self, where: str = "") -> Iterator[None]:
        """Count what is printed in the block, and show it while the match has few lines.

        ``where`` is the match and move, for the log.

        The whole process has one ``sys.stdout``. Bots in several threads would replace and restore it in any order,
        so only the main thread's bot is counted.
        """
        main_thread = threading.current_thread() is threading.main_thread()
        if sys.stdout is None or not main_thread:  # None: a program without a console on Windows
            yield
            return
        self.stream, self._where = sys.stdout, where
        with contextlib.redirect_stdout(self):
            yield

    def write(self, text: str) -> int:
        """Write to the real output, unless the match has had its lines."""
        if self._lines < SHOWN_LINES:
            self.stream.write(text)
        if self._log is not None:
            self._log.write(self._where, text)
        self._lines += text.count("\n")
        self._end = (self._end + text)[-_MAX_LAST:]  # print writes a line in pieces
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Return everything else of the real output, such as ``flush`` and ``encoding``."""
        return getattr(self.stream, name)

    def end_match(self) -> str:
        """Return the line about what was not shown since the last call, or an empty string."""
        hidden, self._lines = self._lines - SHOWN_LINES, 0
        if hidden <= 0:
            return ""
        last = (self._end.strip().splitlines() or [""])[-1]
        more = f"{hidden} more line{'s' if hidden > 1 else ''}"
        where = "" if self._log is None else f", all in {escape_control_chars(str(self._log.path))}"
        return f"get_step printed {more}{where}; the last: {escape_control_chars(last)}"

    def close_log(self) -> None:
        """Close the log. A bot that closes its output does not."""
        if self._log is not None:
            self._log.close()


class RepeatedProblems:
    """Problems of the bot by their text: each is shown once, and then counted."""

    def __init__(self) -> None:
        self._shown: set[str] = set()
        self._again: Counter[str] = Counter()

    def is_new(self, problem: str) -> bool:
        """Count a problem. Return True if it has not been shown yet."""
        if problem in self._shown:
            self._again[problem] += 1
            return False
        if len(self._shown) < 100:  # a bot whose every text differs takes no more memory
            self._shown.add(problem)
        return True

    def end_match(self) -> list[str]:
        """Return a line for each problem that occurred again since the last call."""
        again, self._again = self._again, Counter()
        return [
            f"the same problem as before occurred {count} more time{'s' if count > 1 else ''}:"
            f" {escape_control_chars(problem.splitlines()[-1].strip() if problem.strip() else '')}"
            for problem, count in again.items()
        ]
