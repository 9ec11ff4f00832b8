"""The queue of matches: which of the matches that could start now start first.

A contest takes at least as long as its busiest team's own matches. So of the matches that could start, those start
whose teams have the most matches left for each of their seats. Then no team is the only one left at the end.
Matches are counted, not timed: a slow team falls behind in them, and goes first from then on
(``python -m benchmarks.schedule``).

Matches that an earlier run left unfinished come before all others. A seat is kept for each of them.

`MatchQueue` keeps the matches by team and opponent. The end of a match frees two teams, and only their matches
against idle teams are examined, not the tens of thousands that are left.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter

from getstep_server.records.match import Match


@dataclass(slots=True)
class _TeamQueue:
    """The queue of one team: its matches by opponent, the next one first.

    ``count`` is the number of those matches, and ``playing`` the number of those that were taken and are not over.
    ``reserved`` is the number of resumed matches that still wait: a seat is kept for each.
    """

    matches: dict[int, list[Match]] = field(default_factory=dict)
    count: int = 0
    playing: int = 0
    reserved: int = 0


class MatchQueue:
    """The matches that wait for a seat, and those that are being played.

    Args:
        matches: the waiting matches, in any order.
        resumed: waiting matches that an earlier run left unfinished; they start first, in this order.
    """

    def __init__(self, matches: Iterable[Match] = (), resumed: Iterable[Match] = ()) -> None:
        self._teams: dict[int, _TeamQueue] = {}
        self._left: set[int] = set()
        self._playing: dict[int, Match] = {}
        self._blocked: set[int] = set()  # teams with a free seat of which no two have a match left
        self._resumed: dict[int, Match] = {}  # waiting, in the order in which they start
        self.add(matches)
        for match in resumed:
            self._check_new(match)
            self._resumed[match.number] = match
            self._reserve(match, 1)

    def __len__(self) -> int:
        """Return how many matches wait, without those being played."""
        return len(self._left) + len(self._resumed)

    def __contains__(self, match: Match) -> bool:
        """Return True if ``match`` waits, and is not being played."""
        return match.number in self._left or match.number in self._resumed

    @property
    def numbers(self) -> set[int]:
        """The numbers of the matches that wait, without those being played."""
        return self._left | self._resumed.keys()

    @property
    def playing(self) -> tuple[Match, ...]:
        """The matches that were taken and are not over, in the order in which they were taken."""
        return tuple(self._playing.values())

    def waiting(self, team: int) -> int:
        """Return how many matches of ``team`` wait, without those that it is playing."""
        return self._teams[team].count + self._teams[team].reserved if team in self._teams else 0

    def add(self, matches: Iterable[Match]) -> None:
        """Add matches: those of a new round, or one that is over and has to be played again.

        Raises:
            ValueError: a match waits or is being played already.
        """
        for match in matches:
            self._check_new(match)
            one, other = (self._teams.setdefault(team, _TeamQueue()) for team in match.teams)
            between = one.matches.setdefault(match.second, [])
            other.matches[match.first] = between
            insort(between, match, key=attrgetter("number"))
            self._left.add(match.number)
            self._blocked.difference_update(match.teams)
            self._count(match, 1)

    def take(self, seats: Mapping[int, int], most: float = inf, *, whole_pairings: bool = False) -> list[Match]:
        """Take the matches that start now. Afterwards no two teams with a free seat have a match left.

        Args:
            seats: how many matches each team can play at once, those that it is playing included. Teams that
                cannot play now may be missing.
            most: take no more new matches than this; a pairing that is begun may exceed it.
            whole_pairings: take all matches of a pairing one after the other, as far as its teams can play.

        Returns:
            Matches in the order in which they were chosen. Resumed ones come first. Of the teams that can play, the
            one with the most matches left for each of its seats comes next, and plays the opponent that has most.
            The teams' ids and the matches' numbers break ties.
        """
        resumed = []
        for match in list(self._resumed.values()):
            if all(self._teams[team].playing < seats.get(team, 0) for team in match.teams):
                self._remove(match)
                self._start(match)
                resumed.append(match)
        return resumed + self._take_new(seats, most, whole_pairings=whole_pairings)

    def release(self, match: Match) -> None:
        """Free the seats of a match that is over, or could not be played. `add` it to play it again.

        Raises:
            ValueError: the match is not being played.
        """
        if self._playing.pop(match.number, None) is None:
            raise ValueError(f"{match!r}, expected one that is being played")
        for team in match.teams:
            self._teams[team].playing -= 1

    def remove(self, match: Match) -> None:
        """Remove a match that will not be played.

        Raises:
            ValueError: the match does not wait: it is being played, or is unknown.
        """
        if match not in self:
            raise ValueError(f"{match!r}, expected one that waits")
        self._remove(match)

    # --- choose matches ---

    def _take_new(self, seats: Mapping[int, int], most: float, *, whole_pairings: bool) -> list[Match]:
        if most <= 0:
            return []
        free = {team for team, count in seats.items() if self._can_play(team, count)}
        fresh = free - self._blocked  # a match has become possible only if one of its teams is among these
        remaining_per_seat = {team: self._teams[team].count / seats[team] for team in free}
        taken: list[Match] = []
        # Teams with most matches per seat first: they would end the contest late. The number makes the order
        # repeatable.
        for team in sorted(free, key=lambda team: (-remaining_per_seat[team], team)):
            while team in free and (
                match := self._next(team, free if team in fresh else fresh, remaining_per_seat)
            ):
                # Some free teams were not looked at, so they are not known to be blocked: only those that were
                # before are.
                if len(taken) >= most:
                    self._blocked &= free
                    return taken
                for one in self._pairing_of(match) if whole_pairings else [match]:
                    if all(self._can_play(player, seats[player]) for player in one.teams):
                        self._remove(one)
                        self._start(one)
                        taken.append(one)
                for player in match.teams:
                    remaining_per_seat[player] = self._teams[player].count / seats[player]
                full = {player for player in match.teams if not self._can_play(player, seats[player])}
                free -= full
                fresh -= full
        self._blocked = free
        return taken

    def _pairing_of(self, match: Match) -> list[Match]:
        """Return a match that waits, and the matches of its pairing that wait behind it."""
        between = self._teams[match.first].matches[match.second]
        return [one for one in between if (one.event, one.pairing) == (match.event, match.pairing)]

    def _check_new(self, match: Match) -> None:
        if match in self or match.number in self._playing:
            raise ValueError(f"{match!r}, expected one that neither waits nor is being played")

    def _can_play(self, team: int, seats: int) -> bool:
        """Return True if a team has a new match, and a free seat that is not kept for a resumed one."""
        queue = self._teams.get(team)
        return queue is not None and queue.count > 0 and queue.playing + queue.reserved < seats

    def _next(self, team: int, others: set[int], remaining_per_seat: Mapping[int, float]) -> Match | None:
        """Return the next match of ``team`` against ``others``: the opponent with most remaining comes first."""
        matches = self._teams[team].matches
        return min(
            (matches[other][0] for other in matches.keys() & others),
            key=lambda match: (
                -remaining_per_seat[match.first] - remaining_per_seat[match.second],
                match.number,
            ),
            default=None,
        )

    def _start(self, match: Match) -> None:
        self._playing[match.number] = match
        for team in match.teams:
            self._teams[team].playing += 1

    def _reserve(self, match: Match, sign: int) -> None:
        for team in match.teams:
            self._teams.setdefault(team, _TeamQueue()).reserved += sign

    def _remove(self, match: Match) -> None:
        if self._resumed.pop(match.number, None) is not None:
            self._reserve(match, -1)
            return
        one, other = (self._teams[team] for team in match.teams)
        between = one.matches[match.second]
        between.remove(match)
        if not between:
            # `_next` takes the first match of each list, so no list may be empty.
            del one.matches[match.second], other.matches[match.first]
        self._left.remove(match.number)
        self._count(match, -1)

    def _count(self, match: Match, sign: int) -> None:
        for team in match.teams:
            self._teams[team].count += sign
