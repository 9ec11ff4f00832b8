"""The duration of a contest, compared with a lower bound: the busiest team's own matches, spread over its seats.

``python -m benchmarks.schedule`` plays double round robins of 40 teams on a simulated clock, in the order of
`getstep_server.tournament.match_queue`. It prints the ratio makespan / lower bound over 100 seeds: the mean and the
worst. Each bot has its own speed, and matches have random lengths. Then it plays the largest contest, to measure
the time for the choice of the next matches.
"""

from __future__ import annotations

import argparse
import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean, median
from time import process_time

from getstep_server.formats.round_robin import RoundRobin
from getstep_server.limits import MAX_TEAMS
from getstep_server.records.match import Match
from getstep_server.tournament.match_queue import MatchQueue

PACES = {"all the same": 0.0, "1 : 4": 0.35, "1 : 16": 0.7}
"""The ratio of mean thinking times that covers 95 % of the teams, and the log-normal σ for it."""

SEATS: dict[str, Callable[[int], int]] = {
    "1 each": lambda _: 1,
    "2 each": lambda _: 2,
    "2 for every 4th": lambda team: 1 + (team % 4 == 0),
}


@dataclass(frozen=True)
class Contest:
    """Matches, and the duration of each in seconds, by its number."""

    matches: Sequence[Match]
    seconds: Mapping[int, float]

    @classmethod
    def random(cls, teams: int, spread: float, seed: int) -> Contest:
        """Return a double round robin; ``spread`` is the σ of the log-normal distribution of the teams' paces."""
        dice = Random(seed)
        pace = [dice.lognormvariate(0, spread) for _ in range(teams)]
        matches = double_round_robin(teams, seed)
        return cls(matches, {match.number: _seconds(match, pace, dice) for match in matches})

    def lower_bound(self, seats: Mapping[int, int]) -> float:
        """Return the seconds that the busiest team needs for its own matches on all its seats."""
        work: defaultdict[int, float] = defaultdict(float)
        for match in self.matches:
            for team in match.teams:
                work[team] += self.seconds[match.number] / seats[team]
        return max(work.values())


def double_round_robin(teams: int, seed: int) -> list[Match]:
    """Return the matches of a double round robin."""
    pairings = RoundRobin(RoundRobin.Options(legs=2), seed).next_pairings(range(teams), [])
    return [
        Match(number, each.round, each.pairing, each.leg, each.teams[0], each.teams[1], "hop")
        for number, each in enumerate(pairings, start=1)
    ]


def _seconds(match: Match, pace: Sequence[float], dice: Random) -> float:
    turns = dice.uniform(20, 80)
    return turns * sum(pace[team] * dice.uniform(0.5, 1.5) for team in match.teams)


def play(contest: Contest, seats: Mapping[int, int], order: MatchQueue) -> Iterator[tuple[float, float]]:
    """Play a contest; yield, for each decision, the simulated clock and the processor time used, in seconds."""
    now, ends = 0.0, list[tuple[float, int, Match]]()
    while True:
        started = process_time()
        starting = order.take(seats)
        yield now, process_time() - started
        for match in starting:
            heapq.heappush(ends, (now + contest.seconds[match.number], match.number, match))
        if not ends:
            return
        now, _, match = heapq.heappop(ends)
        order.release(match)


def ratio(contest: Contest, seats: Mapping[int, int]) -> float:
    """Return the makespan divided by the lower bound."""
    *_, (makespan, _) = play(contest, seats, MatchQueue(contest.matches))
    return makespan / contest.lower_bound(seats)


def largest() -> None:
    """Play the contest with the most matches allowed, and print the time of the decisions."""
    contest = Contest.random(MAX_TEAMS, PACES["1 : 16"], 0)
    started = process_time()
    order = MatchQueue(contest.matches)
    added = process_time() - started
    first, *others = (took for _, took in play(contest, dict.fromkeys(range(MAX_TEAMS), 1), order))
    p99 = sorted(others)[len(others) * 99 // 100]
    print(
        f"{MAX_TEAMS} teams, {len(contest.matches)} matches: {added * 1e3:.0f} ms to put in,"
        f" {first * 1e3:.0f} ms for the first decision, then {median(others) * 1e6:.0f} µs, p99 {p99 * 1e6:.0f} µs"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schedule", description=__doc__)
    parser.add_argument("--teams", type=int, default=40, metavar="N", help="in each contest (40)")
    parser.add_argument("--seeds", type=int, default=100, metavar="N", help="contests of each kind (100)")
    arguments = parser.parse_args()
    print(
        f"{arguments.teams} teams, double round robin, {arguments.seeds} seeds: makespan / busiest team's own work"
    )
    print(f"{'seats':<17} {'paces':<14} {'mean':>6} {'worst':>6}")
    for seating, seats_of in SEATS.items():
        seats = {team: seats_of(team) for team in range(arguments.teams)}
        for paces, spread in PACES.items():
            contests = (Contest.random(arguments.teams, spread, seed) for seed in range(arguments.seeds))
            ratios = [ratio(contest, seats) for contest in contests]
            print(f"{seating:<17} {paces:<14} {fmean(ratios):>6.3f} {max(ratios):>6.3f}", flush=True)
    largest()


if __name__ == "__main__":
    main()
