"""The challenges of a contest, as its records say: which there are, which were played, and who may make another.

They count nowhere: nothing else of the tournament reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from getstep_server.config.contest import Contest
from getstep_server.records.challenge import Challenge, challenge_of, friendly_match
from getstep_server.records.game import result_of
from getstep_server.records.record import RecordError
from getstep_server.records.result import Result

WAIT_SECONDS = 60.0
"""A challenge that has not begun after so long lapses: the teams may look elsewhere by then."""

DAY_SECONDS = 86_400.0
"""The quotas count the challenges of so long: no midnight, which differs between time zones."""


class Challenges:
    """The challenges on record, by their numbers, and the results of those that were played."""

    def __init__(self) -> None:
        self.made: dict[int, Challenge] = {}
        self.results: dict[int, Result] = {}

    def apply(self, fields: Mapping[str, Any], place: int, contest: Contest) -> None:
        """Add the challenge whose record is at ``place``.

        Raises:
            RecordError: a field is missing or invalid, or these teams cannot play each other.
        """
        challenge = challenge_of(fields, place)
        arenas = [event.number for event in contest.events if event.format.pairs_present]
        if challenge.event not in arenas:
            raise RecordError(f"event is {challenge.event}, expected an arena")
        if challenge.team == challenge.opponent:
            raise RecordError(f"team {challenge.team} challenges itself, expected another team")
        self.made[place] = challenge

    def apply_result(self, fields: Mapping[str, Any], contest: Contest) -> Result:
        """Add the result of a friendly match.

        Raises:
            RecordError: a field is missing or invalid, or it is not the match of an open challenge.
        """
        result = result_of(fields)
        number = result.match.number
        if number not in self.made or number in self.results:
            raise RecordError(f"match is {number}, expected the number of a challenge that was not played yet")
        if result.match != (expected := friendly_match(contest, self.made[number])):
            raise RecordError(f"{result.match!r:.200}, expected {expected!r:.200} by the challenge")
        self.results[number] = result
        return result

    def waiting(self, now: float) -> list[Challenge]:
        """Return the challenges that have no result and have not lapsed at the Unix time ``now``, oldest first."""
        recent = _since(self.made, now - WAIT_SECONDS)
        return [challenge for challenge in recent if challenge.number not in self.results]

    def of(self, team: int, since: float) -> list[Challenge]:
        """Return the challenges by a team or to it since a Unix time, the oldest first."""
        return [challenge for challenge in _since(self.made, since) if team in challenge.teams]

    def objection(self, contest: Contest, team: int, opponent: int, now: float) -> str | None:
        """Return why the records do not allow a challenge now, in words for the team; None if they do."""
        limits, name = contest.file.challenges, contest.team_name(opponent)
        waiting = {one for challenge in self.waiting(now) for one in challenge.teams}
        recent = _since(self.made, now - DAY_SECONDS)
        if team == opponent:
            return "this is your own team; name another one, or play your bot against itself with getstep practice"
        if team in waiting:
            return f"a challenge of your team or to it is open; it begins, or lapses after {WAIT_SECONDS:g} s"
        if opponent in waiting:
            return f"{name} has an open challenge; try again in a minute"
        if sum(one.team == team for one in recent) >= limits.made_per_day:
            return f"your team has made {limits.made_per_day} challenges in 24 hours, which is the most; try later"
        if sum(one.opponent == opponent for one in recent) >= limits.received_per_day:
            return (
                f"{name} was challenged {limits.received_per_day} times in 24 hours, which is the most;"
                " challenge another team"
            )
        return None


def _since(made: Mapping[int, Challenge], since: float) -> list[Challenge]:
    """Return the challenges since a Unix time. They are on record in the order of their times."""
    found = []
    for number in reversed(list(made)):
        if made[number].at < since:
            break
        found.append(made[number])
    return found[::-1]
