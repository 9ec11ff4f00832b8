"""The output of a bot during a contest: the first lines of each match are shown, the others are counted."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from getstep.text import escape_control_chars

SHOWN_LINES = 20
"""Lines of a match that are shown: enough to follow one turn, and few beside the lines about matches."""

_MAX_LAST = 200  # characters of the end that are kept


class BotOutput:
    """Stands in for ``sys.stdout`` while the bot is called."""

    def __init__(self) -> None:
        self.stream: Any = None
        """The real output, once the bot was called."""
        self._lines = 0
        self._end = ""

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count what is printed in the block, and show it while the match has few lines.

        The whole process has one ``sys.stdout``. Bots in several threads would replace and restore it in any order,
        so only the main thread's bot is counted.
        """
        main_thread = threading.current_thread() is threading.main_thread()
        if sys.stdout is None or not main_thread:  # None: a program without a console on Windows
            yield
            return
        self.stream = sys.stdout
        with contextlib.redirect_stdout(self):
            yield

    def write(self, text: str) -> int:
        """Write to the real output, unless the match has had its lines."""
        if self._lines < SHOWN_LINES:
            self.stream.write(text)
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
        return f"get_step printed {more}; the last: {escape_control_chars(last)}"


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
