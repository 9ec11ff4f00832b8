"""A rule of the original ladder of `linkage`: who misses a limit loses all its games of that round.

In the original a team that missed a limit was thrown out of the round, and had lost every game that it had in it.
Here those that have not begun are not played, and those that are played or under way come to the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from getstep_engines import Player

from .course import MISSED
from .results import ROUND_LOST, Result
from .schedule import Match

SETTING, WHOLE_ROUND = "missed_limit", "round"
"""The setting of a format, and its value with which this rule holds."""


def round_losses(matches: Collection[Match], results: Mapping[int, Result]) -> dict[int, Result]:
    """What other matches come to than they did by themselves, or would.

    Args:
        matches: those of an event that are not cancelled.
        results: of those that are over, by their numbers.

    Returns:
        Results by the numbers of the matches, those of matches without one too. The opponent has won; if both have
        missed a limit in the round, both have lost.
    """
    missed: dict[tuple[int, int], Result] = {}
    for match in matches:
        result = results.get(match.number)
        if result is not None and result.reason == MISSED and result.winner is not None:
            missed.setdefault((match.round, match.teams[1 - result.winner]), result)
    found = {match.number: _lost(match, missed, results.get(match.number)) for match in matches}
    return {number: result for number, result in found.items() if result is not None}


def _lost(match: Match, missed: Mapping[tuple[int, int], Result], played: Result | None) -> Result | None:
    """What a match comes to by the rule; None if it says nothing else than the match itself."""
    why = {team: miss for team in match.teams if (miss := missed.get((match.round, team))) is not None}
    if not why or (played is not None and played.decided_by_host):
        return None
    winner: Player | None = None if len(why) == 2 else 0 if match.second in why else 1
    if played is not None and played.winner == winner is not None:
        return None
    miss = next(iter(why.values()))
    who = " and ".join(f"team {team}" for team in why)
    return replace(
        miss,
        match=match,
        winner=winner,
        reason=ROUND_LOST,
        detail=f"{who} missed a limit in this round, and loses all games of it",
        scores=None,
        turns=0,
        thought=(0.0, 0.0),
        faults=(0, 0),
        seconds=0.0,
        attempt=0 if played is None else played.attempt,
    )
