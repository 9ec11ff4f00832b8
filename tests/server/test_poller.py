"""The poller reads all connections with data in one task: once per round, and none that was closed."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from getstep.wire import Goodbye, Hello
from getstep_server.events import TeamArrived, TeamLeft
from getstep_server.incident import Incident
from getstep_server.net import login_queue, poller, registry, timestamps
from getstep_server.net.login_queue import LoginQueue
from getstep_server.net.poller import EpollPoller, Poller, new_poller
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import connected, running, seated

Pair = tuple[socket.socket, socket.socket]

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no epoll")


@pytest.fixture(params=["new_poller", "Poller"])
def board(request: pytest.FixtureRequest) -> Poller:
    """The kind that suits this system, and the one that every system can have."""
    made = getattr(poller, request.param)()
    assert isinstance(made, Poller)
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
    """A reader of single bytes that keeps the order of the connections read."""

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


def serve_all(board: Poller, nursery: trio.Nursery, pairs: list[Pair]) -> Log:
    log = Log()
    for number, (ours, _) in enumerate(pairs):
        nursery.start_soon(board.watch, ours, lambda number=number, ours=ours: log.read(number, ours))
    return log


async def test_a_connection_is_read_until_nothing_is_left(board: Poller, pairs: list[Pair]) -> None:
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


async def test_a_flood_delays_no_other_connection(board: Poller, pairs: list[Pair]) -> None:
    for _, theirs in pairs:
        theirs.send(b"x" * 50)
    async with board.open(), trio.open_nursery() as nursery:
        log = serve_all(board, nursery, pairs)
        await wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    assert len(log.reads) == 50 * len(pairs)
    counts, most = [0] * len(pairs), 2 if isinstance(board, EpollPoller) else 5
    for number, _ in log.reads:
        counts[number] += 1
        # Without epoll trio orders the tasks, at random, and a busy machine ends batches early: a few reads more.
        assert counts[number] - min(counts) <= most


async def test_the_other_tasks_get_their_turn(pairs: list[Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (poller, login_queue):  # time stands still: a slow machine's batches end earlier
        monkeypatch.setattr(module, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(login_queue, "thread_time", lambda: 0.0)
    board = new_poller()
    for _, theirs in pairs:
        theirs.send(b"x" * 20)
    async with board.open(), trio.open_nursery() as nursery:
        log = serve_all(board, nursery, pairs)
        nursery.start_soon(log.take_turns)
        with trio.fail_after(PATIENCE_SECONDS):
            while len(log.reads) < 20 * len(pairs):
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert 0 < log.longest <= 2 * 64  # trio's order is random: two batches may come between two turns


class SlowLog(Log):
    """Reads that take this many seconds each, on a clock of their own; ``busy``: of processor time, too."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float, *, busy: bool = False) -> None:
        super().__init__()
        self.now = 0.0
        self._seconds = seconds
        for module in (poller, login_queue):
            monkeypatch.setattr(module, "perf_counter", lambda: self.now)
        monkeypatch.setattr(login_queue, "thread_time", lambda: self.now if busy else 0.0)

    def read(self, number: int, sock: socket.socket) -> None:
        super().read(number, sock)
        self.now += self._seconds


def serve_slowly(board: Poller, nursery: trio.Nursery, pairs: list[Pair], log: SlowLog) -> None:
    for number, (ours, _) in enumerate(pairs):
        nursery.start_soon(board.watch, ours, lambda number=number, ours=ours: log.read(number, ours))


@linux
@pytest.mark.parametrize(("seated", "most"), [(True, 10), (False, 2)], ids=["teams", "logins"])
async def test_a_batch_ends_when_its_time_is_up(
    pairs: list[Pair], monkeypatch: pytest.MonkeyPatch, seated: bool, most: int
) -> None:
    """Reads of 0.16 ms each: teams have 1.5 ms, connections that have not logged in 0.2 ms."""
    log = SlowLog(monkeypatch, 0.00016)
    batches: list[int] = []

    @contextmanager
    def batch() -> Iterator[None]:
        began = len(log.reads)
        yield
        batches.append(len(log.reads) - began)

    board = new_poller(batch)
    async with board.open(), trio.open_nursery() as nursery:
        serve_slowly(board, nursery, pairs, log)
        await wait_all_tasks_blocked()
        for ours, theirs in pairs:
            if seated:
                board.logged_in(ours)
            theirs.send(b"xx")
        await wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    assert len(log.reads) == 2 * len(pairs)
    assert max(batches) == most


@linux
async def test_an_unread_connection_comes_next(pairs: list[Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    board, log = new_poller(), SlowLog(monkeypatch, 1.0)  # one read a batch
    for _, theirs in pairs:
        theirs.send(b"xxx")
    async with board.open(), trio.open_nursery() as nursery:
        serve_slowly(board, nursery, pairs, log)
        await wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    for round_ in range(3):
        readers = [number for number, _ in log.reads[round_ * len(pairs) : (round_ + 1) * len(pairs)]]
        assert len(set(readers)) == len(pairs)


@linux
async def test_a_closed_connection_loses_its_turn(pairs: list[Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    board, log = new_poller(), SlowLog(monkeypatch, 1.0)
    scopes = [trio.CancelScope() for _ in pairs]

    async def serve(number: int) -> None:
        with scopes[number]:
            await board.watch(pairs[number][0], lambda: leave_all_but(number))

    def leave_all_but(number: int) -> None:
        log.read(number, pairs[number][0])
        for other, scope in enumerate(scopes):
            if other != number:
                scope.cancel()

    for _, theirs in pairs:
        theirs.send(b"x")
    async with board.open(), trio.open_nursery() as nursery:
        for number in range(len(pairs)):
            nursery.start_soon(serve, number)
        await wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    assert len(log.reads) <= 2, "the second batch may begin before the others have left"


@linux
async def test_unauthenticated_connections_are_read_for_their_share_of_the_time_and_teams_at_once(
    pairs: list[Pair], monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    board, log = new_poller(logins=LoginQueue(lambda: True)), SlowLog(monkeypatch, 0.001, busy=True)
    logins, (team, bot) = pairs[:250], pairs[250]
    async with board.open(), trio.open_nursery() as nursery:
        serve_slowly(board, nursery, pairs[:251], log)
        await wait_all_tasks_blocked()
        board.logged_in(team)
        began = trio.current_time()
        for _, theirs in logins:
            theirs.send(b"x")
        for turn in range(1, 101):
            bot.send(b"t")
            await trio.sleep(0.001)
            assert sum(number == 250 for number, _ in log.reads) == turn
        assert len(log.reads) - 100 <= 100 + 7, "what may come at once, and 5 % of the time"
        while len(log.reads) < 100 + len(logins):
            await trio.sleep(0.01)
        assert trio.current_time() - began >= (len(logins) - 1 - 100) * 0.001 / 0.05
        nursery.cancel_scope.cancel()


@linux
async def test_a_connection_moves_over_when_its_team_has_logged_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[EpollPoller] = []

    def make(*parts: Any) -> Poller:
        made.append(EpollPoller(*parts))
        return made[0]

    monkeypatch.setattr(registry, "new_poller", make)
    async with running(make_contest(tmp_path)) as server:
        (board,) = made
        async with connected(server.port) as newcomer, seated(server.port, 1):
            await newcomer.expect(Hello)
            await server.recorder.wait_for(TeamArrived)
            assert (len(board._teams.reads), len(board._logins.reads)) == (1, 1)
        await server.recorder.wait_for(TeamLeft)
        while board._teams.reads or board._logins.reads:
            await trio.sleep(0.01)


async def test_reads_are_batched(pairs: list[Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_queue, "perf_counter", lambda: 0.0)  # a slow machine's batches end earlier
    seen: list[str] = []

    @contextmanager
    def batch() -> Iterator[None]:
        seen.append("before")
        yield
        seen.append("after")

    board = new_poller(batch)
    for _, theirs in pairs:
        theirs.send(b"x")
    async with board.open(), trio.open_nursery() as nursery:
        for ours, _ in pairs:
            nursery.start_soon(board.watch, ours, lambda ours=ours: seen.append(ours.recv(1).decode()))
        await wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    batches = "".join("|" if word == "before" else "." if word == "after" else word for word in seen)
    assert re.fullmatch(r"(\|x+\.)+", batches)
    assert "x" * 10 in batches


@linux
async def test_an_answer_that_arrives_during_a_batch_needs_no_further_wait(
    pairs: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wait takes 10 µs of trio's time. With few matches at once, the next answer is often there after a batch."""
    monkeypatch.setattr(poller, "perf_counter", lambda: 0.0)  # a slow machine's round is over after the first batch
    events: list[str] = []
    real = poller._Queue.wait

    def wait(queue: poller._Queue) -> Awaitable[None]:
        events.append("wait")
        return real(queue)

    @contextmanager
    def batch() -> Iterator[None]:
        yield
        events.append("batch")
        if events.count("batch") == 1:
            pairs[1][1].send(b"x")

    board = new_poller(batch)
    async with board.open(), trio.open_nursery() as nursery:
        log = serve_all(board, nursery, pairs[:2])
        await wait_all_tasks_blocked()
        for ours, _ in pairs[:2]:
            board.logged_in(ours)
        monkeypatch.setattr(poller._Queue, "wait", wait)
        pairs[0][1].send(b"x")
        await wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    assert [number for number, _ in log.reads] == [0, 1]
    assert events == ["batch", "batch", "wait"]


async def test_a_closed_connection_is_not_read_and_its_file_number_is_free(board: Poller) -> None:
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
    real = timestamps.receive

    def receive(sock: socket.socket) -> tuple[bytes, int | None]:
        data, stamp = real(sock)
        received.append(data)
        return data, stamp

    monkeypatch.setattr(timestamps, "receive", receive)
    return received


async def test_a_peer_that_shuts_down_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-closed connection stays readable until it is closed: no task spins on it until then."""
    async with running(make_contest(tmp_path)) as server, seated(server.port, 1) as one:
        received = count_receives(monkeypatch)
        await one.stream.send_eof()
        await server.recorder.wait_for(TeamLeft)
        assert await one.next() is None
        assert received == [b""]


async def test_a_throttled_connection_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second wrong login waits for its answer; later bytes of it wait as well."""
    async with running(make_contest(tmp_path)) as server:
        async with connected(server.port) as first, connected(server.port) as second:
            for count, player in enumerate((first, second), start=1):
                await player.join(1, token="wrong")
                await server.recorder.wait_for(Incident, count)
            received = count_receives(monkeypatch)
            await second.say_bytes(b"x" * 10_000)
            assert (await second.until(Goodbye)).reason == "bad_token"
            assert received == []
