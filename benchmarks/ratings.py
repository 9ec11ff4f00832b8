"""How often the interval of a rating holds the truth, with players of known strength.

``python -m benchmarks.ratings`` plays 1,000 contests of each kind, rates each with intervals by bootstrap, and
prints in how many of them the truth was inside: all teams together, the teams for which that is seldom and often,
the first player's advantage, and the draws. Then how many neighbours in strength `Ratings.stronger` told apart
(0.95 or more) in the right order, and how many in the wrong one. Last, what a fit takes. All in some minutes.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from random import Random
from statistics import fmean
from time import process_time

from benchmarks._players import Players
from getstep_server.limits import MAX_TEAMS
from getstep_server.ratings import Estimate, Tally, rate

CONTESTS = 1000

REPLICATES = 199
"""Of the bootstrap, so that the ends of an interval are the 5th from below and from above."""


@dataclass(frozen=True)
class Kind:
    """A kind of contest: its players, evenly spread over ±``spread`` Elo, and the games of each."""

    name: str
    teams: int
    spread: float
    advantage: float
    draw: float
    rounds: int = 0  # against random opponents; 0 is a double round robin
    neighbours: int = 0  # games of each with the next one instead, half of them as the first player

    @property
    def players(self) -> Players:
        step = 2 * self.spread / (self.teams - 1)
        return Players(tuple(self.spread - step * i for i in range(self.teams)), self.advantage, self.draw)

    def games(self, dice: Random) -> Iterator[tuple[int, int]]:
        """Who plays whom, the first player first."""
        if self.neighbours:
            for one in range(self.teams - 1):
                yield from [(one, one + 1), (one + 1, one)] * (self.neighbours // 2)
        elif self.rounds:
            for _ in range(self.rounds):
                order = dice.sample(range(self.teams), self.teams)
                yield from zip(order[::2], order[1::2], strict=True)
        else:
            yield from permutations(range(self.teams), 2)


KINDS = (
    Kind("8 teams, double round robin", 8, spread=350, advantage=30, draw=0.1),
    Kind("24 teams, double round robin", 24, spread=400, advantage=60, draw=0.3),
    Kind("40 teams, double round robin", 40, spread=500, advantage=0, draw=0.1),
    Kind("24 teams, 20 games with each neighbour", 24, spread=400, advantage=60, draw=0.1, neighbours=20),
    Kind("40 teams, 9 random opponents", 40, spread=300, advantage=30, draw=0.1, rounds=9),
)


@dataclass(frozen=True)
class Heard:
    """What one contest's ratings said: where the truth was inside, and how many neighbours were told apart."""

    teams: tuple[bool, ...]
    advantage: bool
    draw: bool
    right: int
    wrong: int


def played(kind: Kind, seed: int) -> Tally:
    """A contest's results."""
    dice, players = Random(seed), kind.players
    tally = Tally(range(kind.teams))
    for first, second in kind.games(dice):
        tally.add(first, second, players.play(first, second, dice))
    return tally


def contest(kind: Kind, seed: int, replicates: int = REPLICATES) -> Heard:
    """Play a contest and rate it; ``replicates`` as in `rate`."""
    ratings = rate(played(kind, seed), replicates=replicates, seed=seed)
    elo = {rating.team: rating.elo for rating in ratings.table}
    claims = [ratings.stronger(team, team + 1) for team in range(kind.teams - 1)]
    return Heard(
        teams=tuple(_inside(elo[team], truth) for team, truth in enumerate(kind.players.elo)),
        advantage=_inside(ratings.advantage, kind.advantage),
        draw=_inside(ratings.draw, kind.draw),
        right=sum(claim >= 0.95 for claim in claims),
        wrong=sum(claim <= 0.05 for claim in claims),
    )


def _inside(estimate: Estimate | None, truth: float) -> bool:
    return estimate is not None and estimate.low <= truth <= estimate.high


def coverage(kind: Kind, heard: Sequence[Heard]) -> str:
    """A line of the table."""
    by_team = [fmean(one.teams[team] for one in heard) for team in range(kind.teams)]
    advantage, draw = fmean(one.advantage for one in heard), fmean(one.draw for one in heard)
    pairs = len(heard) * (kind.teams - 1)
    right, wrong = sum(one.right for one in heard) / pairs, sum(one.wrong for one in heard) / pairs
    cells = (fmean(by_team), min(by_team), max(by_team), advantage, draw, right, wrong)
    return f"{kind.name:<39}" + "".join(f"{cell:>8.1%}" for cell in cells)


def fits() -> str:
    """What it takes to rate a double round robin, in processor time."""
    said = []
    for teams, replicates in ((40, 0), (40, 1000), (MAX_TEAMS, 0), (MAX_TEAMS, 100)):
        tally = played(Kind("", teams, spread=500, advantage=30, draw=0.1), 1)
        started = process_time()
        rate(tally, replicates=replicates)
        said.append(f"{teams} teams, {replicates} replicates: {(process_time() - started) * 1e3:.0f} ms")
    return "; ".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ratings", description=__doc__)
    parser.add_argument("--contests", type=int, default=CONTESTS, metavar="N", help=f"of each kind ({CONTESTS})")
    parser.add_argument(
        "--replicates",
        type=int,
        default=REPLICATES,
        metavar="N",
        help=f"of the bootstrap ({REPLICATES}); 0 for intervals without",
    )
    parser.add_argument(
        "--processes", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="at once (2)"
    )
    arguments = parser.parse_args()
    seeds = range(arguments.contests)
    with ProcessPoolExecutor(arguments.processes) as pool:
        columns = ("teams", "fewest", "most", "first", "draws", "right", "wrong")
        print(f"{'the truth is inside':<39}" + "".join(f"{column:>8}" for column in columns))
        for kind in KINDS:
            heard = pool.map(partial(contest, kind, replicates=arguments.replicates), seeds, chunksize=10)
            print(coverage(kind, list(heard)), flush=True)
    print(fits())


if __name__ == "__main__":
    main()
