"""The order in which matches are played: as soon as both teams are free, those with the most left to play first.

A contest takes at least as long as its busiest team's own matches. So of the matches that could start now, those
start whose teams have the most left for each of their seats: then nobody has to wait for one team at the end.
Matches are counted, not timed: a slow team falls behind in them, and goes first from then on
(``python -m benchmarks.schedule``).

`Order` keeps the matches by team and opponent. The end of a match sets two teams free, and only their matches with
idle teams are looked at, not the tens of thousands that are left.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from .schedule import Match


@dataclass(slots=True)
class _Ahead:
    """What a team has ahead of it: its matches by opponent, the next one first, and how many they are."""

    matches: dict[int, list[Match]] = field(default_factory=dict)
    count: int = 0
    playing: int = 0


class Order:
    """The matches that are left, and those that are being played.

    Args:
        matches: those left, in any order.
    """

    def __init__(self, matches: Iterable[Match] = ()) -> None:
        self._teams: dict[int, _Ahead] = {}
        self._left: set[int] = set()
        self._playing: dict[int, Match] = {}
        self._stuck: set[int] = set()  # teams with a seat to spare of which no two have a match left
        self.add(matches)

    def __len__(self) -> int:
        """How many matches are left, without those being played."""
        return len(self._left)

    def __contains__(self, match: Match) -> bool:
        """Whether ``match`` is left, and not being played."""
        return match.number in self._left

    @property
    def playing(self) -> tuple[Match, ...]:
        """The matches that were taken and are not over, in the order in which they were taken."""
        return tuple(self._playing.values())

    def left(self, team: int) -> int:
        """How many matches ``team`` has left, without those it is playing."""
        return self._teams[team].count if team in self._teams else 0

    def add(self, matches: Iterable[Match]) -> None:
        """Put matches in: a new round's, or one that is over and has to be played again.

        Raises:
            ValueError: a match is left or being played already.
        """
        for match in matches:
            if match.number in self._left or match.number in self._playing:
                raise ValueError(f"{match!r}, expected one that is neither left nor being played")
            one, other = (self._teams.setdefault(team, _Ahead()) for team in match.teams)
            between = one.matches.setdefault(match.second, [])
            other.matches[match.first] = between
            insort(between, match, key=attrgetter("number"))
            self._left.add(match.number)
            self._stuck.difference_update(match.teams)
            self._count(match, 1)

    def take(self, seats: Mapping[int, int]) -> list[Match]:
        """The matches that start now. Afterwards no two teams with a seat to spare have a match left.

        Args:
            seats: for each team that is ready to play, at how many seats, with those at which it is playing.

        Returns:
            Matches in the order in which they were chosen: of the teams that can play, the one with the most left
            for each of its seats comes first, and plays whoever of its opponents has most. What is equal is
            decided by the teams' ids and the matches' numbers.
        """
        free = {team for team, count in seats.items() if self._can_play(team, count)}
        fresh = free - self._stuck  # without one of them nothing can have become possible
        way = {team: self._teams[team].count / seats[team] for team in free}
        taken = []
        for team in sorted(free, key=lambda team: (-way[team], team)):
            while team in free and (match := self._next(team, free if team in fresh else fresh, way)):
                self._start(match)
                taken.append(match)
                for player in match.teams:
                    way[player] = self._teams[player].count / seats[player]
                full = {player for player in match.teams if not self._can_play(player, seats[player])}
                free -= full
                fresh -= full
        self._stuck = free
        return taken

    def release(self, match: Match) -> None:
        """A match is over, or could not be played: its seats are free again. `add` it to play it again.

        Raises:
            ValueError: it is not being played.
        """
        if self._playing.pop(match.number, None) is None:
            raise ValueError(f"{match!r}, expected one that is being played")
        for team in match.teams:
            self._teams[team].playing -= 1

    def remove(self, match: Match) -> None:
        """A match is not played any more.

        Raises:
            ValueError: it is not left: it is being played, or there is none.
        """
        if match not in self:
            raise ValueError(f"{match!r}, expected one that is left")
        self._remove(match)

    # --- inside ---

    def _can_play(self, team: int, seats: int) -> bool:
        ahead = self._teams.get(team)
        return ahead is not None and ahead.count > 0 and ahead.playing < seats

    def _next(self, team: int, others: set[int], way: Mapping[int, float]) -> Match | None:
        """The match that ``team`` plays next, of those against ``others``: whose ``way`` is longest."""
        matches = self._teams[team].matches
        return min(
            (matches[other][0] for other in matches.keys() & others),
            key=lambda match: (-way[match.first] - way[match.second], match.number),
            default=None,
        )

    def _start(self, match: Match) -> None:
        self._remove(match)
        self._playing[match.number] = match
        for team in match.teams:
            self._teams[team].playing += 1

    def _remove(self, match: Match) -> None:
        one, other = (self._teams[team] for team in match.teams)
        between = one.matches[match.second]
        between.remove(match)
        if not between:
            del one.matches[match.second], other.matches[match.first]
        self._left.remove(match.number)
        self._count(match, -1)

    def _count(self, match: Match, sign: int) -> None:
        for team in match.teams:
            self._teams[team].count += sign
