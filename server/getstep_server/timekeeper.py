"""Deadlines that fire on time, and the knowledge of when they could not.

Every judged move has a deadline, and nearly none of them fires. A cancel scope for each costs as much as the rules
do; so one task watches over all of them: it sleeps until the earliest, and a wait that ends before its deadline
leaves nothing to undo. The same task wakes up at even intervals anyway and notices when it was not woken: a blocked
event loop, a stopped process, a laptop that froze. That is the server's own lateness, and no player's.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import count

import trio

from .limits import STALLS_KEPT, WATCH_SECONDS

_NEVER = float("inf")


class Alarm:
    """Somewhere one task waits, until it is rung or its deadline has passed.

    Args:
        timekeeper: watches over the deadline; its task has to run.
    """

    def __init__(self, timekeeper: Timekeeper) -> None:
        self._timekeeper = timekeeper
        self._task: trio.lowlevel.Task | None = None
        self.deadline = _NEVER
        self.listed = _NEVER  # when the timekeeper looks at this next

    def ring(self) -> None:
        """Wake who waits, if somebody does."""
        if self._task is not None:
            task, self._task = self._task, None
            trio.lowlevel.reschedule(task)

    def move(self, deadline: float) -> None:
        """Have it rung at ``deadline`` and not when it would have been; nobody is woken for that."""
        self.deadline = deadline
        if deadline < self.listed:
            self._timekeeper.list(self)

    async def wait(self, deadline: float) -> None:
        """Wait for `ring`, at most until ``deadline`` on trio's clock, which may be in the past, or be moved."""
        self.move(deadline)
        self._task = trio.lowlevel.current_task()
        try:
            await trio.lowlevel.wait_task_rescheduled(self._abort)
        finally:
            self.deadline = _NEVER

    def _abort(self, _: object) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED


class Timekeeper:
    """Rings alarms when their deadlines have passed, and keeps the times when the event loop stood still."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Alarm]] = []
        self._numbers = count()
        self._stalls: deque[tuple[float, float]] = deque(maxlen=STALLS_KEPT)  # from, to, on trio's clock
        self._due = _NEVER
        self._nap = trio.CancelScope()

    def list(self, alarm: Alarm) -> None:
        """Have ``alarm`` looked at when its deadline comes."""
        alarm.listed = alarm.deadline
        heapq.heappush(self._heap, (alarm.listed, next(self._numbers), alarm))
        if alarm.listed < self._nap.deadline:
            self._nap.deadline = alarm.listed

    async def run(self) -> None:
        """Keep time until cancelled."""
        while True:
            now = trio.current_time()
            self._due = now + WATCH_SECONDS
            with trio.CancelScope(deadline=min(self._due, self._first())) as self._nap:
                await trio.sleep_forever()
            now = trio.current_time()
            self._note(now)
            self._ring_passed(now)

    def stood_still(self, since: float, until: float) -> float:
        """Seconds between ``since`` and now in which the loop stood still, at least the time since ``until``.

        Args:
            since: the beginning of a turn, on trio's clock.
            until: when somebody was due to be woken, who asks now: later than that is the server's lateness.
        """
        now = trio.current_time()
        self._note(now)  # the task may not have had its turn yet
        total = sum(end - max(begin, since) for begin, end in self._stalls if end > since)
        return max(total, now - until)

    def _first(self) -> float:
        return self._heap[0][0] if self._heap else _NEVER

    def _ring_passed(self, now: float) -> None:
        while self._first() <= now:
            _, _, alarm = heapq.heappop(self._heap)
            alarm.listed = _NEVER
            if alarm.deadline <= now:
                alarm.ring()
            elif alarm.deadline < _NEVER:  # the wait it was listed for is over, and another has begun
                self.list(alarm)

    def _note(self, now: float) -> None:
        late = now - self._due
        if late > WATCH_SECONDS:
            self._stalls.append((self._due, now))
            self._due = now + WATCH_SECONDS
