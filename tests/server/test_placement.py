"""The placement of matches on workers: pairs, order, failures, and how long a round takes in virtual time."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from getstep_engines import TimeControl
from getstep_server.cluster.placement import AHEAD, AHEAD_SECONDS, SHARE, TURNS, Durations, Job, Placement
from getstep_server.records.match import Match
from getstep_server.records.result import Result

LONG = 10 * AHEAD_SECONDS
SHORT = AHEAD_SECONDS / 10


def jobs(*seconds: float, first: int = 1) -> list[Job]:
    """Return jobs of pairings of their own."""
    return [Job(first + n, ("pair", first + n), length) for n, length in enumerate(seconds)]


def pairs(*seconds: float) -> list[Job]:
    """Return two jobs for each length: both matches of a pairing."""
    return [Job(1 + 2 * n + leg, ("pair", n), length) for n, length in enumerate(seconds) for leg in (0, 1)]


def placement(workers: dict[str, int], waiting: Iterable[Job] = ()) -> Placement:
    made = Placement()
    for name, slots in workers.items():
        made.add_worker(name, slots)
    for job in waiting:
        made.add(job)
    return made


def keys(placed: Sequence[tuple[Job, str]]) -> list[int]:
    return [job.key for job, _ in placed]


# --- which one is next ---


def test_the_longest_start_first_and_no_slot_gets_two() -> None:
    made = placement({"a": 1, "b": 2}, jobs(LONG, 3 * LONG, 2 * LONG, 4 * LONG))
    placed = made.place(10)
    assert keys(placed) == [4, 2, 3]
    assert Counter(worker for _, worker in placed) == {"a": 1, "b": 2}
    assert made.place(10) == []
    made.played(2)
    assert keys(made.place(10)) == [1]
    assert made.waiting == 0


def test_it_places_no_more_than_it_is_asked_for() -> None:
    made = placement({"a": 8}, jobs(*[LONG] * 8))
    assert [len(made.place(3)) for _ in range(4)] == [3, 3, 2, 0]


def test_nothing_is_placed_without_workers_and_all_once_one_comes() -> None:
    made = placement({}, jobs(LONG, LONG))
    assert made.place(10) == []
    made.add_worker("a", 2)
    assert keys(made.place(10)) == [1, 2]


def test_both_matches_of_a_pairing_are_played_on_one_worker() -> None:
    made = placement({"a": 1, "b": 1, "c": 1}, pairs(LONG, LONG, LONG, LONG))
    where: dict[int, str] = {}
    while placed := made.place(10):
        for job, worker in placed:
            where[job.key] = worker
        made.played(placed[0][0].key)
        for job, _ in placed[1:]:
            made.played(job.key)
    assert sorted(where) == list(range(1, 9))
    assert all(where[2 * n + 1] == where[2 * n + 2] for n in range(4))


def test_the_second_match_of_a_pairing_waits_for_its_worker_even_if_it_comes_later() -> None:
    first, second = pairs(LONG)
    made = placement({"a": 1}, [first])
    assert made.place(10) == [(first, "a")]
    made.add_worker("b", 4)
    made.add(second)
    assert made.place(10) == []
    made.played(first.key)
    assert made.place(10) == [(second, "a")]


def test_a_worker_with_the_programs_is_preferred_and_a_fast_one() -> None:
    made = Placement()
    for name, speed in (("slow", 1.0), ("fast", 2.0)):
        made.add_worker(name, 2, speed)
    assert made.place(10) == []
    made.add(Job(1, 1, LONG, ("x", "y")))
    assert made.place(10)[0][1] == "fast"
    made.add(Job(2, 2, LONG, ("x", "y")))
    assert made.place(10)[0][1] == "slow"  # it has more free slots
    made.note_programs("slow", ("x", "y", "z"))
    made.add(Job(3, 3, LONG, ("z", "x")))
    assert made.place(10)[0][1] == "slow"


# --- ahead ---


def test_short_matches_are_sent_ahead_while_there_are_many() -> None:
    made = placement({"a": 1, "b": 1}, jobs(*[SHORT] * 20))
    placed = made.place(100)
    assert Counter(worker for _, worker in placed) == {"a": 1 + AHEAD, "b": 1 + AHEAD}


def test_long_matches_are_never_sent_ahead() -> None:
    made = placement({"a": 1, "b": 1}, jobs(*[LONG] * 20))
    assert len(made.place(100)) == 2


def test_short_matches_do_not_wait_behind_a_long_one() -> None:
    made = placement({"a": 1, "b": 1}, jobs(LONG, *[SHORT] * 20))
    placed = made.place(100)
    assert [job.key for job, worker in placed if worker == placed[0][1]] == [1]


def test_nothing_is_sent_ahead_at_the_end_of_a_round() -> None:
    made = placement({"a": 1, "b": 1}, jobs(*[SHORT] * 4))
    assert len(made.place(100)) == 2


# --- failures ---


def test_the_jobs_of_a_lost_worker_are_played_elsewhere_and_those_bound_to_it() -> None:
    first, second = pairs(LONG)
    made = placement({"a": 1}, [first, second])
    made.place(10)
    made.add_worker("b", 1)
    made.remove_worker("a")
    made.played(first.key)
    assert made.place(10) == [(second, "b")]
    made.add(first)
    made.played(second.key)
    assert made.place(10) == [(first, "b")]


def test_a_worker_that_failed_a_match_does_not_get_it_again() -> None:
    (job,) = jobs(LONG)
    made = placement({"a": 4, "b": 1}, [job])
    ((_, first),) = made.place(10)
    made.failed(job.key)
    made.add(job)
    ((_, second),) = made.place(10)
    assert {first, second} == {"a", "b"}


def test_a_failed_match_waits_for_another_worker_and_holds_up_no_others() -> None:
    made = placement({"a": 1, "b": 1}, jobs(4 * LONG, 3 * LONG, 2 * LONG))
    (one, bad), (two, good) = made.place(10)
    made.failed(one.key)
    made.add(one)
    assert made.place(10) == [(jobs(2 * LONG, first=3)[0], bad)]
    made.played(two.key)
    assert made.place(10) == [(one, good)]


def test_a_match_that_failed_everywhere_is_played_anywhere() -> None:
    (job,) = jobs(LONG)
    made = placement({"a": 1}, [job])
    for _ in range(3):
        assert made.place(10) == [(job, "a")]
        made.failed(job.key)
        made.add(job)


def test_a_resting_worker_gets_nothing_and_keeps_no_pairing() -> None:
    first, second = pairs(LONG)
    made = placement({"a": 1, "b": 1}, [first])
    ((_, name),) = made.place(10)
    made.add(second)
    made.rest(name)
    assert made.slots == 1
    ((_, other),) = made.place(10)
    assert other != name
    made.rest(name, resting=False)
    assert made.slots == 2
    made.rest(other)
    made.add(jobs(LONG, first=9)[0])
    assert made.place(10) == []  # the first match is not over
    made.played(first.key)
    assert keys(made.place(10)) == [9]


def test_a_job_that_is_not_to_be_played_any_more_is_never_placed() -> None:
    waiting = pairs(LONG, 2 * LONG)
    made = placement({"a": 1}, waiting)
    made.discard(3)
    made.discard(77)  # unknown
    assert keys(made.place(10)) == [1]
    made.played(2)
    made.played(1)
    assert keys(made.place(10)) == [4]
    made.played(4)
    assert (made.place(10), made.waiting) == ([], 0)


def test_a_job_or_worker_that_is_there_already_is_refused() -> None:
    made = placement({"a": 1}, jobs(LONG))
    with pytest.raises(ValueError, match="expected one that is new"):
        made.add(jobs(LONG)[0])
    made.place(1)
    with pytest.raises(ValueError, match="expected one that is new"):
        made.add(jobs(LONG)[0])
    with pytest.raises(ValueError, match="expected a new one"):
        made.add_worker("a", 1)
    with pytest.raises(ValueError, match="at least 1"):
        made.add_worker("b", 0)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_every_job_is_played_once_and_no_worker_has_too_many(seed: int) -> None:
    draw = random.Random(seed)
    made = Placement()
    left = pairs(*[draw.choice((SHORT, LONG, 2 * LONG)) for _ in range(60)])
    draw.shuffle(left)
    slots: dict[str, int] = {}
    playing: dict[int, tuple[Job, str]] = {}
    played: Counter[int] = Counter()
    new = iter(range(10**6))
    while sum(played.values()) < 120:
        what = draw.random()
        if what < 0.2 and left:
            made.add(left.pop())
        elif what < 0.3 and len(slots) < 6:
            name = f"w{next(new)}"
            slots[name] = draw.randint(1, 3)
            made.add_worker(name, slots[name], draw.uniform(0.5, 2))
        elif what < 0.33 and slots:
            name = draw.choice(list(slots))
            del slots[name]
            made.remove_worker(name)
            for job in [job for job, at in playing.values() if at == name]:
                del playing[job.key]
                made.failed(job.key)
                made.add(job)
        elif what < 0.36 and slots:
            made.rest(draw.choice(list(slots)), resting=draw.random() < 0.3)
        elif what < 0.45 and playing:
            job, _ = playing.pop(draw.choice(list(playing)))
            made.failed(job.key)
            made.add(job)
        elif playing:
            key = draw.choice(list(playing))
            made.played(key)
            del playing[key]
            played[key] += 1
        for job, name in made.place(draw.randint(1, 10)):
            assert job.key not in playing
            assert played[job.key] == 0
            playing[job.key] = job, name
        for name, load in Counter(at for _, at in playing.values()).items():
            assert load <= slots[name] * (1 + AHEAD)
        assert made.waiting + len(playing) + len(left) + sum(played.values()) == 120
    assert set(played.values()) == {1}


# --- how long a round takes ---


def makespan(made: Placement, slots: dict[str, int], real: dict[int, float]) -> float:
    """Return the virtual time at which all jobs are over; slot by slot, in the order in which they were placed."""
    events: list[tuple[float, int, str]] = []
    queues: dict[str, list[Job]] = {name: [] for name in slots}
    free = dict(slots)
    now = 0.0
    while True:
        while placed := made.place(16):
            for job, name in placed:
                queues[name].append(job)
        for name, queue in queues.items():
            while queue and free[name]:
                free[name] -= 1
                job = queue.pop(0)
                heapq.heappush(events, (now + real[job.key], job.key, name))
        if not events:
            return now
        now, key, name = heapq.heappop(events)
        free[name] += 1
        made.played(key)


@pytest.mark.parametrize("error", [0.0, 0.3])
def test_a_round_takes_hardly_longer_than_its_work_on_all_slots(error: float) -> None:
    draw = random.Random(1)
    waiting = pairs(*[draw.uniform(20, 120) for _ in range(150)])
    real = {job.key: job.seconds for job in waiting}
    slots = {f"w{n}": 1 + n % 3 for n in range(10)}
    guessed = [replace(job, seconds=job.seconds * draw.uniform(1 - error, 1 + error)) for job in waiting]
    bound = sum(real.values()) / sum(slots.values())
    assert makespan(placement(slots, guessed), slots, real) < bound * (1.03 + error / 10)


def test_one_long_match_starts_first_although_it_was_added_last() -> None:
    waiting = jobs(*[3.0] * 100, 60.0)
    slots = {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}
    real = {job.key: job.seconds for job in waiting}
    assert makespan(placement(slots, waiting), slots, real) <= 75.0


# --- expected times ---


def result(number: int, first: int, second: int, thought: tuple[float, float], seconds: float) -> Result:
    match = Match(number, 1, number, 1, first, second, "hop")
    return Result(match, 0, "finished", "", (1, 0), 20, thought, (0, 0), 0.0, seconds)


def test_the_expected_time_of_a_match_is_that_of_both_teams() -> None:
    control = TimeControl("move", 2.0)
    durations = Durations([result(1, 1, 2, (3.0, 1.0), 4.5), result(2, 3, 4, (10.0, 20.0), 30.5)])
    assert durations.expected(Match(3, 1, 3, 1, 2, 4, "hop"), control) == pytest.approx(1.0 + 20.0 + 0.5)
    unknown = durations.expected(Match(4, 1, 4, 1, 5, 1, "hop"), control)
    assert unknown == pytest.approx(SHARE * TURNS * 2.0 + 3.0 + 0.5)
    budget = durations.expected(Match(5, 1, 5, 1, 6, 7, "hop", event=2), TimeControl("budget", 60.0, 1.0))
    assert budget == pytest.approx(2 * SHARE * (60 + TURNS))


def test_a_match_without_turns_says_nothing_about_times() -> None:
    durations = Durations([structs.replace(result(1, 1, 2, (0.0, 0.0), 0.0), turns=0)])
    assert durations.expected(Match(2, 1, 2, 1, 1, 2, "hop"), TimeControl("move", 1.0)) > 1
