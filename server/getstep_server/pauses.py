"""The pauses between the lives of a helper process, which is started again whenever it ends."""

from __future__ import annotations

import trio

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
"""The pause before a process is started again. It doubles: a process that cannot work costs the server nothing."""

GOOD_SECONDS = 60.0
"""A process that ran for so long is started again after the first pause."""


class Pauses:
    """The pauses between the lives of a process that is started again whenever it ends."""

    def __init__(self) -> None:
        self._pause = FIRST_PAUSE_SECONDS
        self.begin()

    def begin(self) -> None:
        """Note that the process starts now."""
        self._began = trio.current_time()

    def next(self) -> float:
        """Return the seconds until the process, which has ended now, is started again."""
        if trio.current_time() > self._began + GOOD_SECONDS:
            self._pause = FIRST_PAUSE_SECONDS
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE_SECONDS)
        return pause
