"""Login rate limits: exponential back-off per address for failed logins, a sliding window per team for successful
ones.

Neither can lock a team out. Failed logins delay only the answers to further failed logins from the same address,
and a valid login never waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

import trio

from getstep_server.addresses import source_of
from getstep_server.limits import (
    BAD_LOGIN_FIRST_SECONDS,
    BAD_LOGIN_FORGET_SECONDS,
    BAD_LOGIN_LONGEST_SECONDS,
    LOGIN_WINDOW_SECONDS,
    LOGINS_PER_WINDOW,
    MAX_ADDRESSES_KEPT,
)


class LoginLimiter:
    """Counts recent logins in a bounded amount of memory."""

    def __init__(self) -> None:
        self._failures: dict[str, tuple[int, float]] = {}  # address: how many in a row, when the last; oldest first
        self._logins: dict[int, deque[float]] = {}

    def record_failure(self, address: str) -> float:
        """Record a failed login, and return the seconds by which its answer has to be delayed."""
        now, address = trio.current_time(), source_of(address)
        count, last = self._failures.pop(address, (0, now))
        if now - last > BAD_LOGIN_FORGET_SECONDS:
            count = 0
        while len(self._failures) >= MAX_ADDRESSES_KEPT:
            # the address that has been quiet for longest: each failure puts its own at the end
            del self._failures[next(iter(self._failures))]
        self._failures[address] = (count + 1, now)
        if count == 0:
            return 0.0  # a single mistake in typing costs nothing
        # 32: millions of failures must not make a number of millions of bits
        return float(min(BAD_LOGIN_FIRST_SECONDS * 2 ** min(count - 1, 32), BAD_LOGIN_LONGEST_SECONDS))

    def allow_login(self, team: int, seats: int = 1) -> bool:
        """Record a valid login of ``team``, which has so many ``seats``; return False if it is one too many.

        Memory is bounded by the number of teams in the contest.
        """
        now = trio.current_time()
        recent = self._logins.setdefault(team, deque())
        while recent and now - recent[0] > LOGIN_WINDOW_SECONDS:
            recent.popleft()
        if len(recent) >= LOGINS_PER_WINDOW * seats:
            return False
        recent.append(now)
        return True


class Quota:
    """Counts what each of many has done in a sliding window, in a bounded amount of memory.

    Args:
        most: how often each may do it.
        seconds: the length of the window.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._times: dict[Hashable, deque[float]] = {}  # who has been quiet for longest comes first

    def seconds_left(self, who: Hashable) -> float:
        """Return the seconds until it is possible once more; 0 if it is possible now."""
        times = self._times.get(who)
        if times is None or len(times) < self._most:
            return 0.0
        return max(0.0, times[-self._most] + self._seconds - trio.current_time())

    def count(self, who: Hashable) -> None:
        """Count that it was done now."""
        times = self._times.pop(who, None) or deque(maxlen=self._most)
        times.append(trio.current_time())
        while len(self._times) >= MAX_ADDRESSES_KEPT:
            del self._times[next(iter(self._times))]
        self._times[who] = times


class Rate:
    """Lets each of many do something so often in a second, and more often for a short time, in a bounded memory.

    Args:
        per_second: how often on average.
        burst: how often at once.
    """

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second = per_second
        self._burst = burst
        self._left: dict[Hashable, tuple[float, float]] = {}  # who has been quiet for longest comes first

    def take(self, who: Hashable) -> float:
        """Return 0 and count it, or the seconds until it is possible once more."""
        now = trio.current_time()
        left, then = self._left.pop(who, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._per_second)
        while len(self._left) >= MAX_ADDRESSES_KEPT:
            del self._left[next(iter(self._left))]
        self._left[who] = (left - 1 if left >= 1 else left, now)
        return 0.0 if left >= 1 else (1 - left) / self._per_second
