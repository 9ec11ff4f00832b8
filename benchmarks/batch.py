"""The speed of the batch engines, compared with the single engines.

``python -m benchmarks.batch`` prints the random moves a second of each, on one core. Both choose among all legal
moves with the same chance, and begin a new game where one is over. Times are processor times, each the best of
several runs.
"""

from __future__ import annotations

import argparse
from random import Random
from time import process_time

import numpy as np

from benchmarks.engines import random_game
from getstep_engines import GAMES
from getstep_engines.batch import ChainReactionBatch

RUNS = 5
GAMES_A_RUN = 100
ROUNDS_A_RUN = 150
BOARDS = 16_384  # each call of numpy has a fixed cost, and the last waves of long cascades are on few boards


def single(name: str) -> float:
    """Return the random moves a second of the single engine."""
    dice = Random(name)
    best = 0.0
    for _ in range(RUNS):
        began = process_time()
        moves = sum(random_game(GAMES[name].start(), dice) for _ in range(GAMES_A_RUN))
        best = max(best, moves / (process_time() - began))
    return best


def batched(boards: int) -> float:
    """Return the random moves a second of `ChainReactionBatch`."""
    generator = np.random.default_rng(1)
    batch = ChainReactionBatch(boards)
    best = 0.0
    for _ in range(RUNS + 1):  # the first run only mixes games of all ages
        began = process_time()
        for _ in range(ROUNDS_A_RUN):
            batch.play(batch.random_actions(generator))
            batch.restart(batch.over)
        best = max(best, ROUNDS_A_RUN * boards / (process_time() - began))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch", description=__doc__)
    parser.add_argument("--boards", type=int, default=BOARDS, help="boards in a batch")
    boards = parser.parse_args().boards
    one, many = single("chain_reaction"), batched(boards)
    print(f"{'game':<15} {'single':>12} {'batch':>12} {'ratio':>6}   random moves a second, {boards:,} boards")
    print(f"{'chain_reaction':<15} {one:>12,.0f} {many:>12,.0f} {many / one:>6.1f}")


if __name__ == "__main__":
    main()
