"""The missed-limit rule of the original `linkage` ladder: a missed limit loses all matches of that round.

In the original, a team that missed a limit was removed from the round and lost all its matches in it. Here the
matches that have not begun are not played. Those that are over or running are lost, however they end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from getstep.referee import FaultCode
from getstep_engines import Player
from getstep_server.records.match import Match
from getstep_server.records.reasons import Reason
from getstep_server.records.result import Result

SETTING, WHOLE_ROUND = "missed_limit", "round"
"""The setting of a format, and its value with which this rule holds."""


def round_losses(matches: Collection[Match], results: Mapping[int, Result]) -> dict[int, Result]:
    """Return the results that the rule puts in the place of played or missing ones.

    Args:
        matches: the matches of an event that are not cancelled.
        results: the results of those that are over, by number.

    Returns:
        The new results by match number. The opponent has won; if both have missed a limit in the round, both have
        lost.
    """
    missed: dict[tuple[int, int], Result] = {}
    for match in matches:
        result = results.get(match.number)
        if result is not None and result.reason == FaultCode.MISSED_LIMIT and result.winner is not None:
            missed.setdefault((match.round, match.teams[1 - result.winner]), result)
    found = {match.number: _lost(match, missed, results.get(match.number)) for match in matches}
    return {number: result for number, result in found.items() if result is not None}


def _lost(match: Match, missed: Mapping[tuple[int, int], Result], played: Result | None) -> Result | None:
    """Return the result of a match by the rule; None if the rule does not change it."""
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
        reason=Reason.ROUND_LOST,
        detail=f"{who} missed a limit in this round, and loses all games of it",
        scores=None,
        turns=0,
        thought=(0.0, 0.0),
        faults=(0, 0),
        seconds=0.0,
        attempt=0 if played is None else played.attempt,
    )
