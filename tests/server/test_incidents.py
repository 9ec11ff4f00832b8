"""Incidents are counted and kept; a flood of them, or of anything else, fills neither memory, disk nor terminal."""

from __future__ import annotations

import io
import time
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
from rich.console import Console

from getstep_server.events import (
    Bus,
    Event,
    IncidentsSummed,
    MatchEnded,
    PlayerAskedAgain,
    PlayerStalled,
    Repeatable,
    ServerFault,
    ServerLate,
    TeamArrived,
    TeamLeft,
    Throttled,
    TurnFaulted,
    Waiting,
)
from getstep_server.incident import Incident, IncidentRow
from getstep_server.limits import (
    INCIDENT_DETAIL_CHARS,
    INCIDENT_ROWS_PER_TEAM,
    SERVER_FAULTS_KEPT,
    THROTTLE_PER_MINUTE,
    UNAUTHENTICATED_INCIDENT_ROWS,
)
from getstep_server.reports.progress import ProgressView
from getstep_server.runtime import run_log as records_module
from getstep_server.runtime.contest_log import ContestLog
from getstep_server.runtime.run_log import BURST_SECONDS, OTHERS, EventThrottle, IncidentTally, RunLog, is_milestone
from getstep_server.storage.contest_state import incidents_of
from getstep_server.storage.database import DatabaseError, DatabaseProblem
from getstep_server.storage.store import Store
from getstep_server.tournament.combined import Tables
from tests.support.contests import make_contest
from tests.support.incidents import Clock, an_incident, counts
from tests.support.patience import PATIENCE_SECONDS
from tests.support.records import SCHEDULE, lines_of, result_of
from tests.support.servers import connected, running, seated

FLOOD = 100_000


# --- the tally ----------------------------------------------------------------------------------------------------


def test_incidents_with_the_same_code_team_and_address_are_alike() -> None:
    clock = Clock()
    tally = IncidentTally(clock)
    assert tally.add(an_incident(detail="the first")) == 1
    clock.now += 5
    assert tally.add(an_incident(detail="the second")) == 2
    for other in (
        an_incident(code="flood"),
        an_incident(team=2),
        an_incident(address="::1"),
        an_incident(team=None),
    ):
        assert tally.add(other) == 1
    first = next(iter(tally.rows()))
    assert first == IncidentRow(an_incident(detail="the first"), 2, 1000.0, 1005.0)
    assert len(list(tally.rows())) == 5
    assert tally.total == 6


def test_rows_are_bounded_and_no_incident_is_lost() -> None:
    tally = IncidentTally()
    for number in range(1000):
        tally.add(an_incident(team=None, address=f"address {number}"))
    seen = counts(tally.rows())
    assert len(seen) == UNAUTHENTICATED_INCIDENT_ROWS + 1
    assert seen[None, OTHERS, OTHERS] == 1000 - UNAUTHENTICATED_INCIDENT_ROWS
    assert tally.add(an_incident(team=None, address="address 0")) == 2  # an address keeps its row


def test_incidents_of_others_use_no_row_of_a_team() -> None:
    tally = IncidentTally()
    for number in range(1000):
        tally.add(an_incident(team=None, address=str(number)))
        tally.add(an_incident(team=1, address=str(number)))
    assert tally.add(an_incident(team=2, address="a")) == 1
    assert (2, "a", "out_of_turn") in counts(tally.rows())
    assert counts(tally.rows())[1, OTHERS, OTHERS] == 1000 - INCIDENT_ROWS_PER_TEAM


def test_a_detail_is_made_printable_and_cut() -> None:
    tally = IncidentTally()
    tally.add(an_incident(detail="\x1b[2J\ud800\n" + "x" * 10_000))
    (row,) = tally.rows()
    assert row.incident.detail.startswith("\\u001b[2J\\ud800\\u000ax")
    assert len(row.incident.detail) < INCIDENT_DETAIL_CHARS + 20


def test_counts_are_taken_once_unless_put_back() -> None:
    tally = IncidentTally()
    for _ in range(3):
        tally.add(an_incident())
    taken = tally.take_unsaved()
    assert [row.count for row in taken] == [3]
    assert tally.take_unsaved() == []
    tally.add(an_incident())
    tally.put_back(taken)
    assert [row.count for row in tally.take_unsaved()] == [4]


# --- what is worth a line -----------------------------------------------------------------------------------------


class Teller:
    """Hands events to `EventThrottle` and keeps what it makes of them."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.bus = Bus()
        self.noted: list[Throttled] = []
        self.repeats = EventThrottle(self.bus.publish, IncidentTally(), self.clock)
        self.bus.subscribe(self.repeats)
        self.bus.subscribe(self._keep)

    def _keep(self, event: Event) -> None:
        if isinstance(event, Throttled):
            self.noted.append(event)

    def tell(self, *events: Event) -> list[int]:
        """Return the counts that are told."""
        before = len(self.noted)
        for event in events:
            self.bus.publish(event)
        return [noted.count for noted in self.noted[before:]]


def test_milestones_are_powers_of_ten() -> None:
    assert [count for count in range(20_000) if is_milestone(count)] == [1, 10, 100, 1000, 10_000]


def test_the_first_the_tenth_and_the_hundredth_incident_are_reported() -> None:
    teller = Teller()
    assert teller.tell(*[an_incident()] * 150) == [1, 10, 100]
    assert teller.tell(an_incident(code="flood")) == [1]


def test_the_first_and_the_tenth_fault_of_each_player_and_code_are_reported() -> None:
    teller = Teller()
    illegal = TurnFaulted(SCHEDULE[0], 0, "illegal_move", "no", 0.1)
    assert teller.tell(*[illegal] * 50) == [1, 10]
    assert teller.tell(TurnFaulted(SCHEDULE[0], 1, "illegal_move", "no", 0.1)) == [1]
    assert teller.tell(TurnFaulted(SCHEDULE[0], 0, "missed_limit", "no", 0.1)) == [1]
    assert teller.tell(TurnFaulted(SCHEDULE[1], 0, "illegal_move", "no", 0.1)) == [1]
    stalled, back = PlayerStalled(SCHEDULE[0], 0), PlayerAskedAgain(SCHEDULE[0], 0, 5)
    assert teller.tell(stalled, back, stalled, PlayerStalled(SCHEDULE[0], 1), back) == [1, 1, 1]
    assert teller.tell(illegal) == []
    assert teller.tell(MatchEnded(result_of(SCHEDULE[0]), 1, 6, lambda: Tables({})), illegal) == [
        1
    ]  # played again, a new count


def test_server_faults_are_alike_if_they_happened_in_the_same_place() -> None:
    teller = Teller()
    assert teller.tell(*[ServerFault(f"match {number}", "the same trace") for number in range(20)]) == [1, 10]
    different = [ServerFault("send", f"trace {number}") for number in range(1000)]
    told = teller.tell(*different)
    assert len(told) == SERVER_FAULTS_KEPT + 2  # those that have room, the tenth and the hundredth of all others


def test_a_reconnect_storm_is_collapsed_and_its_last_line_is_true() -> None:
    teller = Teller()
    storm: list[Event] = [TeamArrived(1, "10.0.0.1", "bot", True), TeamLeft(1, "connection lost")] * 500
    assert teller.tell(*storm, TeamArrived(1, "10.0.0.1", "bot", True)) == list(range(1, THROTTLE_PER_MINUTE + 1))
    assert teller.tell(TeamArrived(2, "10.0.0.2", "bot", False)) == [1]  # another team is told of as ever
    teller.clock.now += BURST_SECONDS - 1
    teller.repeats.end_bursts()
    assert len(teller.noted) == THROTTLE_PER_MINUTE + 1
    teller.clock.now += 1
    teller.repeats.end_bursts()
    assert teller.noted[-1] == Throttled(TeamArrived(1, "10.0.0.1", "bot", True), 1001)
    assert teller.tell(TeamLeft(1, "bye")) == [1]  # a new minute


@pytest.mark.parametrize("event", [ServerLate(SCHEDULE[0], 0, 0.2), Waiting((1,))])
def test_the_servers_lateness_and_waiting_are_collapsed_too(event: Repeatable) -> None:
    teller = Teller()
    assert len(teller.tell(*[event] * 1000)) == THROTTLE_PER_MINUTE
    teller.repeats.close()
    assert teller.noted[-1] == Throttled(event, 1000)


def test_a_quiet_minute_leaves_nothing_to_say() -> None:
    teller = Teller()
    teller.tell(TeamArrived(1, "10.0.0.1", "bot", False))
    teller.clock.now += BURST_SECONDS
    teller.repeats.end_bursts()
    teller.repeats.close()
    assert len(teller.noted) == 1


# --- floods -------------------------------------------------------------------------------------------------------


def flood(incidents: list[Incident], folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Pour incidents over the log and the terminal: their lines."""
    contest, output = make_contest(folder), io.StringIO()
    log = ContestLog(contest)
    progress = ProgressView(contest, Console(file=output, width=200), live=False)
    bus = Bus()
    for consumer in (EventThrottle(bus.publish, IncidentTally(), time.monotonic), log, progress):
        bus.subscribe(consumer)
    with progress.shown():
        for incident in incidents:
            bus.publish(incident)
    log.close("finished")
    return lines_of(folder), output.getvalue().splitlines()


def test_a_flood_from_one_place_is_six_lines(tmp_path: Path) -> None:
    logged, shown = flood([an_incident()] * FLOOD, tmp_path)
    assert [line["count"] for line in logged if line["event"] == "incident"] == [10**n for n in range(6)]
    assert len(logged) == 6 + 2
    assert [line.rpartition("(")[2] for line in shown[1:]] == [f"{10**n} times)" for n in range(1, 6)]
    assert len(shown) == 6


def test_a_flood_from_everywhere_is_bounded(tmp_path: Path) -> None:
    incidents = [an_incident(team=None, address=f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}") for n in range(FLOOD)]
    logged, shown = flood(incidents, tmp_path)
    told = UNAUTHENTICATED_INCIDENT_ROWS + 5  # of all others the first to the ten thousandth
    assert len(logged) == told + 2
    assert len(shown) == told


def test_a_flood_takes_little_memory() -> None:
    tally = IncidentTally()
    tracemalloc.start()
    try:
        for number in range(20_000):
            tally.add(an_incident(team=None, address=f"address {number}", detail="x" * 5000))
            tally.add(an_incident(team=number % 4, address=f"home {number}", detail="y" * 5000))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 1.5e6  # some 500 rows of a kilobyte or two
    assert tally.total == 40_000


# --- the store ----------------------------------------------------------------------------------------------------


async def test_counts_continue_over_runs(tmp_path: Path) -> None:
    clock = Clock()
    for team in (1, None):
        clock.now = 1000.0
        for detail in ("the first", "the second"):
            tally = IncidentTally(clock)
            for _ in range(5):
                tally.add(an_incident(team=team, detail=detail))
                clock.now += 1
            with Store(tmp_path / "contest.db") as store:
                await store.count_incidents(tally.take_unsaved())
    with Store(tmp_path / "contest.db") as store:
        expected = [
            IncidentRow(an_incident(team=team, detail="the first"), 10, 1000.0, 1009.0) for team in (1, None)
        ]
        assert store.incidents() == expected


async def test_a_batch_is_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    rows = [IncidentRow(an_incident(), 1, 0.0, 0.0), IncidentRow(an_incident(code="flood"), 2**70, 0.0, 0.0)]
    with Store(tmp_path / "contest.db") as store:
        with pytest.raises(OverflowError):
            await store.count_incidents(rows)
        assert store.incidents() == []
        await store.count_incidents(rows[:1])  # and the store's thread is alive
        assert store.incidents() == rows[:1]


# --- one run's records --------------------------------------------------------------------------------------------


class SlowStore(Store):
    """A store that says how often it was asked, and fails at first if it is told to."""

    batches = 0
    failures = 0
    problem = DatabaseProblem.FULL

    async def count_incidents(self, rows: list[IncidentRow], instead_of: Sequence[IncidentRow] = ()) -> None:
        self.batches += 1
        if self.batches <= self.failures:
            raise DatabaseError("it fails", self.problem)
        await super().count_incidents(rows, instead_of)


async def test_counts_are_stored_now_and_then_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records_module, "INCIDENTS_SAVED_EVERY_SECONDS", 0.01)
    bus = Bus()
    store = SlowStore(tmp_path / "contest.db")
    with store:
        async with RunLog(make_contest(tmp_path), store, bus) as records, trio.open_nursery() as nursery:
            nursery.start_soon(records.run)
            for _ in range(1000):
                bus.publish(an_incident())
            with trio.fail_after(PATIENCE_SECONDS):
                while not store.incidents():
                    await trio.sleep(0.01)
            assert store.batches == 1
            assert [row.count for row in store.incidents()] == [1000]
            nursery.cancel_scope.cancel()
            bus.publish(an_incident(code="flood"))
        assert counts(store.incidents()) == {(1, "10.0.0.1", "out_of_turn"): 1000, (1, "10.0.0.1", "flood"): 1}
        assert store.batches == 2


async def test_rows_of_earlier_runs_are_bounded(tmp_path: Path) -> None:
    """Each run may come to know other addresses, and a server on the internet is started again for years."""
    with Store(tmp_path / "contest.db") as store:

        def row(number: int, team: int | None) -> IncidentRow:
            return IncidentRow(an_incident(team=team, address=f"198.51.100.{number}"), 2, number, number + 0.5)

        for team, rows in ((None, 4 * 256 + 3), (1, 4 * 64 + 2), (2, 5)):
            await store.count_incidents([row(number, team) for number in range(rows)])
        for _ in range(2):  # the second run finds nothing to do
            async with RunLog(make_contest(tmp_path), store, Bus()):
                pass
            found = store.incidents()
            others = {one.incident.team: one for one in found if one.incident.code == "(others)"}
            assert {team: (one.count, one.last) for team, one in others.items()} == {None: (6, 2.5), 1: (4, 1.5)}
            kept = Counter(one.incident.team for one in found if one.incident.code != "(others)")
            assert kept == {None: 4 * 256, 1: 4 * 64, 2: 5}
            assert (1, "198.51.100.1", "out_of_turn") not in counts(found)
            assert (1, "198.51.100.2", "out_of_turn") in counts(found)


@pytest.mark.parametrize("problem", [DatabaseProblem.FULL, DatabaseProblem.AWAY])
async def test_a_disk_that_fails_delays_the_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: DatabaseProblem
) -> None:
    monkeypatch.setattr(records_module, "INCIDENTS_SAVED_EVERY_SECONDS", 0.01)
    bus = Bus()
    store = SlowStore(tmp_path / "contest.db")
    with store:
        store.failures, store.problem = 12, problem
        async with RunLog(make_contest(tmp_path), store, bus) as records, trio.open_nursery() as nursery:
            nursery.start_soon(records.run)
            bus.publish(an_incident())
            with trio.fail_after(PATIENCE_SECONDS):
                while not store.incidents():
                    await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
        assert counts(store.incidents()) == {(1, "10.0.0.1", "out_of_turn"): 1}
    faults = [line for line in lines_of(tmp_path) if line["event"] == "server_fault"]
    told = [("the record of incidents", 1), ("the record of incidents", 10)]
    assert [(fault["where"], fault["count"]) for fault in faults] == (
        told if problem is DatabaseProblem.FULL else []
    )


async def test_counts_that_cannot_be_stored_at_the_end_are_reported(tmp_path: Path) -> None:
    bus = Bus()
    store = SlowStore(tmp_path / "contest.db")
    store.failures, store.problem = 1, DatabaseProblem.AWAY
    with store:
        async with RunLog(make_contest(tmp_path), store, bus):
            bus.publish(an_incident())
    assert [line["where"] for line in lines_of(tmp_path) if line["event"] == "server_fault"] == [
        "the record of incidents"
    ]


async def test_an_error_ends_the_run_and_the_records_are_complete(tmp_path: Path) -> None:
    async def run() -> None:
        async with RunLog(make_contest(tmp_path), store, bus):
            for number in range(25):
                bus.publish(an_incident(address=f"10.0.0.{number}"))
            bus.publish(an_incident(address="10.0.0.7"))
            for _ in range(50):
                bus.publish(TeamLeft(1, "gone"))
            raise ZeroDivisionError("during it")

    bus = Bus()
    with Store(tmp_path / "contest.db") as store:
        with pytest.raises(ZeroDivisionError):
            await run()
        assert sum(row.count for row in store.incidents()) == 26
    *_, left, summed, ended = lines_of(tmp_path)
    assert (left["event"], left["this_minute"]) == ("team_left", 50)
    assert (summed["event"], summed["total"], len(summed["most"])) == (
        "incidents_summed",
        26,
        20,
    )
    assert (summed["most"][0]["address"], summed["most"][0]["count"]) == ("10.0.0.7", 2)
    assert ended["how"].endswith("ZeroDivisionError: during it\n")


async def test_a_contest_with_hostile_visitors(tmp_path: Path) -> None:
    contest = make_contest(tmp_path)
    async with running(contest) as server:
        async with seated(server.port, 1) as player:
            await player.say_bytes(b"\0\0\0\0")
            await server.recorder.wait_for(Incident)
        for number in range(2, 14):
            async with connected(server.port) as newcomer:
                await newcomer.say_bytes(b"GET / HTTP/1.1\r\n\r\n")
                await server.recorder.wait_for(Incident, number)
        await server.recorder.wait_for(TeamLeft)
    expected = {(1, "127.0.0.1", "empty_frame"): 1, (None, "127.0.0.1", "oversize_frame"): 12}
    assert counts(incidents_of(contest)) == expected
    (summed,) = server.recorder.of(IncidentsSummed)
    assert summed.total == 13

    lines = lines_of(tmp_path)
    assert [line["event"] for line in lines] == [
        *("run_began", "listening", "team_arrived", "incident", "team_left"),
        *("incident", "incident", "incidents_summed", "run_ended"),
    ]
    told = [(line["team"], line["code"], line["count"]) for line in lines if line["event"] == "incident"]
    assert told == [(1, "empty_frame", 1), (None, "oversize_frame", 1), (None, "oversize_frame", 10)]
    assert bytes.fromhex(lines[5]["first_bytes"]) == b"GET / HTTP/1.1\r\n\r\n"
