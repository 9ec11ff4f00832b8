"""Results and standings: standings are a pure function of the schedule's teams and the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from getstep_engines import Player

from .schedule import Match

POINTS = {"win": 2, "draw": 1, "loss": 0}
_OUTCOMES = tuple(POINTS)

PLAYERS: tuple[Player, Player] = (0, 1)
"""The first player and the second, in the order of every pair in a result."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a match ended.

    ``reason`` is an end code of protocol.md, ``detail`` a sentence for people. ``winner`` is None for a draw, and
    when neither team came (``reason`` "never_arrived"), which is a loss for both. ``scores`` are the first
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
        return "loss" if self.reason == "never_arrived" else "draw"

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


@dataclass(frozen=True, slots=True)
class Standing:
    """A team's line in the table. Teams equal in points, wins and difference share a ``rank``."""

    rank: int
    team: int
    played: int
    won: int
    drawn: int
    lost: int
    points: float
    difference: int


def standings(teams: Sequence[int], results: Iterable[Result], *, scoring: str = "points") -> list[Standing]:
    """The table, best team first.

    Args:
        teams: the ids of all teams, those that have not played included.
        results: in any order.
        scoring: ``"points"`` (a win 2, a draw 1, a loss 0) or ``"signed_roots"`` (for every match
            sign(d)·√|d| of the score difference d: pseudo_tonga's own ranking).

    Ties are broken by matches won, then by the total score difference; what is still equal shares a rank.
    """
    lines: dict[int, list[float]] = {team: [0, 0, 0, 0, 0] for team in teams}
    for result in results:
        for player in PLAYERS:
            line = lines[result.match.teams[player]]
            outcome = result.outcome_for(player)
            margin = result.difference_for(player)
            line[_OUTCOMES.index(outcome)] += 1
            line[3] += _points(outcome, margin, scoring)
            line[4] += margin
    ordered = sorted(lines.items(), key=lambda item: (_key(item[1]), item[0]))
    table: list[Standing] = []
    for place, (team, (won, drawn, lost, points, difference)) in enumerate(ordered, start=1):
        tied = place > 1 and _key(lines[team]) == _key(lines[table[-1].team])
        rank = table[-1].rank if tied else place
        table.append(
            Standing(
                rank=rank,
                team=team,
                played=int(won + drawn + lost),
                won=int(won),
                drawn=int(drawn),
                lost=int(lost),
                points=round(points, 6),
                difference=int(difference),
            )
        )
    return table


def _points(outcome: str, difference: int, scoring: str) -> float:
    if scoring == "signed_roots":
        return sqrt(difference) if difference > 0 else -sqrt(-difference)
    return POINTS[outcome]


def _key(line: list[float]) -> tuple[float, float, float]:
    won, _, _, points, difference = line
    return (-round(points, 6), -won, -difference)
