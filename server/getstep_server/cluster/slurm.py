"""Workers as jobs of SLURM. A job that ends is submitted again.

SLURM ends each job when its time is over, and Dask does not submit it again. In a long contest all workers would be
gone some hours after its start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from dask_jobqueue import SLURMCluster
from distributed import Status

from .address import slurm_settings
from .messages import described

RESUBMIT_SECONDS = 15.0
"""The interval at which missing jobs are submitted. Dask itself waits 15 s until a worker that is gone is lost."""


class SlurmJobs:
    """A scheduler in this process, and the jobs with its workers.

    ``cluster`` is what a client of Dask connects to.
    """

    def __init__(self, cluster: SLURMCluster, jobs: int) -> None:
        self.cluster = cluster
        self._jobs = jobs

    @classmethod
    async def start(cls, file: Path) -> SlurmJobs:
        """Start the scheduler, and submit the jobs.

        Raises:
            Exception: the settings are wrong, or SLURM takes no job; dask-jobqueue raises many kinds.
        """
        jobs, settings = slurm_settings(file)
        started = cls(await SLURMCluster(**settings, asynchronous=True), jobs)
        try:
            await started._submit_missing()
        except BaseException:  # a cancellation, too: jobs that were submitted must not stay
            await started.cluster.close()
            raise
        return started

    async def keep(self, tell: Callable[[str], None]) -> None:
        """Submit jobs again that have ended, until cancelled; ``tell`` why one cannot be submitted."""
        while True:
            await asyncio.sleep(RESUBMIT_SECONDS)  # a job that ends causes no event here
            try:
                await self._submit_missing()
            except Exception as error:  # such as RuntimeError: sbatch has failed
                tell(described(error))

    async def _submit_missing(self) -> None:
        cluster = self.cluster
        for name in [name for name, job in cluster.workers.items() if job.status is not Status.running]:
            del cluster.workers[name]  # it was not submitted; Dask would take it for one that was
        cluster.scale(jobs=self._jobs)
        try:
            await cluster
        except RuntimeError as error:  # what sbatch says is at its end; before that, a path that is never the same
            raise RuntimeError(str(error).rpartition("stderr:")[2].strip()) from error
