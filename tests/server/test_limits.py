"""Limits with their own numbers, where no other test has them; and that limits_removed.py knows every limit.

The numbers stand here as they are, and not by their names: who takes a limit away has to come by.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import re
import shutil
import signal
import sqlite3
import time
from copy import copy
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock

from getstep.wire import Goodbye, Hello
from getstep_conformance.attack import CASES, Times
from getstep_server.config.class_list import NewTeam
from getstep_server.config.contest import check_matches, database_path, load_contest
from getstep_server.config.contest import make_contest as make_folder
from getstep_server.config.roster import add_teams
from getstep_server.errors import ConfigError
from getstep_server.events import Bus, DatabaseLocked, DiskFull, DiskLow, DiskUsable, TeamArrived
from getstep_server.incident import Incident, IncidentRow
from getstep_server.net import registry as registry_module
from getstep_server.net.connection import ClientConnection
from getstep_server.net.registry import ConnectionRegistry
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.records.pairings import record_of_pairings
from getstep_server.runtime.run import run_contest
from getstep_server.runtime.run_log import RunLog
from getstep_server.runtime.start import StartCondition
from getstep_server.storage.database import DatabaseError, DatabaseProblem
from getstep_server.storage.disk import Disk
from getstep_server.storage.journal import Journal, JournalError, read, segments
from getstep_server.storage.store import Store
from tests.support import limits_removed
from tests.support.attack import TARGET, runner_at
from tests.support.contests import make_contest
from tests.support.journals import Kept
from tests.support.patience import PATIENCE_SECONDS
from tests.support.records import PAIRINGS, connection_of
from tests.support.servers import Recorder, connected, running, seated

# --- the tool ---------------------------------------------------------------------------------------------------


def constants(path: Path) -> list[str]:
    """Return the names in capitals that a module gives values to."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    targets = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
    return [target.id for target in targets if isinstance(target, ast.Name) and target.id.isupper()]


def test_every_limit_can_be_removed() -> None:
    limits = [name for path in limits_removed.LIMITS for name in constants(limits_removed.ROOT / path)]
    enrolled = {*limits_removed.REMOVED, *limits_removed.NO_LIMITS}
    assert set(limits) <= enrolled
    session = constants(limits_removed.ROOT / limits_removed.SESSION)
    assert {name for name in session if name.endswith(("_MS", "_BYTES"))} <= enrolled
    assert enrolled <= {*limits, *session}


def test_the_test_of_each_limit_exists() -> None:
    named = {name: tests for name, (_, *tests) in limits_removed.REMOVED.items()}
    assert [name for name, tests in named.items() if not tests] == []
    texts: dict[str, str] = {}
    missing = []
    for test in (test for tests in named.values() for test in tests):
        path, _, function = test.partition("::")
        file = limits_removed.ROOT / path
        text = texts.setdefault(path, file.read_text(encoding="utf-8") if file.is_file() else "")
        if not re.search(rf"def {function.partition('[')[0]}\(", text):
            missing.append(test)
    assert missing == []


# --- matches ----------------------------------------------------------------------------------------------------


def test_settings_may_ask_for_so_many_matches_and_no_more(tmp_path: Path) -> None:
    for rounds in (525, 526):
        ladder = {"game": "hop", "format": "ladder", "settings": {"games": 1000, "rounds": rounds}}
        make_folder(tmp_path / str(rounds), {"contest": {"name": "x"}, "event": [{"game": "linkage"}, ladder]})
        add_teams(tmp_path / str(rounds), [NewTeam("Ada", "NAME 1"), NewTeam("Blaise", "NAME 2")])
    check_matches(load_contest(tmp_path / "525"))
    expected = r"toml:\d+: event.settings = \{.*\}, expected at most 525000 matches; with 2 teams .* up to 526000$"
    with pytest.raises(ConfigError, match=expected):
        check_matches(load_contest(tmp_path / "526"))


async def test_a_contest_of_too_many_matches_issues_none(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, 35, {"game": "hop", "settings": {"legs": 1000}})
    (tmp_path / "contest.toml").write_text('[[event]]\ngame = "hop"\nsettings = {legs = 1000}\n', encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"toml:3: .*at most 525000 matches; with 35 teams these are up to 595000$"
    ):
        await run_contest(contest, Bus(), StartCondition(now=True))
    assert not database_path(contest.folder).exists()


# --- connections ------------------------------------------------------------------------------------------------


class CountedConnection:
    """A stand-in for a connection with all that the registry counts."""

    def __init__(self, address: str) -> None:
        self.address = address


@pytest.mark.parametrize(("most", "addresses"), [(256, 1), (4096, 4096)], ids=["one address", "all addresses"])
def test_so_many_connections_and_no_more(tmp_path: Path, most: int, addresses: int) -> None:
    registry = ConnectionRegistry(make_contest(tmp_path), {}, Recorder())
    for number in range(most):
        address = f"10.0.{number % addresses // 256}.{number % addresses % 256}"
        assert registry.over_limit(address) is None
        registry.add(cast(ClientConnection, CountedConnection(address)))
    over_limit = registry.over_limit("10.0.0.0" if addresses == 1 else "10.1.0.0")
    assert over_limit is not None
    assert len(over_limit) == most // addresses


async def test_a_login_does_not_look_at_each_of_ten_thousand_seats(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    class CountedSeat:
        looks = 0

        @property
        def in_match(self) -> bool:
            self.looks += 1
            return self.looks > 1

    seat = CountedSeat()
    registry = ConnectionRegistry(make_contest(tmp_path), cast(Any, {1: (seat,)}), Recorder())
    assert [registry.is_playing() for _ in range(1000)] == [False] * 1000
    assert seat.looks == 1
    await trio.sleep(0.1)
    assert registry.is_playing(), "a match has begun"


def test_the_address_with_most_connections_loses_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "MAX_CONNECTIONS", 12)
    registry = ConnectionRegistry(make_contest(tmp_path), {}, Recorder())
    flood = [cast(ClientConnection, CountedConnection("10.0.0.1")) for _ in range(8)]
    first = cast(ClientConnection, CountedConnection("10.0.0.2"))
    for connection in (first, *flood, *(cast(ClientConnection, CountedConnection("10.0.0.3")) for _ in range(3))):
        registry.add(connection)
    over_limit = registry.over_limit("10.0.0.4")
    assert over_limit is not None
    assert next(iter(over_limit)) is flood[0]
    registry.logged_in(first, None)
    assert registry.over_limit("10.0.0.4") is None, "a connection of a team is not counted"


async def test_a_client_that_does_not_close_after_goodbye_is_cut_off(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server, connected(server.port) as player:
        await player.say_bytes(bytes(4))
        await player.until(Goodbye)
        with trio.fail_after(PATIENCE_SECONDS), contextlib.suppress(trio.BrokenResourceError):
            while True:
                await player.say_bytes(b"x")
                await trio.sleep(0.05)


async def test_a_client_that_sends_after_goodbye_is_cut_off(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server, connected(server.port) as player:
        await player.say_bytes(bytes(4))
        await player.until(Goodbye)
        with contextlib.suppress(trio.BrokenResourceError):
            while True:  # at the latest until the server has waited long enough
                await player.say_bytes(bytes(65536))
        assert [incident.code for incident in server.recorder.of(Incident)] == ["empty_frame", "flood"]


async def test_stale_answers_of_a_classic_client_come_to_an_end(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path, **TARGET), StartCondition(now=True)) as server:
        async with contextlib.aclosing(runner_at(server, Times())) as stage:
            await stage.run(CASES["11.17"])


async def test_the_first_bytes_of_a_hostile_frame_are_kept(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server, connected(server.port) as player:
        await player.expect(Hello)
        await player.say_bytes(b"GET /" + b"x" * 5000)
        incident = await server.recorder.wait_for(Incident)
        assert bytes.fromhex(incident.first_bytes) == b"GET /" + b"x" * 27


async def test_a_server_that_stops_asks_for_a_pause(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server, seated(server.port, 1) as player:
        await server.recorder.wait_for(TeamArrived)
        signal.raise_signal(signal.SIGINT)
        goodbye = await player.expect(Goodbye)
        assert (goodbye.reason, goodbye.retry_ms) == ("shutting_down", 2000)
        await player.stream.aclose()
        await server.finished()


# --- time that is kept ------------------------------------------------------------------------------------------


def test_only_the_latest_stalls_are_kept() -> None:
    scheduler = DeadlineScheduler()
    for second in range(5000):
        scheduler.stalls._due = float(second)
        scheduler.stalls.woken(second + 0.5)
    assert len(scheduler.stalls._stalls) == 1000
    assert scheduler.stalls._stalls[-1] == (4999.0, 4999.5)


# --- records and the disk ---------------------------------------------------------------------------------------


class Counting:
    """A store that counts the transactions, and what was in them."""

    def __init__(self) -> None:
        self.batches = 0
        self.counted = 0

    async def count_incidents(self, rows: list[IncidentRow]) -> None:
        self.batches += 1
        self.counted += sum(row.count for row in rows)


async def test_a_flood_costs_a_transaction_a_second(tmp_path: Path, autojump_clock: MockClock) -> None:
    bus, store = Bus(), Counting()
    records = RunLog(make_contest(tmp_path), cast(Store, store), bus)
    bus.subscribe(records._throttle)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(records.run)
        for _ in range(1000):
            bus.publish(Incident("flood", "", "10.0.0.1", None, ""))
            await trio.sleep(0.01)
        nursery.cancel_scope.cancel()
    assert 9 <= store.batches <= 10
    assert store.counted >= 900


def test_a_segment_of_the_journal_that_is_full_is_followed_by_another(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    turn = b'{"player":0,"move":"%b"}' % (b"x" * 2**20)
    for _ in range(9):
        journal.append(b"1-1", turn)
    journal.close()
    sizes = [path.stat().st_size for path in segments(tmp_path)]
    assert [size >> 20 for size in sizes] == [4, 4, 1]


def test_a_journal_larger_than_it_can_be_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "segment-1.journal"
    with path.open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    with pytest.raises(JournalError, match="67108865 bytes, expected at most 67108864"):
        read(path)


async def test_so_many_kinds_of_incidents_are_kept_with_a_game(tmp_path: Path) -> None:
    sheet = await Kept(tmp_path).begin()
    for number in range(1000):
        sheet.incident(Incident(f"code {number}", "", "10.0.0.9", 2, "00"))
    assert len(sheet._happened.incidents) == 32


async def test_some_room_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = 16_000_000
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    recorder = Recorder()
    disk = Disk(tmp_path, recorder)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(disk.run)
        await trio.testing.wait_all_tasks_blocked()
        assert disk.writable
        free -= 1
        await recorder.wait_for(DiskFull)
        assert not disk.writable
        nursery.cancel_scope.cancel()


async def test_the_host_is_warned_before_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock
) -> None:
    free = [1_000_000_000, 999_999_999, 900_000_000, 1_900_000_000, 800_000_000, 2_000_000_000, 700_000_000]
    looks = count()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free[min(next(looks), 6)]))
    recorder = Recorder()
    disk = Disk(tmp_path, recorder)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(disk.run)
        while next(copy(looks)) < 9:  # the last look is over when another one has begun
            await trio.to_thread.run_sync(time.sleep, 0.001)
            mock_clock.jump(1.0)
        nursery.cancel_scope.cancel()
    # at once, and again only after there was twice the room
    assert [event.free for event in recorder.of(DiskLow)] == [999_999_999, 700_000_000]
    assert disk.writable


async def test_a_database_that_another_program_holds_is_no_full_disk(tmp_path: Path) -> None:
    recorder = Recorder()
    disk = Disk(tmp_path, recorder)
    path = tmp_path / "contest.db"
    with Store(path) as store, contextlib.closing(sqlite3.connect(path)) as other:
        store._run(lambda: connection_of(store).execute("PRAGMA busy_timeout = 10"))
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(disk.retry_until_written, partial(store.save, record_of_pairings(PAIRINGS)))
            held = await recorder.wait_for(DatabaseLocked)
            assert (held.folder, held.why) == (str(tmp_path), "database is locked")
            assert not disk.writable
            other.execute("ROLLBACK")
        assert disk.writable
        assert store.record_headers() == [PAIRINGS]
    assert [type(event) for event in recorder.events] == [DatabaseLocked, DiskUsable]


async def test_each_kind_of_disk_problem_is_reported_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    busy = DatabaseError("database is locked", DatabaseProblem.LOCKED)
    troubles = [busy, OSError(errno.ENOSPC, "No space left on device")] * 3

    async def write() -> None:
        if troubles:
            raise troubles.pop()

    recorder = Recorder()
    disk = Disk(tmp_path, recorder)
    await disk.retry_until_written(write)
    troubles.append(busy)
    await disk.retry_until_written(write)
    said = [type(event) for event in recorder.events]
    assert said == [DiskFull, DatabaseLocked, DiskUsable, DatabaseLocked, DiskUsable]


async def test_a_full_disk_is_tried_once_a_second(tmp_path: Path, autojump_clock: MockClock) -> None:
    tries: list[float] = []

    async def write() -> None:
        tries.append(trio.current_time())
        if len(tries) <= 10:
            raise OSError(errno.ENOSPC, "No space left on device")

    await Disk(tmp_path, lambda _: None).retry_until_written(write)
    assert tries == pytest.approx([tries[0] + second for second in range(11)])
