"""Play a contest beside helper processes, such as the live page, which are started again when they end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import trio

from getstep_server.config.contest import Contest
from getstep_server.events import Bus
from getstep_server.runtime.run import RunOutcome, run_contest
from getstep_server.runtime.start import StartCondition

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
"""The pause before a process is started again. It doubles: a process that cannot work costs the server nothing."""

GOOD_SECONDS = 60.0
"""A process that ran for so long is started again after the first pause."""


END_SECONDS = 3.0
"""The time for a process to end without help: then it is killed. The page needs some milliseconds. The announcer
needs 0.3 s to say goodbye, and 2 s if it has just started."""


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


async def wait_or_end(process: trio.Process) -> int:
    """Wait until a process ends, and return its exit code. If this is cancelled, end it by closing its input."""
    try:
        return await process.wait()
    finally:
        with trio.move_on_after(END_SECONDS, shield=True):
            if process.stdin is not None:
                await process.stdin.aclose()
            await process.wait()
        if process.returncode is None:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()


async def run_with_helpers(
    contest: Contest, bus: Bus, when: StartCondition, helpers: Sequence[Callable[[], Awaitable[None]]]
) -> RunOutcome:
    """Run a contest as `run_contest` does. Run the ``helpers`` beside it, and cancel them at its end."""
    async with trio.open_nursery() as nursery:
        for helper in helpers:
            nursery.start_soon(helper)
        outcome = await run_contest(contest, bus, when)
        nursery.cancel_scope.cancel()
    return outcome
