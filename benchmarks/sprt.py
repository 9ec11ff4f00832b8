"""The error rates and the length of the sequential test, with simulated players of known strength.

``python -m benchmarks.sprt`` prints, for some pairs of hypotheses and 1,000 tests of each: the rate of H1 if H0 is
true, the rate of H0 if H1 is true, and the mean number of pairs of games in each case.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import fmean

from benchmarks._players import Players
from getstep.sprt import Sprt

ALPHA = BETA = 0.05
MAX_PAIRS = 10_000
"""The pairs after which a test is aborted. No test has reached it."""


@dataclass(frozen=True)
class Trial:
    """A test of ``elo1`` against ``elo0``, between players with an advantage of the first, in Elo, and draws."""

    elo0: float
    elo1: float
    advantage: float
    draw: float

    def run(self, elo: float, seed: int) -> tuple[str, int]:
        """Run a test with the true difference ``elo``; return its verdict and its number of pairs."""
        players, dice = self.players(elo), Random(seed)
        test = Sprt(self.elo0, self.elo1, ALPHA, BETA)
        for pairs in range(1, MAX_PAIRS + 1):
            as_first = {0: "win", None: "draw", 1: "loss"}[players.play(0, 1, dice)]
            as_second = {1: "win", None: "draw", 0: "loss"}[players.play(1, 0, dice)]
            test.add(as_first, as_second)
            if test.verdict:
                return test.verdict, pairs
        raise RuntimeError(f"no verdict after {MAX_PAIRS} pairs")

    def players(self, elo: float) -> Players:
        """Return two players whose mean score corresponds to ``elo``, found by bisection.

        The advantage and the draws move the mean score towards 1/2, so there is no closed form."""
        low, high = -4000.0, 4000.0
        while high - low > 1e-6:
            middle = (low + high) / 2
            players = Players((middle, 0), self.advantage, self.draw)
            low, high = (middle, high) if _mean_score(players) < 1 / (1 + 10 ** (-elo / 400)) else (low, middle)
        return players


TRIALS = (Trial(0, 100, 0, 0.1), Trial(0, 50, 60, 0.3), Trial(100, 300, 150, 0))


def _mean_score(players: Players) -> float:
    """Return the mean score of the first of two players in a pair of games with colours swapped."""
    (won, drawn, lost), (lost_too, drawn_too, won_too) = players.odds(0, 1), players.odds(1, 0)
    as_first = (won + drawn / 2) / (won + drawn + lost)
    return (as_first + (won_too + drawn_too / 2) / (won_too + drawn_too + lost_too)) / 2


def line(trial: Trial, at0: Sequence[tuple[str, int]], at1: Sequence[tuple[str, int]]) -> str:
    """Return a line of the table: the verdicts if H0 is true, and if H1 is true."""
    said = f"{trial.elo0:g} against {trial.elo1:g}, advantage {trial.advantage:g}, draws {trial.draw:.0%}"
    alpha, beta = fmean(verdict == "H1" for verdict, _ in at0), fmean(verdict == "H0" for verdict, _ in at1)
    pairs0, pairs1 = (fmean(pairs for _, pairs in runs) for runs in (at0, at1))
    return f"{said:<41} {alpha:>6.1%} {beta:>6.1%} {pairs0:>8.0f} {pairs1:>8.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sprt", description=__doc__)
    parser.add_argument("--tests", type=int, default=1000, metavar="N", help="of each kind (1000)")
    parser.add_argument(
        "--processes", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="at once (2)"
    )
    arguments = parser.parse_args()
    print(f"{f'α = {ALPHA:.0%}, β = {BETA:.0%}':<41} {'α':>6} {'β':>6} {'pairs H0':>8} {'pairs H1':>8}")
    with ProcessPoolExecutor(arguments.processes) as pool:
        for trial in TRIALS:
            runs = (
                list(pool.map(partial(trial.run, elo), range(arguments.tests), chunksize=10))
                for elo in (trial.elo0, trial.elo1)
            )
            print(line(trial, *runs), flush=True)


if __name__ == "__main__":
    main()
