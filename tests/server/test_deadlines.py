"""Deadlines fire on time, one task for all of them; standing still is noticed."""

from __future__ import annotations

import random
import time

import pytest
import trio
from trio.testing import MockClock

from getstep_server.play.deadlines import DeadlineScheduler, Timer


async def waited(timer: Timer, seconds: float) -> float:
    began = trio.current_time()
    await timer.wait(began + seconds)
    return trio.current_time() - began


async def test_a_deadline_fires_on_time(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        scheduler = DeadlineScheduler()
        nursery.start_soon(scheduler.run)
        for seconds in (5.0, 0.5, 0.001, 100.0, 0.0, -1.0):
            assert await waited(Timer(scheduler), seconds) == pytest.approx(max(seconds, 0.0))
        nursery.cancel_scope.cancel()


async def test_many_timers_each_at_its_own_time(autojump_clock: MockClock) -> None:
    rng = random.Random(4)
    scheduler = DeadlineScheduler()

    async def one() -> None:
        timer = Timer(scheduler)
        for _ in range(20):
            seconds = rng.uniform(0.001, 3)
            assert await waited(timer, seconds) == pytest.approx(seconds)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        async with trio.open_nursery() as players:
            for _ in range(50):
                players.start_soon(one)
        nursery.cancel_scope.cancel()


async def test_ringing_ends_a_wait_and_leaves_nothing_behind(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        scheduler = DeadlineScheduler()
        nursery.start_soon(scheduler.run)
        timer = Timer(scheduler)

        async def ring() -> None:
            for _ in range(10):
                await trio.sleep(1.0)
                timer.fire()

        nursery.start_soon(ring)
        for _ in range(10):
            assert await waited(timer, 5.0) == pytest.approx(1.0)
        timer.fire()  # nobody waits: nothing happens, now or at the next wait
        assert await waited(timer, 5.0) == pytest.approx(5.0)
        assert await waited(timer, 0.25) == pytest.approx(0.25)
        nursery.cancel_scope.cancel()


async def test_a_cancelled_wait_is_over(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        scheduler = DeadlineScheduler()
        nursery.start_soon(scheduler.run)
        timer = Timer(scheduler)
        with trio.move_on_after(1.0) as scope:
            await timer.wait(trio.current_time() + 5.0)
        assert scope.cancelled_caught
        timer.fire()
        assert await waited(timer, 2.0) == pytest.approx(2.0)
        nursery.cancel_scope.cancel()


async def test_a_thousand_waits_need_one_entry(autojump_clock: MockClock) -> None:
    """A timer fired before its deadline costs no bookkeeping: the heap grows with timers, not with moves."""
    async with trio.open_nursery() as nursery:
        scheduler = DeadlineScheduler()
        nursery.start_soon(scheduler.run)
        timer = Timer(scheduler)
        for _ in range(1000):
            nursery.start_soon(_ring_soon, timer)
            await timer.wait(trio.current_time() + 5.0)
        assert len(scheduler._heap) == 1
        nursery.cancel_scope.cancel()


async def _ring_soon(timer: Timer) -> None:
    await trio.lowlevel.checkpoint()
    timer.fire()


async def test_a_stall_is_noticed() -> None:
    async with trio.open_nursery() as nursery:
        scheduler = DeadlineScheduler()
        nursery.start_soon(scheduler.run)
        await trio.sleep(0.05)
        began = trio.current_time()
        time.sleep(1.0)
        assert scheduler.stalls.stall_since(began, trio.current_time()) > 0.9
        await trio.sleep(0.05)
        later = trio.current_time()
        assert scheduler.stalls.stall_since(began, later) > 0.9
        assert scheduler.stalls.stall_since(later, later) < 0.9
        assert scheduler.stalls.stall_since(later, later - 1.0) >= 1.0  # woken a second after it was due
        nursery.cancel_scope.cancel()
