"""One match as its contestant sees it: what is printed about it, and the result that `play` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from ._text import duration, printable, shown
from ._turn import Thought, Turn, as_move
from .wire import End, GetStep, Penalty, Start

_OUTCOMES = {"win": "won", "draw": "a draw", "loss": "lost", "void": "void"}


@dataclass(frozen=True)
class Result:
    """How a match ended for this bot.

    ``match`` is the match number, ``game`` the game's name, ``is_black`` whether this bot was the first player.
    ``result`` is for this bot; ``"void"`` does not count and is played again. ``reason`` is an end code of
    protocol.md, such as ``"finished"`` or ``"missed_limit"``, and ``detail`` a sentence for people. ``scores``
    are the first player's and the second player's in the game's own measure, or None. ``moves`` is how many
    moves this bot sent, ``longest_ms`` and ``total_ms`` how long get_step took at most and in all.
    """

    match: int
    game: str
    opponent: str
    is_black: bool
    result: Literal["win", "draw", "loss", "void"]
    reason: str
    detail: str
    scores: tuple[Any, Any] | None
    moves: int
    longest_ms: float
    total_ms: float


class Match:
    """A match going on.

    Args:
        start: what the server said when it began, or when this bot came back to it.
    """

    def __init__(self, start: Start) -> None:
        self.number = start.match
        self.lag_ms = start.lag_ms
        self._start = start
        self._game = printable(start.game)
        self._opponent = printable(start.opponent)
        self._moved: set[int] = set()  # questions, since an answer may have to be sent again after a reconnect
        self._times_ms: list[float] = []

    def beginning(self) -> str:
        """The line that says what is played, against whom, and how fast."""
        start = self._start
        colour = "the first player (is_black=True)" if start.is_black else "the second player (is_black=False)"
        limit = f"{limit_text(start.time_kind, start.time_ms)}, {duration(start.lag_ms)} more for lag"
        begins = (
            f"Match {self.number}{' goes on' if start.resumed else ''}: {self._game}{options_text(start.options)}"
        )
        return f"{begins} against {self._opponent}, you are {colour}; {limit}"

    def turn(self, ask: GetStep) -> Turn:
        """The callback's third argument."""
        return Turn(
            game=self._game,
            match=self.number,
            move_number=ask.move_number,
            opponent=self._opponent,
            last_move=as_move(ask.last_move),
            time_left_ms=ask.time_left_ms,
            options=dict(self._start.options),
        )

    def thought(self, thought: Thought) -> None:
        """Take note of how long the callback took."""
        self._times_ms.append(thought.ms)

    def moved(self, question: int) -> None:
        """Take note of a move that was sent in answer to ``question``, for the first time or again."""
        self._moved.add(question)

    def result(self, end: End) -> Result:
        """How it ended."""
        return Result(
            match=self.number,
            game=self._game,
            opponent=self._opponent,
            is_black=self._start.is_black,
            result=cast(Literal["win", "draw", "loss", "void"], end.result),
            reason=printable(end.reason),
            detail=printable(end.detail),
            scores=None if end.scores is None else (end.scores[0], end.scores[1]),
            moves=len(self._moved),
            longest_ms=max(self._times_ms, default=0.0),
            total_ms=sum(self._times_ms),
        )


def ending(result: Result) -> str:
    """The line that says how a match ended."""
    line = f"Match {result.match}: {_OUTCOMES[result.result]} ({result.reason}): {result.detail.rstrip('.')}."
    if result.scores is not None:
        mine, theirs = result.scores if result.is_black else reversed(result.scores)
        line += f" Score: you {shown(mine)}, they {shown(theirs)}."
    times = f"longest {duration(result.longest_ms)}, together {duration(result.total_ms)}"
    return f"{line} Your moves: {result.moves}, {times}."


def penalty_text(
    penalty: Penalty, match: int | None, ask: GetStep | None = None, thought: Thought | None = None
) -> str:
    """What a turn cost and why; with the move that was sent, as far as this end knows it."""
    which = f"move {ask.move_number}" if ask else f"question {penalty.id}"
    line = f"Match {match}, {which}: penalty for {printable(penalty.reason)}: {printable(penalty.detail)}"
    if penalty.reason == "illegal_move" and thought:
        line += f" (you returned {shown(thought.move)})"
    return line


def lateness(match: int, ask: GetStep, ms: float) -> str:
    """How late an answer was, as far as this end can tell: the server's clock counts the network's time, too."""
    took = f"Match {match}, move {ask.move_number}: get_step took {duration(ms)}"
    over = ms - ask.time_left_ms
    if over <= 0:
        return f"{took} of {duration(ask.time_left_ms)}"
    return f"{took}, {duration(over)} over the limit of {duration(ask.time_left_ms)}"


def waiting(match: int, ask: GetStep, ms: float, place: str) -> str:
    """That get_step, asked ``ms`` milliseconds ago, is late and still running at ``place``."""
    took = f"Match {match}, move {ask.move_number}: get_step has taken {duration(ms)}"
    return f"{took}, over the limit of {duration(ask.time_left_ms)}; still waiting for it. It is at {place}"


def limit_text(time_kind: str, time_ms: int) -> str:
    """``"5 s a move"`` or ``"20 s for all your moves together"``."""
    return f"{duration(time_ms)} {'a move' if time_kind == 'move' else 'for all your moves together'}"


def options_text(options: dict[str, int]) -> str:
    """``" (size 8)"``, or nothing."""
    listed = ", ".join(f"{printable(name)} {value}" for name, value in options.items())
    return f" ({listed})" if listed else ""
