"""The screen of practice: progress, the games as they are played, and the talk with a person."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable, Sequence
from typing import TextIO

from getstep.drawing.viewer import painter
from getstep.sprt import PairOutcomes, Sprt, llr_text, score_line
from getstep.text import duration, escape_control_chars

from .match import PlayedMatch, PlayedTurn, tried_text

_WIDTH = 79
_REFRESH_SECONDS = 0.2
_WATCH_SECONDS = 0.3  # for each turn: fewer cannot be followed with the eyes
_CLEAR_LINE, _HOME, _CLEAR_BELOW = "\r\x1b[2K", "\x1b[H", "\x1b[J"


class Screen:
    """Prints progress. On a terminal, one line shows the running game; elsewhere, each game is one line.

    Args:
        stream: where to print; None for nothing.
        games: the number of games.
        watch: draw the board after each turn.
        test: the sequential test that may end the series: shown beside the running game, and the score is printed
            for each pair in place of each game.
        sleep: waits some seconds between the turns that are drawn.
    """

    def __init__(
        self,
        stream: TextIO | None,
        games: int,
        *,
        watch: bool = False,
        test: Sprt | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._stream = stream
        self._games = games
        self._watch = watch
        self._test = test
        self._sleep = sleep
        self._terminal = bool(stream and stream.isatty() and os.environ.get("TERM") != "dumb")
        self.draw = painter(getattr(stream, "encoding", None), is_terminal=self._terminal)
        self.has_status = self._terminal and not watch
        """True if one line shows the running game; False while a debugger has the terminal, too."""
        self._due = 0.0
        self._tally = {"won": 0, "drawn": 0, "lost": 0}

    def begin(self, match: PlayedMatch) -> None:
        """Show that a match begins."""
        if self._watch and self._terminal:
            self._print("\x1b[2J")
        self._status(match)

    def turn(self, match: PlayedMatch, turn: PlayedTurn) -> None:
        """Show a turn."""
        if self._watch:
            self._draw_turn(match, turn)
        elif time.monotonic() >= self._due:
            self._status(match)

    def end(self, match: PlayedMatch) -> None:
        """Print the line of a match that is over."""
        self._tally[match.result] += 1
        if self._test is not None:  # thousands of games
            return
        self._clear()
        times = [turn.seconds for turn in match.turns if turn.seconds is not None]
        took = f", {duration(sum(times) * 1000)}" if times else ""
        reason = match.outcome.detail if match.outcome else ""
        count = sum(turn.recorded for turn in match.turns)
        recorded = f" ({count} as in the replay)" if count else ""
        line = (
            f"Game {match.number} of {self._games}: {match.result} as {match.game.players[match.bot]},"
            f" {len(match.turns)} turns{recorded}{took}: {reason}"
        )
        self.say(textwrap.fill(line, _WIDTH, subsequent_indent="  ", break_on_hyphens=False))

    def pair(self, pairs: Sequence[PairOutcomes]) -> None:
        """Print the score of a series with a test, after each pair; on a terminal, the running line has it."""
        if not self._terminal:
            self.say(score_line(pairs, self._test))

    def say(self, line: str) -> None:
        """Print a line."""
        self._clear()
        self._print(line + "\n")

    def _clear(self) -> None:
        if self.has_status:
            self._print(_CLEAR_LINE)

    def _status(self, match: PlayedMatch) -> None:
        if not self.has_status:
            return
        tally = ", ".join(f"{count} {result}" for result, count in self._tally.items())
        turn = match.turns[-1].number if match.turns else 0
        columns = os.get_terminal_size(self._stream.fileno()).columns if self._stream else 80
        test = f"{llr_text(self._test)} | " if self._test else ""
        text = f"Game {match.number} of {self._games}, move {turn} | {test}{tally} | Ctrl-C stops"
        self._print(_CLEAR_LINE + text[: max(1, (columns or 80) - 1)])
        self._due = time.monotonic() + _REFRESH_SECONDS

    def _draw_turn(self, match: PlayedMatch, turn: PlayedTurn) -> None:
        head = f"Game {match.number} of {self._games}: {match.names[0]} - {match.names[1]}"
        lines = [head, turn_text(match, turn), *self.draw(turn.picture).splitlines()]
        if not self._terminal:
            self._print("\n".join(lines) + "\n\n")
            return
        columns = os.get_terminal_size(self._stream.fileno()).columns if self._stream else 80
        lines[:2] = [line[: max(1, (columns or 80) - 1)] for line in lines[:2]]
        self._print(_HOME + "".join(f"\x1b[2K{line}\n" for line in lines) + _CLEAR_BELOW)
        self._sleep(_WATCH_SECONDS)

    def _print(self, text: str) -> None:
        if self._stream is not None:
            encoding = getattr(self._stream, "encoding", None) or "utf-8"
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._stream.flush()


def turn_text(match: PlayedMatch, turn: PlayedTurn) -> str:
    """Return a turn on one line, such as ``"Move 3, greedy (Black): 2,2-2,3 in 12 ms"``."""
    who = f"Move {turn.number}, {match.names[turn.player]} ({match.game.players[turn.player]})"
    if turn.kind == "move":
        took = "" if turn.seconds is None else f" in {duration(turn.seconds * 1000)}"
        how = " as in the replay" if turn.recorded else took
        return f"{who}: {match.game.notation(turn.move)}{how}"
    if turn.kind == "pass":
        return f"{who}: no legal move"
    tried = f" ({tried})" if (tried := tried_text(turn)) else ""
    where = f"; it is at {turn.where}" if turn.where else ""
    return escape_control_chars(f"{who}: {turn.code}: {turn.reason}{tried}{where}")
