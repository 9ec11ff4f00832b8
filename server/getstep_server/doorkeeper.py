"""How often somebody may knock: wrong logins slow an address down, and too many valid ones a team.

Nothing here can lock a team out: wrong logins delay only the answers to further wrong logins from the same address,
and a valid login never waits.
"""

from __future__ import annotations

from collections import deque

import trio

from .limits import (
    BAD_LOGIN_FIRST_SECONDS,
    BAD_LOGIN_FORGET_SECONDS,
    BAD_LOGIN_LONGEST_SECONDS,
    LOGIN_WINDOW_SECONDS,
    LOGINS_PER_WINDOW,
    MAX_ADDRESSES_KEPT,
)


class Doorkeeper:
    """Remembers recent logins; what it remembers is bounded."""

    def __init__(self) -> None:
        self._wrong: dict[str, tuple[int, float]] = {}  # address: how many in a row, when the last; oldest first
        self._logins: dict[int, deque[float]] = {}

    def wrong_login(self, address: str) -> float:
        """Take note of a wrong login; how many seconds its answer has to wait."""
        now = trio.current_time()
        count, last = self._wrong.pop(address, (0, now))
        if now - last > BAD_LOGIN_FORGET_SECONDS:
            count = 0
        while len(self._wrong) >= MAX_ADDRESSES_KEPT:
            del self._wrong[next(iter(self._wrong))]
        self._wrong[address] = (count + 1, now)
        if count == 0:
            return 0.0
        return float(min(BAD_LOGIN_FIRST_SECONDS * 2 ** min(count - 1, 32), BAD_LOGIN_LONGEST_SECONDS))

    def may_login(self, team: int, seats: int = 1) -> bool:
        """Take note of a valid login of ``team``, which has so many ``seats``; False if it is one too many.

        Teams are bounded by the roster.
        """
        now = trio.current_time()
        recent = self._logins.setdefault(team, deque())
        while recent and now - recent[0] > LOGIN_WINDOW_SECONDS:
            recent.popleft()
        if len(recent) >= LOGINS_PER_WINDOW * seats:
            return False
        recent.append(now)
        return True
