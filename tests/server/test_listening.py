"""Taking connections in: a crowd at the door neither stops the other tasks nor costs a whole core."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio

from getstep_server import listening, session
from tests.server.players import Recorder, make_contest

CROWD = 300


@pytest.fixture
def crowd() -> Iterator[socket.socket]:
    """A listener with a crowd of connections waiting to be taken in."""
    with ExitStack() as opened:
        listener = opened.enter_context(listening.open_listener("127.0.0.1", 0))
        for _ in range(CROWD):
            opened.enter_context(socket.create_connection(listener.getsockname()))
        yield listener


class Door:
    """Makes links and keeps them, in the order of coming."""

    def __init__(self, folder: Path) -> None:
        self.house = session.House(make_contest(folder), {}, Recorder())
        self.taken: list[session.SocketLink] = []

    def make_link(self, house: session.House, sock: socket.socket, address: str) -> session.SocketLink:
        self.taken.append(session.WireLink(house, sock, address))
        return self.taken[-1]


async def test_the_other_tasks_get_their_turn(tmp_path: Path, crowd: socket.socket) -> None:
    door, numbers, before = Door(tmp_path), [], 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, crowd, door.make_link, door.house, nursery)
        with trio.fail_after(5):
            while before < CROWD:
                await trio.lowlevel.checkpoint()  # what another task would have: its turn between two batches
                numbers.append(len(door.taken) - before)
                before = len(door.taken)
        nursery.cancel_scope.cancel()
    assert max(numbers) <= 2 * 64  # trio's order is random: two batches may come between two turns


async def test_too_many_are_taken_in_slowly(
    tmp_path: Path, crowd: socket.socket, monkeypatch: pytest.MonkeyPatch, mock_clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr(session, "MAX_CONNECTIONS_PER_ADDRESS", 10)
    door = Door(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, crowd, door.make_link, door.house, nursery)
        for batch in range(1, 5):
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert len(door.taken) == 64 * batch
            mock_clock.jump(0.019)
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert len(door.taken) == 64 * batch
            mock_clock.jump(0.002)
        nursery.cancel_scope.cancel()


async def test_connections_leave_descriptors_free_for_files(
    tmp_path: Path, crowd: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    room, files = 10, 16
    most = crowd.fileno() + 1 + room + files
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    house = session.House(make_contest(tmp_path), {}, Recorder())
    socks: list[socket.socket] = []
    open_at_once = []

    def make_link(house: session.House, sock: socket.socket, address: str) -> session.SocketLink:
        socks.append(sock)
        open_at_once.append(sum(one.fileno() != -1 for one in socks))
        return session.WireLink(house, sock, address)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, crowd, make_link, house, nursery)
        with trio.fail_after(10):
            while len(socks) < 3 * room:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert max(open_at_once) == room + 1  # the newest, before somebody goes for it


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other options")
def test_a_dead_link_is_noticed_after_half_a_minute() -> None:
    with listening.open_listener("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        listener.setblocking(True)
        accepted, _ = listener.accept()
        with accepted:
            options = [socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT]
            values = [accepted.getsockopt(socket.IPPROTO_TCP, option) for option in options]
    assert values == [10, 5, 4, 30_000]


async def test_a_closed_listener_is_the_end(tmp_path: Path) -> None:
    listener = listening.open_listener("127.0.0.1", 0)
    house = session.House(make_contest(tmp_path), {}, Recorder())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, listener, session.WireLink, house, nursery)
        await trio.testing.wait_all_tasks_blocked()
        trio.lowlevel.notify_closing(listener)
        listener.close()
        nursery.cancel_scope.deadline = trio.current_time() + 2
    assert not nursery.cancel_scope.cancelled_caught
