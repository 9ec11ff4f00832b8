"""Deadlines fire on time, one task for all of them; standing still is noticed."""

from __future__ import annotations

import random
import time

import pytest
import trio
from trio.testing import MockClock

from getstep_server.timekeeper import Alarm, Timekeeper


async def waited(alarm: Alarm, seconds: float) -> float:
    began = trio.current_time()
    await alarm.wait(began + seconds)
    return trio.current_time() - began


async def test_a_deadline_fires_on_time(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        timekeeper = Timekeeper()
        nursery.start_soon(timekeeper.run)
        for seconds in (5.0, 0.5, 0.001, 100.0, 0.0, -1.0):
            assert await waited(Alarm(timekeeper), seconds) == pytest.approx(max(seconds, 0.0))
        nursery.cancel_scope.cancel()


async def test_many_alarms_each_at_its_own_time(autojump_clock: MockClock) -> None:
    rng = random.Random(4)
    timekeeper = Timekeeper()

    async def one() -> None:
        alarm = Alarm(timekeeper)
        for _ in range(20):
            seconds = rng.uniform(0.001, 3)
            assert await waited(alarm, seconds) == pytest.approx(seconds)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(timekeeper.run)
        async with trio.open_nursery() as players:
            for _ in range(50):
                players.start_soon(one)
        nursery.cancel_scope.cancel()


async def test_ringing_ends_a_wait_and_leaves_nothing_behind(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        timekeeper = Timekeeper()
        nursery.start_soon(timekeeper.run)
        alarm = Alarm(timekeeper)

        async def ring() -> None:
            for _ in range(10):
                await trio.sleep(1.0)
                alarm.ring()

        nursery.start_soon(ring)
        for _ in range(10):
            assert await waited(alarm, 5.0) == pytest.approx(1.0)
        alarm.ring()  # nobody waits: nothing happens, now or at the next wait
        assert await waited(alarm, 5.0) == pytest.approx(5.0)
        assert await waited(alarm, 0.25) == pytest.approx(0.25)
        nursery.cancel_scope.cancel()


async def test_a_cancelled_wait_is_over(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        timekeeper = Timekeeper()
        nursery.start_soon(timekeeper.run)
        alarm = Alarm(timekeeper)
        with trio.move_on_after(1.0) as scope:
            await alarm.wait(trio.current_time() + 5.0)
        assert scope.cancelled_caught
        alarm.ring()
        assert await waited(alarm, 2.0) == pytest.approx(2.0)
        nursery.cancel_scope.cancel()


async def test_a_thousand_waits_need_one_entry(autojump_clock: MockClock) -> None:
    """What is rung before its deadline costs no bookkeeping: the list grows with the alarms, not with the moves."""
    async with trio.open_nursery() as nursery:
        timekeeper = Timekeeper()
        nursery.start_soon(timekeeper.run)
        alarm = Alarm(timekeeper)
        for _ in range(1000):
            nursery.start_soon(_ring_soon, alarm)
            await alarm.wait(trio.current_time() + 5.0)
        assert len(timekeeper._heap) == 1
        nursery.cancel_scope.cancel()


async def _ring_soon(alarm: Alarm) -> None:
    await trio.lowlevel.checkpoint()
    alarm.ring()


async def test_standing_still_is_noticed() -> None:
    async with trio.open_nursery() as nursery:
        timekeeper = Timekeeper()
        nursery.start_soon(timekeeper.run)
        await trio.sleep(0.05)
        began = trio.current_time()
        time.sleep(0.3)
        assert timekeeper.stood_still(began, trio.current_time()) > 0.2
        await trio.sleep(0.05)
        later = trio.current_time()
        assert timekeeper.stood_still(began, later) > 0.2
        assert timekeeper.stood_still(later, later) < 0.1
        assert timekeeper.stood_still(later, later - 1.0) >= 1.0  # woken a second after it was due
        nursery.cancel_scope.cancel()
