"""Jobs that are worked on in the order in which they came, one at a time: the matches need the other cores."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, NoReturn, TypeVar

import trio

Job = TypeVar("Job")


class Jobs(Generic[Job]):
    """A queue of jobs.

    Args:
        work: does a job.
    """

    def __init__(self, work: Callable[[Job], Awaitable[object]]) -> None:
        self.waiting: deque[Job] = deque()
        """The jobs that have not begun, the next one first."""
        self._work = work
        self._changed = trio.Event()

    def put(self, job: Job) -> None:
        """Add a job at the end. The caller bounds how many there are."""
        self.waiting.append(job)
        self._changed.set()

    async def run(self) -> NoReturn:
        """Work on the jobs until cancelled."""
        while True:
            while not self.waiting:
                self._changed = trio.Event()
                await self._changed.wait()
            await self._work(self.waiting.popleft())
