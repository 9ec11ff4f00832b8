"""The recorder: own and foreign records reach the tournament in the order of the chain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from getstep_server.config.contest import Contest
from getstep_server.errors import ContestStopped
from getstep_server.events import (
    DatabaseAway,
    DatabaseLocked,
    DecisionTaken,
    DiskUsable,
    Event,
    ServerFault,
    StandbyMissing,
    StandbyReady,
)
from getstep_server.net.seat import Seat
from getstep_server.records.decision import Decision, record_of_decision
from getstep_server.records.match import Match
from getstep_server.records.reasons import DecisionKind, Reason
from getstep_server.records.record import Record
from getstep_server.records.result import Result, unplayed
from getstep_server.runtime.attempt import Attempt
from getstep_server.runtime.recorder import Recorder
from getstep_server.standby.marks import note_copied
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.database import DatabaseError, DatabaseProblem
from getstep_server.storage.disk import Disk
from getstep_server.storage.store import Conflict, Store
from getstep_server.text import utc_time
from getstep_server.tournament.combined import Tables
from getstep_server.tournament.tournament import Tournament
from tests.support.contests import make_contest
from tests.support.director import SMALL, MemoryStore
from tests.support.patience import PATIENCE_SECONDS


class Desk:
    """A recorder at work: ``log`` has the matches announced and the decisions taken, in their order."""

    def __init__(self, contest: Contest, store: Any) -> None:
        self.contest = contest
        self.store = store
        self.tournament = Tournament(contest)
        self.log: list[str] = []
        self.faults: list[ServerFault] = []
        self.storage: list[type[Event]] = []
        self.issued: list[Match] = []
        self.disk = Disk(contest.folder, self._publish)
        self.recorder = Recorder(
            contest,
            self.tournament,
            cast(Store, store),
            self.disk,
            self._publish,
            tables=lambda: Tables({}),
            issued=self.issued.extend,
            decided=lambda: None,
        )

    def _publish(self, event: Event) -> None:
        if isinstance(event, DecisionTaken):
            self.log.append(f"{event.decision.kind} {event.decision.match}")
        if isinstance(event, ServerFault):
            self.faults.append(event)
        if isinstance(event, (DatabaseAway, DatabaseLocked, DiskUsable, StandbyMissing, StandbyReady)):
            self.storage.append(type(event))

    async def begin(self) -> None:
        await self.recorder.put_settings()
        await self.recorder.publish_pairings()

    def announce(self, result: Result) -> None:
        self.log.append(f"{result.reason} {result.match.number} of {self.tournament.done}")

    async def save(self, match: Match, announce: Callable[[Result], None] | None = None) -> None:
        """Save a result; it is called off if the host has decided the match."""
        first, second = (Seat(self.contest.teams[team], lambda _: None) for team in match.teams)
        attempt = Attempt(match, (first, second), None, [False, False], self.tournament.replays[match.number])
        result = unplayed(match, None, Reason.FINISHED, "so it ended", None, attempt=1, started=1.7e9)
        await self.recorder.save(attempt, result, announce or self.announce)

    async def save_all(self, *matches: Match) -> None:
        async with trio.open_nursery() as nursery:
            for match in matches:
                nursery.start_soon(self.save, match)


def adjudication(contest: Contest, match: int) -> Record:
    at = utc_time(1.7e9)
    return record_of_decision(contest, Decision(DecisionKind.ADJUDICATE, "Grace", "a fight", at, match=match))


async def test_many_results_at_once_and_decisions_of_the_host(tmp_path: Path) -> None:
    """The real store, in which another process appends concurrently."""
    contest = make_contest(tmp_path, 6, **SMALL)
    with Store(contest.database) as store, Store(contest.database) as host:
        desk = Desk(contest, store)
        await desk.begin()
        matches = desk.issued
        assert len(matches) == 30

        async def decide() -> None:
            for match in matches[::5]:
                await host.save(adjudication(contest, match.number))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(decide)
            for place in range(0, 30, 3):
                nursery.start_soon(desk.save_all, *matches[place : place + 3])
                nursery.start_soon(desk.recorder.refresh)
                await trio.lowlevel.checkpoint()
        await desk.recorder.refresh()
        length = store.chain()[0]
    assert desk.faults == []
    assert desk.tournament.place == length == 2 + 30 + 6
    again = tournament_of(contest)
    assert again.tables() == desk.tournament.tables()
    assert log_of(contest) == [line.split(" of ")[0] for line in desk.log]
    done = [int(line.split(" of ")[1]) for line in desk.log if " of " in line]
    assert done == sorted(done)
    assert desk.tournament.done == 30


def log_of(contest: Contest) -> list[str]:
    """Return what `Desk.log` should have, from the chain."""
    with Store(contest.database, reading=True) as store:
        records = store.record_headers()[2:]
    return [f"{fields.get('decision') or fields['reason']} {fields['match']}" for fields in records]


def holding(*matches: int) -> tuple[MemoryStore, trio.Event]:
    """Return a store in which the results of some matches wait for the event."""
    release = trio.Event()

    async def before(result: Result) -> None:
        if result.match.number in matches:
            await release.wait()

    return MemoryStore(before), release


class CountingStore(MemoryStore):
    """Notes how many records each transaction has."""

    def __init__(self, before: Callable[[Result], Awaitable[None]] | None = None) -> None:
        super().__init__(before)
        self.sizes: list[int] = []

    async def save(self, *records: Record, **more: Any) -> None:
        await super().save(*records, **more)
        self.sizes.append(len(records))


async def test_results_that_wait_are_stored_together(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def slowly(result: Result) -> None:
        if result.match.number == 1:
            await trio.sleep(5)

    desk = Desk(make_contest(tmp_path, 3, **SMALL), CountingStore(slowly))
    await desk.begin()
    await desk.save_all(*desk.issued)
    sizes = desk.store.sizes
    assert sizes[:2] == [1, 1]  # settings and pairings
    assert sum(sizes) == 2 + 6
    assert len(sizes) <= 4  # the one that came first, and the others
    assert [line.split(" of ")[1] for line in desk.log] == ["1", "2", "3", "4", "5", "6"]


async def test_a_decision_calls_off_only_its_match_of_a_group(tmp_path: Path, autojump_clock: MockClock) -> None:
    store, release = holding(1)
    desk = Desk(make_contest(tmp_path, 3, **SMALL), store)
    await desk.begin()
    one, *others = desk.issued
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.save, one)
        await wait_all_tasks_blocked()
        nursery.start_soon(desk.save_all, *others)
        await wait_all_tasks_blocked()
        store.decide(adjudication(desk.contest, 3))
        release.set()
    assert desk.log[0] == "adjudicate 3"
    endings = sorted(line.split(" of ")[0] for line in desk.log[1:])
    assert endings == ["called_off 3", *(f"finished {number}" for number in (1, 2, 4, 5, 6))]
    assert desk.tournament.place == len(store.chain) == 2 + 7


async def test_a_record_that_cannot_be_stored_fails_alone(tmp_path: Path, autojump_clock: MockClock) -> None:
    class Refusing(MemoryStore):
        async def save(self, *records: Record, **more: Any) -> None:
            if any(record.match is not None and record.match.number == 3 for record in records):
                raise DatabaseError("UNIQUE constraint failed")
            await super().save(*records, **more)

    store, release = holding(1)
    refusing = Refusing(store._before)
    desk = Desk(make_contest(tmp_path, 3, **SMALL), refusing)
    await desk.begin()
    failed: list[int] = []

    async def save(match: Match) -> None:
        try:
            await desk.save(match)
        except DatabaseError:
            failed.append(match.number)

    async with trio.open_nursery() as nursery:
        for match in desk.issued:
            nursery.start_soon(save, match)
        await wait_all_tasks_blocked()
        release.set()
    assert failed == [3]
    assert sorted(result.match.number for result in refusing.saved) == [1, 2, 4, 5, 6]
    assert len(desk.log) == desk.tournament.done == 5


async def test_a_failure_to_announce_stays_with_its_match(tmp_path: Path, autojump_clock: MockClock) -> None:
    store, release = holding(1)
    desk = Desk(make_contest(tmp_path, 3, **SMALL), store)
    await desk.begin()
    failed: list[int] = []

    def fail(result: Result) -> None:
        raise KeyError("a bug")

    async def save(match: Match) -> None:
        try:
            await desk.save(match, fail if match.number == 3 else None)
        except KeyError:
            failed.append(match.number)

    async with trio.open_nursery() as nursery:
        for match in desk.issued:
            nursery.start_soon(save, match)
        await wait_all_tasks_blocked()
        release.set()
    assert failed == [3]
    assert len(store.saved) == desk.tournament.done == 6
    assert len(desk.log) == 5


async def test_a_waiting_result_is_stored_even_if_its_task_is_cancelled(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Ctrl-C while results are being stored."""
    store, release = holding(1)
    desk = Desk(make_contest(tmp_path, 3, **SMALL), store)
    await desk.begin()
    one, *others = desk.issued

    async def free() -> None:
        await trio.sleep(5)
        release.set()

    async with trio.open_nursery() as freeing:
        freeing.start_soon(free)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.save, one)
            await wait_all_tasks_blocked()
            for match in others:
                nursery.start_soon(desk.save, match)
            await wait_all_tasks_blocked(0)
            nursery.cancel_scope.cancel()
    assert len(store.saved) == len(desk.log) == 6


async def test_a_full_disk_fails_a_group_together(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Each result is tried again later; none of them waits for the next one's attempt."""
    left = [2]

    class Full(CountingStore):
        async def save(self, *records: Record, **more: Any) -> None:
            if len(records) > 1 and left[0]:
                left[0] -= 1
                raise OSError(28, "No space left on device")
            await super().save(*records, **more)

    async def slowly(result: Result) -> None:
        if result.match.number == 1:
            await trio.sleep(5)

    desk = Desk(make_contest(tmp_path, 3, **SMALL), Full(slowly))
    await desk.begin()
    await desk.save(desk.issued[0])
    await desk.save_all(*desk.issued[1:])
    assert len(desk.store.saved) == len(desk.log) == 6


async def test_a_foreign_record_that_does_not_fit_is_skipped(tmp_path: Path, autojump_clock: MockClock) -> None:
    store = MemoryStore()
    desk = Desk(make_contest(tmp_path, 2, **SMALL), store)
    await desk.begin()
    store.decide(Record({"record": 2, "type": "of a later version"}))
    store.decide(adjudication(desk.contest, 99))
    store.decide(adjudication(desk.contest, 1))
    await desk.recorder.refresh()
    assert [fault.where for fault in desk.faults] == ["a record of another process"] * 2
    assert desk.log == ["adjudicate 1"]
    await desk.save(desk.issued[1])
    assert desk.tournament.place == len(store.chain) == 6


async def test_decisions_are_read_once_the_database_is_back(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The host is told once, and no match starts meanwhile."""
    failures = [DatabaseProblem.AWAY, DatabaseProblem.LOCKED, DatabaseProblem.AWAY]
    writable: list[bool] = []

    class Away(MemoryStore):
        async def tail(self, place: int) -> list[bytes]:
            if failures:
                writable.append(desk.disk.writable)
                raise DatabaseError("connection refused", failures.pop())
            return await super().tail(place)

    store = Away()
    desk = Desk(make_contest(tmp_path, 2, **SMALL), store)
    await desk.begin()
    store.decide(adjudication(desk.contest, 1))
    await desk.recorder.refresh()
    assert desk.log == ["adjudicate 1"]
    assert (desk.faults, desk.storage) == ([], [DatabaseAway, DatabaseLocked, DiskUsable])
    assert (writable, desk.disk.writable) == ([True, False, False], True)


async def test_a_chain_that_became_shorter_ends_in_an_error(tmp_path: Path, autojump_clock: MockClock) -> None:
    """It would be a conflict for ever."""
    store = MemoryStore()
    desk = Desk(make_contest(tmp_path, 2, **SMALL), store)
    await desk.begin()
    store.chain.pop()
    with pytest.raises(Conflict):
        await desk.save(desk.issued[0])


# --- strict mode --------------------------------------------------------------------------------------------------


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock) -> None:
    """Call at once what would be called in a thread: the clock of tests does not wait for threads."""

    async def call(function: Callable[..., Any], *values: Any) -> Any:
        await trio.lowlevel.checkpoint()
        return function(*values)

    monkeypatch.setattr("trio.to_thread.run_sync", call)


def strict_desk(tmp_path: Path, store: MemoryStore) -> Desk:
    """Return a desk whose results wait for a standby host, which has the settings and the pairings."""
    contest = make_contest(tmp_path, 2, server={"standby": "strict"}, **SMALL)
    contest.running.mkdir(parents=True)
    note_copied(contest.running, 2)
    return Desk(contest, store)


@pytest.mark.usefixtures("no_threads")
async def test_a_result_is_announced_once_a_standby_host_has_it(tmp_path: Path) -> None:
    """Without one the host is told, and may decide to go on."""
    store = MemoryStore()
    desk = strict_desk(tmp_path, store)
    await desk.begin()
    one, other = desk.issued
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.recorder.gate.run)
        nursery.start_soon(desk.save, one)
        await trio.sleep(4)
        assert (len(store.saved), desk.log, desk.storage) == (1, [], [])
        assert not desk.recorder.gate.closed
        await trio.sleep(2)
        assert (desk.log, desk.storage) == ([], [StandbyMissing])
        assert desk.recorder.gate.closed
        note_copied(desk.contest.running, 3)
        await trio.sleep(1)
        assert desk.log == ["finished 1 of 1"]
        nursery.cancel_scope.cancel()
    assert (desk.storage, desk.recorder.gate.closed) == ([StandbyMissing, StandbyReady], False)
    desk.recorder.gate.ended = False
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.save, other)
        await trio.sleep(1)
        # another result of a foreign process waits, too; a decision announces both
        store.decide(adjudication(desk.contest, 1))
        await trio.sleep(1)
        assert len(desk.log) == 1
        decision = Decision(DecisionKind.NOT_STRICT, "Grace", "its disk is full", utc_time(1.7e9))
        store.decide(record_of_decision(desk.contest, decision))
    await desk.recorder.refresh()
    assert desk.log == ["finished 1 of 1", "finished 2 of 2", "adjudicate 1", "not_strict None"]
    assert not desk.faults


@pytest.mark.usefixtures("no_threads")
async def test_a_decision_of_another_process_waits_for_a_standby_host(tmp_path: Path) -> None:
    store = MemoryStore()
    desk = strict_desk(tmp_path, store)
    await desk.begin()
    store.decide(adjudication(desk.contest, 1))
    with trio.move_on_after(2):
        await desk.recorder.refresh()
    assert desk.log == []
    note_copied(desk.contest.running, 3)
    await desk.recorder.refresh()
    assert desk.log == ["adjudicate 1"]


@pytest.mark.usefixtures("no_threads")
async def test_a_result_that_waits_for_a_standby_host_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """Ctrl-C: it is on record, and was not announced. The next run waits before it goes on."""
    store = MemoryStore()
    desk = strict_desk(tmp_path, store)
    await desk.begin()
    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.recorder.gate.run)
            nursery.start_soon(desk.save_all, *desk.issued)
            await trio.sleep(1)
            nursery.cancel_scope.cancel()
    assert (len(store.saved) > 0, desk.log, desk.faults) == (True, [], [])
    again = strict_desk(tmp_path / "again", store)
    for record in store.chain:
        again.tournament.apply(record.fields)
    with trio.move_on_after(2) as waiting:
        await again.recorder.confirm()
    assert waiting.cancelled_caught
    note_copied(again.contest.running, len(store.chain))
    await again.recorder.confirm()


# --- another server -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_threads")
@pytest.mark.parametrize("foreign", ["take_over", "game"])
async def test_a_run_ends_once_another_server_plays_the_contest(tmp_path: Path, foreign: str) -> None:
    """It announces nothing of the other one, and stores nothing any more."""
    store = MemoryStore()
    desk, other = Desk(make_contest(tmp_path, 4, **SMALL), store), Desk(make_contest(tmp_path, 4, **SMALL), store)
    await desk.begin()
    for record in store.chain:
        other.tournament.apply(record.fields)
    if foreign == "take_over":
        by = ("Grace", "it is lost", utc_time(1.7e9))
        store.decide(record_of_decision(desk.contest, Decision(DecisionKind.TAKE_OVER, *by, fence=1)))
    else:
        await other.save(desk.issued[0])
    length = len(store.chain)
    with pytest.raises(ContestStopped, match="another host has taken over"):
        await desk.save(desk.issued[1])
    with pytest.raises(ContestStopped, match="another host has taken over"):
        await desk.recorder.refresh()
    with pytest.raises(ContestStopped, match="another host has taken over"):
        await desk.recorder.put_friendly(adjudication(desk.contest, 1), 1)
    assert (desk.log, desk.faults, len(store.chain)) == ([], [], length)
