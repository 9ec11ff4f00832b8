"""Results: how matches ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from getstep_engines import Player

from .schedule import Match

PLAYERS: tuple[Player, Player] = (0, 1)
"""The first player and the second, in the order of every pair in a result."""


ADJUDICATED = "adjudicated"
"""The reason of a result that the host has decided."""

ROUND_LOST = "round_lost"
"""The reason of a result that follows from what happened in another match of the round: see `round_rule`."""

_BOTH_LOSE = ("never_arrived", ROUND_LOST)
"""Where a match without a winner is no draw."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a match ended.

    ``reason`` is an end code of protocol.md (or "round_lost"), ``detail`` a sentence for people. ``winner`` is None
    for a draw, and when neither team came ("never_arrived") or neither may have the game ("round_lost"), which is a
    loss for both. ``scores`` are the first
    player's and the second's in the game's own measure, or None if a rule beside the game decided.
    ``turns`` counts moves and faults. ``thought`` is each player's thinking time in seconds, ``faults`` the
    number of turns that got the game's penalty. ``started`` is wall-clock time (seconds since the epoch),
    ``seconds`` the match's length. ``attempt`` counts from 1 how often the match was begun.
    """

    match: Match
    winner: Player | None
    reason: str
    detail: str
    scores: tuple[Any, Any] | None
    turns: int
    thought: tuple[float, float]
    faults: tuple[int, int]
    started: float
    seconds: float
    attempt: int = 1

    def outcome_for(self, player: Player) -> str:
        """``"win"``, ``"draw"`` or ``"loss"`` for one of the two players."""
        if self.winner is not None:
            return "win" if self.winner == player else "loss"
        return "loss" if self.reason in _BOTH_LOSE else "draw"

    @property
    def decided_by_host(self) -> bool:
        return self.reason == ADJUDICATED

    def difference_for(self, player: Player) -> int:
        """Own score minus the opponent's; 0 where scores are no numbers or did not decide.

        Who lost by a fault gains nothing from having been ahead.
        """
        if self.scores is None or not all(type(score) is int for score in self.scores):
            return 0
        difference = int(self.scores[player] - self.scores[1 - player])
        if self.winner is None:
            return difference
        return max(difference, 0) if self.winner == player else min(difference, 0)
