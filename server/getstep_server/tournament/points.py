"""Points: what a result is worth under an event's scoring."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, sqrt

from getstep_engines import Player
from getstep_server.config.event import Scoring
from getstep_server.formats import DIGITS
from getstep_server.records.result import PLAYERS, Result


def bye_points(scoring: Scoring) -> float:
    return scoring.win if scoring.kind == "points" else 0.0  # a bye is no match, and has no difference of scores


def points_of(scoring: Scoring, result: Result) -> tuple[float, float]:
    """Return the points of a match for the first and the second player.

    Under ``"percentage"`` a win is 1 and everything else 0; `total_points` divides by the matches played.
    """
    first, second = (_points_for(scoring, result, player) for player in PLAYERS)
    return first, second


def total_points(scoring: Scoring, points: Iterable[float], played: int, byes: int) -> float:
    """Return a team's points in the table, from the points of its matches."""
    total = fsum([*points, byes * bye_points(scoring)])
    if scoring.kind == "percentage":
        total = 100 * total / played if played else 0.0
    return round(total, DIGITS)


def _points_for(scoring: Scoring, result: Result, player: Player) -> float:
    outcome = result.outcome_for(player)
    if scoring.kind == "percentage":
        return float(outcome == "win")
    if scoring.kind == "signed_roots":
        difference = result.difference_for(player)
        return sqrt(difference) if difference > 0 else -sqrt(-difference)
    return {"win": scoring.win, "draw": scoring.draw, "loss": scoring.loss}[outcome]
