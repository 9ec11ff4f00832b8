"""The arena's part of a run: which teams are paired now, and whether the arena goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from datetime import datetime

import trio

from getstep_server.config.contest import Contest
from getstep_server.records.match import Match
from getstep_server.tournament.tournament import Tournament

CLOCK_SECONDS = 60.0
"""The longest wait for the closing time. The wall clock may be set during the wait."""

RETRY_SECONDS = 1.0
"""The shortest time between two attempts to pair, if the first one found no pair. An attempt after 20,000 matches
takes 90 ms of processor time in a thread, and each match that ends among 200 teams is a reason for another."""


def closing_time(until: str | None) -> float:
    """Return the Unix time of a local time; infinity if there is none."""
    return float("inf") if until is None else datetime.strptime(until, "%Y-%m-%d %H:%M").astimezone().timestamp()


class ArenaDesk:
    """Tells the director which teams take part in the next pairings of the arenas of a contest.

    A contest has either arenas or other events, because a match of an arena never waits for a missing team: it is
    cancelled by the next record of pairings, which does not list the team.

    House bots that are no bosses are listed only if a team would otherwise wait: if no contestants are playing, who
    would soon be free, or if a team has been idle for `pause_seconds`. Bosses are always listed, so that their
    ratings are sure.

    Args:
        contest: its events and its patience with the teams of resumed matches.
        tournament: the state after the current records.
        clock: the Unix time in seconds.
    """

    def __init__(self, contest: Contest, tournament: Tournament, clock: Callable[[], float] = time.time) -> None:
        self._events = [event for event in contest.events if event.format.pairs_present]
        self._tournament = tournament
        self._clock = clock
        self._patience = contest.file.start.absent_seconds
        self._kept_until = -float("inf")
        self._pause = min((event.format.pause_seconds for event in self._events), default=0)
        self._house = frozenset[int]().union(*(event.format.house for event in self._events))
        self._fill_ins = self._house.difference(*(event.format.bosses for event in self._events))
        self._tried, self._issued = -float("inf"), 0
        """The time of the latest pairings, and the number of matches that had been issued before."""
        self._asked, self._refused = -float("inf"), False
        """The time of the director's latest request for pairings, and True if it was too early."""
        self._idle_since: dict[int, float] = {}
        """Since when each contestant that is present has no match."""
        self._filling_in = False
        """True if a house bot that is no boss is idle, which may be paired with the next team that has waited."""

    def __bool__(self) -> bool:
        """Return True if the contest's events are arenas."""
        return bool(self._events)

    def begin(self) -> None:
        """Note the start of the run, in which matches are resumed first."""
        self._kept_until = trio.current_time() + self._patience

    @property
    def wakes(self) -> float:
        """The time at which the director should ask again, if nothing else happens before."""
        if not self._events:
            return float("inf")
        # the wall clock: it can be set, so the wait is cut below
        closing = max(0.0, self._closing() - self._clock())
        waits = [since + self._pause for since in self._idle_since.values()] if self._filling_in else []
        ends = [end for end in (*[self._next] * self._refused, self._kept_until, *waits) if end > self._asked]
        return min([*ends, trio.current_time() + min(closing, CLOCK_SECONDS) if closing else float("inf")])

    @property
    def _next(self) -> float:
        """The time before which nothing is paired: the pause counts from the latest pairings with a match."""
        return self._tried + (self._pause if self._issued_now() > self._issued else min(self._pause, RETRY_SECONDS))

    def _issued_now(self) -> int:
        return sum(self._tournament.issued(event.number) for event in self._events)

    def goes_on(self) -> bool:
        """Return True if pairings may follow."""
        return self._clock() < self._closing() and any(
            self._tournament.issued(event.number) < event.format.max_matches(0) for event in self._events
        )

    def taking_part(self, present: Collection[int], resumed: Collection[Match]) -> set[int] | None:
        """Return the teams that the next pairings list; None if it is not yet time for them.

        Args:
            present: the teams with a bot connected or in a match.
            resumed: the matches that wait to be resumed: their teams are listed until the host's patience ends.
        """
        if not self._events:
            return None
        now, playing = trio.current_time(), self._tournament.open_by_team().keys()
        idle = set(present) - playing
        self._idle_since = {team: self._idle_since.get(team, now) for team in idle - self._house}
        self._filling_in = bool(idle & self._fill_ins)
        self._asked, self._refused = now, now < self._next
        if self._refused:
            return None
        self._tried, self._issued = now, self._issued_now()
        waited = any(now >= since + self._pause for since in self._idle_since.values())
        fill_in = waited or playing <= self._house
        teams = set(present) if fill_in else set(present) - (idle & self._fill_ins)
        if now < self._kept_until:
            teams.update(team for match in resumed for team in match.teams)
        if not self.goes_on():  # list only teams that play, so that nothing new is paired
            teams &= playing
        self._tournament.due.update(event.number for event in self._events)
        return teams

    def _closing(self) -> float:
        return max((closing_time(event.format.closes_at) for event in self._events), default=-float("inf"))
