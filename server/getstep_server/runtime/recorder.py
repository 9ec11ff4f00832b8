"""The recorder: appends the records of a run to the chain, and applies every record of the chain to the tournament.

Theory of operation
-------------------

*One tail.* All records reach the tournament in the order of the chain, also those of other processes.
`Tournament.place` is the place of the last one applied. Own records are applied as soon as they are stored. Those
of another process (``getstep-server matches ...``, at any time) are read with `Store.tail` and applied: about once
a second, and before an own record is stored behind them.

*Optimistic concurrency.* A record depends on all records before it. So it is built from the tournament at the tip
of the chain, and `Store.save` gets that place as ``based_on``. If the chain is longer, `save` raises `Conflict`.
Then the recorder applies the tail, builds the record again, and saves that. A rebuilt result may be called off by
the host's decision; pairings may turn out stale, and are computed again. No lock on the database is held while a
record is built. A conflict is rare: the host decides something a few times a day.

*One writer.* Inside the server, one task writes at a time, in the order of arrival (`_turn`). The tournament is at
the tip whenever a task gets its turn, as far as this process knows.

*Group commit.* Results of different matches do not depend on each other, and those of a round often come at once.
So results that arrive while another task writes form a group, which is built, stored in one transaction and
applied together. 64 results need one commit instead of 64 (300 µs each), and do not wait for 64 passes of the
event loop. If the records of a group cannot be stored together, each is stored on its own, so that one failure
stays one.

*Announcements.* A result is announced right after it is applied, before the next record is. So events are
published in the order of the chain, and never before COMMIT.

*Another server.* With PostgreSQL, another host can take over while this one hangs. Then the tail has its take-over,
or pairings and results that this run has not stored. Nothing of such a tail is applied, and the run ends. Every
record is saved with ``based_on``, so this run stores nothing behind those of the other server.

*Strict mode.* After COMMIT, and before a record is applied, the recorder waits until a standby host has it
(`standby_gate`). If the run ends in that time, the record is stored and not applied: the next run reads it. If only
the task is cancelled, the next task applies it as a foreign one.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import trio

from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent
from getstep_server.errors import ContestStopped
from getstep_server.events import DecisionTaken, Publish, QuestionAsked, ServerFault
from getstep_server.limits import MATCH_ATTEMPTS
from getstep_server.records.decision import Decision, freeze_by_rule, late_arrival, record_of_decision, was_frozen
from getstep_server.records.match import Match
from getstep_server.records.pairings import TeamProgram, record_of_pairings, with_programs
from getstep_server.records.reasons import DecisionKind
from getstep_server.records.record import Record, RecordError, parse
from getstep_server.records.result import Result
from getstep_server.standby.marks import Mark, lost_text
from getstep_server.storage.database import DatabaseError
from getstep_server.storage.disk import Disk, more_room_helps
from getstep_server.storage.store import Conflict, Store
from getstep_server.text import utc_time
from getstep_server.tournament.combined import Tables
from getstep_server.tournament.settings_record import record_of_settings
from getstep_server.tournament.tournament import Tournament

from .attempt import Attempt
from .standby_gate import StandbyGate

REFRESH_SECONDS = 1.0
"""The interval at which records of other processes are read. The query takes 20 µs if there are none."""

TEAMS_PAIRED_AT_ONCE = 16
"""Pairings of more teams are made in a thread: those of a round robin of 64 take 27 ms, too long for the loop."""

MATCHES_PAIRED_AT_ONCE = 1000
"""Pairings after more matches are, too: the next pair of a duel with a test takes 2 ms for each thousand."""


_OF_A_SERVER = ("pairings", "game")
"""The types of records that only the server which plays a contest stores."""

PutWorker = Callable[[Callable[[int], Record]], Awaitable[int]]
"""Puts a worker of a cluster on record; see `Recorder.put_worker`."""


def _nothing() -> None:
    pass


@dataclass(eq=False, slots=True)
class _Entry:
    """A record that is to be stored.

    ``build`` returns it, or None if it is no longer to be stored; it is called with the tournament at the tip of
    the chain. ``after`` is called in the store's thread after COMMIT, and ``applied`` when the record is applied.
    """

    build: Callable[[], Record | None]
    after: Callable[[], None] = _nothing
    applied: Callable[[], None] = _nothing
    written: trio.Event = field(default_factory=trio.Event)
    error: Exception | None = None

    def check(self) -> None:
        """Raise the error with which it failed, if any."""
        if self.error is not None:
            raise self.error


class Recorder:
    """The only writer of a run's records.

    Args:
        contest: the contest as its files state it.
        tournament: the state after the current records.
        store: stores the records.
        disk: waits while the disk is full.
        publish: called with decisions, and with failures.
        tables: makes the tables for those who receive a decision.
        issued: called with the matches of a record of pairings as soon as it is stored.
        decided: called when a decision may have changed which matches are open.
        changed: called when matches may start that could not before.
        programs: returns the versions of programs that a record of pairings of an event names.
    """

    def __init__(
        self,
        contest: Contest,
        tournament: Tournament,
        store: Store,
        disk: Disk,
        publish: Publish,
        *,
        tables: Callable[[], Tables],
        issued: Callable[[list[Match]], None],
        decided: Callable[[], None],
        changed: Callable[[], None] = _nothing,
        programs: Callable[[ContestEvent], Sequence[TeamProgram]] = lambda _: (),
    ) -> None:
        self._contest = contest
        self._tournament = tournament
        self._store = store
        self._disk = disk
        self._publish = publish
        self._tables = tables
        self._issued = issued
        self._decided = decided
        self._programs = programs
        self._stored = tournament.place
        """The place of the last record that this run has stored, or found on record."""
        self.gate = StandbyGate(contest, tournament, store, publish, changed)
        self._writing = trio.Lock()
        """Held by the task that writes; see `_turn`."""
        self._group: list[_Entry] = []
        """The results that wait for their turn. The first one's task is in line for all of them."""
        self._unchanged = trio.Lock()
        """Held while foreign records are applied, and while a thread reads the tournament to make pairings."""

    # --- the tail ---

    async def refresh(self) -> None:
        """Apply the records that other processes have stored; wait for a database that is locked or away.

        Publish any other failure; the next call tries again.

        Raises:
            ContestStopped: another server plays the contest.
        """

        async def attempt() -> None:
            async with self._turn():
                await self._catch_up()

        try:
            await self._disk.retry_until_written(attempt)
        except ContestStopped:
            raise
        except Exception:  # the run goes on with what it knows, and the next refresh tries again
            self._publish(ServerFault("reading the decisions of the host", traceback.format_exc()))

    async def confirm(self) -> None:
        """Wait until all records may be announced: an earlier run may have ended in that wait."""
        async with self._turn():
            if self.gate.holds():
                await self.gate.wait(self._tournament.place)

    async def watch(self) -> None:
        """Call `refresh` about once a second, until cancelled."""
        while True:
            await trio.sleep(REFRESH_SECONDS)  # SQLite tells no process of another one's commit
            await self.refresh()

    async def _catch_up(self) -> bool:
        """Apply the tail of the chain; return False if there is none. Call this in the task's turn only.

        Raises:
            ContestStopped: the tail is another server's.
        """
        tail = await self._store.tail(self._tournament.place)
        if not tail:
            return False
        self._check_tail(tail)
        if self.gate.holds(tail) and not await self.gate.wait(self._tournament.place + len(tail)):
            return False
        async with self._unchanged:
            for place, header in enumerate(tail, self._tournament.place + 1):
                try:
                    self._apply(parse(header))
                except RecordError:
                    self._tournament.place = place  # the records behind it may be valid
                    self._publish(ServerFault("a record of another process", traceback.format_exc()))
            self._decided()
        return True

    def _check_tail(self, tail: Sequence[bytes]) -> None:
        """Check that no other server has stored records: host commands store decisions and messages only."""
        for place, header in enumerate(tail, self._tournament.place + 1):
            with suppress(RecordError):  # a damaged one: it is published when it is applied
                fields = parse(header)
                fence = fields.get("fence") if fields.get("decision") == DecisionKind.TAKE_OVER else None
                if fence is not None or (place > self._stored and fields["type"] in _OF_A_SERVER):
                    lost = Mark(role="lost", host="", port=0, fence=fence or self._tournament.fence)
                    raise ContestStopped(lost_text(self._contest, lost))

    def _apply(self, fields: Mapping[str, Any]) -> None:
        """Apply the next record of the chain, own or foreign."""
        tournament, before = self._tournament, len(self._tournament.decisions)
        asked = len(tournament.messages.questions)
        if matches := tournament.apply(fields):
            self._issued(matches)
        for number in range(asked + 1, len(tournament.messages.questions) + 1):
            question = tournament.messages.questions[number]
            self._publish(QuestionAsked(number, question.team, question.text))
        for decision in tournament.decisions[before:]:
            match = None if decision.match is None else tournament.matches[decision.match]
            self._publish(DecisionTaken(decision, match, tournament.done, tournament.total, self._tables))

    # --- the settings ---

    async def put_settings(self) -> None:
        """Record the settings of the files, unless the latest record of settings is the same.

        Raises:
            ContestStopped: the record could not be stored.
        """

        def build() -> Record | None:
            fields = self._tournament.settings.due()
            return None if fields is None else record_of_settings(fields)

        await self._store_alone(_Entry(build), "the record of settings")

    # --- the no-show rule ---

    async def admit_late(self, team: int) -> None:
        """Record that ``team`` has arrived, which reopens the matches whose forfeits are provisional.

        Raises:
            ContestStopped: the record could not be stored.
        """

        def build() -> Record | None:
            numbers = self._tournament.reopened_by_arrival(team)
            if not numbers:
                return None
            return record_of_decision(
                self._contest, late_arrival(self._contest, team, numbers, utc_time(time.time()))
            )

        if self._tournament.reopened_by_arrival(team):
            await self._store_alone(_Entry(build, applied=self._decided), "the record of a late arrival")

    # --- the freeze ---

    async def freeze(self, minutes: float) -> None:
        """Record that new results are hidden from spectators, unless there was a freeze before.

        Args:
            minutes: the expected rest of the contest, as contest.toml has it.

        Raises:
            ContestStopped: the record could not be stored.
        """

        def build() -> Record | None:
            if was_frozen(self._tournament.decisions):
                return None
            return record_of_decision(self._contest, freeze_by_rule(minutes, utc_time(time.time())))

        await self._store_alone(_Entry(build), "the record of the freeze")

    # --- workers ---

    async def put_worker(self, make: Callable[[int], Record]) -> int:
        """Record a worker of a cluster, before it plays; return its number.

        Args:
            make: makes the record of the worker with this number.

        Raises:
            ContestStopped: the record could not be stored.
        """
        numbers: list[int] = []

        def build() -> Record:
            numbers.append(len(self._tournament.workers) + 1)
            return make(numbers[-1])

        await self._store_alone(_Entry(build), "the record of a worker")
        return numbers[-1]

    # --- friendly matches ---

    async def put_friendly(self, record: Record, number: int) -> None:
        """Record a friendly match that is over, unless its challenge has a result.

        Raises:
            ContestStopped: the record could not be stored.
        """
        results = self._tournament.challenges.results
        await self._store_alone(_Entry(lambda: None if number in results else record), "a friendly match")

    # --- publications ---

    async def publish_program(self, decision: Decision) -> None:
        """Record that the source of a program is published.

        Raises:
            ContestStopped: the record could not be stored.
        """

        def build() -> Record | None:
            known = self._tournament.objection(decision) is not None
            return None if known else record_of_decision(self._contest, decision)

        await self._store_alone(_Entry(build), "the record of a publication")

    # --- pairings ---

    async def publish_pairings(self, present: Collection[int] | None = None) -> None:
        """Record the next pairings of each event in which they are due, and issue their matches.

        Args:
            present: the teams that an arena pairs; None if it is not yet time to pair there.

        Raises:
            ContestStopped: a record could not be stored.
        """
        due = self._tournament.due
        for number in sorted(due, key=self._order):
            event = self._contest.event(number)
            if event.format.pairs_present and self._tournament.pauses.of_event(number) is not None:
                continue  # who waits for a match is paired when the pause is over
            while number in due:
                due.remove(number)
                if event.format.pairs_present and present is None:
                    break
                if not await self._publish_pairings_of(event, present or ()):
                    due.add(number)

    def _order(self, number: int) -> tuple[int, int]:
        """Return a sort key of the events: of several arenas, that with the fewest matches pairs first."""
        arena = self._contest.event(number).format.pairs_present
        return self._tournament.issued(number) if arena else 0, number

    async def _publish_pairings_of(self, event: ContestEvent, present: Collection[int]) -> bool:
        """Return False if the pairings were computed from stale state and must be recomputed."""
        tournament = self._tournament
        async with self._unchanged:
            version = tournament.version(event)
            record = await self._next_pairings(event, present)
        if record is None:
            return True
        # A team that has left an arena: its matches have to leave the queue, too.
        applied = self._decided if event.format.pairs_present and tournament.cancels(record.fields) else _nothing
        # Only records about this event make its pairings stale: those of other events come all the time.
        entry = _Entry(lambda: record if tournament.version(event) == version else None, applied=applied)
        return await self._store_alone(entry, "the record of pairings")

    async def _next_pairings(self, event: ContestEvent, present: Collection[int]) -> Record | None:
        large = (
            len(event.teams) > TEAMS_PAIRED_AT_ONCE
            or self._tournament.issued(event.number) > MATCHES_PAIRED_AT_ONCE
        )
        if event.format.pair_in_thread or large:
            return await trio.to_thread.run_sync(self._make_pairings, event, present)
        return self._make_pairings(event, present)

    def _make_pairings(self, event: ContestEvent, present: Collection[int]) -> Record | None:
        """Return the next record of pairings, and prepare the tournament for it; any thread may call this."""
        fields = self._tournament.next_pairings(event, present)
        if fields is None:
            return None
        if fields["matches"]:
            fields = with_programs(fields, self._programs(event))
        self._tournament.prepare_pairings(fields)
        return record_of_pairings(fields)

    # --- results ---

    async def save(
        self,
        attempt: Attempt,
        result: Result | None,
        announce: Callable[[Result], None],
        *,
        patient: bool = True,
    ) -> None:
        """Store the end of an attempt at a match.

        Args:
            attempt: its record is built again after each `Conflict`, because a foreign decision may have superseded
                it. It is removed from the journal once the record is stored.
            result: of the attempt; None if a decision has superseded it.
            announce: called with the result as it was stored, right after it is applied; maybe in another task.
            patient: wait while the disk is full.
        """

        async def store() -> None:
            results: list[Result] = []

            def build() -> Record:
                stored, record = attempt.end(self._contest, self._tournament, result)
                results.append(stored)
                return record

            await self._store_in_group(_Entry(build, attempt.release, lambda: announce(results[-1])))

        await (self._disk.retry_until_written(store) if patient else store())

    # --- write ---

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait until no other task writes; let no other task write in the block."""
        try:
            self._writing.acquire_nowait()  # `acquire` would let all other tasks run first
        except trio.WouldBlock:
            await self._writing.acquire()
        try:
            yield
        finally:
            self._writing.release()

    async def _store_alone(self, entry: _Entry, what: str) -> bool:
        """Store a record that depends on all others; return False if it was no longer to be stored.

        Raises:
            ContestStopped: it could not be stored. ``what`` is its name for the host.
        """

        async def attempt() -> bool:
            async with self._turn():
                return await self._write([entry])

        failures = 0
        while True:
            try:
                stored = await self._disk.retry_until_written(attempt)
            except ContestStopped:  # another server plays the contest
                raise
            except Exception as error:  # of any kind: each is published, and the last one raised
                failures += 1
                self._publish(ServerFault(what, traceback.format_exc()))
                if failures == MATCH_ATTEMPTS:  # the disk is not full, or it would wait: trying on is of no use
                    raise stopped(what, error) from error
            else:
                entry.check()
                return stored

    async def _store_in_group(self, entry: _Entry) -> None:
        """Store a result, together with all others that wait for their turn."""
        self._group.append(entry)
        with trio.CancelScope(shield=True):  # a cancelled task would not know whether its result is stored
            if len(self._group) > 1:
                await entry.written.wait()
            else:
                async with self._turn():
                    group, self._group = self._group, []
                    await self._write_group(group)
        if self.gate.ended:
            # A result that is stored and was not announced: the task must not go on as if it was.
            await trio.lowlevel.checkpoint_if_cancelled()
        entry.check()

    async def _write_group(self, group: Sequence[_Entry]) -> None:
        """Write results in one transaction; each on its own if that fails. Errors go to the entries."""
        try:
            await self._write(group)
        except Exception as error:  # the group failed as a whole: find out which result was to blame
            full = isinstance(error, (OSError, DatabaseError)) and more_room_helps(error)
            if full or len(group) == 1:  # SQLite waits 5 s for a locked database: do not wait for each
                for entry in group:
                    entry.error = error
            else:
                for entry in group:
                    await self._write_group([entry])
        finally:
            for entry in group:
                entry.written.set()

    async def _write(self, entries: Sequence[_Entry]) -> bool:
        """Append records in one transaction, and apply them; return False if none is stored, or the run ends.

        An error of a record that is stored, but cannot be applied or announced, goes to its entry.
        """
        while True:
            built = [(entry, record) for entry in entries if (record := entry.build()) is not None]
            if not built:
                return False
            after = partial(_call_all, [entry.after for entry, _ in built])
            try:
                await self._store.save(
                    *(record for _, record in built), based_on=self._tournament.place, after=after
                )
                self._stored = self._tournament.place + len(built)
                break
            except Conflict:
                if not await self._catch_up():
                    if self.gate.ended:
                        return False
                    raise  # the database has lost records, or this run has applied too many
        if self.gate.holds() and not await self.gate.wait(self._tournament.place + len(built)):
            return False  # the run ends; the next one reads the records
        for entry, record in built:
            try:
                self._apply(record.fields)
                entry.applied()
            except Exception as error:  # for this entry: the others are stored, too
                entry.error = error
        return True


def _call_all(functions: Sequence[Callable[[], None]]) -> None:
    for function in functions:
        with suppress(OSError):  # a segment of the journal stays behind
            function()


def stopped(what: str, error: Exception, times: int = MATCH_ATTEMPTS) -> ContestStopped:
    """Return the exception that ends a contest in which ``what`` has failed so many times."""
    return ContestStopped(
        f"{what} failed {times} times, last with {error!r}: contest.log says where."
        " finished matches are kept; fix the cause, then run the same command again to resume"
    )
