"""The estimate of the remaining time, with made-up matches: running ones, slow teams, and several seats."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from getstep_server.records.match import Match
from getstep_server.tournament.pace import PaceEstimator


@dataclass
class Contest:
    """Made-up matches of event 1, and a clock."""

    now: float = 100.0
    pace: PaceEstimator = field(init=False)
    turns: dict[int, int] = field(default_factory=dict)
    played: int = 0

    def __post_init__(self) -> None:
        self.pace = PaceEstimator(lambda: self.now)
        self.pace.begin()

    def start(self, number: int, first: int, second: int, turns: int = 0) -> Match:
        match = Match(number, event=1, round=1, pairing=number, leg=1, first=first, second=second, game="hop")
        self.turns[number] = turns
        self.pace.start(match, lambda: self.turns[number])
        return match

    def play(self, number: int, first: int, second: int, turns: int, seconds: float) -> None:
        match = self.start(number, first, second)
        self.now += seconds
        self.turns[number] += turns
        self.pace.end(match)
        self.played += 1

    def left(self, left: int, **by_team: int) -> float:
        teams = {int(name.removeprefix("t")): count for name, count in by_team.items()}
        seconds = self.pace.seconds_left(self.played, left, teams)
        assert seconds is not None
        return seconds


def a_quick_class(matches: int = 200) -> Contest:
    """Return a contest of matches in a row, each of 100 turns and 1.5 s."""
    contest = Contest()
    for number in range(1, matches + 1):
        contest.play(number, 1, 2, 100, 1.5)
    return contest


def test_remaining_matches_take_as_long_as_finished_ones() -> None:
    contest = a_quick_class()
    assert contest.left(100) == pytest.approx(150)
    assert contest.left(100, t1=50, t2=100) == pytest.approx(150)


def test_without_a_finished_match_there_is_no_estimate() -> None:
    contest = Contest()
    contest.start(1, 1, 2)
    contest.now += 60
    assert contest.pace.seconds_left(0, 6, {1: 6}) is None
    assert a_quick_class().pace.seconds_left(200, 0, {}) is None


def test_the_last_match_is_estimated_by_its_own_pace() -> None:
    """Each turn of the slow player takes 5.1 s, so 100 turns take 255 s, although the others took 1.5 s."""
    contest = a_quick_class()
    contest.start(201, 3, 4)
    estimates = []
    for _ in range(49):
        contest.now += 5.1
        contest.turns[201] += 2
        left = contest.left(1, t3=1, t4=1)
        truth = (100 - contest.turns[201]) / 2 * 5.1
        estimates.append((left, truth))
    late = [(left, truth) for left, truth in estimates if 10 <= truth <= 200]
    assert len(late) > 30
    assert all(0.7 * truth < left for left, truth in late)
    assert all(left < 1.3 * truth for left, truth in late[:15])


def test_the_estimate_of_a_long_match_does_not_fall_to_zero() -> None:
    contest = a_quick_class()
    contest.start(201, 3, 4)
    contest.now += 1000
    contest.turns[201] = 200
    assert contest.left(1, t3=1, t4=1) == pytest.approx(500, rel=0.05)  # half as many turns again


def test_a_match_without_a_turn_has_an_estimate() -> None:
    contest = a_quick_class()
    contest.start(201, 3, 4)
    contest.now += 0.1
    assert contest.left(1) < 10
    contest.now += 5
    assert 100 < contest.left(1) < 200  # a limit is about to be missed: nobody knows more


def test_a_resumed_match_has_the_pace_of_this_run() -> None:
    contest = a_quick_class()
    contest.start(201, 3, 4, turns=50)
    contest.now += 10
    contest.turns[201] = 60
    assert contest.left(1) == pytest.approx(30, rel=0.35)


def test_a_slow_team_plays_its_matches_in_order() -> None:
    """Team 3 takes 250 s a match, and has 10 left, while all the others are done."""
    contest = a_quick_class()
    contest.play(201, 3, 4, 100, 250)
    assert contest.left(10, t3=10, t4=1, t5=1) == pytest.approx(2500)
    contest.start(202, 3, 5)
    contest.now += 125
    contest.turns[202] = 50
    assert contest.left(10, t3=10, t5=1) == pytest.approx(125 + 9 * 250, rel=0.1)


def test_a_team_with_several_seats_plays_as_many_at_once() -> None:
    contest = a_quick_class()
    contest.play(201, 3, 4, 100, 250)
    for number in (202, 203):
        contest.start(number, 3, number)
        contest.turns[number] = 50
    contest.now += 125
    assert contest.left(10, t3=10) == pytest.approx((2 * 125 + 8 * 250) / 2, rel=0.15)


def test_walkovers_and_aborted_matches_do_not_change_the_pace() -> None:
    contest = a_quick_class(10)
    for number in (11, 12):
        contest.play(number, 3, 4, 0, 0.0)
    called_off = contest.start(13, 3, 4)
    contest.turns[13] = 10
    contest.now += 15  # as long as all others together
    contest.pace.abandon(called_off)
    never_begun = Match(14, event=1, round=1, pairing=14, leg=1, first=3, second=4, game="hop")
    contest.pace.end(never_begun)
    assert contest.left(12, t3=12) == pytest.approx(30)
    contest.start(15, 1, 2)
    contest.turns[15] = 50
    contest.now += 0.75
    assert contest.pace._seconds_of(contest.pace._running[15]) == pytest.approx(0.75)
