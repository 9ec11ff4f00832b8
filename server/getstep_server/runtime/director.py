"""The director: starts the matches of a contest, and ends each of them with a stored result.

Theory of operation. `Director.run` is a loop that wakes up when something has changed (a team, a match, the disk, a
decision), or when the patience with a missing team has ended. It does not track what. In each round it

1. reopens forfeited matches of teams that have arrived since (before a new round makes those forfeits final),
2. publishes the pairings that are due; they are on record before the first of their matches starts,
3. starts the matches that can start now.

Eight objects hold its state:

- `Tournament` says which matches are open. Nothing else decides that.
- `MatchQueue` holds the open matches that are not being played, and says which of them start first. Matches that an
  earlier run left unfinished come before all others; `_unfinished` has their scoresheets.
- `Presence` says how many matches each team can play. A match with a missing team is forfeited when the host's
  patience ends. So no team holds the contest up.
- `Gathering` holds matches that wait until all their teams are present: all of a resumed contest, and those of a
  new round of a ladder.
- `HostedPrograms` runs the programs of teams that play on this machine, around each of their matches.
- `Tournament.pauses` says what the host has paused. A match that would start waits in `_held` then. In one that is
  being played the judge stops the clocks.
- `ArenaDesk` says which teams an arena pairs now. Its matches never wait for a missing team: they are cancelled.
- `FriendlyDesk` plays the friendly matches that the teams of an arena ask for, at seats that are free.

A `Venue` plays the turns of a match. The first venue that takes the match plays it; this process takes all.

Each match has a task, `_conduct`. Its order is strict: the result is stored first, and announced afterwards. The
recorder calls `_ended` in the order of the records. A decision can change which matches are open at any time. Then
`_reconcile` compares each match with the tournament: it cancels a running attempt that is superseded, and corrects
the queue. A failure of the server makes an attempt void. The match is played again, at most MATCH_ATTEMPTS times.
Then the run stops. But if only the processes of the match's hosted programs have failed, it parks the match, goes
on with the others, and stops when they are over.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import TypeVar

import trio

from getstep.referee import FaultCode
from getstep.wire import MAX_TEXT, End
from getstep_server.config.contest import Contest
from getstep_server.errors import BotFailed, ContestStopped, MatchLost
from getstep_server.events import (
    ClusterTrouble,
    ContestStarted,
    Event,
    MatchCalledOff,
    MatchEnded,
    MatchNotResumed,
    MatchParked,
    MatchStarted,
    PauseComesLater,
    Publish,
    ServerFault,
    Waiting,
)
from getstep_server.incident import Incident
from getstep_server.limits import LOST_ATTEMPTS, MATCH_ATTEMPTS
from getstep_server.net.seat import Seat
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.judge import end_message, seat_players
from getstep_server.play.scoresheet import Scoresheet, ScoresheetStore
from getstep_server.records.game import Programs
from getstep_server.records.match import Match
from getstep_server.records.reasons import VoidReason
from getstep_server.records.result import PLAYERS, Result
from getstep_server.storage.disk import Disk
from getstep_server.storage.store import Store
from getstep_server.tournament.match_queue import MatchQueue
from getstep_server.tournament.tournament import Tournament

from .arena import ArenaDesk
from .attempt import Attempt
from .friendlies import FriendlyDesk
from .hosted import HostedPrograms
from .live_tables import LiveTables
from .notices import NoticeDesk
from .presence import PATIENCES, Gathering, Presence, resume_patience
from .recorder import Recorder, stopped
from .venue import ClusterProtocol, LocalVenue, Venue

T = TypeVar("T")

MATCHES_AT_ONCE = 1000
"""Larger tournaments are queued in a thread, when a run starts: 523,776 matches of 1,024 teams take 3 s."""


class Director:
    """The tournament director, who plays a tournament to its end.

    Args:
        contest: its events, lag and patience.
        tournament: the state after earlier runs.
        unfinished: the scoresheets of matches that an earlier run left unfinished.
        seats: the seats of each team; it can play one match at each.
        sheets: makes scoresheets for matches that begin.
        store: stores the records.
        disk: says whether there is room for another match.
        scheduler: wakes the judge at deadlines, and knows when the server itself stalled.
        publish: called with each event.
        gather: let each new round of a ladder wait until all its teams are present.
        hosted: the programs that this machine runs; None if there are none.
        elsewhere: further venues, which are asked before this process.
        cluster: other machines, which play the matches between hosted programs; None if there are none.
    """

    def __init__(
        self,
        contest: Contest,
        tournament: Tournament,
        unfinished: Sequence[Scoresheet],
        seats: Mapping[int, Sequence[Seat]],
        sheets: ScoresheetStore,
        store: Store,
        disk: Disk,
        scheduler: DeadlineScheduler,
        publish: Publish,
        *,
        gather: bool = True,
        hosted: HostedPrograms | None = None,
        elsewhere: Sequence[Venue] = (),
        cluster: ClusterProtocol | None = None,
    ) -> None:
        self.contest = contest
        self.tournament = tournament
        self._unfinished = {sheet.match.number: sheet for sheet in unfinished}
        """The scoresheets of those matches in the queue that are to be resumed, by number."""
        self._queue = MatchQueue()
        self._arena = ArenaDesk(contest, tournament)
        self._hosted = hosted or HostedPrograms(contest, tournament, publish)
        self._cluster = cluster
        self._venues = (*([cluster] if cluster else []), *elsewhere, LocalVenue(self._hosted, scheduler, publish))
        patience = inf if self._arena else contest.file.start.absent_seconds
        self._presence = Presence(seats, patience, self._hosted)
        self._gathering = Gathering()
        self._gather_rounds = gather
        self._seats = seats
        self._sheets = sheets
        self._disk = disk
        self._scheduler = scheduler
        self._publish = publish
        self._playing: dict[int, Attempt] = {}
        """The matches that were started and are not over, by number."""
        self._open: dict[int, Scoresheet] = {}
        """The scoresheet of each match that is being played."""
        self._held: dict[int, Match] = {}
        """The open matches that do not start because the host has paused them, by number."""
        self._failures, self._losses = Counter[int](), Counter[int]()
        self._parked: dict[int, int] = {}
        """The matches that this run plays no more, by number, with how often the host had reopened each by then."""
        self._waiting_published: tuple[int, ...] = ()
        self._changed = trio.Event()
        self._tables = LiveTables(tournament)
        self._notices = NoticeDesk(tournament.messages, seats)
        self._resumed = False
        self.recorder = Recorder(
            contest,
            tournament,
            store,
            disk,
            publish,
            tables=self._tables,
            issued=self._queue_matches,
            decided=self._reconcile,
            changed=self.changed,
            programs=self._hosted.for_round,
        )
        self._friendlies = FriendlyDesk(
            contest, tournament, seats, self.recorder, disk, scheduler, publish, self.changed
        )

    def changed(self) -> None:
        """Wake the director: a team has come or gone, a match is over, or the disk is writable again."""
        self._changed.set()

    def enter(self) -> None:
        """Start the matches that wait for their teams, even if some are missing: the host has pressed Enter."""
        self._gathering.enter()
        self.changed()

    def note(self, event: Event) -> None:
        """Record hostile or refused traffic of a team that is playing in its game's record."""
        if isinstance(event, Incident) and event.team is not None:
            sheet = self._open.get(event.match or 0)
            # A connection without a seat is in no match: its team may play several, and any of them may be meant.
            sheets = [sheet] if sheet else [s for s in self._open.values() if event.team in s.match.teams]
            for sheet in sheets:
                sheet.incident(event)

    async def run(self, *, gather: bool = False) -> None:
        """Play all open matches, and those that follow from them.

        Args:
            gather: wait first until all teams with open matches are present; `enter` ends that.

        Raises:
            ContestStopped: a match could not be played or stored; a parked one, when all others are over.
        """
        await self.recorder.refresh()  # the host may have decided something since the contest was opened
        await self.recorder.confirm()
        await self.recorder.put_settings()  # before the pairings that are made under them
        await self._admit_late()
        await self.recorder.publish_pairings()
        await self._resume()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.recorder.watch)
            nursery.start_soon(self.recorder.gate.run)
            if gather:
                await self._gather()
            self._gathering.give_up(self._presence.absent)  # no later round waits for them
            remaining = await self._compute(
                lambda: sum(map(self.tournament.remaining_estimate, self.contest.events))
            )
            pause = self.tournament.pauses.contest
            paused = None if pause is None else pause.why
            self._publish(ContestStarted(self.tournament.done, self.tournament.total, remaining, paused))
            while True:
                self._changed = trio.Event()
                await self._admit_late()  # before a new round makes a forfeit final
                resumed = [sheet.match for sheet in self._unfinished.values()]
                if self._arena.goes_on():
                    # before the pairings: in an arena without a pause, no two teams would ever be free after them
                    self._friendlies.begin(nursery, self._running_by_team())
                taking_part = self._presence.taking_part | self._presence.present.intersection(
                    self.tournament.open_by_team() if self._friendlies else ()
                )
                teams = self._arena.taking_part(taking_part, resumed)
                await self.recorder.publish_pairings(teams)
                now = trio.current_time()
                self._notices.deliver()
                self._begin_rounds(now)
                self._start_matches(nursery, now)
                left = self._queue or self._playing or self._gathering or self._held or self._friendlies
                if not left and not self._arena.goes_on() and await self._is_over():
                    break
                recovery = self._presence.next_recovery(now)
                # these four come by the clock; everything else sets `_changed`
                with trio.move_on_at(
                    min(self._presence.next_forfeit(now), recovery, self._gathering.ends, self._arena.wakes)
                ):
                    await self._changed.wait()
            nursery.cancel_scope.cancel()
        if parked := [match.number for match in self.tournament.open() if self._is_parked(match)]:
            raise _parked(parked)

    def _running_by_team(self) -> Counter[int]:
        """Return how many matches of the tournament each team plays now."""
        return Counter(team for attempt in self._playing.values() for team in attempt.match.teams)

    def _is_parked(self, match: Match) -> bool:
        return self._parked.get(match.number) == self.tournament.replays[match.number]

    async def _compute(self, function: Callable[[], T]) -> T:
        """Call a function that takes some µs for each match; in a thread if there are many."""
        many = len(self.tournament.matches) > MATCHES_AT_ONCE
        return await trio.to_thread.run_sync(function) if many else function()

    async def _gather(self) -> None:
        """Wait for the teams of all open matches, or for the Enter key, or until the patience ends."""
        patience = resume_patience(self.contest.file.start.absent_seconds)
        self._gathering.add(self.tournament.open(), trio.current_time() + patience)
        while True:
            self._changed = trio.Event()
            now = trio.current_time()
            self._presence.update(now)
            self._gathering.release(self._presence.present, now)
            self._publish_waiting()
            self._notices.deliver()
            if not self._gathering:
                break
            with trio.move_on_at(self._gathering.ends):  # a team that comes or goes wakes the director before
                await self._changed.wait()
        self._presence.restart(self._seats)  # from now on each match waits for its own missing team

    def _queue_matches(self, matches: list[Match]) -> None:
        """Queue matches that were just issued. Those of a new round of a ladder wait for all its teams."""
        if not self._resumed:  # `_resume` queues all open matches
            return
        if self._gather_rounds and self.contest.event(matches[0].event).format.gathers:
            patience = PATIENCES * self.contest.file.start.absent_seconds
            self._gathering.add(matches, trio.current_time() + patience)
        else:
            self._wait_for_seats(matches)

    def _wait_for_seats(self, matches: Iterable[Match]) -> None:
        """Queue matches, but keep those that the host has paused apart."""
        for match in matches:
            if self._is_paused(match):
                self._held[match.number] = match
            else:
                self._queue.add([match])

    def _is_paused(self, match: Match) -> bool:
        """Return True if the match must not start; one that is resumed can, and its judge waits.

        But a worker of a cluster would play it.
        """
        paused = self.tournament.pauses.of(match) is not None
        return paused and (match.number not in self._unfinished or self._cluster is not None)

    def _begin_rounds(self, now: float) -> None:
        for match in self._gathering.release(self._presence.present, now):
            self._wait_for_seats([match])
            self._presence.restart(match.teams)  # a team that is missing still has the time of a no-show

    async def _admit_late(self) -> None:
        """Reopen the matches that present teams have forfeited while they were absent."""
        for team in sorted(self.tournament.missing_teams() & self._presence.present):
            await self.recorder.admit_late(team)

    async def _is_over(self) -> bool:
        """Return True if nothing is left to play, and no decision at the last moment has changed that."""
        await self.recorder.refresh()
        return not self._changed.is_set()

    async def _resume(self) -> None:
        """Queue the open matches; those that an earlier run left unfinished come first."""
        for sheet in [sheet for sheet in self._unfinished.values() if self._is_stale(sheet)]:
            del self._unfinished[sheet.match.number]
            sheet.abandon()
            await trio.to_thread.run_sync(sheet.release)
        self._queue = await self._compute(self._queue_of_open_matches)  # no other task changes the tournament yet
        self._resumed = True
        self._arena.begin()

    def _queue_of_open_matches(self) -> MatchQueue:
        resumed = [sheet.match for sheet in self._unfinished.values()]
        new = [match for match in self.tournament.open() if match.number not in self._unfinished]
        self._held = {match.number: match for match in (*resumed, *new) if self._is_paused(match)}
        waiting = (match for match in new if match.number not in self._held)
        return MatchQueue(waiting, (match for match in resumed if match.number not in self._held))

    def _is_stale(self, sheet: Scoresheet) -> bool:
        """Return True if an unfinished attempt is not resumed: its match is cancelled, or begins anew."""
        match = sheet.match
        return not self.tournament.is_open(match) or self.tournament.replayed_since(match, sheet.head["started"])

    def _reconcile(self) -> None:
        """Bring the queue and the running matches in line with the open matches of the tournament."""
        open_ = {match.number for match in self.tournament.open()} if self._resumed else set[int]()
        known = open_.union(self._playing, self._queue.numbers, self._gathering.numbers, self._held)
        for number in sorted(known):
            match, is_open, attempt = self.tournament.matches[number], number in open_, self._playing.get(number)
            if not is_open:
                self._gathering.discard(match)
            if attempt is not None:
                if not attempt.is_accepted(self.tournament):
                    attempt.scope.cancel()
                else:
                    self._pause(attempt)
                continue
            if match.number in self._unfinished and self._is_stale(self._unfinished[match.number]):
                sheet = self._unfinished.pop(match.number)
                if match in self._queue:
                    self._queue.remove(match)
                sheet.abandon()
                with suppress(OSError):  # a segment of the journal stays behind
                    sheet.release()  # not in a thread: the match may begin anew at once
            held = self._held.pop(number, None)
            if match in self._queue:
                if not is_open or self._is_paused(match):
                    self._queue.remove(match)
                if is_open and self._is_paused(match):
                    self._held[number] = match
            elif is_open and not (match in self._gathering or self._is_parked(match)):
                self._wait_for_seats([match])
                if held is not None and match in self._queue:
                    self._presence.restart(match.teams)  # nobody is missed in a pause
        self.changed()

    def _pause(self, attempt: Attempt) -> None:
        """Pause a match that is being played, or let it go on, as the records say."""
        pause = self.tournament.pauses.of(attempt.match)
        if pause is not None and attempt.pause.order is None and "worker" in attempt.location:
            self._publish(PauseComesLater(attempt.match))
        attempt.pause.set(pause)

    def _start_matches(self, nursery: trio.Nursery, now: float) -> None:
        self._presence.update(now)
        if self._disk.writable and not self.recorder.gate.closed:
            for match in self._take_matches(self._presence.capacity(now)):
                self._start(nursery, match)
        self._publish_waiting()

    def _take_matches(self, capacity: Mapping[int, int]) -> list[Match]:
        """Take the matches that start now. On a cluster a program plays any number of them at once.

        If there are bots on the network, each program plays one match at a time: it may be one on this machine.
        """
        if self._cluster is None or not self._seats.keys() <= set(self._hosted.teams):
            return self._queue.take(capacity)
        most = self._cluster.most
        free = max(0, most - len(self._playing))
        return self._queue.take(dict.fromkeys(self._hosted.teams, most), free, whole_pairings=True)

    def _start(self, nursery: trio.Nursery, match: Match) -> None:
        sheet, take = self._unfinished.pop(match.number, None), self._presence.take_seat
        if sheet is None and self._cluster is not None and self._cluster.is_for(match):
            take = self._cluster.seat
        seats = take(match.first), take(match.second)
        absent, replays = self._presence.are_absent(seats), self.tournament.replays[match.number]
        attempt = self._playing[match.number] = Attempt(match, seats, sheet, absent, replays)
        attempt.pause.set(self.tournament.pauses.of(match))
        venue = next(venue for venue in self._venues if venue.takes(attempt))
        nursery.start_soon(self._conduct, attempt, venue)

    def _publish_waiting(self) -> None:
        gathering = self._gathering.teams
        missing = [team for team in self._presence.missing if self._queue.waiting(team) or team in gathering]
        waiting = tuple(sorted(missing)) if not self._playing else ()
        if waiting != self._waiting_published:
            self._waiting_published = waiting
            gathers = not gathering.isdisjoint(waiting)
            seconds = round(self._gathering.ends - trio.current_time()) if gathers else None
            self._publish(Waiting(waiting, gathers, seconds))

    async def _conduct(self, attempt: Attempt, venue: Venue) -> None:
        """Play one match and store its end; `_ended` announces it then."""
        match = attempt.match
        try:
            if attempt.sheet is not None and (why := await self._hosted.why_not_resumed(attempt.sheet)):
                self._publish(MatchNotResumed(match, why))
                await self._void(attempt, f"the server was stopped during the match, and {why}")
                self._free(attempt)
                return
            async with venue.prepare(attempt, lambda: self._is_due(attempt)) as programs:
                result = None if programs is None else await self._play(attempt, programs, venue)
            if programs is None:
                self._free(attempt)
                return
            end_messages = [] if result is None else [end_message(result, player) for player in PLAYERS]
            await self.recorder.save(attempt, result, partial(self._ended, attempt, result, end_messages))
        except ContestStopped:  # another host plays the contest: it tells the bots how the match goes on
            raise
        except Exception as error:  # a failure of one match must not end the others
            if attempt.stored:
                raise  # announcing it has failed: the attempt itself is neither void nor played again
            await self._void(attempt, self._why_void(match, error))
            if self._failures[match.number] >= MATCH_ATTEMPTS and (failed := _failed_bot(error)):
                # It is not played again in this run, unless the host reopens it.
                self._parked[match.number] = self.tournament.replays[match.number]
                self._publish(MatchParked(match, self._failures.pop(match.number), str(failed)))
            elif self._failures[match.number] >= MATCH_ATTEMPTS or self._losses[match.number] >= LOST_ATTEMPTS:
                times = max(self._failures[match.number], self._losses[match.number])
                raise stopped(f"match {match.number}", error, times) from error
            self._free(attempt)
        finally:
            if not attempt.stored:  # otherwise `_free` has done it, and the seats may be in their next match
                self._leave(attempt)

    def _why_void(self, match: Match, error: Exception) -> str:
        """Publish and count what has ended an attempt, and return it for the record."""
        if isinstance(error, MatchLost):
            self._losses[match.number] += 1
            self._publish(ClusterTrouble(f"match {match.number} is lost, and played again: {error}"))
            return f"the match was lost with {error}"[:MAX_TEXT]
        self._failures[match.number] += 1
        self._publish(ServerFault(f"match {match.number}", traceback.format_exc()))
        return "the server failed"

    def _is_due(self, attempt: Attempt) -> bool:
        """Return True if a match still begins that has waited for its venue."""
        return attempt.is_accepted(self.tournament) and (
            attempt.sheet is not None or not any(self._presence.are_absent(attempt.seats))
        )

    async def _play(self, attempt: Attempt, programs: Programs, venue: Venue) -> Result | None:
        """Play a match, or the rest of it; return None if a decision supersedes that."""
        match = attempt.match
        if attempt.sheet is None and not any(attempt.absent):
            number = self.tournament.attempts[match.number] + 1
            # Not in the scope: cancelled in mid-write, the attempt would not know the lines that it has to release.
            attempt.sheet = await self._sheets.begin(match, number, programs, attempt.location)
        with attempt.scope:
            sheet = attempt.sheet
            if sheet is None:  # a forfeit: the player that is here gets a start and an end
                control = self.contest.event(match.event).time_control
                seat_players(match, attempt.seats, control, self.contest.lag, self._scheduler)
                return attempt.no_show_result(self.contest, self.tournament)
            self._open[match.number] = sheet
            self._publish(MatchStarted(match, sheet.turns, lambda: sheet.turns, sheet.head, sheet.turns_from))
            return await venue.play(attempt, sheet)
        return None

    def _ended(self, attempt: Attempt, result: Result | None, end_messages: Sequence[End], stored: Result) -> None:
        """Announce the end of an attempt, as it was ``stored``: as its ``result``, unless that is superseded."""
        attempt.stored = True
        if result is not None and stored is result:
            self._announce(result, zip(attempt.seats, end_messages, strict=True))
        else:
            self._call_off(attempt, stored)
        self._free(attempt)

    def _free(self, attempt: Attempt) -> None:
        """Free the seats of a match that is over. Queue it again if it is still open."""
        match = attempt.match
        del self._playing[match.number]
        for seat in attempt.seats:
            seat.taken = False
        self._queue.release(match)
        if self.tournament.is_open(match) and not self._is_parked(match):
            self._wait_for_seats([match])
        self._leave(attempt)

    def _leave(self, attempt: Attempt) -> None:
        for seat in attempt.seats:
            seat.release()
        self._open.pop(attempt.match.number, None)
        self.changed()

    def _call_off(self, attempt: Attempt, stored: Result) -> None:
        """Tell the players of a superseded attempt the host's result, or that the attempt is void."""
        match = attempt.match
        decided = self.tournament.played_result(match)
        for player, seat in zip(PLAYERS, attempt.seats, strict=True):
            if decided is not None and decided.decided_by_host:
                seat.end(end_message(decided, player))
            else:
                seat.end(End(match.number, "void", str(stored.reason), stored.detail, None))
        self._publish(MatchCalledOff(match, stored.detail))

    async def _void(self, attempt: Attempt, why: str) -> None:
        """Make an attempt void that the server could not finish: that is never a bot's loss. It is played again."""
        match, detail = attempt.match, f"{why}; it will be played again"
        for seat in attempt.seats:
            if seat.in_match:
                seat.end(End(match.number, "void", str(VoidReason.SERVER_FAULT), detail, None))
        void = attempt.void_result(self.tournament, VoidReason.SERVER_FAULT, detail)
        try:
            # Not patient: the match is played again at once, and the attempts on record have no gaps.
            await self.recorder.save(attempt, void, lambda _: None, patient=False)
        except Exception:  # recording may be what fails: then the journal must not resume this attempt
            if attempt.sheet is not None:
                attempt.sheet.abandon()
            await trio.to_thread.run_sync(attempt.release)
            self._publish(ServerFault(f"the record of void match {match.number}", traceback.format_exc()))

    def _announce(self, result: Result, end_messages: Iterable[tuple[Seat, End]]) -> None:
        for seat, end in end_messages:
            seat.end(end)
        tournament = self.tournament
        if result.reason == FaultCode.MISSED_LIMIT:
            self._reconcile()  # the missed-limit rule may have decided other matches of the round
        self._publish(MatchEnded(result, tournament.done, tournament.total, self._tables))


def _failed_bot(error: BaseException) -> BotFailed | None:
    """Return why the process of a hosted program has failed, if nothing else has. Nurseries put it into groups."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error if isinstance(error, BotFailed) else None


def _parked(numbers: Sequence[int]) -> ContestStopped:
    first = numbers[0]
    which = f"match {first} is" if len(numbers) == 1 else f"matches {', '.join(map(str, numbers))} are"
    return ContestStopped(
        f"{which} parked: a process that plays with a program failed {MATCH_ATTEMPTS} times; contest.log says how;"
        " all other results are kept; fix the cause, then run the same command again, or decide the match with"
        f" getstep-server matches adjudicate CONTEST {first} --winner TEAM --why TEXT"
    )
