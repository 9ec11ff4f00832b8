"""The placement of matches on workers: which match is played next, and where. No I/O, no clock, no Dask.

Theory of operation
-------------------

*Longest first.* `Durations` has the time that a match is expected to take, from those that were played before. A
round ends with its last match. So the matches with the longest expected time start first, and
short ones fill the end. This is list scheduling by the longest processing time: it takes at most a third longer
than the best plan, and nearly nothing if there are many matches for each slot.

*Pairs.* The unit is the pairing. Its matches, with either side first, are played on one worker, so that both
players have the same machine in both of them. The first match of a pairing binds it to a worker, until that worker
is lost. A worker plays the matches that are bound to it before it begins another pairing.

*Ahead.* The way to a worker takes some milliseconds. So that short matches do not wait for it, a worker gets more
of them than it has slots. Long ones lose less by the way than they would by waiting behind another match. At the
end of a round no match is sent ahead, because another worker may be free first.

*Failures.* A match that was lost with one worker, or failed there, is played elsewhere if there is another worker.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from getstep_engines import TimeControl
from getstep_server.records.match import Match
from getstep_server.records.result import PLAYERS, Result

AHEAD_SECONDS = 2.0
"""Matches that are expected to be shorter are sent ahead. The way to a worker takes 5 to 50 ms: 2 % of 2 s."""

AHEAD = 2
"""The matches for each slot that wait on a worker: enough for matches that are as short as the way."""

TURNS = 40
"""The turns of a player in a match of which nothing is known."""

SHARE = 0.25
"""The part of its limit that a player is expected to use then: most programs are much faster than they must be."""

RECENT = 16
"""The matches over which times are averaged. Programs change between versions."""


@dataclass(slots=True)
class _Mean:
    count: int = 0
    value: float = 0.0

    def add(self, seconds: float) -> None:
        self.count = min(self.count + 1, RECENT)
        self.value += (seconds - self.value) / self.count


class Durations:
    """The thinking time of each team in each event, and the further time that a match takes.

    A match takes as long as both players think. So the times of two teams that have not met say enough.
    """

    def __init__(self, results: Iterable[Result] = ()) -> None:
        self._thought: defaultdict[tuple[int, int], _Mean] = defaultdict(_Mean)
        self._beside: defaultdict[int, _Mean] = defaultdict(_Mean)
        for result in results:
            self.note(result)

    def note(self, result: Result) -> None:
        """Take a match into account; one without turns says nothing."""
        if not result.turns:
            return
        match = result.match
        for player in PLAYERS:
            self._thought[match.event, match.teams[player]].add(result.thought[player])
        # not below 0: times are rounded, each for itself
        self._beside[match.event].add(max(0.0, result.seconds - sum(result.thought)))

    def expected(self, match: Match, control: TimeControl) -> float:
        thought = sum(self._expected_thought(match.event, team, control) for team in match.teams)
        beside = self._beside.get(match.event)
        return thought + (0.0 if beside is None else beside.value)

    def _expected_thought(self, event: int, team: int, control: TimeControl) -> float:
        mean = self._thought.get((event, team))
        if mean is not None:
            return mean.value
        turns = 1 if control.kind == "budget" else TURNS
        return SHARE * (control.seconds * turns + control.increment * TURNS)


@dataclass(frozen=True, slots=True)
class Job:
    """A match that is to be placed.

    ``pair`` is the same for all matches of a pairing. ``seconds`` is the time that it is expected to take, and
    ``programs`` are the hashes of the programs that it needs.
    """

    key: int
    pair: Hashable
    seconds: float
    programs: tuple[str, ...] = ()


@dataclass(slots=True)
class _WorkerLoad:
    slots: int
    speed: float
    jobs: dict[int, Job] = field(default_factory=dict)
    bound: dict[int, Job] = field(default_factory=dict)
    programs: set[str] = field(default_factory=set)
    resting: bool = False

    @property
    def free(self) -> int:
        return 0 if self.resting else self.slots - len(self.jobs)

    @property
    def quick(self) -> bool:
        """True if it plays short matches only."""
        return all(job.seconds < AHEAD_SECONDS for job in self.jobs.values())


class Placement:
    """The jobs that wait, the workers, and which worker has which job.

    Args:
        ahead: the matches for each slot that may wait on a worker.
    """

    def __init__(self, ahead: int = AHEAD) -> None:
        self._ahead = ahead
        self._workers: dict[str, _WorkerLoad] = {}
        self._groups: dict[Hashable, dict[int, Job]] = {}
        """The jobs of pairings that are bound to no worker, by pairing."""
        self._heap: list[tuple[float, int, Hashable]] = []
        """The pairings of `_groups`, the longest first; entries of others, or with another length, are stale."""
        self._home: dict[Hashable, str] = {}
        """The worker to which a pairing is bound."""
        self._avoid: dict[int, set[str]] = {}
        """The workers that have lost a job."""
        self._place: dict[int, str] = {}
        """The worker that has a job, or to which it is bound."""
        self._waiting: dict[int, Job] = {}
        self._slots = 0
        self._hungry: set[str] = set()
        """The workers that can take a job, ahead or not."""

    # --- workers ---

    @property
    def slots(self) -> int:
        """The number of matches that are played at once."""
        return self._slots

    @property
    def bound(self) -> int:
        """The number of jobs that wait for the worker of their pairing."""
        return sum(len(worker.bound) for worker in self._workers.values())

    def add_worker(self, name: str, slots: int, speed: float = 1.0) -> None:
        """Add a worker that plays ``slots`` matches at once.

        Raises:
            ValueError: it is there already, or has no slot.
        """
        if name in self._workers or slots < 1:
            raise ValueError(f"worker {name!r} with {slots} slots, expected a new one with at least 1")
        self._workers[name] = _WorkerLoad(slots, speed)
        self._slots += slots
        self._hungry.add(name)

    def remove_worker(self, name: str) -> None:
        """Remove a worker that is lost. The jobs that it had are not placed again automatically."""
        worker = self._workers.pop(name)
        self._slots -= 0 if worker.resting else worker.slots
        self._hungry.discard(name)
        for avoid in self._avoid.values():
            avoid.discard(name)
        self._home = {pair: home for pair, home in self._home.items() if home != name}
        for key in worker.jobs:
            del self._place[key]
        for job in worker.bound.values():
            del self._place[job.key]
            self._add_to_group(job)

    def rest(self, name: str, *, resting: bool = True) -> None:
        """Place no further jobs on a worker, or place them there again."""
        worker = self._workers[name]
        self._slots += worker.slots * (int(worker.resting) - int(resting))
        worker.resting = resting
        if resting:
            self._unbind(name)
        self._note_room(name)

    def note_programs(self, name: str, programs: Iterable[str]) -> None:
        """Note that a worker has these programs: it is preferred for them."""
        self._workers[name].programs.update(programs)

    # --- jobs ---

    @property
    def waiting(self) -> int:
        """The number of jobs that no worker has."""
        return len(self._waiting)

    def add(self, job: Job) -> None:
        """Add a job.

        Raises:
            ValueError: one with its key is there already.
        """
        if job.key in self._waiting or job.key in self._place:
            raise ValueError(f"{job!r}, expected one that is new")
        self._waiting[job.key] = job
        home = self._home.get(job.pair)
        if home is not None and home not in self._avoid.get(job.key, ()):
            self._place[job.key] = home
            self._workers[home].bound[job.key] = job
        else:
            self._add_to_group(job)

    def played(self, key: int) -> None:
        """Remove a job that was played."""
        self._avoid.pop(key, None)
        self._take_away(key)

    def discard(self, key: int) -> None:
        """Remove a job that is no longer to be played; ignored if it is unknown."""
        self._take_away(key)

    def failed(self, key: int) -> None:
        """Remove a job that a worker has failed to play. If it is added again, it is placed elsewhere."""
        name = self._place.get(key)
        job = self._take_away(key)
        if name is not None and job is not None:
            self._avoid.setdefault(key, set()).add(name)
            if self._home.get(job.pair) == name:
                del self._home[job.pair]

    def place(self, most: int) -> list[tuple[Job, str]]:
        """Place up to ``most`` jobs; return each with its worker. If it is fewer, no further one can be placed.

        One job costs up to 0.2 µs for each worker with a free slot.
        """
        placed: list[tuple[Job, str]] = []
        self._place_bound(placed, most)
        skipped = []
        while len(placed) < most and self._hungry and (group := self._longest()) is not None:
            length, order, pair = group
            jobs = self._groups[pair]
            job = max(jobs.values(), key=lambda job: (job.seconds, -job.key))
            name = self._best_worker(job)
            if name is None:
                skipped.append((length, order, pair))
                if job.key not in self._avoid:
                    break  # no other pairing has a better chance
                continue
            del self._groups[pair]
            self._home[pair] = name
            for other in jobs.values():
                self._place[other.key] = name
                self._workers[name].bound[other.key] = other
            self._begin(job, name, placed)
            self._place_bound_on(name, placed, most)
        for entry in skipped:
            heappush(self._heap, entry)
        return placed

    # --- inside ---

    def _place_bound(self, placed: list[tuple[Job, str]], most: int) -> None:
        for name in [name for name in self._hungry if self._workers[name].bound]:
            self._place_bound_on(name, placed, most)

    def _place_bound_on(self, name: str, placed: list[tuple[Job, str]], most: int) -> None:
        worker = self._workers[name]
        # the longest first: a long match that begins last would end the contest late
        for job in sorted(worker.bound.values(), key=lambda job: (-job.seconds, job.key)):
            if len(placed) >= most or not self._has_room(worker, job):
                return
            self._begin(job, name, placed)

    def _begin(self, job: Job, name: str, placed: list[tuple[Job, str]]) -> None:
        worker = self._workers[name]
        worker.bound.pop(job.key, None)
        worker.jobs[job.key] = job
        self._place[job.key] = name
        del self._waiting[job.key]
        self._note_room(name)
        placed.append((job, name))

    def _best_worker(self, job: Job) -> str | None:
        """Return the worker for a job: one with a free slot, if possible with its programs, and a fast one."""
        avoid = self._avoid.get(job.key)
        if avoid is not None and avoid >= {n for n, worker in self._workers.items() if not worker.resting}:
            avoid = None  # there is no other one
        names = (name for name in self._hungry if avoid is None or name not in avoid)
        best = max(names, key=lambda name: self._fitness(name, job), default=None)
        return best if best is not None and self._has_room(self._workers[best], job) else None

    def _fitness(self, name: str, job: Job) -> tuple[float, bool, float, str]:
        worker = self._workers[name]
        return (
            (worker.free - len(worker.bound)) / worker.slots,
            worker.programs.issuperset(job.programs),
            worker.speed,
            name,
        )

    def _has_room(self, worker: _WorkerLoad, job: Job) -> bool:
        """Return True if a slot is free, or if the job can be sent ahead."""
        if worker.free > 0 or worker.resting:
            return not worker.resting
        many = len(self._waiting) > self.slots
        short = job.seconds < AHEAD_SECONDS and worker.quick
        return many and short and worker.free > -worker.slots * self._ahead

    def _longest(self) -> tuple[float, int, Hashable] | None:
        while self._heap:
            entry = heappop(self._heap)
            jobs = self._groups.get(entry[2])
            if jobs is not None and -entry[0] == _length(jobs.values()) and entry[1] == min(jobs):
                return entry
        return None

    def _add_to_group(self, job: Job) -> None:
        jobs = self._groups.setdefault(job.pair, {})
        jobs[job.key] = job
        self._push(job.pair, jobs)

    def _push(self, pair: Hashable, jobs: dict[int, Job]) -> None:
        heappush(self._heap, (-_length(jobs.values()), min(jobs), pair))
        if len(self._heap) > 2 * len(self._groups) + 64:  # most of it is stale
            self._heap = [(-_length(jobs.values()), min(jobs), pair) for pair, jobs in self._groups.items()]
            heapify(self._heap)

    def _unbind(self, name: str) -> None:
        """Let other workers play the jobs that wait for this one."""
        worker = self._workers[name]
        self._home = {pair: home for pair, home in self._home.items() if home != name}
        bound, worker.bound = worker.bound, {}
        for job in bound.values():
            del self._place[job.key]
            self._add_to_group(job)

    def _take_away(self, key: int) -> Job | None:
        waiting = self._waiting.pop(key, None)
        name = self._place.pop(key, None)
        if name is not None:
            worker = self._workers[name]
            job = worker.jobs.pop(key, None) or worker.bound.pop(key, None)
            self._note_room(name)
            return job
        if waiting is not None:
            jobs = self._groups[waiting.pair]
            del jobs[key]
            if jobs:
                self._push(waiting.pair, jobs)
            else:
                del self._groups[waiting.pair]
        return waiting

    def _note_room(self, name: str) -> None:
        worker = self._workers[name]
        ahead = worker.quick and worker.free > -worker.slots * self._ahead
        if not worker.resting and (worker.free > 0 or ahead):
            self._hungry.add(name)
        else:
            self._hungry.discard(name)


def _length(jobs: Iterable[Job]) -> float:
    return sum(job.seconds for job in jobs)
