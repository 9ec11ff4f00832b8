"""Games an hour with two workers and with one: the same duel of two programs that compute, in alternating batches.

``python -m benchmarks.workers`` plays batches of a duel with ``--dask local:1`` and ``--dask local:2``, each worker
with a core of its own. It prints the games an hour of each batch, and the ratio for each pair of batches and their
median. On a machine with two cores, the host and Dask need a part of them, so 2.0 cannot be reached; 1.8 is the
target. The games before each worker has played one do not count. ``--work 5000000`` makes games of ten seconds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import trio

from benchmarks.cluster import make_contest
from getstep_server.cli.clusters import cluster_maker
from getstep_server.events import Bus, Event, MatchEnded
from getstep_server.runtime.run import run_contest
from getstep_server.runtime.start import StartCondition

PROGRAM = """\
def get_step(board, is_black):
    total = 0
    for number in range({work}):
        total += number * number % 7
    return next((r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if not cell)
"""
WARM_UP = 4


def games_per_hour(games: int, workers: int, work: int) -> float:
    """Play a batch, and return its games an hour."""
    ends: list[float] = []

    def note(_: Event) -> None:
        ends.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        program = PROGRAM.format(work=work)
        contest = make_contest(Path(folder) / "duel", games + WARM_UP, "required", program, at_once=8)
        bus = Bus()
        bus.subscribe(note, [MatchEnded])
        trio.run(run_contest, contest, bus, StartCondition(now=True), cluster_maker(f"local:{workers}"))
    counted = ends[WARM_UP - 1 : 1 - workers or None]  # at the end a worker may be idle
    # The slope, because two workers may end their games in pairs: then the first and the last end alone mislead.
    return 3600 * statistics.linear_regression(counted, range(len(counted))).slope


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="pairs of batches (3)")
    parser.add_argument("--games", type=int, default=24, help="games of a batch (24)")
    parser.add_argument("--work", type=int, default=1_000_000, help="rounds of a loop for each move (1000000)")
    arguments = parser.parse_args()
    print(f"{'1 worker':>10} {'2 workers':>10} {'ratio':>6}  games an hour, batches of {arguments.games}")
    ratios = []
    for _ in range(arguments.rounds):
        one, two = (games_per_hour(arguments.games, workers, arguments.work) for workers in (1, 2))
        ratios.append(two / one)
        print(f"{one:>10.0f} {two:>10.0f} {two / one:>6.2f}", flush=True)
    print(f"median of the ratios: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
