"""A Dask cluster for tests: a scheduler and workers, each a process that can be killed."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.hosted_programs import descendants, wait_for_end
from tests.support.processes import free_port

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs


class Lab:
    """A scheduler on a port of its own, and ``workers`` that play one match at a time.

    Args:
        programs: ends them after the test.
        folder: for the files of Dask.
        workers: how many.
    """

    def __init__(self, programs: Programs, folder: Path, workers: int) -> None:
        self._programs = programs
        self._folder = folder
        self._port = free_port()
        self._scheduler = self._start_scheduler()
        self.workers = [self._start_worker() for _ in range(workers)]

    @property
    def address(self) -> str:
        """The address of the scheduler, for ``--dask``."""
        return f"tcp://127.0.0.1:{self._port}"

    def kill_worker(self, index: int) -> None:
        """Kill a worker, and start another one."""
        kill_all(self.workers[index])
        self.workers[index] = self._start_worker()

    def restart_scheduler(self) -> None:
        """Kill the scheduler, and start it again on its port. Dask's workers end with it, and are started again."""
        kill_all(self._scheduler)
        self._scheduler = self._start_scheduler()
        for index, worker in enumerate(self.workers):
            worker.wait()
            self.workers[index] = self._start_worker()

    def _start_scheduler(self) -> Program:
        here = ["--host", "127.0.0.1", "--port", str(self._port), "--no-dashboard"]
        scheduler = self._dask("scheduler", *here)
        scheduler.expect(f"Scheduler at: *{self.address}")
        return scheduler

    def _start_worker(self) -> Program:
        own = ["--nthreads", "1", "--memory-limit", "0", "--no-dashboard", "--local-directory", str(self._folder)]
        return self._dask("worker", self.address, "--no-nanny", *own)

    def _dask(self, command: str, *arguments: str) -> Program:
        return self._programs.start(sys.executable, "-m", f"distributed.cli.dask_{command}", *arguments)


def kill_all(program: Program) -> None:
    """Kill a process, and wait until none of those that it has started is left."""
    below = descendants(program.pid)
    program.signal(signal.SIGKILL)
    program.wait()
    wait_for_end(below)
