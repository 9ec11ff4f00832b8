"""Taking connections in: a crowd at the door neither stops the other tasks nor costs a whole core."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest
import trio
from trio.testing import MockClock

from getstep_server.net import connection, login_queue, wire_connection
from getstep_server.net import listener as listening
from getstep_server.net.login_queue import LoginQueue
from getstep_server.net.registry import ConnectionRegistry
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Recorder

CROWD = 300


class StoppedWatch:
    """A clock that stands still unless it is moved on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> StoppedWatch:
    """The clock that work is timed with: work takes no time unless a test says so."""
    stopped = StoppedWatch()
    for module in (listening, login_queue):
        monkeypatch.setattr(module, "perf_counter", stopped)
        monkeypatch.setattr(module, "thread_time", stopped)
    return stopped


@pytest.fixture
def crowd() -> Iterator[socket.socket]:
    """A listener with a crowd of connections waiting to be taken in."""
    with ExitStack() as opened:
        listener = opened.enter_context(listening.open_listener("127.0.0.1", 0))
        for _ in range(CROWD):
            opened.enter_context(socket.create_connection(listener.getsockname()))
        yield listener


class Door:
    """A factory that makes connections and keeps them in order; each takes this many seconds on the ``watch``."""

    def __init__(self, folder: Path, watch: StoppedWatch | None = None, seconds: float = 0.0) -> None:
        self.registry = ConnectionRegistry(make_contest(folder), {}, Recorder())
        self.taken: list[connection.ClientConnection] = []
        self.open = 0
        """The most that were open when one was made, with it."""
        self._watch, self._seconds = watch or StoppedWatch(), seconds

    def connect(
        self, registry: ConnectionRegistry, sock: socket.socket, address: str
    ) -> connection.ClientConnection:
        self._watch.now += self._seconds
        self.taken.append(wire_connection.WireConnection(registry, sock, address))
        self.open = max(self.open, sum(one.fileno() != -1 for one in self.taken))
        return self.taken[-1]

    def serve(self, listener: socket.socket, nursery: trio.Nursery) -> None:
        nursery.start_soon(self.registry.logins.run)
        nursery.start_soon(listening.accept_forever, listener, self.connect, self.registry, nursery)


async def accepted_between_turns(
    door: Door, crowd: socket.socket, monkeypatch: pytest.MonkeyPatch, watch: StoppedWatch, seconds: float
) -> list[int]:
    """Return how many connections are accepted between two turns of another task; each takes ``seconds``."""
    numbers, accepted, before = list[int](), 0, 0

    def refuse(*_: object) -> bool:
        nonlocal accepted
        accepted += 1
        watch.now += seconds
        return False

    monkeypatch.setattr(door.registry.logins, "admit", refuse)
    async with trio.open_nursery() as nursery:
        door.serve(crowd, nursery)
        with trio.fail_after(PATIENCE_SECONDS):
            while before < CROWD:
                await trio.lowlevel.checkpoint()  # what another task would have: its turn between two batches
                numbers.append(accepted - before)
                before = accepted
        nursery.cancel_scope.cancel()
    return numbers


async def test_the_other_tasks_get_their_turn(
    tmp_path: Path, crowd: socket.socket, watch: StoppedWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = await accepted_between_turns(Door(tmp_path), crowd, monkeypatch, watch, 0.0)
    assert max(numbers) <= 2 * 64  # trio's order is random: two batches may come between two turns


async def test_the_other_tasks_get_their_turn_in_time(
    tmp_path: Path, crowd: socket.socket, watch: StoppedWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = await accepted_between_turns(Door(tmp_path), crowd, monkeypatch, watch, 0.0001)
    assert max(numbers) <= 2 * 3, "a batch has 0.2 ms, and each connection takes 0.1 ms"


async def test_during_matches_accepting_has_its_share_of_the_time(
    tmp_path: Path, crowd: socket.socket, watch: StoppedWatch, autojump_clock: MockClock
) -> None:
    door = Door(tmp_path, watch, 0.001)
    door.registry.logins = LoginQueue(lambda: True)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        door.serve(crowd, nursery)
        while len(door.taken) < CROWD:
            await trio.sleep(0.001)
        nursery.cancel_scope.cancel()
    at_least = (4 * CROWD * 0.001 - 0.1) / 0.05
    assert trio.current_time() - began >= 0.9 * at_least, "0.1 s may be taken at once, the rest is 5 % of the time"


async def test_during_matches_the_door_itself_has_its_share(
    tmp_path: Path,
    crowd: socket.socket,
    watch: StoppedWatch,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: MockClock,
) -> None:
    accepted = 0

    def refuse(*_: object) -> bool:
        nonlocal accepted
        accepted += 1
        watch.now += 0.001
        return False

    door, began = Door(tmp_path), trio.current_time()
    monkeypatch.setattr(door.registry.logins, "admit", refuse)
    monkeypatch.setattr(door.registry.accept_throttle, "_is_playing", lambda: True)
    async with trio.open_nursery() as nursery:
        door.serve(crowd, nursery)
        while accepted < CROWD:
            await trio.sleep(0.001)
        nursery.cancel_scope.cancel()
    assert trio.current_time() - began >= 0.9 * (CROWD * 0.001 - 0.1) / 0.1


class Full:
    """A listener of a process that has too many files open."""

    def __init__(self, listener: socket.socket) -> None:
        self.fileno, self.tries = listener.fileno, 0

    def accept(self) -> None:
        self.tries += 1
        assert self.tries < 100
        raise OSError(errno.EMFILE, "Too many open files")


@pytest.mark.usefixtures("watch")
async def test_a_full_file_table_is_tried_again_after_a_pause(
    tmp_path: Path, crowd: socket.socket, autojump_clock: MockClock
) -> None:
    door, full = Door(tmp_path), Full(crowd)
    async with trio.open_nursery() as nursery:
        door.serve(cast(socket.socket, full), nursery)
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert 45 <= full.tries <= 51


@pytest.mark.usefixtures("watch")
async def test_the_filter_changes_after_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    door, filters = Door(tmp_path), []

    def drop_from(_: socket.socket, sources: Iterable[str]) -> bool:
        filters.append(list(sources))
        return True

    monkeypatch.setattr(listening, "drop_from", drop_from)
    with listening.open_listener("127.0.0.1", 0) as listener:
        async with trio.open_nursery() as nursery:
            door.serve(listener, nursery)
            for number in range(100):
                await trio.sleep(0.001)
                door.registry.logins._block(f"10.0.0.{number}", 1)
            await trio.sleep(0.03)
            assert len(filters) <= 7
            assert len(filters[-1]) == 100
            await trio.sleep(3)
            assert filters[-1] == []
            nursery.cancel_scope.cancel()


async def test_a_class_is_accepted_at_once_while_no_match_runs(
    tmp_path: Path, crowd: socket.socket, watch: StoppedWatch, autojump_clock: MockClock
) -> None:
    door = Door(tmp_path, watch, 0.0001)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        door.serve(crowd, nursery)
        while len(door.taken) < 100:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert trio.current_time() == began, "no pause, though all come from one address"


async def test_connections_leave_descriptors_free_for_files(
    tmp_path: Path, crowd: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    room, files = 10, 16
    most = crowd.fileno() + 1 + room + files
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    monkeypatch.setattr(listening, "ACCEPTS_AT_ONCE", 1)  # otherwise most are closed before they are admitted
    door = Door(tmp_path)
    async with trio.open_nursery() as nursery:
        door.serve(crowd, nursery)
        with trio.fail_after(PATIENCE_SECONDS):
            while len(door.taken) < 3 * room:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert door.open <= room + 2  # the newest, and the one that it evicts


@pytest.mark.usefixtures("watch")
async def test_a_flood_of_one_address_is_accepted_and_closed(
    tmp_path: Path, crowd: socket.socket, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    monkeypatch.setattr(listening, "MAX_WAITING_CONNECTIONS", 20)
    door = Door(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, crowd, door.connect, door.registry, nursery)
        await trio.sleep(1)
        assert door.registry.logins.waiting == 20
        assert list(door.registry.logins.blocked) == ["127.0.0.1"]
        with pytest.raises(BlockingIOError):
            crowd.accept()
        nursery.start_soon(door.registry.logins.run)
        await trio.sleep(1)
        assert len(door.taken) == 20
        nursery.cancel_scope.cancel()


async def test_a_connection_that_was_closed_before_its_turn_costs_little(tmp_path: Path) -> None:
    door = Door(tmp_path)
    with listening.open_listener("127.0.0.1", 0) as listener:
        for _ in range(10):
            socket.create_connection(listener.getsockname()).close()
        with socket.create_connection(listener.getsockname()):
            async with trio.open_nursery() as nursery:
                door.serve(listener, nursery)
                with trio.fail_after(PATIENCE_SECONDS):
                    while not door.taken:
                        await trio.sleep(0.01)
                nursery.cancel_scope.cancel()
    assert len(door.taken) == 1


@pytest.mark.parametrize(
    ("limits", "raised"),
    [
        ((1024, 4096), (4096, 4096)),
        ((1024, 10**9), (65_536, 10**9)),
        ((1024, -1), (65_536, -1)),
        ((4096, 4096), None),
    ],
)
def test_the_server_may_open_as_many_files_as_the_system_allows(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], raised: tuple[int, int] | None
) -> None:
    resource = pytest.importorskip("resource")
    found: list[tuple[int, int]] = []
    monkeypatch.setattr(listening, "FILES", 65_536)  # macOS has fewer
    monkeypatch.setattr(resource, "RLIM_INFINITY", -1)
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, values: found.append(values))
    listening.raise_file_limit()
    assert found == ([] if raised is None else [raised])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other options")
def test_a_dead_connection_is_noticed_after_half_a_minute() -> None:
    with listening.open_listener("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        listener.setblocking(True)
        accepted, _ = listener.accept()
        with accepted:
            options = [socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT]
            values = [accepted.getsockopt(socket.IPPROTO_TCP, option) for option in options]
    assert values == [10, 5, 4, 30_000]


async def test_a_closed_listener_is_the_end(tmp_path: Path) -> None:
    listener = listening.open_listener("127.0.0.1", 0)
    registry = ConnectionRegistry(make_contest(tmp_path), {}, Recorder())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, listener, wire_connection.WireConnection, registry, nursery)
        await trio.testing.wait_all_tasks_blocked()
        trio.lowlevel.notify_closing(listener)
        listener.close()
        nursery.cancel_scope.deadline = trio.current_time() + PATIENCE_SECONDS
    assert not nursery.cancel_scope.cancelled_caught
