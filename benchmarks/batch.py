"""The speed of the batch engines, compared with the single engines.

``python -m benchmarks.batch`` prints the random moves a second of each, on one core. Both choose among all legal
moves with the same chance, and begin a new game where one is over. A run has whole games, so that their scoring
counts in full. In hop, the batch chooses hop by hop; a whole path counts as one move, as in the single engine.
Times are processor times, each the best of several runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from time import process_time

import numpy as np

from benchmarks.engines import random_game
from getstep_engines import GAMES
from getstep_training.batch import (
    Batch,
    ChainReactionBatch,
    HopBatch,
    LinkageBatch,
    LongestPathBatch,
    PseudoTongaBatch,
)

RUNS = 5
GAMES_A_RUN = 100
BOARDS = 16_384  # each call of numpy has a fixed cost, and the last waves of long cascades are on few boards


@dataclass(frozen=True)
class Row:
    """A game, and the rounds of a run: a whole number of games.

    The end of a game costs more than its beginning, and games that began together stay together for long. Those of
    chain_reaction have 121 moves, with a standard deviation of 4.
    """

    game: str
    batch: Callable[[int], Batch]
    rounds: int
    options: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " ".join([self.game, *(f"{name} {value}" for name, value in self.options.items())])

    def single(self) -> float:
        """Return the random moves a second of the single engine."""
        dice = Random(self.game)
        best = 0.0
        for _ in range(RUNS):
            began = process_time()
            moves = sum(random_game(GAMES[self.game].start(**self.options), dice) for _ in range(GAMES_A_RUN))
            best = max(best, moves / (process_time() - began))
        return best

    def batched(self, boards: int, *, mixed: bool) -> float:
        """Return the random moves a second of the batch."""
        generator = np.random.default_rng(1)
        batch = self.batch(boards)
        for number in range(self.rounds):
            if mixed:
                batch.restart(np.arange(boards) % self.rounds == number)
            random_round(batch, generator)
        best = 0.0
        for _ in range(RUNS):
            began = process_time()
            moves = sum(random_round(batch, generator) for _ in range(self.rounds))
            best = max(best, moves / (process_time() - began))
        return best


ROWS = (
    Row("chain_reaction", ChainReactionBatch, 5 * 121),
    Row("pseudo_tonga", lambda boards: PseudoTongaBatch(boards, 8), 3 * 64, {"size": 8}),
    Row("pseudo_tonga", lambda boards: PseudoTongaBatch(boards, 16), 256, {"size": 16}),
    Row("longest_path", LongestPathBatch, 2 * 121),
    Row("hop", HopBatch, 400),
    Row("linkage", LinkageBatch, 20 * 20),  # games have 18 to 24 moves
)


def random_round(batch: Batch, generator: np.random.Generator) -> int:
    """Play a random action on each board; return the number of moves that it completed."""
    batch.play(batch.random_actions(generator))
    batch.restart(batch.over)
    return len(batch) - int(batch.hopping.sum())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch", description=__doc__)
    parser.add_argument("--boards", type=int, default=BOARDS, help="boards in a batch")
    parser.add_argument("--mixed", action="store_true", help="begin the games at different times")
    parser.add_argument("--game", choices=sorted({row.game for row in ROWS}), help="measure only this game")
    arguments = parser.parse_args()
    print(f"random moves a second on one core, {arguments.boards:,} boards")
    print(f"{'game':<20} {'single':>12} {'batch':>12} {'ratio':>6}")
    for row in ROWS:
        if arguments.game in (None, row.game):
            one, many = row.single(), row.batched(arguments.boards, mixed=arguments.mixed)
            print(f"{row.name:<20} {one:>12,.0f} {many:>12,.0f} {many / one:>6.1f}", flush=True)


if __name__ == "__main__":
    main()
