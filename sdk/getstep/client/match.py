"""One match on the contestant's side: the lines printed about it, and the result that `play` returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any, Literal, cast

from getstep.games import Board
from getstep.text import duration, escape_control_chars, short_repr
from getstep.turn import CallResult, Turn, as_move
from getstep.wire import End, GetStep, Notice, Penalty, Start

STALLED_MISSES = 3
"""Limits missed in silence after which the server skips a player's turns (protocol.md, "Playing")."""

BOARDS_DRAWN = 3
"""Faults in one match whose board is drawn: a bot may make one in every turn, and its author needs few."""

_DRAWN = ("illegal_move", "raised", "malformed_answer")  # the bot answered, or failed, on this board

_OUTCOMES = {"win": "won", "draw": "a draw", "loss": "lost", "void": "void"}


@dataclass(frozen=True)
class Result:
    """The result of a match for this bot.

    ``match`` is the match number, ``game`` the game's name. ``is_black`` is True if this bot was the first player.
    ``result`` is this bot's; a match that is ``"void"`` does not count. ``reason`` is an end code of protocol.md,
    such as ``"finished"`` or ``"missed_limit"``, and ``detail`` a sentence for people. ``scores`` are the first
    player's and the second player's in the game's own measure, or None. ``moves`` is the number of moves that
    this bot sent. ``longest_ms`` is the longest time that get_step took, ``total_ms`` the sum.
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
    """A match in progress.

    Args:
        start: the server's message at its beginning, or after this bot has reconnected.
    """

    def __init__(self, start: Start) -> None:
        self.number = start.match
        self.lag_ms = start.lag_ms
        self.friendly = start.friendly is True
        """True if the match counts nowhere. It ends with the connection."""
        self._start = start
        self.game = escape_control_chars(start.game)
        self._opponent = escape_control_chars(start.opponent)
        self._answered: set[int] = set()  # ids: an answer may be sent again after a reconnect, and counts once
        self._times_ms: list[float] = []
        self._boards_left = BOARDS_DRAWN

    def start_text(self) -> str:
        """Return the line with the game, the opponent and the time limit."""
        start = self._start
        colour = f"the {'first' if start.is_black else 'second'} player (is_black is {start.is_black})"
        limit = limit_text(start.time_kind, start.time_ms, start.increment_ms or 0)
        lag = duration(start.lag_ms)
        number = f"{'Friendly match' if self.friendly else 'Match'} {self.number}"
        begins = f"{number}{' continues' if start.resumed else ''}: {self.game}{options_text(start.options)}"
        line = f"{begins} against {self._opponent}, you are {colour}; {limit}, plus {lag} for network delay"
        if start.opening and not start.resumed:
            line = f"{line}. It begins after an opening of {opening_text(start.opening)}"
        return f"{line}. It counts nowhere" if self.friendly else line

    def turn(self, ask: GetStep) -> Turn:
        """Return the callback's third argument."""
        return Turn(
            game=self.game,
            match=self.number,
            move_number=ask.move_number,
            opponent=self._opponent,
            last_move=as_move(ask.last_move),
            time_left_ms=ask.time_left_ms,
            options=dict(self._start.options),
            increment_ms=self._start.increment_ms or 0,
            time_kind=self._start.time_kind,
            opening=tuple(map(as_move, self._start.opening or ())),
        )

    def stalled_after_ms(self, ask: GetStep) -> float:
        """Return how many milliseconds after the question the server begins to skip turns if it hears nothing.

        Infinity if the limit is for the whole match: the first missed limit takes all of it.
        """
        if self._start.time_kind != "move":
            return math.inf
        return ask.time_left_ms + self.lag_ms + (STALLED_MISSES - 1) * (self._start.time_ms + self.lag_ms)

    def fault_board(self, penalty: Penalty, ask: GetStep, call: CallResult | None) -> str:
        """Return the board on which this bot made the fault, or "" if it says nothing about the fault.

        Only the first `BOARDS_DRAWN` boards of a match are returned.
        """
        if penalty.reason not in _DRAWN or not self._boards_left:
            return ""
        self._boards_left -= 1
        return position_text(self._start.game, ask.board, ask.is_black, call.move if call else None)

    def add_time(self, ms: float) -> None:
        """Record how long one call of the callback took."""
        self._times_ms.append(ms)

    def add_move(self, question: int) -> None:
        """Record a move that was sent in answer to ``question``, for the first time or again."""
        self._answered.add(question)

    def result(self, end: End) -> Result:
        """Return the result."""
        return Result(
            match=self.number,
            game=self.game,
            opponent=self._opponent,
            is_black=self._start.is_black,
            result=cast(Literal["win", "draw", "loss", "void"], end.result),
            reason=escape_control_chars(end.reason),
            detail=escape_control_chars(end.detail),
            scores=None if end.scores is None else (end.scores[0], end.scores[1]),
            moves=len(self._answered),
            longest_ms=max(self._times_ms, default=0.0),
            total_ms=sum(self._times_ms),
        )


def end_text(result: Result) -> str:
    """Return the line with the result of a match."""
    line = f"Match {result.match}: {_OUTCOMES[result.result]} ({result.reason}): {result.detail.rstrip('.')}."
    if result.scores is not None:
        mine, theirs = result.scores if result.is_black else reversed(result.scores)
        line += f" Score: you {short_repr(mine)}, they {short_repr(theirs)}."
    times = f"longest {duration(result.longest_ms)}, together {duration(result.total_ms)}"
    return f"{line} Your moves: {result.moves}, {times}."


def penalty_text(
    penalty: Penalty, match: int | None, ask: GetStep | None = None, call: CallResult | None = None
) -> str:
    """Return the line about a penalty; with the illegal move, if this client sent it."""
    which = f"move {ask.move_number}" if ask else f"question {penalty.id}"
    why = escape_control_chars(f"{penalty.reason}: {penalty.detail}")
    line = f"Match {match}, {which}: penalty for {why}"
    if penalty.reason == "illegal_move" and call:
        line += f" (you returned {short_repr(call.move)})"
    return line


def notice_text(notice: Notice) -> str:
    """Return the line about a notice. A kind that this client does not know is shown as it came."""
    about = "" if notice.match is None else f"match {notice.match}, "
    return f"From the host ({about}{escape_control_chars(notice.kind)}): {escape_control_chars(notice.text)}"


def lateness_text(match: int, ask: GetStep, ms: float) -> str:
    """Return how late an answer was. Only an estimate: the server's clock also counts the time of the network."""
    took = f"Match {match}, move {ask.move_number}: get_step took {duration(ms)}"
    over = ms - ask.time_left_ms
    if over <= 0:
        return f"{took} of {duration(ask.time_left_ms)}"
    return f"{took}, {duration(over)} over the limit of {duration(ask.time_left_ms)}"


def still_running_text(match: int, ask: GetStep, ms: float, location: str) -> str:
    """Return the warning that get_step, called ``ms`` milliseconds ago, is still running at ``location``."""
    took = f"Match {match}, move {ask.move_number}: get_step has taken {duration(ms)}"
    return f"{took}, over the limit of {duration(ask.time_left_ms)}, and is still running. It is at {location}"


def stalled_text(match: int, ask: GetStep, ms: float, location: str, restart_ms: float = math.inf) -> str:
    """Return the warning that get_step, called ``ms`` milliseconds ago, counts as stalled at ``location``.

    ``restart_ms`` is how long after its call the client starts the program again, infinity for never.
    """
    took = f"Match {match}, move {ask.move_number}: get_step has taken {duration(ms)}, {STALLED_MISSES} limits"
    skips = "your bot is stalled: unless the match is over, the server skips its turns until get_step returns"
    todo = "Stop it with Ctrl-C, correct it and start it again: it goes on with this match."
    if restart_ms < math.inf:
        todo = f"In {duration(max(0, restart_ms - ms))} the client starts your program again."
    return f"{took}; {skips}. It is at {location}\n{todo}"


def restart_text(match: int, game: str, ask: GetStep, seconds: float, location: str) -> str:
    """Return the warning that the client starts the program again, ``seconds`` after the limit of the question.

    The first two sentences are the same in the SDKs of all languages.
    """
    late = f"get_step has not returned, {duration(1000 * seconds)} after its limit of {duration(ask.time_left_ms)}"
    which = f"match {match}, move {ask.move_number} of {game}"
    return f"{late} ({which}). The client starts your program again; the contest goes on.\nIt was at {location}"


def hangs_text(hangs: int) -> str:
    """Return that the program was started again so often in a row."""
    return f"get_step has hung {hangs} times in a row without an answer in between"


def limit_text(time_kind: str, time_ms: int, increment_ms: int = 0) -> str:
    """Return ``"5 s a move"`` or ``"20 s for all your moves together"``, with the increment if there is one."""
    if time_kind == "move":
        return f"{duration(time_ms)} a move"
    added = f" and {duration(increment_ms)} more after each answer" if increment_ms else ""
    return f"{duration(time_ms)} for all your moves together{added}"


def opening_text(opening: Sequence[object]) -> str:
    """Return ``"4 moves"``."""
    return f"{len(opening)} move{'s' if len(opening) > 1 else ''}"


def options_text(options: dict[str, int]) -> str:
    """Return ``" (size 8)"``, or an empty string."""
    listed = ", ".join(f"{escape_control_chars(name)} {value}" for name, value in options.items())
    return f" ({listed})" if listed else ""


def position_text(game: str, board: Board, is_black: bool, move: Any) -> str:
    """Return the board that ``get_step`` got, with the squares that its answer names marked, and a legend.

    ``move`` may be any object. The text is empty if the board cannot be drawn, as one from a newer server may be.
    """
    # Here, not on top: a bot that makes no fault needs no drawing, and the import takes 10 ms.
    from getstep.drawing import Picture, draw_text, legend
    from getstep_engines import GAMES
    from getstep_engines.look import DEFAULT_LOOK

    known = GAMES.get(game)
    look = known.look if known else DEFAULT_LOOK
    try:
        seen = known.view(known.from_board(board, is_black)) if known and look.view else board
        picture = Picture(look, seen).with_fault(move)
    except ValueError:
        return ""
    explained = [
        *(["! ! the squares that you returned"] if picture.fault else []),
        *filter(None, [legend(picture)]),
    ]
    return indent("\n".join([draw_text(picture), ", ".join(explained)]).rstrip(), "    ")
