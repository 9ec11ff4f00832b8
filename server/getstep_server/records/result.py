"""Results: the ends of matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from getstep_engines import Player

from .match import Match
from .reasons import BOTH_LOSE, Reason

PLAYERS: tuple[Player, Player] = (0, 1)
"""The first player and the second, in the order of every pair in a result."""


Scores: TypeAlias = tuple[Any, Any] | None
"""Both players' scores in the game's own unit; None if a rule outside the game decided."""


class Result(Struct, frozen=True, gc=False):
    """The result of a match, or of an attempt that does not count.

    Attributes:
        match: the match.
        winner: 0 or 1; None for a draw, a void attempt, or a match that both lose (`BOTH_LOSE`).
        reason: a code of `reasons`.
        detail: a sentence for people.
        scores: both players' scores in the game's own unit; None if a rule outside the game decided.
        turns: the number of moves and faults.
        thought: the thinking time of each player in seconds.
        faults: the number of each player's turns that got the game's penalty.
        started: wall-clock time in seconds since the epoch.
        seconds: the duration of the match.
        attempt: 1 for the first attempt at the match.
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
        """Return ``"win"``, ``"draw"`` or ``"loss"`` for one of the two players."""
        if self.winner is not None:
            return "win" if self.winner == player else "loss"
        return "loss" if self.reason in BOTH_LOSE else "draw"

    @property
    def decided_by_host(self) -> bool:
        return self.reason == Reason.ADJUDICATED

    def difference_for(self, player: Player) -> int:
        """Return the own score minus the opponent's; 0 if the scores are not numbers or did not decide.

        A player that lost by a fault gains nothing from having been ahead.
        """
        if self.scores is None or not all(type(score) is int for score in self.scores):
            return 0
        difference = int(self.scores[player] - self.scores[1 - player])
        if self.winner is None:
            return difference
        return max(difference, 0) if self.winner == player else min(difference, 0)


def winner_text(result: Result, names: Callable[[int], str]) -> str:
    """Return the result of a match in words, such as "Ada wins"."""
    if result.winner is not None:
        return f"{names(result.match.teams[result.winner])} wins"
    texts: dict[str, str] = {Reason.NO_SHOW: "nobody came", Reason.ROUND_LOST: "both lose"}
    return texts.get(result.reason, "draw")


def unplayed(
    match: Match, winner: Player | None, reason: str, detail: str, scores: Scores, *, started: float, attempt: int
) -> Result:
    """Return the result of an attempt in which no turn was played."""
    return Result(
        match=match,
        winner=winner,
        reason=reason,
        detail=detail,
        scores=scores,
        turns=0,
        thought=(0.0, 0.0),
        faults=(0, 0),
        started=started,
        seconds=0.0,
        attempt=attempt,
    )
