"""Whether the server itself was late: a blocked event loop, a stopped process, a laptop that froze.

A task that wakes up at even intervals notices when it does not. What it notices is kept for a while, so that the
judge can ask how much of a turn the server was not there.
"""

from __future__ import annotations

from collections import deque

import trio

from .limits import STALLS_KEPT, WATCH_SECONDS


class LoopWatch:
    """Keeps the stretches of time in which the event loop stood still."""

    def __init__(self) -> None:
        self._stalls: deque[tuple[float, float]] = deque(maxlen=STALLS_KEPT)  # from, to, on trio's clock
        self._due = float("inf")

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            self._due = trio.current_time() + WATCH_SECONDS
            await trio.sleep_until(self._due)
            self._note(trio.current_time())

    def stood_still(self, since: float, until: float) -> float:
        """Seconds between ``since`` and now in which the loop stood still, at least the time since ``until``.

        Args:
            since: the beginning of a turn, on trio's clock.
            until: when somebody was due to be woken, who asks now: later than that is the server's lateness.
        """
        now = trio.current_time()
        self._note(now)  # the watching task may not have had its turn yet
        total = sum(end - max(begin, since) for begin, end in self._stalls if end > since)
        return max(total, now - until)

    def _note(self, now: float) -> None:
        late = now - self._due
        if late > WATCH_SECONDS:
            self._stalls.append((self._due, now))
            self._due = now + WATCH_SECONDS
