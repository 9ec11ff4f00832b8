"""A progress view on a screen, its events, and texts that a terminal must not obey."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleDimensions

from getstep_server.config.contest import Contest
from getstep_server.events import MatchEnded, TeamArrived
from getstep_server.records.match import Match
from getstep_server.records.result import Result
from getstep_server.reports.live_board import LiveBoard
from getstep_server.reports.progress import ProgressView
from getstep_server.tournament.combined import Tables
from getstep_server.tournament.standings import standings
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.terminal import Screen


def result_of(contest: Contest, number: int = 1, **changed: Any) -> Result:
    facts: dict[str, Any] = {
        "match": Match(number, 1, 1, 1, 1, 2, contest.events[0].game.name),
        "winner": 0,
        "reason": "finished",
        "detail": "Black has 7 pieces home, White 5",
        "scores": (7, 5),
        "turns": 31,
        "thought": (1.0, 2.0),
        "faults": (0, 0),
        "started": 0.0,
        "seconds": 12.34,
    }
    return Result(**facts | changed)


def ended(contest: Contest, *results: Result, total: int = 6) -> MatchEnded:
    return MatchEnded(
        results[-1], len(results), total, lambda: Tables({1: tuple(standings(list(contest.teams), results))})
    )


class ToScreen(io.StringIO):
    """A file that is a terminal."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self.screen = screen
        self.highest = 0
        self.drawing = threading.Lock()

    def write(self, text: str) -> int:
        with self.drawing:
            self.screen.write(text.replace("\n", "\r\n"))  # as the kernel's terminals do
            self.highest = max(self.highest, len(self.screen.lines))
        return len(text)

    def isatty(self) -> bool:
        return True


class LiveView:
    """A progress view on a screen."""

    def __init__(
        self, contest: Contest, *, width: int = 80, height: int = 24, board: LiveBoard | None = None
    ) -> None:
        self.screen = Screen(width, height)
        self.file = ToScreen(self.screen)
        self.console = Console(
            file=self.file,
            force_terminal=True,
            width=width,
            height=height,
            markup=False,
            highlight=False,
            emoji=False,
            legacy_windows=False,
            _environ={},
        )
        self.progress = ProgressView(contest, self.console, live=True, board=board)

    def resize(self, width: int, height: int) -> None:
        """Change the size of the window."""
        with self.file.drawing:
            self.screen.resize(width, height)
            self.console.size = ConsoleDimensions(width, height)

    def until(self, condition: Callable[[str], bool]) -> str:
        """Return the screen as soon as it meets the condition."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with self.file.drawing:  # rich writes a whole view at once
                text = self.screen.text
            if condition(text):
                return text
            assert time.monotonic() < deadline, text
            time.sleep(0.01)


# --- events, names and texts for the tests of the progress that `run` shows -------------------------------------

HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\u202e[bold red]:boom:[/]"
"""Text that would clear the screen, set the window's title, overwrite the line, reverse the text, and is markup."""

THREE = make_contest(Path("test"), ["Ada", "Blaise", "Charles"])
FIRST = Match(1, 1, 1, 1, 1, 2, "hop")
ADA, BLAISE = TeamArrived(1, "10.0.0.1", "getstep 0.1.0", False), TeamArrived(2, "10.0.0.2", "", True)
LONG = [f"Die außerordentlich lange Mannschaft aus dem letzten Winkel {n}" for n in range(10, 50)]
