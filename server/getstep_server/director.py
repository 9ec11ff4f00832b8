"""The director: which match starts when.

A match starts as soon as both its teams are free, in the order of the schedule. A team that is not there is waited
for; once it has been missing as long as the host allows, its match is forfeited: nobody holds the contest up. What
an earlier run left unfinished comes first, and goes on where it was.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import trio

from getstep.wire import End
from getstep_engines import Player

from .contest import Contest
from .course import forfeit_scores
from .disk import Disk
from .events import ContestStarted, Event, Incident, MatchEnded, MatchStarted, Publish, ServerFault, Waiting
from .game_record import VOID, Record, counting, head_of_game, record_of_game
from .judge import play_match, sit_down
from .limits import MATCH_ATTEMPTS
from .results import PLAYERS, Result
from .schedule import Match
from .scoresheet import Scoresheet, Scoresheets
from .seats import Seat
from .standings import standings
from .store import Store
from .timekeeper import Timekeeper


class ContestStopped(Exception):  # noqa: N818 - an end with a reason
    """The contest cannot go on; nothing stored is lost."""


class Director:
    """Plays a schedule to its end.

    Args:
        contest: its time control, lag and patience.
        schedule: all matches, in playing order.
        attempts: the results of all that was played in earlier runs, void ones included.
        unfinished: the scoresheets of matches that an earlier run left in the middle.
        seats: every team's.
        sheets: makes scoresheets for those that begin.
        store: where records go.
        disk: says whether there is room for another match.
        timekeeper: wakes the judge, and knows when the server itself stood still.
        publish: called with what happens.
    """

    def __init__(
        self,
        contest: Contest,
        schedule: Sequence[Match],
        attempts: Sequence[Result],
        unfinished: Sequence[Scoresheet],
        seats: dict[int, Seat],
        sheets: Scoresheets,
        store: Store,
        disk: Disk,
        timekeeper: Timekeeper,
        publish: Publish,
    ) -> None:
        self.contest = contest
        self.results = counting(attempts)
        played = {result.match.number for result in self.results}
        self._unfinished = {sheet.match.number: sheet for sheet in unfinished}
        self._reserved = Counter(team for sheet in unfinished for team in sheet.match.teams)
        left = [match for match in schedule if match.number not in played]
        self._left = sorted(left, key=lambda match: match.number not in self._unfinished)
        self._total = len(schedule)
        self._seats = seats
        self._sheets = sheets
        self._store = store
        self._disk = disk
        self._timekeeper = timekeeper
        self._publish = publish
        self._busy: set[int] = set()
        self._open: dict[int, Scoresheet] = {}
        """The scoresheet of each team that is playing."""
        self._attempts = Counter(result.match.number for result in attempts)
        self._failures: Counter[int] = Counter()
        self._missing_since: dict[int, float] = {}
        self._waiting_said: tuple[int, ...] = ()
        self._changed = trio.Event()

    def changed(self) -> None:
        """Look again: a team has come or gone, a match is over, or there is room on the disk."""
        self._changed.set()

    def note(self, event: Event) -> None:
        """Have hostile or refused traffic of a team that is playing stand in its game's record."""
        if isinstance(event, Incident) and event.team in self._open:
            self._open[event.team].incident(event)

    async def run(self) -> None:
        """Play what is left.

        Raises:
            ContestStopped: a match could not be played or stored.
        """
        self._publish(ContestStarted(len(self.results), self._total))
        async with trio.open_nursery() as nursery:
            while self._left or self._busy:
                self._changed = trio.Event()
                now = trio.current_time()
                self._start_matches(nursery, now)
                with trio.move_on_at(self._next_forfeit(now)):
                    await self._changed.wait()

    def _start_matches(self, nursery: trio.Nursery, now: float) -> None:
        self._note_missing(now)
        for match in list(self._left) if self._disk.usable else ():
            if self._free(match) and all(self._ready(team, now) for team in match.teams):
                self._left.remove(match)
                self._busy.update(match.teams)
                nursery.start_soon(self._conduct, match, [team in self._missing_since for team in match.teams])
        self._say_waiting()

    def _free(self, match: Match) -> bool:
        """Whether both teams may play it: a team first ends what an earlier run left unfinished."""
        if not self._busy.isdisjoint(match.teams):
            return False
        return match.number in self._unfinished or not any(self._reserved[team] for team in match.teams)

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

    def _next_forfeit(self, now: float) -> float:
        """When patience is over with the next of the teams for which it was not ``now``."""
        patience = self.contest.file.start.absent_seconds
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
        sheet = self._unfinished.pop(match.number, None)
        if sheet is not None:
            self._reserved.subtract(match.teams)
        try:
            if sheet is None and not any(absent):
                sheet = await self._sheets.begin(match, self._attempts[match.number] + 1)
            result, record = await self._played(match, sheet, (first, second), absent)
            farewells = [_farewell(result, player) for player in PLAYERS]
            await self._disk.insist(partial(self._store.save, record, _put_away(sheet)))
        except Exception as error:
            self._publish(ServerFault(f"match {match.number}", traceback.format_exc()))
            await self._again(match, sheet, seats, error)
        else:
            self._attempts[match.number] += 1
            self._announce(result, zip(seats, farewells, strict=True))
        finally:
            for seat in seats:
                seat.leave()
                self._open.pop(seat.team.id, None)
            if sheet is not None:
                sheet.close()
            self._busy.difference_update(match.teams)
            self.changed()

    async def _played(
        self, match: Match, sheet: Scoresheet | None, seats: tuple[Seat, Seat], absent: list[bool]
    ) -> tuple[Result, Record]:
        contest = self.contest
        if sheet is None:
            sit_down(match, seats, contest.time_control, contest.lag, self._timekeeper)
            result = self._never_arrived(match, absent)
            return result, record_of_game(head_of_game(contest, match, result.attempt, result.started), result)
        self._open.update(dict.fromkeys(match.teams, sheet))
        self._publish(MatchStarted(match, sheet.course.turns))
        result = await play_match(sheet, seats, self._timekeeper, self._publish)
        return result, sheet.record(result)

    def _never_arrived(self, match: Match, absent: list[bool]) -> Result:
        winner: Player | None = None
        scores = None
        if not all(absent):
            loser: Player = 0 if absent[0] else 1
            winner = PLAYERS[1 - loser]
            scores = forfeit_scores(self.contest.game.start(**match.options), loser)
        missing = " and ".join(self.contest.team_name(t) for t, a in zip(match.teams, absent, strict=True) if a)
        detail = f"{missing} did not come in {self.contest.file.start.absent_seconds:g} s"
        return self._unplayed(match, winner, "never_arrived", detail, scores)

    def _unplayed(
        self,
        match: Match,
        winner: Player | None,
        reason: str,
        detail: str,
        scores: tuple[object, object] | None = None,
    ) -> Result:
        return Result(
            match=match,
            winner=winner,
            reason=reason,
            detail=detail,
            scores=scores,
            turns=0,
            thought=(0.0, 0.0),
            faults=(0, 0),
            started=round(time.time(), 3),
            seconds=0.0,
            attempt=self._attempts[match.number] + 1,
        )

    async def _again(self, match: Match, sheet: Scoresheet | None, seats: Sequence[Seat], error: Exception) -> None:
        """The server's fault is never a bot's loss: the match does not count and is played again."""
        detail = "the server failed; it will be played again"
        for seat in seats:
            if seat.in_match:
                seat.end(End(match.number, "void", VOID, detail, None))
        void = self._unplayed(match, None, VOID, detail)
        self._failures[match.number] += 1
        await self._save_void(void, sheet)
        if self._failures[match.number] >= MATCH_ATTEMPTS:
            self._left.clear()
            raise ContestStopped(
                f"match {match.number} failed {MATCH_ATTEMPTS} times, last with {error!r}: contest.log says where."
                " What is finished is kept; go on with the same command when that is mended"
            )
        self._left.insert(0, match)

    async def _save_void(self, void: Result, sheet: Scoresheet | None) -> None:
        """An attempt that came to nothing is on record as well, unless just that is what fails."""
        head = head_of_game(self.contest, void.match, void.attempt, void.started)
        try:
            record = record_of_game(head, void) if sheet is None else sheet.record(void)
            await self._store.save(record, _put_away(sheet))
            self._attempts[void.match.number] += 1  # the numbers of those on record have no gaps
        except Exception:
            await trio.to_thread.run_sync(_put_away(sheet))  # given up all the same
            self._publish(ServerFault(f"the record of void match {void.match.number}", traceback.format_exc()))

    def _announce(self, result: Result, farewells: Iterable[tuple[Seat, End]]) -> None:
        self.results.append(result)
        for seat, end in farewells:
            seat.end(end)
        table = standings(list(self._seats), self.results, scoring=self.contest.scoring)
        self._publish(MatchEnded(result, len(self.results), self._total, table))


def _put_away(sheet: Scoresheet | None) -> Callable[[], None]:
    """What deletes the journal of a match that is on record, or given up."""
    return sheet.remove if sheet is not None else lambda: None


def _farewell(result: Result, player: Player) -> End:
    scores = None if result.scores is None else list(result.scores)
    return End(result.match.number, result.outcome_for(player), result.reason, result.detail, scores)
