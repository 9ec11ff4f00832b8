"""The work before login: addresses in turn, known ones first, and a bound on what waits for each."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator

import pytest
import trio
from trio.testing import MockClock

from getstep_server.net import listener as listening
from getstep_server.net import login_queue, syn_filter
from getstep_server.net.login_queue import FairQueue, LoginQueue, Work
from tests.support.patience import PATIENCE_SECONDS

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such filter")


class Done:
    """What was done, in order; each piece takes this many seconds of processor time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch | None = None, seconds: float = 0.0) -> None:
        self.names: list[str] = []
        self.at: list[float] = []
        self.dropped = 0
        self._now, self._seconds = 0.0, seconds
        if monkeypatch is not None:
            monkeypatch.setattr(login_queue, "perf_counter", lambda: self._now)
            monkeypatch.setattr(login_queue, "thread_time", lambda: self._now)

    def work(self, name: str) -> Work:
        return Work(self._noting(name), self._drop)

    def _noting(self, name: str) -> Callable[[], float]:
        def run() -> float:
            self.names.append(name)
            self.at.append(trio.current_time() if self._seconds else 0.0)
            self._now += self._seconds
            return 1.0

        return run

    def _drop(self) -> None:
        self.dropped += 1


def test_sources_are_served_in_turn() -> None:
    queue, done = FairQueue(), Done()
    for number in range(5):
        queue.push("flood", done.work(f"flood {number}"))
    queue.push("one", done.work("one 0"))
    queue.push("one", done.work("one 1"))
    queue.push("two", done.work("two 0"))
    while queue:
        queue.pop().run()
    assert done.names == ["flood 0", "one 0", "two 0", "flood 1", "one 1", "flood 2", "flood 3", "flood 4"]


def test_a_join_is_read_before_further_connections_of_its_source_are_admitted() -> None:
    queue, done = FairQueue(), Done()
    for name in ("admit 0", "admit 1"):
        queue.push("class", done.work(name))
    queue.push("class", done.work("join"), first=True)
    while queue:
        queue.pop().run()
    assert done.names == ["join", "admit 0", "admit 1"]


async def test_a_newcomer_waits_for_one_piece_of_each_other_address(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    queue, done = LoginQueue(lambda: True), Done(monkeypatch, 0.0003)  # what a connection costs, at most
    for number in range(200):
        for _ in range(5):
            assert queue.admit(f"10.0.0.{number}", done.work("flood"), 10**6)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(queue.run)
        await trio.sleep(1)  # what may be done at once is done
        began, before = trio.current_time(), len(done.names)
        queue.admit("10.1.0.1", done.work("newcomer"))
        await trio.sleep(60)
        nursery.cancel_scope.cancel()
    place = done.names.index("newcomer")
    assert place - before <= 200
    assert done.at[place] - began <= 2.5, "twice this, to be admitted and read, makes five seconds"


async def test_a_known_address_does_not_wait_for_new_ones(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    queue, done = LoginQueue(lambda: True), Done(monkeypatch, 0.0003)
    queue.remember("10.1.0.1", 1, 1)
    for number in range(2000):
        queue.add(f"10.0.{number % 200}.1", done.work("flood"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(queue.run)
        await trio.sleep(3)
        began = trio.current_time()
        queue.add("10.1.0.1", done.work("known"))
        await trio.sleep(60)
        nursery.cancel_scope.cancel()
    place = done.names.index("known")
    assert place < 2000
    assert done.at[place] == began


async def test_an_ipv6_computer_is_one_source_until_it_is_known() -> None:
    queue = LoginQueue()
    assert queue.source("2001:db8::1") == queue.source("2001:db8::2")
    queue.remember("2001:db8::1", 1, 1)
    assert queue.source("2001:db8::1") != queue.source("2001:db8::2")


def known(queue: LoginQueue, numbers: range) -> list[int]:
    """Return those of these computers of one network that are known."""
    return [number for number in numbers if queue.source(f"2001:db8::{number}") == f"2001:db8::{number}"]


async def test_a_team_has_four_known_addresses_for_each_seat() -> None:
    """One that logs in from many cannot fill the lane of those that play, nor push the others out of it."""
    queue = LoginQueue()
    queue.remember("2001:db8::1", 1, 1)
    queue.remember("2001:db8::2", 1, 1)
    for number in [*range(2, 10), 3]:
        queue.remember(f"2001:db8::{number}", 2, 1)
    assert known(queue, range(1, 10)) == [1, 2, 3, 7, 8, 9]
    for number in range(10, 20):
        queue.remember(f"2001:db8::{number}", 3, 2)
    assert known(queue, range(10, 20)) == list(range(12, 20))


async def test_an_address_may_have_so_many_connections_waiting(autojump_clock: MockClock) -> None:
    queue, done = LoginQueue(), Done()
    assert [queue.admit("10.0.0.1", done.work("one"), 10) for _ in range(12)] == [True] * 10 + [False] * 2
    assert [queue.admit("10.0.0.2", done.work("two"), 10) for _ in range(6)] == [True] * 5 + [False]
    assert queue.admit("10.0.0.3", done.work("three"), 1), "one of each address may wait in any case"
    assert list(queue.blocked) == ["10.0.0.1", "10.0.0.2"]
    with trio.move_on_after(1.9):
        await queue.run()
    assert (queue.waiting, len(done.names)) == (0, 16)
    assert list(queue.blocked) == ["10.0.0.1", "10.0.0.2"], "a flood would be back at once"
    with trio.move_on_after(0.5):
        await queue.run()
    assert list(queue.blocked) == []


async def test_so_many_bots_of_one_address_may_wait() -> None:
    queue, done = LoginQueue(), Done()
    for _ in range(1100):
        queue.admit("10.0.0.1", done.work("bot"))
    assert queue.waiting == 1024


async def test_while_no_match_is_played_half_of_the_time_is_left(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    queue, done = LoginQueue(), Done(monkeypatch, 0.001)
    for _ in range(500):
        queue.add("10.0.0.1", done.work("flood"))
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(queue.run)
        await trio.sleep(5)
        nursery.cancel_scope.cancel()
    assert len(done.names) == 500
    assert 0.75 <= done.at[-1] - began <= 1, "0.1 s may be taken at once"


async def test_a_queue_that_ends_drops_what_waits() -> None:
    queue, done = LoginQueue(), Done()
    with trio.CancelScope() as scope:
        queue.admit("10.0.0.1", done.work("one"))
        scope.cancel()
        await queue.run()
    assert (done.names, done.dropped) == ([], 1)


# --- the filter in the kernel -----------------------------------------------------------------------------------


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with listening.open_listener("127.0.0.1", 0) as opened:
        yield opened


DROPPED_SECONDS = 0.3
"""On loopback a connection takes 0.1 ms. One that is not there after this time is taken for dropped."""


def connects(listener: socket.socket, source: str, seconds: float = DROPPED_SECONDS) -> bool:
    """Return True if a connection from there is established in time."""
    with socket.socket() as sock:
        sock.bind((source, 0))
        sock.settimeout(seconds)
        try:
            sock.connect(listener.getsockname())
        except TimeoutError:
            return False
        return True


@linux
def test_requests_to_connect_are_dropped_from_some_sources_only(listener: socket.socket) -> None:
    blocked = [f"127.0.1.{number}" for number in range(1, 255)]
    assert syn_filter.drop_from(listener, [])
    if not syn_filter.drop_from(listener, ["2001:db8::/64", "not an address", *blocked]):
        pytest.skip("this system has no such filter")
    with socket.create_connection(listener.getsockname(), PATIENCE_SECONDS, ("127.0.2.1", 0)) as held:
        assert not connects(listener, blocked[0])
        assert not connects(listener, blocked[253])
        listener.setblocking(True)
        with listener.accept()[0] as accepted:
            held.sendall(b"an established connection is not filtered")
            assert accepted.recv(2, socket.MSG_WAITALL) == b"an"
    assert syn_filter.drop_from(listener, [])
    assert connects(listener, blocked[0], PATIENCE_SECONDS)


@linux
def test_requests_are_dropped_by_the_first_half_of_an_ipv6_address() -> None:
    try:
        opened = listening.open_listener("::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with opened as listener:
        address = listener.getsockname()[:2]
        if not syn_filter.drop_from(listener, ["127.0.0.1", "2001:db8::/64"]):
            pytest.skip("this system has no such filter")
        socket.create_connection(address, PATIENCE_SECONDS).close()
        for source in ("::/64", "::1"):
            syn_filter.drop_from(listener, [source])
            with pytest.raises(TimeoutError):
                socket.create_connection(address, DROPPED_SECONDS)


def test_the_filter_has_a_bounded_length() -> None:
    many = [f"10.{number // 250}.{number % 250}.1" for number in range(10_000)]
    assert len(syn_filter.program(many)) <= 256 * 3 + 12
    assert len(syn_filter.program([f"2001:db8:{number:x}::/64" for number in range(10_000)])) <= 256 * 5 + 12
