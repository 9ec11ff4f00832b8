"""The director: which match starts when.

A match starts as soon as both its teams have a bot free; `order` says which of those that could. The tournament
says which come next, and that is on record before the first of them starts. A team that is not there is waited
for; once it has been missing as long as the host allows, its match is forfeited: nobody holds the contest up. What
an earlier run left unfinished comes first, and goes on where it was.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import trio

from getstep.wire import End
from getstep_engines import GAMES, Player

from .contest import Contest
from .contest_event import ContestEvent
from .course import forfeit_scores
from .disk import Disk
from .events import ContestStarted, Event, Incident, MatchEnded, MatchStarted, Publish, ServerFault, Waiting
from .game_record import VOID, Record, head_of_game, record_of_game, record_of_pairings
from .judge import play_match, sit_down
from .limits import MATCH_ATTEMPTS
from .live import LiveTables
from .order import Order
from .results import PLAYERS, Result
from .schedule import Match
from .scoresheet import Scoresheet, Scoresheets
from .seats import Seat
from .store import Store
from .timekeeper import Timekeeper
from .tournament import Tournament

TEAMS_PAIRED_AT_ONCE = 16
"""Pairings of more teams are a thread's work: a round robin of 64 takes 27 ms, longer than clocks may wait."""


class ContestStopped(Exception):  # noqa: N818 - an end with a reason
    """The contest cannot go on; nothing stored is lost."""


class Director:
    """Plays a tournament to its end.

    Args:
        contest: its events, lag and patience.
        tournament: as far as it has come in earlier runs.
        unfinished: the scoresheets of matches that an earlier run left in the middle.
        seats: every team's, at each of which it can play a match.
        sheets: makes scoresheets for those that begin.
        store: where records go.
        disk: says whether there is room for another match.
        timekeeper: wakes the judge, and knows when the server itself stood still.
        publish: called with what happens.
    """

    def __init__(
        self,
        contest: Contest,
        tournament: Tournament,
        unfinished: Sequence[Scoresheet],
        seats: Mapping[int, Sequence[Seat]],
        sheets: Scoresheets,
        store: Store,
        disk: Disk,
        timekeeper: Timekeeper,
        publish: Publish,
    ) -> None:
        self.contest = contest
        self.tournament = tournament
        self._unfinished = {sheet.match.number: sheet for sheet in unfinished}
        self._order = Order()
        self._seats = seats
        self._sheets = sheets
        self._store = store
        self._disk = disk
        self._timekeeper = timekeeper
        self._publish = publish
        self._playing: set[int] = set()
        """The numbers of the matches that were started and are not over."""
        self._apart: Counter[int] = Counter()
        """By team, its matches that an earlier run left unfinished until they are over: `order` has the others."""
        self._open: dict[int, Scoresheet] = {}
        """The scoresheet of each match that is being played."""
        self._saving: Counter[int] = Counter()
        """By event, the results that are on their way to the disk."""
        self._failures: Counter[int] = Counter()
        self._missing_since: dict[int, float] = {}
        self._waiting_said: tuple[int, ...] = ()
        self._changed = trio.Event()
        self._tables = LiveTables(tournament)

    def changed(self) -> None:
        """Look again: a team has come or gone, a match is over, or there is room on the disk."""
        self._changed.set()

    def note(self, event: Event) -> None:
        """Have hostile or refused traffic of a team that is playing stand in its game's record."""
        if isinstance(event, Incident) and event.team is not None:
            for sheet in self._concerned(event):
                sheet.incident(event)

    def _concerned(self, incident: Incident) -> list[Scoresheet]:
        """The match that it happened in, or if it is not known in which, all that the team is playing."""
        if incident.match in self._open:
            return [self._open[incident.match]]
        return [sheet for sheet in self._open.values() if incident.team in sheet.match.teams]

    async def run(self) -> None:
        """Play what is left, and all that comes of it.

        Raises:
            ContestStopped: a match could not be played or stored.
        """
        await self._give_out()
        await self._take_up()
        self._publish(ContestStarted(self.tournament.done, self.tournament.total))
        async with trio.open_nursery() as nursery:
            while True:
                self._changed = trio.Event()
                await self._give_out()
                now = trio.current_time()
                self._start_matches(nursery, now)
                if not (self._order or self._unfinished or self._playing):
                    return
                with trio.move_on_at(self._next_forfeit(now)):
                    await self._changed.wait()

    async def _give_out(self) -> None:
        """Put the pairings that come next on record.

        Not while a result of the same event is on its way to the disk: a record says what follows from those
        before it.
        """
        for number in sorted(self.tournament.due):
            if self._saving[number]:
                continue
            self.tournament.due.remove(number)
            fields = await self._next_pairings(self.contest.event(number))
            if fields is not None:
                await self._put_on_record(record_of_pairings(fields))
                self._order.add(self.tournament.take_pairings(fields))

    async def _put_on_record(self, pairings: Record) -> None:
        for attempt in range(1, MATCH_ATTEMPTS + 1):
            try:
                await self._disk.insist(partial(self._store.save, pairings))
            except Exception as error:
                self._publish(ServerFault("the record of pairings", traceback.format_exc()))
                if attempt == MATCH_ATTEMPTS:
                    raise _stopped("the record of pairings", error) from error
            else:
                return

    async def _next_pairings(self, event: ContestEvent) -> dict[str, Any] | None:
        if event.format.slow or len(event.teams) > TEAMS_PAIRED_AT_ONCE:
            return await trio.to_thread.run_sync(self.tournament.next_pairings, event)
        return self.tournament.next_pairings(event)

    async def _take_up(self) -> None:
        """Take up what earlier runs have left open; matches of teams that have withdrawn are not."""
        playable = {match.number: match for match in self.tournament.open()}
        for number in self._unfinished.keys() - playable.keys():
            await trio.to_thread.run_sync(self._unfinished.pop(number).remove)
        self._apart.update(team for sheet in self._unfinished.values() for team in sheet.match.teams)
        self._order = Order(match for number, match in playable.items() if number not in self._unfinished)

    def _start_matches(self, nursery: trio.Nursery, now: float) -> None:
        self._note_missing(now)
        if self._disk.usable:
            for sheet in list(self._unfinished.values()):
                if all(self._has_room(team, now) for team in sheet.match.teams):
                    self._start(nursery, sheet.match)
            for match in self._order.take(self._seats_for_new(now)):
                self._start(nursery, match)
        self._say_waiting()

    def _start(self, nursery: trio.Nursery, match: Match) -> None:
        seats = self._take_seat(match.first), self._take_seat(match.second)
        self._playing.add(match.number)
        sheet = self._unfinished.pop(match.number, None)
        nursery.start_soon(self._conduct, match, sheet, seats, [not seat.connected for seat in seats])

    def _take_seat(self, team: int) -> Seat:
        """A free one, with a bot at it if there is one."""
        free = [seat for seat in self._seats[team] if not seat.taken]
        seat = max(free, key=lambda seat: seat.connected)
        seat.taken = True
        return seat

    def _seats_for_new(self, now: float) -> dict[int, int]:
        """Where `order` can play: a seat is kept for each match that an earlier run left unfinished."""
        seats = {team: self._capacity(team, now) for team in self._seats}
        for team, apart in self._apart.items():
            seats[team] -= apart
        return {team: count for team, count in seats.items() if count > 0}

    def _has_room(self, team: int, now: float) -> bool:
        return self._capacity(team, now) > sum(seat.taken for seat in self._seats[team])

    def _capacity(self, team: int, now: float) -> int:
        """How many matches ``team`` can play at once: it has a bot for each, or had one when the match began.

        A team that has been missing for too long can lose them, one after the other.
        """
        count = len([seat for seat in self._seats[team] if seat.taken or seat.link])
        return count or int(self._ready(team, now))

    def _note_missing(self, now: float) -> None:
        missing = [team for team, seats in self._seats.items() if not [seat for seat in seats if seat.link]]
        self._missing_since = {team: self._missing_since.get(team, now) for team in missing}

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
        missing = {team for team in self._missing_since if self._order.left(team) or self._apart[team]}
        waiting = tuple(sorted(missing)) if not self._playing else ()
        if waiting != self._waiting_said:
            self._waiting_said = waiting
            self._publish(Waiting(waiting))

    async def _conduct(
        self, match: Match, sheet: Scoresheet | None, seats: tuple[Seat, Seat], absent: list[bool]
    ) -> None:
        """Bring one match to an end that is stored, told and published; store first, tell afterwards."""
        ordered = sheet is None
        try:
            if sheet is None and not any(absent):
                sheet = await self._sheets.begin(match, self.tournament.attempts[match.number] + 1)
            result, record = await self._played(match, sheet, seats, absent)
            farewells = [_farewell(result, player) for player in PLAYERS]
            await self._save(result, record, sheet)
        except Exception as error:
            self._publish(ServerFault(f"match {match.number}", traceback.format_exc()))
            await self._void(match, sheet, seats, error)
            self._free(match, seats, ordered=ordered)
            self._order.add([match])
        else:
            self._announce(result, zip(seats, farewells, strict=True))
            self._free(match, seats, ordered=ordered)
        finally:
            for seat in seats:
                seat.leave()
            self._open.pop(match.number, None)
            self.changed()

    def _free(self, match: Match, seats: Iterable[Seat], *, ordered: bool) -> None:
        """Others may be played at its seats."""
        self._playing.remove(match.number)
        for seat in seats:
            seat.taken = False
        if ordered:
            self._order.release(match)
        else:
            self._apart.subtract(match.teams)

    async def _save(self, result: Result, record: Record, sheet: Scoresheet | None) -> None:
        """Have the result on disk; pairings that follow on it come after it."""
        self._saving[result.match.event] += 1
        try:
            await self._disk.insist(partial(self._store.save, record, _put_away(sheet)))
            self.tournament.take_result(result)
        finally:
            self._saving[result.match.event] -= 1

    async def _played(
        self, match: Match, sheet: Scoresheet | None, seats: tuple[Seat, Seat], absent: list[bool]
    ) -> tuple[Result, Record]:
        contest = self.contest
        if sheet is None:
            control = contest.event(match.event).time_control
            sit_down(match, seats, control, contest.lag, self._timekeeper)
            result = self._never_arrived(match, absent)
            return result, record_of_game(head_of_game(contest, match, result.attempt, result.started), result)
        self._open[match.number] = sheet
        self._publish(MatchStarted(match, sheet.course.turns))
        result = await play_match(sheet, seats, self._timekeeper, self._publish)
        return result, sheet.record(result)

    def _never_arrived(self, match: Match, absent: list[bool]) -> Result:
        winner: Player | None = None
        scores = None
        if not all(absent):
            loser: Player = 0 if absent[0] else 1
            winner = PLAYERS[1 - loser]
            scores = forfeit_scores(GAMES[match.game].start(**match.options), loser)
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
            attempt=self.tournament.attempts[match.number] + 1,
        )

    async def _void(self, match: Match, sheet: Scoresheet | None, seats: Sequence[Seat], error: Exception) -> None:
        """The server's fault is never a bot's loss: the match does not count and is played again."""
        detail = "the server failed; it will be played again"
        for seat in seats:
            if seat.in_match:
                seat.end(End(match.number, "void", VOID, detail, None))
        void = self._unplayed(match, None, VOID, detail)
        self._failures[match.number] += 1
        await self._save_void(void, sheet)
        if self._failures[match.number] >= MATCH_ATTEMPTS:
            raise _stopped(f"match {match.number}", error)

    async def _save_void(self, void: Result, sheet: Scoresheet | None) -> None:
        """An attempt that came to nothing is on record as well, unless just that is what fails."""
        head = head_of_game(self.contest, void.match, void.attempt, void.started)
        try:
            record = record_of_game(head, void) if sheet is None else sheet.record(void)
            await self._store.save(record, _put_away(sheet))
            self.tournament.take_result(void)  # the numbers of those on record have no gaps
        except Exception:
            await trio.to_thread.run_sync(_put_away(sheet))  # given up all the same
            self._publish(ServerFault(f"the record of void match {void.match.number}", traceback.format_exc()))

    def _announce(self, result: Result, farewells: Iterable[tuple[Seat, End]]) -> None:
        for seat, end in farewells:
            seat.end(end)
        tournament = self.tournament
        self._publish(MatchEnded(result, tournament.done, tournament.total, self._tables))


def _stopped(what: str, error: Exception) -> ContestStopped:
    return ContestStopped(
        f"{what} failed {MATCH_ATTEMPTS} times, last with {error!r}: contest.log says where."
        " What is finished is kept; go on with the same command when that is mended"
    )


def _put_away(sheet: Scoresheet | None) -> Callable[[], None]:
    """What has the journal forget a match that is on record, or given up."""
    return sheet.remove if sheet is not None else lambda: None


def _farewell(result: Result, player: Player) -> End:
    scores = None if result.scores is None else list(result.scores)
    return End(result.match.number, result.outcome_for(player), result.reason, result.detail, scores)
