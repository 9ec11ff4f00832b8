"""One task has all connections read: whoever sent something, nobody twice before others, nobody who has left."""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from getstep.wire import Goodbye
from getstep_server import arrivals, switchboard
from getstep_server.events import Incident, TeamLeft
from getstep_server.switchboard import Switchboard, new_switchboard
from tests.server.players import connected, make_contest, running, seated

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture(params=["new_switchboard", "Switchboard"])
def board(request: pytest.FixtureRequest) -> Switchboard:
    """The kind that suits this system, and the one that every system can have."""
    made = getattr(switchboard, request.param)()
    assert isinstance(made, Switchboard)
    return made


@pytest.fixture
def pairs() -> Iterator[list[Pair]]:
    """Non-blocking sockets with their other ends."""
    with ExitStack() as opened:
        made = [socket.socketpair() for _ in range(300)]
        for ours, theirs in made:
            opened.enter_context(ours).setblocking(False)
            opened.enter_context(theirs)
        yield made


class Log:
    """Reads a byte at a time, and keeps who was read in what order."""

    def __init__(self) -> None:
        self.reads: list[tuple[int, bytes]] = []
        self.longest = 0
        """The most reads between two turns of another task."""

    def read(self, number: int, sock: socket.socket) -> None:
        self.reads.append((number, sock.recv(1)))

    def bytes_of(self, number: int) -> bytes:
        return b"".join(data for reader, data in self.reads if reader == number)

    async def take_turns(self) -> None:
        """Be that other task."""
        while True:
            before = len(self.reads)
            await trio.lowlevel.checkpoint()
            self.longest = max(self.longest, len(self.reads) - before)


def serve_all(board: Switchboard, nursery: trio.Nursery, pairs: list[Pair]) -> Log:
    log = Log()
    for number, (ours, _) in enumerate(pairs):
        nursery.start_soon(board.serve, ours, lambda number=number, ours=ours: log.read(number, ours))
    return log


async def test_who_sends_is_read_until_nothing_is_left(board: Switchboard, pairs: list[Pair]) -> None:
    async with board.open(), trio.open_nursery() as nursery:
        log = serve_all(board, nursery, pairs)
        await wait_all_tasks_blocked()
        assert log.reads == []
        for number in (7, 150, 7):
            pairs[number][1].send(b"abc")
            await wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    assert log.bytes_of(7) == b"abcabc"
    assert log.bytes_of(150) == b"abc"
    assert len(log.reads) == 9


async def test_a_flood_keeps_nobody_waiting(board: Switchboard, pairs: list[Pair]) -> None:
    for _, theirs in pairs:
        theirs.send(b"x" * 50)
    async with board.open(), trio.open_nursery() as nursery:
        log = serve_all(board, nursery, pairs)
        await wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    assert len(log.reads) == 50 * len(pairs)
    for round_ in range(50):
        readers = Counter(number for number, _ in log.reads[round_ * len(pairs) : (round_ + 1) * len(pairs)])
        assert max(readers.values()) <= 2  # a round begins where the one before it ended


async def test_the_other_tasks_get_their_turn(pairs: list[Pair]) -> None:
    board = new_switchboard()
    for _, theirs in pairs:
        theirs.send(b"x" * 20)
    async with board.open(), trio.open_nursery() as nursery:
        log = serve_all(board, nursery, pairs)
        nursery.start_soon(log.take_turns)
        with trio.fail_after(5):
            while len(log.reads) < 20 * len(pairs):
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert 0 < log.longest <= 2 * 64  # trio's order is random: two batches may come between two turns


async def test_what_many_reads_come_to_is_dealt_with_at_their_end(pairs: list[Pair]) -> None:
    board = new_switchboard()
    seen: list[str] = []
    board.before = lambda: seen.append("before")
    board.after = lambda: seen.append("after")
    for _, theirs in pairs:
        theirs.send(b"x")
    async with board.open(), trio.open_nursery() as nursery:
        for ours, _ in pairs:
            nursery.start_soon(board.serve, ours, lambda ours=ours: seen.append(ours.recv(1).decode()))
        await wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    batches = "".join("|" if word == "before" else "." if word == "after" else word for word in seen)
    assert re.fullmatch(r"(\|x+\.)+", batches)
    assert "x" * 10 in batches


async def test_who_has_left_is_read_no_more_and_its_file_number_is_free(board: Switchboard) -> None:
    async with board.open():
        for _ in range(3):
            ours, theirs = socket.socketpair()
            with ours, theirs:
                ours.setblocking(False)
                async with trio.open_nursery() as nursery:
                    log = serve_all(board, nursery, [(ours, theirs)])
                    theirs.send(b"a")
                    await wait_all_tasks_blocked(0.01)
                    nursery.cancel_scope.cancel()
                theirs.send(b"b")
                await wait_all_tasks_blocked(0.01)
            assert log.reads == [(0, b"a")]


def count_receives(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    received: list[bytes] = []
    real = arrivals.receive

    def receive(sock: socket.socket) -> tuple[bytes, int | None]:
        data, stamp = real(sock)
        received.append(data)
        return data, stamp

    monkeypatch.setattr(arrivals, "receive", receive)
    return received


async def test_a_peer_that_shuts_down_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-closed connection stays readable until it is closed: nobody spins on it meanwhile."""
    async with running(make_contest(tmp_path)) as server, seated(server.port, 1) as one:
        received = count_receives(monkeypatch)
        await one.stream.send_eof()
        await server.recorder.wait_for(TeamLeft)
        assert await one.next() is None
        assert received == [b""]


async def test_who_is_held_back_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second wrong login waits for its answer; what it sends meanwhile waits as well."""
    async with running(make_contest(tmp_path)) as server:
        async with connected(server.port) as first, connected(server.port) as second:
            for count, player in enumerate((first, second), start=1):
                await player.join(1, token="wrong")
                await server.recorder.wait_for(Incident, count)
            received = count_receives(monkeypatch)
            await second.say_bytes(b"x" * 10_000)
            assert (await second.until(Goodbye)).reason == "bad_token"
            assert received == []
