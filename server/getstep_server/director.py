"""The director: which match starts when.

A match starts as soon as both its teams are free, in the order of the schedule. A team that is not there is waited
for; once it has been missing as long as the host allows, its match is forfeited: nobody holds the contest up.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence

import trio

from getstep.wire import End
from getstep_engines import Player

from .contest import Contest
from .events import ContestStarted, MatchEnded, MatchStarted, Publish, ServerFault, Waiting
from .judge import forfeit_scores, play_match, sit_down
from .limits import MATCH_ATTEMPTS
from .results import PLAYERS, Result, standings
from .schedule import Match
from .seats import Seat
from .store import Store
from .timekeeper import Timekeeper


class ContestStopped(Exception):  # noqa: N818 - an end with a reason
    """The contest cannot go on; nothing stored is lost."""


class Director:
    """Plays a schedule to its end.

    Args:
        contest: its time control, lag and patience.
        schedule: all matches, in playing order.
        results: those already played, in an earlier run.
        seats: every team's.
        store: where results go.
        timekeeper: wakes the judge, and knows when the server itself stood still.
        publish: called with what happens.
    """

    def __init__(
        self,
        contest: Contest,
        schedule: Sequence[Match],
        results: Sequence[Result],
        seats: dict[int, Seat],
        store: Store,
        timekeeper: Timekeeper,
        publish: Publish,
    ) -> None:
        self.contest = contest
        self.results = list(results)
        played = {result.match.number for result in results}
        self._left = [match for match in schedule if match.number not in played]
        self._total = len(schedule)
        self._seats = seats
        self._store = store
        self._timekeeper = timekeeper
        self._publish = publish
        self._busy: set[int] = set()
        self._attempts: Counter[int] = Counter()
        self._missing_since: dict[int, float] = {}
        self._waiting_said: tuple[int, ...] = ()
        self._changed = trio.Event()

    def changed(self) -> None:
        """Look again: a team has come or gone, or a match is over."""
        self._changed.set()

    async def run(self) -> None:
        """Play what is left.

        Raises:
            ContestStopped: a match could not be played or stored.
        """
        self._publish(ContestStarted(len(self.results), self._total))
        async with trio.open_nursery() as nursery:
            while self._left or self._busy:
                self._changed = trio.Event()
                self._start_matches(nursery)
                with trio.move_on_at(self._next_forfeit()):
                    await self._changed.wait()

    def _start_matches(self, nursery: trio.Nursery) -> None:
        now = trio.current_time()
        self._note_missing(now)
        for match in list(self._left):
            if self._busy.isdisjoint(match.teams) and all(self._ready(team, now) for team in match.teams):
                self._left.remove(match)
                self._busy.update(match.teams)
                nursery.start_soon(self._conduct, match, [team in self._missing_since for team in match.teams])
        self._say_waiting()

    def _note_missing(self, now: float) -> None:
        for team, seat in self._seats.items():
            if seat.connected:
                self._missing_since.pop(team, None)
            else:
                self._missing_since.setdefault(team, now)

    def _ready(self, team: int, now: float) -> bool:
        """Whether a match need not wait for ``team``: it is here, or has been missing for too long."""
        since = self._missing_since.get(team)
        return since is None or now >= since + self.contest.file.start.absent_seconds

    def _next_forfeit(self) -> float:
        """When patience with the next missing team is over."""
        now, patience = trio.current_time(), self.contest.file.start.absent_seconds
        ends = [since + patience for since in self._missing_since.values()]
        return min((end for end in ends if end > now), default=float("inf"))

    def _say_waiting(self) -> None:
        missing = {team for match in self._left for team in match.teams if team in self._missing_since}
        waiting = tuple(sorted(missing)) if not self._busy else ()
        if waiting != self._waiting_said:
            self._waiting_said = waiting
            self._publish(Waiting(waiting))

    async def _conduct(self, match: Match, absent: list[bool]) -> None:
        """Bring one match to an end that is stored, told and published; store first, tell afterwards."""
        first, second = seats = [self._seats[team] for team in match.teams]
        try:
            result = await self._played(match, (first, second), absent)
            farewells = [_farewell(result, player) for player in PLAYERS]
            await self._store.save(result)
        except Exception as error:
            self._publish(ServerFault(f"match {match.number}", traceback.format_exc()))
            self._again(match, seats, error)
        else:
            self._announce(result, zip(seats, farewells, strict=True))
        finally:
            for seat in seats:
                seat.leave()
            self._busy.difference_update(match.teams)
            self.changed()

    async def _played(self, match: Match, seats: tuple[Seat, Seat], absent: list[bool]) -> Result:
        contest = self.contest
        if any(absent):
            sit_down(match, seats, contest.time_control, contest.lag, self._timekeeper)
            return self._never_arrived(match, absent)
        self._publish(MatchStarted(match))
        return await play_match(
            match, contest.game, seats, contest.time_control, contest.lag, self._timekeeper, self._publish
        )

    def _never_arrived(self, match: Match, absent: list[bool]) -> Result:
        winner: Player | None = None
        scores = None
        if not all(absent):
            loser: Player = 0 if absent[0] else 1
            winner = PLAYERS[1 - loser]
            scores = forfeit_scores(self.contest.game.start(**match.options), loser)
        missing = " and ".join(self.contest.team_name(t) for t, a in zip(match.teams, absent, strict=True) if a)
        return Result(
            match=match,
            winner=winner,
            reason="never_arrived",
            detail=f"{missing} did not come in {self.contest.file.start.absent_seconds:g} s",
            scores=scores,
            turns=0,
            thought=(0.0, 0.0),
            faults=(0, 0),
            started=time.time(),
            seconds=0.0,
        )

    def _again(self, match: Match, seats: Sequence[Seat], error: Exception) -> None:
        """The server's fault is never a bot's loss: the match does not count and is played again."""
        for seat in seats:
            if seat.in_match:
                seat.end(
                    End(match.number, "void", "server_fault", "the server failed; it will be played again", None)
                )
        self._attempts[match.number] += 1
        if self._attempts[match.number] >= MATCH_ATTEMPTS:
            self._left.clear()
            raise ContestStopped(
                f"match {match.number} failed {MATCH_ATTEMPTS} times, last with {error!r}: contest.log says where."
                " What is finished is kept; go on with the same command when that is mended"
            )
        self._left.insert(0, match)

    def _announce(self, result: Result, farewells: Iterable[tuple[Seat, End]]) -> None:
        self.results.append(result)
        for seat, end in farewells:
            seat.end(end)
        table = standings(list(self._seats), self.results, scoring=self.contest.scoring)
        self._publish(MatchEnded(result, len(self.results), self._total, table))


def _farewell(result: Result, player: Player) -> End:
    scores = None if result.scores is None else list(result.scores)
    return End(result.match.number, result.outcome_for(player), result.reason, result.detail, scores)
