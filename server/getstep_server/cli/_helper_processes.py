"""Play a contest beside helper processes, such as the live page, which are started again when they end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import trio

from getstep_server.events import Bus
from getstep_server.runtime.run import MakeCluster, OpenContest, RunOutcome, run_opened
from getstep_server.runtime.start import StartCondition


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
