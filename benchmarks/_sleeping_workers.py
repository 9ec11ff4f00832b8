"""Many Dask workers in one process: ``_sleeping_workers ADDRESS COUNT``, for `benchmarks.scheduler`.

To the scheduler each is a worker like any other, with its own connections and heartbeats. They play nothing: the
"match" of a task sleeps. So hundreds of them fit on two cores, and their scheduler has the work of a large cluster.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import AsyncExitStack

import dask
from distributed import Worker, get_worker

PROGRESS_SECONDS = 1.0
"""The interval at which a worker passes on the turns of a match."""

TURN_BYTES = 100
"""A turn as JSON."""

TURNS_A_SECOND = 2


async def play(
    order: bytes,  # noqa: ARG001 - it only has to travel
    seconds: float,
    topic: str,
    report_bytes: int,
) -> tuple[float, float, bytes]:
    """Sleep for the time of a match, and pass on turns meanwhile; return when it began and ended, and a report."""
    began, here = time.monotonic(), get_worker()
    end = began + seconds
    while (left := end - time.monotonic()) > PROGRESS_SECONDS:
        await asyncio.sleep(PROGRESS_SECONDS)
        here.log_event(topic, bytes(TURNS_A_SECOND * TURN_BYTES))
    await asyncio.sleep(max(0.0, left))
    return began, time.monotonic(), bytes(report_bytes)


async def main(address: str, count: int) -> None:
    """Run workers until standard input ends."""
    # A profiler and a monitor of the memory for each worker would be most of the work of this process.
    dask.config.set(
        {"distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.interval": "1h"}
    )
    async with AsyncExitStack() as stack:
        for _ in range(count):
            worker = Worker(address, nthreads=1, memory_limit=0, dashboard=False)
            await stack.enter_async_context(worker)
        await asyncio.to_thread(sys.stdin.read)
        sys.exit()  # to end hundreds of workers in order takes minutes


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
