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
from contextlib import suppress
from dataclasses import dataclass, field, replace

import trio

from getstep.wire import End
from getstep_engines import GAMES, Player

from .contest import Contest
from .course import MISSED, forfeit_scores
from .disk import Disk
from .events import (
    ContestStarted,
    Event,
    Incident,
    MatchCalledOff,
    MatchEnded,
    MatchStarted,
    Publish,
    ServerFault,
    Waiting,
)
from .game_record import CALLED_OFF, VOID, Record, head_of_game, record_of_game
from .judge import play_match, sit_down
from .limits import MATCH_ATTEMPTS
from .live import LiveTables
from .order import Order
from .registrar import Registrar, stopped
from .results import PLAYERS, Result
from .schedule import Match
from .scoresheet import Scoresheet, Scoresheets
from .seats import Seat
from .store import Store
from .timekeeper import Timekeeper
from .tournament import Tournament


@dataclass(slots=True)
class _Running:
    """A match that was started and is not over.

    ``replays`` is how often the host has had it played again by then: one time more, and this attempt is of no use.
    """

    match: Match
    seats: tuple[Seat, Seat]
    sheet: Scoresheet | None
    absent: list[bool]
    replays: int
    apart: bool
    """An earlier run left it unfinished: `order` does not know it."""
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    began: float = field(default_factory=trio.current_time)


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
        self._disk = disk
        self._timekeeper = timekeeper
        self._publish = publish
        self._playing: dict[int, _Running] = {}
        """By number, the matches that were started and are not over."""
        self._apart: Counter[int] = Counter()
        """By team, its matches that an earlier run left unfinished until they are over: `order` has the others."""
        self._open: dict[int, Scoresheet] = {}
        """The scoresheet of each match that is being played."""
        self._failures: Counter[int] = Counter()
        self._missing_since: dict[int, float] = {}
        self._waiting_said: tuple[int, ...] = ()
        self._changed = trio.Event()
        self._tables = LiveTables(tournament)
        self._taken_up = False
        self._registrar = Registrar(
            contest,
            tournament,
            store,
            disk,
            publish,
            tables=self._tables,
            given=lambda matches: self._order.add(matches),
            decided=self._settle,
        )

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
        await self._registrar.look()
        await self._registrar.give_out()
        await self._take_up()
        to_come = sum(map(self.tournament.to_come, self.contest.events))
        self._publish(ContestStarted(self.tournament.done, self.tournament.total, to_come))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._registrar.watch)
            while True:
                self._changed = trio.Event()
                await self._registrar.give_out()
                now = trio.current_time()
                self._start_matches(nursery, now)
                if not (self._order or self._unfinished or self._playing) and await self._over():
                    break
                with trio.move_on_at(self._next_forfeit(now)):
                    await self._changed.wait()
            nursery.cancel_scope.cancel()

    async def _over(self) -> bool:
        """Whether there is nothing left to play, and the host has not decided otherwise at the last moment."""
        await self._registrar.look()
        return not self._changed.is_set()

    async def _take_up(self) -> None:
        """Take up what earlier runs have left open; matches that are cancelled or played again are not."""
        for number, sheet in list(self._unfinished.items()):
            match = sheet.match
            if not self.tournament.is_open(match) or self.tournament.replayed_since(match, sheet.head["started"]):
                self._unfinished.pop(number).drop()
                await trio.to_thread.run_sync(sheet.remove)
        self._apart.update(team for sheet in self._unfinished.values() for team in sheet.match.teams)
        self._order = Order(match for match in self.tournament.open() if match.number not in self._unfinished)
        self._taken_up = True

    def _settle(self) -> None:
        """Others are open than before, by the host or by a rule: have those matches played, and no others."""
        for match in self.tournament.matches.values() if self._taken_up else ():
            open_, number = self.tournament.is_open(match), match.number
            if number in self._playing:
                if not self._counts(self._playing[number]):
                    self._playing[number].scope.cancel()
            elif number in self._unfinished:
                self._settle_unfinished(match)
            elif match in self._order and not open_:
                self._order.remove(match)
            elif open_ and match not in self._order:
                self._order.add([match])
        self.changed()

    def _settle_unfinished(self, match: Match) -> None:
        """What an earlier run has left, and nobody has taken up yet."""
        sheet = self._unfinished[match.number]
        again = self.tournament.replayed_since(match, sheet.head["started"])
        if self.tournament.is_open(match) and not again:
            return
        del self._unfinished[match.number]
        self._apart.subtract(match.teams)
        sheet.drop()
        with suppress(OSError):  # a segment of the journal stays behind
            sheet.remove()  # not in a thread: the match may begin anew at once
        if self.tournament.is_open(match):
            self._order.add([match])

    def _counts(self, running: _Running) -> bool:
        """Whether the host has left it to the teams what comes of it."""
        match = running.match
        return self.tournament.awaits(match) and self.tournament.replays[match.number] == running.replays

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
        sheet, absent = self._unfinished.pop(match.number, None), [not seat.connected for seat in seats]
        replays = self.tournament.replays[match.number]
        running = _Running(match, seats, sheet, absent, replays, apart=sheet is not None)
        self._playing[match.number] = running
        nursery.start_soon(self._conduct, running)

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

    async def _conduct(self, running: _Running) -> None:
        """Bring one match to an end that is stored, told and published; store first, tell afterwards."""
        match = running.match
        try:
            if running.sheet is None and not any(running.absent):
                attempt = self.tournament.attempts[match.number] + 1
                running.sheet = await self._sheets.begin(match, attempt)
            result = None
            with running.scope:
                result = await self._played(running)
            farewells = [] if result is None else [_farewell(result, player) for player in PLAYERS]
            stored = await self._save(running, result)
        except Exception as error:
            self._publish(ServerFault(f"match {match.number}", traceback.format_exc()))
            await self._void(running, error)
            self._free(running)
        else:
            if stored is result:
                self._announce(result, zip(running.seats, farewells, strict=True))
            else:
                self._call_off(running, stored)
            self._free(running)
        finally:
            for seat in running.seats:
                seat.leave()
            self._open.pop(match.number, None)
            self.changed()

    def _free(self, running: _Running) -> None:
        """Others may be played at its seats; and it may be played again, if that is open."""
        match = running.match
        del self._playing[match.number]
        for seat in running.seats:
            seat.taken = False
        if running.apart:
            self._apart.subtract(match.teams)
        else:
            self._order.release(match)
        if self.tournament.is_open(match):
            self._order.add([match])

    async def _save(self, running: _Running, result: Result | None, *, patient: bool = True) -> Result:
        """Have the attempt on disk; without a ``result``, or if the host has decided meanwhile, as called off."""

        def outcome() -> tuple[Result, Record]:
            final = result if result is not None and self._counts(running) else self._called_off(running)
            return final, self._record(final, running.sheet)

        return await self._registrar.save(running.match, outcome, _put_away(running.sheet), patient=patient)

    def _record(self, result: Result, sheet: Scoresheet | None) -> Record:
        if sheet is not None:
            return sheet.record(result)
        return record_of_game(head_of_game(self.contest, result.match, result.attempt, result.started), result)

    async def _played(self, running: _Running) -> Result:
        match, sheet = running.match, running.sheet
        if sheet is None:
            control = self.contest.event(match.event).time_control
            sit_down(match, running.seats, control, self.contest.lag, self._timekeeper)
            return self._never_arrived(match, running.absent)
        self._open[match.number] = sheet
        self._publish(MatchStarted(match, sheet.course.turns))
        return await play_match(sheet, running.seats, self._timekeeper, self._publish)

    def _called_off(self, running: _Running) -> Result:
        why = [decision.why for decision in self.tournament.decisions if decision.is_about(running.match)]
        return self._broken_off(running, CALLED_OFF, why[-1])

    def _broken_off(self, running: _Running, reason: str, detail: str) -> Result:
        """An attempt that does not count, with what was played in it."""
        result = self._unplayed(running.match, None, reason, detail)
        if running.sheet is None:
            return result
        return replace(running.sheet.so_far(result), seconds=round(trio.current_time() - running.began, 3))

    def _call_off(self, running: _Running, stored: Result) -> None:
        """Tell who was playing what the host has made of it."""
        match = running.match
        decided = self.tournament.result(match)
        for player, seat in zip(PLAYERS, running.seats, strict=True):
            if decided is not None and decided.decided_by_host:
                seat.end(_farewell(decided, player))
            else:
                seat.end(End(match.number, "void", stored.reason, stored.detail, None))
        self._publish(MatchCalledOff(match, stored.detail))

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

    async def _void(self, running: _Running, error: Exception) -> None:
        """The server's fault is never a bot's loss: the match does not count and is played again."""
        match, detail = running.match, "the server failed; it will be played again"
        for seat in running.seats:
            if seat.in_match:
                seat.end(End(match.number, "void", VOID, detail, None))
        self._failures[match.number] += 1
        await self._save_void(running, self._broken_off(running, VOID, detail))
        if self._failures[match.number] >= MATCH_ATTEMPTS:
            raise stopped(f"match {match.number}", error)

    async def _save_void(self, running: _Running, void: Result) -> None:
        """An attempt that came to nothing is on record as well, unless just that is what fails."""
        try:
            await self._save(running, void, patient=False)  # the numbers of those on record have no gaps
        except Exception:
            if running.sheet is not None:  # given up all the same
                running.sheet.drop()
            await trio.to_thread.run_sync(_put_away(running.sheet))
            self._publish(ServerFault(f"the record of void match {void.match.number}", traceback.format_exc()))

    def _announce(self, result: Result, farewells: Iterable[tuple[Seat, End]]) -> None:
        for seat, end in farewells:
            seat.end(end)
        tournament = self.tournament
        if result.reason == MISSED:
            self._settle()  # it may have been lost with all others of the round
        self._publish(MatchEnded(result, tournament.done, tournament.total, self._tables))


def _put_away(sheet: Scoresheet | None) -> Callable[[], None]:
    """What has the journal forget a match that is on record, or given up."""
    return sheet.remove if sheet is not None else lambda: None


def _farewell(result: Result, player: Player) -> End:
    scores = None if result.scores is None else list(result.scores)
    return End(result.match.number, result.outcome_for(player), result.reason, result.detail, scores)
