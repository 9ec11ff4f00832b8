"""The error and the length of the search for the best of several bots, with simulated players of known strength.

``python -m benchmarks.best`` prints, for some numbers of bots and 10,000 searches of each: how often the best bot
was eliminated, the mean number of pairs of games, and that of a sequential test between every two bots with the
same errors, each played to its verdict.

Two cases: one bot is 50 Elo stronger than all others, which are equal; and each bot is 50 Elo stronger than the
next one. The first is the hardest case that the promise covers.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from random import Random
from statistics import fmean

from benchmarks._players import Players
from benchmarks.sprt import Trial
from getstep.sprt import PairOutcomes, Selection

ELO, ALPHA = 50.0, 0.05
ADVANTAGE, DRAW = 60.0, 0.1
"""The advantage of the first player in Elo, and the share of draws between equal players."""

BOTS = (3, 4, 8)
CASES: dict[str, Callable[[int], int]] = {"one ahead": lambda bot: int(bot == 0), "steps": lambda bot: -bot}
"""The strength of each bot, in units of the difference that matters; bot 0 is the best."""

Two = tuple[int, int]


@dataclass(frozen=True)
class Outcome:
    """Of one search: whether the best bot was eliminated, its pairs, and those of all tests between two."""

    wrong: bool
    pairs: int
    pairwise: int


def search(players: Players, seed: int) -> Outcome:
    """Play a search, and go on with the pairs of all tests that have no verdict then."""
    dice = Random(seed)
    bots = len(players.elo)
    selection = Selection(range(bots), ELO, ALPHA)
    pairs = 0
    while couples := selection.couples:
        selection.add_round({two: pair(players, two, dice) for two in couples})
        pairs += len(couples)
    pairwise = sum(until_verdict(selection, two, players, dice) for two in combinations(range(bots), 2))
    return Outcome(0 not in selection.remaining, pairs, pairwise)


def until_verdict(selection: Selection, two: Two, players: Players, dice: Random) -> int:
    """Play the test of two bots to its verdict, and return the number of all its pairs."""
    test = selection.tests[two]  # all have played in the first round
    while test.verdict is None:
        test.add(*pair(players, two, dice))
    return sum(test.counts)


def pair(players: Players, two: Two, dice: Random) -> PairOutcomes:
    """Play a pair of games; return the outcomes of the first of two bots."""
    one, other = two
    as_first = {0: "win", None: "draw", 1: "loss"}[players.play(one, other, dice)]
    as_second = {1: "win", None: "draw", 0: "loss"}[players.play(other, one, dice)]
    return as_first, as_second


def line(bots: int, case: str, outcomes: list[Outcome]) -> str:
    """Return a line of the table."""
    wrong, pairs, pairwise = (fmean(getattr(one, name) for one in outcomes) for name in Outcome.__annotations__)
    return f"{bots:>4}  {case:<10} {wrong:>10.2%} {pairs:>8.0f} {pairwise:>12.0f} {1 - pairs / pairwise:>7.0%}"


def strengths(case: str, bots: int) -> tuple[float, ...]:
    """Return the ratings for which the mean score of a difference of 1 is that of ``ELO``."""
    unit = Trial(0, ELO, ADVANTAGE, DRAW).players(ELO).elo[0]
    return tuple(unit * CASES[case](bot) for bot in range(bots))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.best", description=__doc__)
    parser.add_argument("--searches", type=int, default=10_000, metavar="N", help="of each kind (10,000)")
    parser.add_argument("--bots", type=int, nargs="+", default=BOTS, metavar="N", help="in a search (3 4 8)")
    parser.add_argument(
        "--processes", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="at once (2)"
    )
    arguments = parser.parse_args()
    print(f"best of several, {ELO:g} Elo, α = {ALPHA:.0%}, {arguments.searches:,} searches")
    print(f"{'bots':>4}  {'case':<10} {'eliminated':>10} {'pairs':>8} {'pairs of all':>12} {'saved':>7}")
    with ProcessPoolExecutor(arguments.processes) as pool:
        for bots in arguments.bots:
            for case in CASES:
                players = Players(strengths(case, bots), ADVANTAGE, DRAW)
                seeds = range(arguments.searches)
                print(line(bots, case, list(pool.map(partial(search, players), seeds, chunksize=20))), flush=True)


if __name__ == "__main__":
    main()
