"""Jobs of SLURM that have ended, in a stand-in for Dask's cluster; `tests.e2e.test_cluster` has the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import Status

from getstep_server.cluster import slurm
from getstep_server.cluster.slurm import SlurmJobs

REFUSED = "Command exited with non-zero exit code.\nCommand:\nsbatch /tmp/one.sh\nstderr:\nsbatch: error: no\n"


class Cluster:
    """Jobs that the next calls of sbatch take or refuse."""

    def __init__(self, *taken: bool) -> None:
        self.workers: dict[str, Any] = {}
        self.names: list[str] = []
        self._taken = list(taken)

    def scale(self, *, jobs: int) -> None:
        self.names = [f"job-{number}" for number in range(jobs)]

    def __await__(self) -> Generator[Any, Any, None]:
        return self._submit().__await__()

    async def _submit(self) -> None:
        for name in [name for name in self.names if name not in self.workers]:
            taken = self._taken.pop(0)
            self.workers[name] = SimpleNamespace(status=Status.running if taken else Status.created)
            if not taken:
                raise RuntimeError(REFUSED)


def test_a_job_that_was_refused_is_submitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask itself keeps it among its workers, as if it were one."""
    monkeypatch.setattr(slurm, "RESUBMIT_SECONDS", 0.0)
    cluster, told = Cluster(False, True, True), list[str]()

    async def keep() -> None:
        keeping = asyncio.create_task(SlurmJobs(cluster, 2).keep(told.append))
        while sum(job.status is Status.running for job in cluster.workers.values()) < 2:
            await asyncio.sleep(0)
        keeping.cancel()

    with ThreadPoolExecutor(1) as pool:  # a browser of another test may hold the event loop of this thread
        pool.submit(lambda: asyncio.run(keep())).result()
    assert sorted(cluster.workers) == ["job-0", "job-1"]
    assert told == ["RuntimeError: sbatch: error: no"]
