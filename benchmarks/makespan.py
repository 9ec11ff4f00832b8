"""The duration of a large contest on a cluster, compared with a lower bound, on a simulated clock.

``python -m benchmarks.makespan`` plays a double round robin of 400 programs, 159,600 matches of a minute, on 500
workers. The matches are chosen by `getstep_server.tournament.match_queue`, as in a contest, and placed by
`getstep_server.cluster.placement`, with the expected times of its `Durations`. Simulated are the
workers, the clock, and the way between the host and a worker. The time between two matches of a worker and
the processor time that a match costs the host and the scheduler are those that ``python -m benchmarks.scheduler``
measures with 500 workers. There all of them share two cores, so on a real cluster they are less.

The lower bound is the work of all matches divided by the speed of all workers. With rounds, it is the sum over the
rounds, and a round takes at least as long as its longest match on the fastest worker.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean
from time import process_time

from benchmarks.schedule import PACES, double_round_robin
from getstep_engines import TimeControl
from getstep_server.cluster.client import PLACED_AT_ONCE
from getstep_server.cluster.placement import Durations, Job, Placement
from getstep_server.cluster.venue import MATCHES_AHEAD
from getstep_server.records.match import Match
from getstep_server.records.result import Result
from getstep_server.tournament.match_queue import MatchQueue

CONTROL = TimeControl("move", 5.0)


@dataclass(frozen=True)
class Costs:
    """The ``way`` from a task to its result without the match, and the processor time of a match, in seconds."""

    way: float
    cpu: float


@dataclass
class Slot:
    """A worker with one slot: its speed, its programs, and the matches that were sent to it."""

    speed: float
    programs: set[str] = field(default_factory=set)
    sent: deque[Match] = field(default_factory=deque)
    playing: bool = False
    busy: float = 0.0


@dataclass(frozen=True)
class Contest:
    """Rounds of matches, and the seconds of each match on a worker of speed 1, for each player."""

    teams: int
    rounds: Sequence[Sequence[Match]]
    thought: dict[int, tuple[float, float]]

    def seconds(self, match: Match) -> float:
        """Return the time of a match on a worker of speed 1."""
        return sum(self.thought[match.number])

    def lower_bound(self, speeds: Sequence[float]) -> float:
        """Return the time below which no order of the matches can get."""
        return sum(
            max(
                sum(map(self.seconds, matches)) / sum(speeds),
                max(map(self.seconds, matches)) / max(speeds),
            )
            for matches in self.rounds
        )


def timed(teams: int, rounds: Sequence[Sequence[Match]], spread: float, mean: float, seed: int) -> Contest:
    """Return a contest whose matches take ``mean`` seconds; ``spread`` is the σ of the teams' paces."""
    dice = Random(seed)
    pace = [dice.lognormvariate(0, spread) for _ in range(teams)]
    thought = {}
    for match in itertools.chain(*rounds):
        turns = dice.uniform(20, 80)
        first, second = (turns * pace[team] * dice.uniform(0.5, 1.5) for team in match.teams)
        thought[match.number] = first, second
    scale = mean / fmean(map(sum, thought.values()))
    return Contest(teams, rounds, {n: (a * scale, b * scale) for n, (a, b) in thought.items()})


class Simulation:
    """A contest that is played on workers of some speeds, on a simulated clock."""

    def __init__(self, contest: Contest, speeds: Sequence[float], costs: Costs, seed: int) -> None:
        self._contest = contest
        self._costs = costs
        self._dice = Random(seed)
        self._slots = {f"worker-{n}": Slot(speed) for n, speed in enumerate(speeds)}
        self._placement = Placement()
        for name, slot in self._slots.items():
            self._placement.add_worker(name, 1, slot.speed)
        self._durations = Durations()
        self._matches: dict[int, Match] = {}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._now = self._host_free = 0.0
        self._queue = MatchQueue()
        self._out = 0
        self.choosing = 0.0
        """The real processor time of the choice and the placement of matches, in seconds."""

    def run(self) -> float:
        """Play the contest; return the simulated seconds that it takes."""
        for matches in self._contest.rounds:
            self._queue.add(matches)
            self._choose()
            while self._events:
                self._now, _, act = heapq.heappop(self._events)
                act()
        return self._now

    @property
    def use(self) -> float:
        """The share of the time in which the workers played."""
        return fmean(slot.busy for slot in self._slots.values()) / self._now

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self._now + seconds, next(self._order), act))

    def _choose(self) -> None:
        """Take matches as the director does, place them, and send them."""
        began = process_time()
        most = len(self._slots) + self._placement.bound + MATCHES_AHEAD
        teams = dict.fromkeys(range(self._contest.teams), most)
        for match in self._queue.take(teams, max(0, most - self._out), whole_pairings=True):
            self._out += 1
            self._matches[match.number] = match
            programs = tuple(map(str, match.teams))
            expected = self._durations.expected(match, CONTROL)
            self._placement.add(Job(match.number, (match.event, match.pairing), expected, programs))
        placed = []
        while some := self._placement.place(PLACED_AT_ONCE):
            placed += some
        self.choosing += process_time() - began
        for job, name in placed:
            self._send(self._matches[job.key], self._slots[name])

    def _send(self, match: Match, slot: Slot) -> None:
        """Send a match: the host and the scheduler need some time for it, one after the other."""
        arrival = self._through_host() + self._way() / 2
        missing = {str(team) for team in match.teams} - slot.programs
        if missing:  # the worker asks for them
            slot.programs |= missing
            arrival += self._through_host() - self._now + self._way()
        self._after(arrival - self._now, lambda: self._arrive(match, slot))

    def _through_host(self) -> float:
        """Return when the host and the scheduler have passed on one more message."""
        self._host_free = max(self._host_free, self._now) + self._costs.cpu
        return self._host_free

    def _way(self) -> float:
        return self._costs.way * self._dice.uniform(0.5, 1.5)

    def _arrive(self, match: Match, slot: Slot) -> None:
        slot.sent.append(match)
        self._begin(slot)

    def _begin(self, slot: Slot) -> None:
        if slot.sent and not slot.playing:
            match = slot.sent.popleft()
            slot.playing = True
            seconds = self._contest.seconds(match) / slot.speed
            slot.busy += seconds
            self._after(seconds, lambda: self._end(match, slot, seconds))

    def _end(self, match: Match, slot: Slot, seconds: float) -> None:
        slot.playing = False
        self._after(self._way() / 2, lambda: self._store(match, slot, seconds))
        self._begin(slot)

    def _store(self, match: Match, slot: Slot, seconds: float) -> None:
        first, second = (thought / slot.speed for thought in self._contest.thought[match.number])
        self._durations.note(
            Result(match, 0, "finished", "", None, 50, (first, second), (0, 0), started=0.0, seconds=seconds)
        )
        self._placement.played(match.number)
        del self._matches[match.number]
        self._queue.release(match)
        self._out -= 1
        self._choose()


def round_robin(teams: int) -> list[list[Match]]:
    """Return a double round robin: all its matches may be played at once."""
    return [double_round_robin(teams, 0)]


def rounds_of_pairs(teams: int, rounds: int) -> list[list[Match]]:
    """Return rounds in which each team meets one opponent twice; a round waits for the one before it."""
    numbers = itertools.count(1)
    by_round: defaultdict[int, list[Match]] = defaultdict(list)
    for match in double_round_robin(teams, 0):
        if match.round <= rounds:
            for leg, (first, second) in enumerate((match.teams, match.teams[::-1]), start=1):
                again = Match(next(numbers), match.round, match.pairing, leg, first, second, match.game)
                by_round[match.round].append(again)
    return list(by_round.values())


def speeds(workers: int, *, alike: bool) -> list[float]:
    """Return the speeds of workers: all alike, or up to two times as fast as the slowest."""
    dice = Random(1)
    return [1.0 if alike else dice.uniform(2 / 3, 4 / 3) for _ in range(workers)]


def contests(arguments: argparse.Namespace) -> Iterator[tuple[str, Contest, list[float]]]:
    """Yield the contests that are played: a name, the contest, the speeds of the workers."""
    teams, workers, seconds = arguments.teams, arguments.workers, arguments.seconds
    everybody = round_robin(teams)
    for paces in PACES:
        contest = timed(teams, everybody, PACES[paces], seconds, 0)
        yield f"round robin, paces {paces}", contest, speeds(workers, alike=True)
    contest = timed(teams, everybody, PACES["1 : 4"], seconds, 0)
    yield "round robin, paces 1 : 4, workers 1 : 2", contest, speeds(workers, alike=False)
    rounds = rounds_of_pairs(teams, 9)
    contest = timed(teams, rounds, PACES["1 : 4"], seconds, 0)
    yield "9 rounds, paces 1 : 4, a tenth of the workers", contest, speeds(max(1, workers // 10), alike=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.makespan", description=__doc__)
    parser.add_argument("--teams", type=int, default=400, metavar="N", help="programs (400)")
    parser.add_argument("--workers", type=int, default=500, metavar="N", help="with one slot each (500)")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="of a match, on average (60)")
    parser.add_argument("--way-ms", type=float, default=800.0, metavar="MS", help="between two matches (800)")
    parser.add_argument("--cpu-ms", type=float, default=3.2, metavar="MS", help="of a match, at the host (3.2)")
    arguments = parser.parse_args()
    costs = Costs(arguments.way_ms / 1e3, arguments.cpu_ms / 1e3)
    print(
        f"{'contest':<46} {'matches':>8} {'bound, h':>9} {'takes, h':>9} {'ratio':>6} {'use':>6} {'choice, µs':>10}"
    )
    for name, contest, each in contests(arguments):
        simulation = Simulation(contest, each, costs, 0)
        took, bound, count = simulation.run(), contest.lower_bound(each), len(contest.thought)
        print(
            f"{name:<46} {count:>8} {bound / 3600:>9.2f} {took / 3600:>9.2f} {took / bound:>6.3f}"
            f" {simulation.use:>6.1%} {simulation.choosing / count * 1e6:>10.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
