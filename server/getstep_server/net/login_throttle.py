"""A bound on the processor time of connections that have not logged in, while matches are played."""

from __future__ import annotations

from collections.abc import Callable

import trio

from getstep_server.limits import LOGIN_BURST_SECONDS, LOGIN_SHARE


class LoginThrottle:
    """Spreads work so that it takes at most LOGIN_SHARE of the event loop's time, except for short bursts.

    Work is counted in processor time. In wall-clock time a busy machine would look like a flood.

    Args:
        is_playing: returns True while a match is played; at other times nothing is delayed.
    """

    def __init__(self, is_playing: Callable[[], bool] = lambda: False) -> None:
        self._is_playing = is_playing
        self._earned_at = -float("inf")  # when the time that was spent will have been earned, at LOGIN_SHARE

    async def rest(self, spent: float) -> None:
        """Pause after work of ``spent`` seconds of processor time if more was spent than has been earned."""
        now = trio.current_time()
        if not self._is_playing():
            await trio.lowlevel.checkpoint()
            return
        oldest = now - LOGIN_BURST_SECONDS / LOGIN_SHARE
        self._earned_at = max(self._earned_at, oldest) + spent / LOGIN_SHARE
        await trio.sleep_until(max(now, self._earned_at))
