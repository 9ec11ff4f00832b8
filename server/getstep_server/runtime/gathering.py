"""Matches that wait until all their teams are here: those of a resumed contest, and of a new round of a ladder."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from getstep_server.records.match import Match

PATIENCES = 10
"""The longest wait of a new round, and of a resumed contest, in no-show times: 10 minutes by default.

Without a limit, one missing team would stop a contest that runs unattended.
"""

RESUME_SECONDS = 60.0
"""The least time for which a resumed contest waits: clients that lost their server try again within seconds."""


def resume_patience(absent_seconds: float) -> float:
    """Return the seconds for which a resumed contest waits for its teams."""
    return max(PATIENCES * absent_seconds, RESUME_SECONDS)


@dataclass(slots=True)
class _Group:
    """A group of matches, by number, that begin together: at the latest at the time ``until``."""

    matches: dict[int, Match]
    until: float

    @property
    def teams(self) -> set[int]:
        return {team for match in self.matches.values() for team in match.teams}


class Gathering:
    """The matches that wait for their teams."""

    def __init__(self) -> None:
        self._groups: list[_Group] = []
        self._entered = False
        self._given_up: set[int] = set()  # teams that a group has begun without, and that were not here since

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __contains__(self, match: Match) -> bool:
        return any(match.number in group.matches for group in self._groups)

    @property
    def numbers(self) -> set[int]:
        """The numbers of the matches that wait."""
        return {number for group in self._groups for number in group.matches}

    @property
    def teams(self) -> set[int]:
        """The teams of the matches that wait."""
        return {team for group in self._groups for team in group.teams}

    @property
    def ends(self) -> float:
        """The time at which the next group begins, even if teams are missing."""
        return min((group.until for group in self._groups), default=float("inf"))

    def add(self, matches: Iterable[Match], until: float = float("inf")) -> None:
        """Let these matches wait until all their teams are here, but not after ``until``."""
        group = _Group({match.number: match for match in matches}, until)
        if group.matches:
            self._groups.append(group)

    def discard(self, match: Match) -> None:
        """Remove a match that will not be played."""
        for group in self._groups:
            group.matches.pop(match.number, None)

    def give_up(self, teams: Iterable[int]) -> None:
        """Stop waiting for these teams, until they have been present again."""
        self._given_up.update(teams)

    def enter(self) -> None:
        """Begin with the teams that are present: the host has pressed Enter. No effect if no match waits."""
        self._entered = bool(self._groups)

    def release(self, here: Collection[int], now: float) -> list[Match]:
        """Return the matches that need not wait any longer.

        If a group begins without a team, later groups do not wait for that team until it has been present again.
        """
        self._given_up.difference_update(here)
        over = [
            group
            for group in self._groups
            if self._entered or now >= group.until or group.teams <= {*here, *self._given_up}
        ]
        self._entered = False
        self._groups = [group for group in self._groups if group not in over]
        for group in over:
            self.give_up(group.teams.difference(here))
        return [match for group in over for match in group.matches.values()]
