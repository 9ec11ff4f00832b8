"""The estimate of how long a contest still takes, from the pace of its matches.

The average of the finished matches alone says little at the end of a contest. If 200 matches took 5 minutes, one
that a slow player holds up is not over in 2 seconds. So there are three estimates, and the longest counts:

- all matches that are left, at the rate at which matches have ended until now;
- each running match, at its own pace;
- each team's own matches, which it plays in order, each as long as this team's matches take.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from getstep_server.records.match import Match

PRIOR_TURNS = 4
"""A running match counts as if four more of its turns had had the average pace: one turn alone says little."""

LONGER = 1.5
"""A match is expected to have at least this many times its current number of turns. So the estimate of a match that
is longer than the average does not fall to zero before it ends."""


@dataclass(slots=True)
class _Sum:
    """Finished matches: how many, their seconds and their turns."""

    count: int = 0
    seconds: float = 0.0
    turns: int = 0

    def add(self, seconds: float, turns: int) -> None:
        self.count += 1
        self.seconds += seconds
        self.turns += turns


@dataclass(frozen=True, slots=True)
class _Running:
    """A match that has run since ``began``, when it had ``before`` turns; ``turns`` returns the current number."""

    match: Match
    began: float
    before: int
    turns: Callable[[], int]


class PaceEstimator:
    """The pace of a contest: its running matches, and totals of the finished ones.

    The event loop reports matches; any thread may ask for the estimate.

    Args:
        clock: in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._wall = clock
        self._paused = 0.0
        self._paused_since: float | None = None
        self._began = clock()
        self._running: dict[int, _Running] = {}
        self._events: defaultdict[int, _Sum] = defaultdict(_Sum)
        self._teams: defaultdict[int, _Sum] = defaultdict(_Sum)

    def set_paused(self, *, paused: bool) -> None:
        """Note that the host has paused the contest, or that it goes on: the time of a pause does not count."""
        if paused and self._paused_since is None:
            self._paused_since = self._wall()
        elif not paused and self._paused_since is not None:
            self._paused += self._wall() - self._paused_since
            self._paused_since = None

    def _clock(self) -> float:
        since = self._paused_since
        return (self._wall() if since is None else since) - self._paused

    def begin(self) -> None:
        """Note that the first match is about to start."""
        self._began = self._clock()

    def start(self, match: Match, turns: Callable[[], int]) -> None:
        """Note that a match starts or resumes; ``turns`` returns its number of turns, in any thread."""
        self._running[match.number] = _Running(match, self._clock(), turns(), turns)

    def end(self, match: Match) -> None:
        running = self._running.pop(match.number, None)
        if running is None or not running.turns():
            return  # a walkover takes no time: it would make the others look fast
        seconds, turns = self._clock() - running.began, running.turns()
        for total in (self._events[match.event], *(self._teams[team] for team in match.teams)):
            total.add(seconds, turns)

    def abandon(self, match: Match) -> None:
        """Note that a match was aborted: its length says nothing."""
        self._running.pop(match.number, None)

    def seconds_left(self, played: int, left: int, by_team: Mapping[int, int]) -> float | None:
        """Return the longest of the three estimates; None if no match has ended, or none is left.

        Args:
            played: the number of matches that were played to an end in this run, without forfeits of absent teams:
                500 of them take a minute, and say nothing about the others.
            left: the number of matches that have not ended, running ones and future pairings included.
            by_team: the number of matches that each team has left, running ones included, as far as it is known.
        """
        if not played or not left:
            return None
        elapsed = self._clock() - self._began
        running = list(self._running.values())
        own = {one.match.number: self._seconds_of(one) for one in running}
        busiest = max(
            (self._seconds_of_team(team, count, running, own) for team, count in by_team.items()), default=0
        )
        return max(elapsed / played * left, busiest, *own.values())

    def _seconds_of(self, running: _Running) -> float:
        """Return how many seconds a match still takes at its own pace."""
        known = self._events[running.match.event]
        turns = running.turns()
        played, elapsed = turns - running.before, self._clock() - running.began
        if not known.count:  # no such match has ended yet: assume that half of this one is over
            return elapsed
        pace = (elapsed + PRIOR_TURNS * known.seconds / known.turns) / (played + PRIOR_TURNS)
        return pace * (max(known.turns / known.count, LONGER * turns) - turns)

    def _seconds_of_team(
        self, team: int, left: int, running: Iterable[_Running], own: Mapping[int, float]
    ) -> float:
        """Return how many seconds a team's own matches still take, as many of them at once as it plays now."""
        playing = [one for one in running if team in one.match.teams]
        rest = [own[one.match.number] for one in playing]
        known = self._teams[team]
        lengths = [self._clock() - one.began + own[one.match.number] for one in playing]
        count = known.count + len(lengths)
        each = (known.seconds + sum(lengths)) / count if count else 0.0
        waiting = max(0, left - len(playing))
        # a team that plays nowhere now plays one match at a time
        return (sum(rest) + waiting * each) / max(1, len(playing))
