"""Deadlines of running matches, and the times when the server itself stalled.

Every judged move has a deadline, and nearly none of them passes. A cancel scope for each move would cost as much as
the rules do (11 µs). Instead one task, `DeadlineScheduler.run`, sleeps until the earliest deadline of all matches.
A wait that ends early leaves its entry in the heap; the scheduler drops the entry, or reschedules it, when its time
comes.

The same task wakes up at even intervals and measures how late it is. A blocked event loop, a stopped process or a
suspended laptop show up as a stall. That time is the server's, and no player's.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from itertools import count

import trio

from getstep_server.limits import STALL_CHECK_SECONDS, STALLS_KEPT

_NEVER = float("inf")


class Timer:
    """A place where one task waits until the timer is fired or its deadline has passed.

    Args:
        scheduler: watches over the deadline; its task has to run.
    """

    def __init__(self, scheduler: DeadlineScheduler) -> None:
        self._scheduler = scheduler
        self._task: trio.lowlevel.Task | None = None
        self.deadline = _NEVER
        self.scheduled = _NEVER
        """The time at which the scheduler checks this timer next; never later than ``deadline``."""

    def fire(self) -> None:
        """Wake the waiting task, if there is one."""
        if self._task is not None:
            task, self._task = self._task, None
            trio.lowlevel.reschedule(task)

    def move(self, deadline: float) -> None:
        """Change the deadline without waking the task."""
        self.deadline = deadline
        if deadline < self.scheduled:  # rarely: the entry of an earlier wait comes first, and is moved then
            self._scheduler.schedule(self)

    async def wait(self, deadline: float) -> None:
        """Wait for `fire`, at most until ``deadline`` on trio's clock. It may be in the past, and may be moved."""
        self.move(deadline)
        self._task = trio.lowlevel.current_task()
        try:
            await trio.lowlevel.wait_task_rescheduled(self._abort)
        finally:
            self.deadline = _NEVER  # its entry stays in the heap: to search for it would cost more than to drop it

    def _abort(self, _: object) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED


class StallMonitor:
    """The latest stalls of the event loop: a task that is due every STALL_CHECK_SECONDS was woken late."""

    def __init__(self) -> None:
        self._stalls: deque[tuple[float, float]] = deque(maxlen=STALLS_KEPT)  # from, to, on trio's clock
        self._due = _NEVER

    def expect_wake_up(self, now: float) -> float:
        """Return the time, on trio's clock, by which `woken` has to be called next."""
        self._due = now + STALL_CHECK_SECONDS
        return self._due

    def woken(self, now: float) -> None:
        """Record a stall if ``now`` is more than STALL_CHECK_SECONDS after the expected time."""
        if now - self._due > STALL_CHECK_SECONDS:
            self._stalls.append((self._due, now))
            # `stall_since` calls this before the scheduler's task runs: the same stall must not count twice.
            self._due = now + STALL_CHECK_SECONDS

    def stall_since(self, since: float, until: float, without: Sequence[tuple[float, float]] = ()) -> float:
        """Return the seconds between ``since`` and now in which the loop was stalled.

        The result is at least the time since ``until``: the caller was due to be woken then.

        Args:
            since: the beginning of a turn, on trio's clock.
            until: when the caller was due to be woken; it runs later only because the server is late.
            without: times that do not count, because they were given back as a pause: from, to.
        """
        now = trio.current_time()
        self.woken(now)  # the scheduler's task may not have run yet
        stalls = [(max(begin, since), end) for begin, end in self._stalls if end > since]
        total = sum(end - begin for begin, end in stalls)
        total -= sum(max(0.0, min(end, e) - max(begin, b)) for begin, end in stalls for b, e in without)
        return max(total, now - until)


class DeadlineScheduler:
    """Fires timers when their deadlines have passed; its `stalls` hold the stalls of the event loop."""

    def __init__(self) -> None:
        self.stalls = StallMonitor()
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = count()
        self._nap = trio.CancelScope()

    def schedule(self, timer: Timer) -> None:
        """Look at ``timer`` when its deadline comes."""
        timer.scheduled = timer.deadline
        heapq.heappush(self._heap, (timer.scheduled, next(self._numbers), timer))
        if timer.scheduled < self._nap.deadline:
            self._nap.deadline = timer.scheduled

    async def run(self) -> None:
        """Fire timers until cancelled."""
        while True:
            due = self.stalls.expect_wake_up(trio.current_time())
            with trio.CancelScope(deadline=min(due, self._first())) as self._nap:
                await trio.sleep_forever()
            now = trio.current_time()
            self.stalls.woken(now)
            while self._first() <= now:
                _, _, timer = heapq.heappop(self._heap)
                timer.scheduled = _NEVER
                if timer.deadline <= now:
                    timer.fire()
                elif timer.deadline < _NEVER:  # its wait is over, and another one has begun
                    self.schedule(timer)

    def _first(self) -> float:
        return self._heap[0][0] if self._heap else _NEVER
