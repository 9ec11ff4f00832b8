"""Arrivals are timed by the kernel, through steps of the wall clock, and read late without harm."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
import trio

from getstep.wire import GetStep, Start, Step
from getstep_server.events import MovePlayed, ServerLate, TurnFaulted
from getstep_server.net import timestamps
from getstep_server.net.listener import open_listener
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import first_legal, running, seated

stamped_only = pytest.mark.skipif(
    not timestamps.timestamps_supported(), reason="no kernel timestamps on this system"
)
SECOND = 1_000_000_000


class Clocks:
    """Both clocks, set by hand, in nanoseconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.monotonic = 1_700_000_000 * SECOND, 5 * SECOND
        monkeypatch.setattr(time, "time_ns", lambda: self.wall)
        monkeypatch.setattr(time, "perf_counter_ns", lambda: self.monotonic)

    def pass_(self, seconds: float) -> None:
        self.wall += round(seconds * SECOND)
        self.monotonic += round(seconds * SECOND)


def test_an_age_is_how_long_ago_the_stamp_was(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks(monkeypatch)
    clock = timestamps.TimestampClock()
    looked = clocks.monotonic
    clocks.pass_(2.0)
    stamp = clocks.wall
    clocks.pass_(0.25)
    assert clock.age(stamp, looked) == pytest.approx(0.25)


@pytest.mark.parametrize("step", [-3600.0, -0.5, 0.5, 3600.0])
@pytest.mark.parametrize("before_stamp", [True, False])
def test_a_step_of_the_wall_clock_changes_no_age(
    monkeypatch: pytest.MonkeyPatch, step: float, before_stamp: bool
) -> None:
    clocks = Clocks(monkeypatch)
    clock = timestamps.TimestampClock()
    looked = clocks.monotonic
    clocks.pass_(0.2)
    if before_stamp:
        clocks.wall += round(step * SECOND)
    stamp = clocks.wall
    clocks.pass_(0.1)
    if not before_stamp:
        clocks.wall += round(step * SECOND)
    assert clock.age(stamp, looked) == pytest.approx(0.1)
    clocks.pass_(1.0)
    assert clock.age(clocks.wall, looked) == 0.0


def test_a_stamp_from_before_the_second_step_has_its_age_too(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks(monkeypatch)
    clock = timestamps.TimestampClock()
    looked = clocks.monotonic
    clocks.wall += 3600 * SECOND
    assert clock.age(clocks.wall, looked) == 0.0  # here the first one is noticed
    clocks.pass_(0.2)
    stamp = clocks.wall
    clocks.pass_(0.1)
    clocks.wall -= 1800 * SECOND
    assert clock.age(stamp, looked) == pytest.approx(0.1)


def test_a_flood_is_accepted_in_parts() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        theirs.send(b"x" * 100_000)
        assert len(timestamps.receive(ours)[0]) == 4 * 4096


def test_a_stamp_that_fits_nowhere_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks(monkeypatch)
    clock = timestamps.TimestampClock()
    looked = clocks.monotonic
    clocks.pass_(1.0)
    assert clock.age(clocks.wall + SECOND, looked) is None  # from the future
    assert clock.age(clocks.wall - 10 * SECOND, looked) is None  # older than the last look


def first_bytes(listener: socket.socket) -> tuple[int, int | None]:
    """Return the time at which a new connection sent its first byte, and the kernel's timestamp of it."""
    with socket.create_connection(listener.getsockname()) as client:
        before = time.time_ns()
        client.sendall(b"x")
        listener.setblocking(True)
        server, _ = listener.accept()
        with server:
            data, stamp = timestamps.receive(server)
    assert data == b"x"
    return before, stamp


@stamped_only
def test_the_kernel_stamps_the_first_bytes_of_every_connection() -> None:
    with open_listener("127.0.0.1", 0) as listener:
        # Linux switches timestamps on for the whole machine, in a work queue, when the first socket asks for them.
        deadline = time.monotonic() + PATIENCE_SECONDS
        while first_bytes(listener)[1] is None:
            assert time.monotonic() < deadline
        for _ in range(50):
            before, stamp = first_bytes(listener)
            assert stamp is not None
            assert before - SECOND < stamp < time.time_ns()


@stamped_only
async def test_an_answer_that_is_read_late_was_in_time(tmp_path: Path) -> None:
    """The event loop stands still past the deadline; the answer had come before it."""
    contest = make_contest(tmp_path, event={"move_seconds": 2.0}, time={"lag_ms": 1})
    async with running(contest) as server, seated(server.port, 1) as one, seated(server.port, 2) as two:
        start = await one.expect(Start)
        black = one if start.is_black else two
        question = await black.until(GetStep)
        await trio.sleep(0.1)
        await black.say(Step(question.id, first_legal(start, question)))
        time.sleep(2.2)
        played = await server.recorder.wait_for(MovePlayed)
        assert played.stamped
        assert 0.1 <= played.thought < 2.0
        assert server.recorder.of(TurnFaulted) == []


@stamped_only
async def test_an_answer_that_came_late_is_late_even_if_the_deadline_has_not_fired(tmp_path: Path) -> None:
    """The loop stands still over the deadline and over the answer; what it missed is no more than the allowance."""
    contest = make_contest(tmp_path, event={"move_seconds": 0.5}, time={"lag_ms": 2000})
    async with running(contest) as server, seated(server.port, 1) as one, seated(server.port, 2) as two:
        start = await one.expect(Start)
        black = one if start.is_black else two
        question = await black.until(GetStep)
        answer = black.wire.send(Step(question.id, first_legal(start, question)))
        sock = black.stream.socket
        await trio.sleep(2.3)
        _block_and_send(sock, answer)
        fault = await server.recorder.wait_for(TurnFaulted)
        assert fault.code == "missed_limit"
        assert server.recorder.of(ServerLate) == []


def _block_and_send(sock: trio.socket.SocketType, data: bytes) -> None:
    """Stand still for 0.6 s, over the deadline after 0.2 s, and have the answer arrive 0.2 s after that."""
    twin = socket.fromfd(sock.fileno(), socket.AF_INET, socket.SOCK_STREAM)
    with twin:
        time.sleep(0.4)
        twin.send(data)
        time.sleep(0.2)


async def test_time_of_a_server_stall_is_given_back(tmp_path: Path) -> None:
    """The loop stands still over the whole limit; the player answers as soon as it can."""
    contest = make_contest(tmp_path, event={"move_seconds": 2.0}, time={"lag_ms": 20})
    async with running(contest) as server, seated(server.port, 1) as one, seated(server.port, 2) as two:
        start = await one.expect(Start)
        black = one if start.is_black else two
        question = await black.until(GetStep)
        time.sleep(2.5)
        await trio.sleep(0.1)
        await black.say(Step(question.id, first_legal(start, question)))
        await server.recorder.wait_for(MovePlayed)
        late = await server.recorder.wait_for(ServerLate)
        assert late.seconds > 0.4
        assert server.recorder.of(TurnFaulted) == []
