"""Play a contest beside helper processes, such as the live page, which are started again when they end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import trio

from getstep_server.events import Bus
from getstep_server.runtime.run import MakeCluster, OpenContest, RunOutcome, run_opened
from getstep_server.runtime.start import StartCondition

END_SECONDS = 3.0
"""The time for a process to end without help: then it is killed. The page needs some milliseconds. The announcer
needs 0.3 s to say goodbye, and 2 s if it has just started."""


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
    opened: OpenContest,
    bus: Bus,
    when: StartCondition,
    helpers: Sequence[Callable[[], Awaitable[None]]],
    make_cluster: MakeCluster | None = None,
) -> RunOutcome:
    """Run a contest as `run_opened` does. Run the ``helpers`` beside it, and cancel them at its end."""
    async with trio.open_nursery() as nursery:
        for helper in helpers:
            nursery.start_soon(helper)
        outcome = await run_opened(opened, bus, when, make_cluster)
        nursery.cancel_scope.cancel()
    return outcome
