"""The coverage of the ratings' intervals, with simulated players of known strength.

``python -m benchmarks.ratings`` plays 1,000 contests of each kind, rates each with intervals by bootstrap, and
prints how often the true value was inside: for all teams together, for the teams with the lowest and the highest
coverage, for the first player's advantage, and for the draws. Then it prints how many neighbours in strength
`Ratings.stronger` separated (0.95 or more) in the right order, and how many in the wrong one.

Then it plays small contests of teams whose strengths are drawn from a normal distribution of 100, 200 or 400 Elo,
each in a third of the contests. It compares the probabilities of `Ratings.stronger` for neighbours in the table
with the share of those that were right. Last, it prints the time of a fit. It takes some minutes.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, permutations
from random import Random
from statistics import fmean
from time import process_time
from typing import TypeAlias

from benchmarks._players import Players
from getstep_server.limits import MAX_TEAMS
from getstep_server.tournament.estimate import Estimate
from getstep_server.tournament.ratings import Tally, rate

CONTESTS = 1000

REPLICATES = 199
"""The replicates of the bootstrap. With 199, the ends of an interval are the 5th values from below and above."""


@dataclass(frozen=True)
class Kind:
    """A kind of contest: its players, evenly spread over ±``spread`` Elo, and the games of each."""

    name: str
    teams: int
    spread: float
    advantage: float
    draw: float
    rounds: int = 0  # against random opponents; 0 is a double round robin
    legs: int = 1  # against each of those
    neighbours: int = 0  # games of each with the next one instead, half of them as the first player

    @property
    def players(self) -> Players:
        step = 2 * self.spread / (self.teams - 1)
        return Players(tuple(self.spread - step * i for i in range(self.teams)), self.advantage, self.draw)

    def games(self, dice: Random) -> Iterator[tuple[int, int]]:
        """Yield the pairs of players of each game, the first player first."""
        if self.neighbours:
            for one in range(self.teams - 1):
                yield from [(one, one + 1), (one + 1, one)] * (self.neighbours // 2)
        elif self.rounds:
            for _ in range(self.rounds):
                order = dice.sample(range(self.teams), self.teams)
                for one, other in zip(order[::2], order[1::2], strict=True):
                    yield from [(one, other), (other, one)][: self.legs]
        else:
            yield from permutations(range(self.teams), 2)


KINDS = (
    Kind("8 teams, double round robin", 8, spread=350, advantage=30, draw=0.1),
    Kind("24 teams, double round robin", 24, spread=400, advantage=60, draw=0.3),
    Kind("40 teams, double round robin", 40, spread=500, advantage=0, draw=0.1),
    Kind("24 teams, 20 games with each neighbour", 24, spread=400, advantage=60, draw=0.1, neighbours=20),
    Kind("40 teams, 9 random opponents", 40, spread=300, advantage=30, draw=0.1, rounds=9),
)


SMALL = (
    Kind("2 teams, 4 games", 2, spread=0, advantage=30, draw=0.1, neighbours=4),
    Kind("2 teams, 10 games", 2, spread=0, advantage=30, draw=0.1, neighbours=10),
    Kind("8 teams, 5 opponents", 8, spread=0, advantage=30, draw=0.1, rounds=5),
    Kind("8 teams, 3 opponents twice", 8, spread=0, advantage=30, draw=0.1, rounds=3, legs=2),
    Kind("8 teams, double round robin", 8, spread=0, advantage=30, draw=0.1),
    Kind("24 teams, 5 opponents twice", 24, spread=0, advantage=30, draw=0.1, rounds=5, legs=2),
    Kind("24 teams, 4 games with each neighbour", 24, spread=0, advantage=30, draw=0.1, neighbours=4),
    Kind("24 teams, double round robin", 24, spread=0, advantage=30, draw=0.1),
)

SPREADS = (100, 200, 400)
"""Standard deviations of strengths in small contests, in Elo."""

BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""The edges of the bins in which claims are counted together."""

Claim: TypeAlias = tuple[float, bool]
"""The claimed probability that a team is stronger than another, 0.5 … 1, and True if it is."""


@dataclass(frozen=True)
class Coverage:
    """The result of one contest: the true values inside their intervals, and the neighbours separated."""

    teams: tuple[bool, ...]
    advantage: bool
    draw: bool
    right: int
    wrong: int


def played(kind: Kind, seed: int, players: Players | None = None) -> Tally:
    """Return the results of a contest, by default of the kind's own players."""
    dice, players = Random(seed), players or kind.players
    tally = Tally(range(kind.teams))
    for first, second in kind.games(dice):
        tally.add(first, second, players.play(first, second, dice))
    return tally


def contest(kind: Kind, seed: int, replicates: int = REPLICATES) -> Coverage:
    """Play a contest and rate it; ``replicates`` as in `rate`."""
    ratings = rate(played(kind, seed), replicates=replicates, seed=seed)
    elo = {rating.team: rating.elo for rating in ratings.table}
    claims = [ratings.stronger(team, team + 1) for team in range(kind.teams - 1)]
    return Coverage(
        teams=tuple(_inside(elo[team], truth) for team, truth in enumerate(kind.players.elo)),
        advantage=_inside(ratings.advantage, kind.advantage),
        draw=_inside(ratings.draw, kind.draw),
        right=sum(claim >= 0.95 for claim in claims),
        wrong=sum(claim <= 0.05 for claim in claims),
    )


def claims(kind: Kind, seed: int) -> list[Claim]:
    """Play a small contest of random players and rate it; return the claims about neighbours in the table."""
    dice = Random(f"players {seed}")
    elo = tuple(dice.gauss(0, SPREADS[seed % len(SPREADS)]) for _ in range(kind.teams))
    ratings = rate(played(kind, seed, Players(elo, kind.advantage, kind.draw)), replicates=0)
    results = []
    for (upper, lower), lead in zip(pairwise(ratings.table), ratings.leads, strict=False):
        if lead is not None:
            is_stronger = elo[upper.team] > elo[lower.team]
            results.append((lead, is_stronger) if lead >= 0.5 else (1 - lead, not is_stronger))
    return results


def calibration(name: str, results: Sequence[Claim]) -> str:
    """Return a line of the table: for each bin the mean claim, the share that is true, and the number of claims."""
    cells = []
    for low, high in pairwise(BINS):
        inside = [claim for claim in results if low <= claim[0] < high or claim[0] == high == 1]
        if inside:
            said, true = (fmean(column) for column in zip(*inside, strict=True))
            cells.append(f"{said:.2f} {true:.2f} {len(inside):>6}")
        else:
            cells.append("")
    return f"{name:<39}" + "".join(f"{cell:>18}" for cell in cells)


def _inside(estimate: Estimate | None, truth: float) -> bool:
    return estimate is not None and estimate.low <= truth <= estimate.high


def coverage(kind: Kind, results: Sequence[Coverage]) -> str:
    """Return a line of the table."""
    by_team = [fmean(one.teams[team] for one in results) for team in range(kind.teams)]
    advantage, draw = fmean(one.advantage for one in results), fmean(one.draw for one in results)
    pairs = len(results) * (kind.teams - 1)
    right, wrong = sum(one.right for one in results) / pairs, sum(one.wrong for one in results) / pairs
    cells = (fmean(by_team), min(by_team), max(by_team), advantage, draw, right, wrong)
    return f"{kind.name:<39}" + "".join(f"{cell:>8.1%}" for cell in cells)


def fits() -> str:
    """Return the processor times to rate double round robins, as text."""
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
            results = pool.map(partial(contest, kind, replicates=arguments.replicates), seeds, chunksize=10)
            print(coverage(kind, list(results)), flush=True)
        heads = (f"{low:g} to {high:g}" for low, high in pairwise(BINS))
        print(f"\n{'claimed, true, how many':<39}" + "".join(f"{head:>18}" for head in heads))
        all_claims: list[Claim] = []
        for kind in SMALL:
            contests = pool.map(partial(claims, kind), seeds, chunksize=10)
            claims_here = [claim for contest_ in contests for claim in contest_]
            all_claims += claims_here
            print(calibration(kind.name, claims_here), flush=True)
        print(calibration("all", all_claims))
    print(fits())


if __name__ == "__main__":
    main()
