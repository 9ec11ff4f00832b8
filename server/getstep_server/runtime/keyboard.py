"""The Enter key, with which the host begins a contest without the missing teams."""

from __future__ import annotations

import sys

import trio


class EnterKey:
    """A reader of the Enter key. One task reads during a whole run: a second one would swallow a line."""

    def __init__(self) -> None:
        self._pressed = trio.Event()

    async def watch(self) -> None:
        """Read lines until standard input is closed."""
        while await trio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            self._pressed.set()
            self._pressed = trio.Event()

    async def pressed(self) -> None:
        """Wait until the key is pressed the next time."""
        await self._pressed.wait()
