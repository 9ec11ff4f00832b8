"""Keeps a child running: starts it again after growing pauses whenever it ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NoReturn

import trio

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
"""The pause before a child is started again. It doubles: a child that cannot work costs the server nothing."""

GOOD_SECONDS = 60.0
"""A child that ran for so long is started again after the first pause."""


async def keep_running(live: Callable[[], Awaitable[int]], ended: Callable[[int, float], object]) -> NoReturn:
    """Run a child again and again, until cancelled.

    Args:
        live: runs it once and returns its exit code; -1 if it could not be started.
        ended: called with the code and the seconds until the next start.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        began = trio.current_time()
        code = await live()
        if trio.current_time() > began + GOOD_SECONDS:
            pause = FIRST_PAUSE_SECONDS
        ended(code, pause)
        # also after code 0: a child of the server has no work that ends
        await trio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
