"""A bound on the processor time of connections that have not logged in."""

from __future__ import annotations

from collections.abc import Callable

import trio

from getstep_server.limits import IDLE_LOGIN_SHARE, LOGIN_BURST_SECONDS, LOGIN_SHARE


class LoginThrottle:
    """Spreads work so that it takes at most a share of the event loop's time, except for short bursts.

    Work is counted in processor time. In wall-clock time a busy machine would look like a flood.

    Args:
        is_playing: returns True while a match is played; at other times the share is IDLE_LOGIN_SHARE.
        share: of the time, while a match is played.
    """

    def __init__(self, is_playing: Callable[[], bool] = lambda: False, share: float = LOGIN_SHARE) -> None:
        self._is_playing = is_playing
        self._share = share
        self._earned_at = -float("inf")  # when the time that was spent will have been earned, at this share

    async def rest(self, spent: float) -> None:
        """Pause after work of ``spent`` seconds of processor time if more was spent than has been earned."""
        now = trio.current_time()
        share = self._share if self._is_playing() else IDLE_LOGIN_SHARE
        oldest = now - LOGIN_BURST_SECONDS / share
        self._earned_at = max(self._earned_at, oldest) + spent / share
        await trio.sleep_until(max(now, self._earned_at))
