"""Taking connections in: a crowd at the door neither stops the other tasks nor costs a whole core."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from getstep_server.net import connection, wire_connection
from getstep_server.net import listener as listening
from getstep_server.net import registry as registry_module
from getstep_server.net.login_throttle import LoginThrottle
from getstep_server.net.registry import ConnectionRegistry
from tests.patience import PATIENCE_SECONDS
from tests.server.players import Recorder, make_contest

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
    monkeypatch.setattr(listening, "perf_counter", stopped)
    monkeypatch.setattr(listening, "thread_time", stopped)
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
        self.taken: list[connection.Connection] = []
        self._watch, self._seconds = watch or StoppedWatch(), seconds

    def connect(self, registry: ConnectionRegistry, sock: socket.socket, address: str) -> connection.Connection:
        self._watch.now += self._seconds
        self.taken.append(wire_connection.WireConnection(registry, sock, address))
        return self.taken[-1]


@pytest.mark.usefixtures("watch")
async def test_the_other_tasks_get_their_turn(tmp_path: Path, crowd: socket.socket) -> None:
    door, numbers, before = Door(tmp_path), [], 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, crowd, door.connect, door.registry, nursery)
        with trio.fail_after(PATIENCE_SECONDS):
            while before < CROWD:
                await trio.lowlevel.checkpoint()  # what another task would have: its turn between two batches
                numbers.append(len(door.taken) - before)
                before = len(door.taken)
        nursery.cancel_scope.cancel()
    assert max(numbers) <= 2 * 64  # trio's order is random: two batches may come between two turns


@pytest.mark.usefixtures("watch")
async def test_connections_over_a_limit_are_accepted_slowly(
    tmp_path: Path, crowd: socket.socket, monkeypatch: pytest.MonkeyPatch, mock_clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr(registry_module, "MAX_CONNECTIONS_PER_ADDRESS", 10)
    door = Door(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, crowd, door.connect, door.registry, nursery)
        for batch in range(1, 5):
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert len(door.taken) == 64 * batch
            mock_clock.jump(0.019)
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert len(door.taken) == 64 * batch
            mock_clock.jump(0.002)
        nursery.cancel_scope.cancel()


async def test_the_other_tasks_get_their_turn_in_time(
    tmp_path: Path, crowd: socket.socket, watch: StoppedWatch
) -> None:
    door, numbers, before = Door(tmp_path, watch, 0.0001), [], 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, crowd, door.connect, door.registry, nursery)
        with trio.fail_after(PATIENCE_SECONDS):
            while before < CROWD:
                await trio.lowlevel.checkpoint()
                numbers.append(len(door.taken) - before)
                before = len(door.taken)
        nursery.cancel_scope.cancel()
    assert max(numbers) <= 2 * 3, "a batch has 0.2 ms, and each connection takes 0.1 ms"


async def test_during_matches_accepting_has_its_share_of_the_time(
    tmp_path: Path, crowd: socket.socket, watch: StoppedWatch, autojump_clock: MockClock
) -> None:
    door = Door(tmp_path, watch, 0.001)
    door.registry.throttle = LoginThrottle(lambda: True)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, crowd, door.connect, door.registry, nursery)
        while len(door.taken) < CROWD:
            await trio.sleep(0.001)
        nursery.cancel_scope.cancel()
    at_least = (4 * CROWD * 0.001 - 0.1) / 0.05
    assert trio.current_time() - began >= 0.9 * at_least, "0.1 s may be taken at once, the rest is 5 % of the time"


async def test_a_class_is_accepted_at_once_while_no_match_runs(
    tmp_path: Path, crowd: socket.socket, watch: StoppedWatch, autojump_clock: MockClock
) -> None:
    door = Door(tmp_path, watch, 0.0001)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, crowd, door.connect, door.registry, nursery)
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
    registry = ConnectionRegistry(make_contest(tmp_path), {}, Recorder())
    socks: list[socket.socket] = []
    open_at_once = []

    def connect(registry: ConnectionRegistry, sock: socket.socket, address: str) -> connection.Connection:
        socks.append(sock)
        open_at_once.append(sum(one.fileno() != -1 for one in socks))
        return wire_connection.WireConnection(registry, sock, address)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, crowd, connect, registry, nursery)
        with trio.fail_after(PATIENCE_SECONDS):
            while len(socks) < 3 * room:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert max(open_at_once) == room + 1  # the newest, before somebody goes for it


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
