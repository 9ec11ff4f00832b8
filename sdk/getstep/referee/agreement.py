"""A match that ends before the game does, because the estimates of both bots agree about its result.

The rule is off unless a match has an `Agreement`. An estimate is what a bot notes about its move: from -1, it
loses, to 1, it wins. The estimates of one bot alone decide nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from getstep_engines import Player
from getstep_engines.value import Value

MOVES = 6
"""For how many moves of each bot the estimates have to agree, by default."""

MOST_MOVES = 1000
MOST_TURNS = 10_000

MEANINGS = {
    "resign": "a match is won if the winner's estimates are at least this, and the loser's at most minus this",
    "draw": "a match is drawn if the estimates of both bots are at most this far from 0",
    "agree": "for how many moves of each bot in a row",
    "draw_from": "the number of turns before which no draw is agreed",
}
"""What each setting is, for helps and lists of settings."""


class Agreement(Value):
    """When the estimates of both bots end a match.

    Args:
        resign: more than 0, at most 1: a match is won if, for ``agree`` moves of each bot in a row, the estimates
            of one were at least this, and those of the other at most minus this. None: estimates never win.
        draw: from 0 to less than 1: a match is drawn if the estimates of both were at most this far from 0, for as
            many moves. None: estimates never draw.
        agree: from 1 to 1000. An answered turn without an estimate, a fault or a missed limit begins the count of
            its bot again.
        draw_from: a draw is agreed after so many turns at the earliest: often both sides are equal at first.

    Raises:
        ValueError: a value is not in its range, or a match could be won and drawn at once.
    """

    resign: float | None = None
    draw: float | None = None
    agree: int = MOVES
    draw_from: int = 0

    def _check(self) -> None:
        if self.resign is None and self.draw is None:
            raise ValueError("neither resign nor draw, expected one of them or both")
        if self.resign is not None and not 0 < self.resign <= 1:
            raise ValueError(f"resign = {self.resign!r}, expected more than 0, at most 1")
        below = 1.0 if self.resign is None else self.resign
        if self.draw is not None and not 0 <= self.draw < below:
            raise ValueError(f"draw = {self.draw!r}, expected at least 0 and less than {below:g}")
        if not 1 <= self.agree <= MOST_MOVES:
            raise ValueError(f"agree = {self.agree!r}, expected 1 to {MOST_MOVES}")
        if not 0 <= self.draw_from <= MOST_TURNS:
            raise ValueError(f"draw_from = {self.draw_from!r}, expected 0 to {MOST_TURNS}")


class Agreed(NamedTuple):
    """What both bots agree about: the winner, None for a draw; why, as a text with ``{winner}`` in it."""

    winner: Player | None
    why: str


class Estimates:
    """Counts for how many moves the estimates of both bots agree.

    Args:
        agreement: how many are enough.
    """

    def __init__(self, agreement: Agreement) -> None:
        self._agreement = agreement
        self._turns = 0
        self._won, self._lost, self._level = [0, 0], [0, 0], [0, 0]
        """Per player: its latest moves in a row with such an estimate."""

    def note(self, turn: Mapping[str, Any]) -> Agreed | None:
        """Count a turn as it is on record, with its notes; return what both bots agree about then, if anything."""
        if "pass" in turn:
            return None
        self._turns += 1
        rule, player = self._agreement, turn["player"]
        estimate = turn["notes"].get("estimate") if "move" in turn and turn.get("notes") else None
        resign, draw = rule.resign, rule.draw
        self._count(self._won, player, estimate is not None and resign is not None and estimate >= resign)
        self._count(self._lost, player, estimate is not None and resign is not None and estimate <= -resign)
        self._count(self._level, player, estimate is not None and draw is not None and abs(estimate) <= draw)
        for winner, loser in _SIDES:
            if min(self._won[winner], self._lost[loser]) >= rule.agree:
                return Agreed(winner, f"both bots' estimates of {rule.agree} moves say that {{winner}} wins")
        if min(self._level) >= rule.agree and self._turns >= rule.draw_from:
            return Agreed(None, f"both bots' estimates of {rule.agree} moves say that nobody wins")
        return None

    @staticmethod
    def _count(counts: list[int], player: Player, holds: bool) -> None:
        counts[player] = counts[player] + 1 if holds else 0


_SIDES: tuple[tuple[Player, Player], ...] = ((0, 1), (1, 0))
