"""The limits of Dask's scheduler: matches a second, and the time that a match waits, for 1 to 500 workers.

``python -m benchmarks.scheduler`` starts a real scheduler, and workers that sleep for the time of a match. Matches
are handed out as `getstep_server.cluster` does it: each is a task for one worker, the host has the list. For each
number of workers it prints:

- idle: the processor time of the scheduler while nothing is played, as a share of a core.
- way: the time from a task to its result, one task at a time; the median and the 95th percentile.
- matches/s: with matches that take no time, and three of them in flight for each worker.
- CPU: what one of these matches costs the scheduler and the host's process, in ms. A core has 1000 ms a second, so
  the scheduler's limit is 1000 / CPU, whatever the workers do.
- gap: with matches of ``--seconds``, and turns passed on each second, the time in which a worker has nothing to
  play between two matches; the median and the 95th percentile. And the scheduler's share of a core with that.

All processes share this machine, so the matches a second are fewer than with workers on other computers.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from distributed import Client

from benchmarks._sleeping_workers import play

WORKERS = (1, 10, 50, 100, 200, 500)
PER_PROCESS = 50
"""Workers in one process."""

ORDER_BYTES = 2000
REPORT_BYTES = 6000
"""A match of 60 turns."""

AHEAD = 3
"""Matches in flight for each worker, if they take no time."""

IDLE_SECONDS = 5.0
LEAST_MATCHES = 3
"""The matches of each worker with ``--seconds``; the first has no gap before it."""


@dataclass
class Figures:
    """What was measured with a number of workers; times in seconds."""

    workers: int
    idle: float = 0.0
    way: list[float] = field(default_factory=list)
    rate: float = 0.0
    scheduler_cpu: float = 0.0
    host_cpu: float = 0.0
    gaps: list[float] = field(default_factory=list)
    busy: float = 0.0

    def __str__(self) -> str:
        way, gap = (f"{median(times) * 1e3:>5.0f} {_p95(times) * 1e3:>5.0f}" for times in (self.way, self.gaps))
        return (
            f"{self.workers:>7} {self.idle:>6.1%} {way} {self.rate:>9.0f} {self.scheduler_cpu * 1e3:>9.2f}"
            f" {self.host_cpu * 1e3:>8.2f} {gap} {self.busy:>6.1%}"
        )


def _p95(times: Sequence[float]) -> float:
    return quantiles(times, n=20)[-1]


class Cluster:
    """A scheduler and sleeping workers, each in processes of their own."""

    def __init__(self, scheduler: subprocess.Popen[bytes], address: str) -> None:
        self.address = address
        self._scheduler = scheduler

    def cpu(self) -> float:
        """Return the processor time of the scheduler, in seconds."""
        fields = Path(f"/proc/{self._scheduler.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def started(workers: int) -> Iterator[Cluster]:
    """Start a scheduler and its workers; end them after the block."""
    processes = []
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "scheduler.json"
        program = [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            "--host",
            "tcp://127.0.0.1",
            "--port",
            "0",
        ]
        command = [*program, "--no-dashboard", "--scheduler-file", str(file)]
        try:
            scheduler = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            processes.append(scheduler)
            while not (file.exists() and (address := _address_in(file))):
                time.sleep(0.05)
            for first in range(0, workers, PER_PROCESS):
                count = min(PER_PROCESS, workers - first)
                hosted = [sys.executable, "-m", "benchmarks._sleeping_workers", address, str(count)]
                processes.append(subprocess.Popen(hosted, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL))
            yield Cluster(scheduler, address)
        finally:
            for process in processes:
                process.kill()
                process.wait()


def _address_in(file: Path) -> str:
    try:
        return str(json.loads(file.read_text())["address"])
    except ValueError:
        return ""


class Host:
    """Hands out matches, each to one worker."""

    def __init__(self, client: Client, workers: Sequence[str]) -> None:
        self._client = client
        self.workers = workers
        self._numbers = itertools.count()
        self._topic = "turns"
        self.turns = 0
        client.subscribe_topic(self._topic, self._note)

    def _note(self, _: Any) -> None:
        self.turns += 1

    async def play(self, worker: str, seconds: float) -> tuple[float, float]:
        """Play a match; return when it began and ended."""
        future = self._client.submit(
            play,
            bytes(ORDER_BYTES),
            seconds,
            self._topic,
            REPORT_BYTES,
            key=f"match-{next(self._numbers)}",
            workers=[worker],
            allow_other_workers=False,
            pure=False,
        )
        began, ended, _ = await future.result()
        future.release()
        return began, ended

    async def keep_busy(
        self, worker: str, seconds: float, until: float, least: int = 0
    ) -> list[tuple[float, float]]:
        """Play matches on a worker, one after the other."""
        played: list[tuple[float, float]] = []
        while time.monotonic() < until or len(played) < least:
            played.append(await self.play(worker, seconds))
        return played


async def measured(cluster: Cluster, workers: int, seconds: float, match_seconds: float) -> Figures:
    """Measure with a number of workers that have been started."""
    figures = Figures(workers)
    async with Client(cluster.address, asynchronous=True, set_as_default=False) as client:
        await client.wait_for_workers(workers)
        found = (await client.scheduler.identity(n_workers=-1))["workers"]
        host = Host(client, list(found))
        cpu = cluster.cpu()
        await asyncio.sleep(IDLE_SECONDS)
        figures.idle = (cluster.cpu() - cpu) / IDLE_SECONDS
        for number in range(200):
            began = time.monotonic()
            await host.play(host.workers[number % workers], 0.0)
            figures.way.append(time.monotonic() - began)
        await _measure_rate(cluster, host, seconds, figures)
        await _measure_gaps(cluster, host, match_seconds, figures)
    return figures


async def _measure_rate(cluster: Cluster, host: Host, seconds: float, figures: Figures) -> None:
    cpu, own, began = cluster.cpu(), time.process_time(), time.monotonic()
    until = began + seconds
    places = [worker for worker in host.workers for _ in range(AHEAD)]
    played = await asyncio.gather(*(host.keep_busy(worker, 0.0, until) for worker in places))
    count = sum(map(len, played))
    figures.rate = count / (time.monotonic() - began)
    figures.scheduler_cpu = (cluster.cpu() - cpu) / count
    figures.host_cpu = (time.process_time() - own) / count


async def _measure_gaps(cluster: Cluster, host: Host, seconds: float, figures: Figures) -> None:
    """Play as long as the matches of all workers begin at other moments, as they do in a contest."""
    cpu, began = cluster.cpu(), time.monotonic()

    async def serve(index: int, worker: str) -> list[tuple[float, float]]:
        await asyncio.sleep(seconds * index / len(host.workers))
        return await host.keep_busy(worker, seconds, began + 2 * seconds, LEAST_MATCHES)

    played = await asyncio.gather(*itertools.starmap(serve, enumerate(host.workers)))
    figures.busy = (cluster.cpu() - cpu) / (time.monotonic() - began)
    gaps = defaultdict(list)
    for worker, matches in zip(host.workers, played, strict=True):
        gaps[worker] = [after[0] - before[1] for before, after in itertools.pairwise(matches)]
    figures.gaps = [gap for each in gaps.values() for gap in each]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scheduler", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS, metavar="N", help=f"numbers ({WORKERS})")
    parser.add_argument(
        "--rate-seconds", type=float, default=10.0, metavar="S", help="for the matches a second (10)"
    )
    parser.add_argument("--seconds", type=float, default=10.0, metavar="S", help="of a match, for the gaps (10)")
    arguments = parser.parse_args()
    print(f"{'':>7} {'idle':>6} {'way, ms':>11} {'matches':>9} {'CPU, ms a match':>18} {'gap, ms':>11} {'':>6}")
    print(
        f"{'workers':>7} {'share':>6} {'':>5} {'p95':>5} {'a second':>9} {'scheduler':>9} {'host':>8} {'':>5}"
        f" {'p95':>5} {'share':>6}"
    )
    for workers in arguments.workers:
        with started(workers) as cluster:
            print(asyncio.run(measured(cluster, workers, arguments.rate_seconds, arguments.seconds)), flush=True)


if __name__ == "__main__":
    main()
