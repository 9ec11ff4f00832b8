"""The format of a duel (`match`): pairs of games, until all are played or the test has a verdict."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from getstep.sprt import REMEMBERED, Sprt, _ratio
from getstep_server.formats import Pairing, Played
from getstep_server.formats.duel import MOST_PAIRS, DuelOptions
from getstep_server.validation import ValidationError
from tests.support.formats import (
    DRAW,
    LOSS,
    WIN,
    Points,
    Tournament,
    by_chance,
    by_strength,
    colours,
    make,
    pairings_played,
)

WIN_OF_ONE = by_strength([1, 2])


def match(points: Points, teams: int = 2, **options: Any) -> Tournament:
    return Tournament(make("match", **options), list(range(1, teams + 1)), points)


@settings(max_examples=25)
@given(pairs=st.integers(1, 30), at_once=st.integers(1, 8), teams=st.integers(2, 6), seed=st.integers(0, 1000))
def test_the_first_two_play_all_pairs_each_with_both_colours(
    pairs: int, at_once: int, teams: int, seed: int
) -> None:
    tournament = match(by_chance(Random(seed)), teams, pairs=pairs, at_once=at_once)
    games = tournament.play(rng=Random(seed))
    assert pairings_played(games) == dict.fromkeys(range(1, pairs + 1), frozenset((1, 2)))
    assert Counter(game.pairing.teams for game in games) == {(1, 2): pairs, (2, 1): pairs}
    assert colours(games) == {1: 0, 2: 0}


@settings(max_examples=25)
@given(at_once=st.integers(1, 5), seed=st.integers(0, 1000))
def test_as_many_pairs_are_issued_at_once_as_the_setting_says(at_once: int, seed: int) -> None:
    rng = Random(seed)
    tournament = match(by_chance(rng), pairs=12, at_once=at_once)
    while tournament.issue_pairings() or tournament.open():
        going_on = {tournament.games[place].pairing.pairing for place in tournament.open()}
        issued = {game.pairing.pairing for game in tournament.games}
        assert len(going_on) == min(at_once, 12 - len(issued - going_on))
        tournament.finish([rng.choice(tournament.open())])
    assert len(tournament.games) == 24


@settings(max_examples=25)
@given(at_once=st.integers(1, 5), seed=st.integers(0, 1000), odds=st.sampled_from([0.3, 0.5, 0.8]))
def test_it_ends_with_the_verdict_of_the_pairs_in_their_order(at_once: int, seed: int, odds: float) -> None:
    dice = Random(seed)

    def points(pairing: Pairing) -> tuple[float, float]:
        return WIN if (dice.random() < odds) == (pairing.first == 1) else LOSS

    tournament = match(points, pairs=200, at_once=at_once, elo0=0, elo1=150)
    games = tournament.play(rng=Random(seed))
    test, pairs = Sprt(0, 150), zip(games[::2], games[1::2], strict=True)
    needed = 0
    for one, other in pairs:
        if test.verdict is None:
            test.add(*("win" if game.won_by(1) else "loss" for game in (one, other)))
            needed += 1
    assert test.verdict is not None or len(games) == 400
    assert needed <= len(games) // 2  # pairs went on beside the last one that was needed
    if at_once == 1:
        assert needed == len(games) // 2


def test_running_pairs_do_not_change_a_verdict() -> None:
    tournament = match(WIN_OF_ONE, at_once=5, elo0=0, elo1=300)
    while new := tournament.issue_pairings():
        tournament.finish([place for place in tournament.open() if tournament.games[place].pairing.pairing == 1])
        last = new[-1].pairing
        tournament.finish(range(2 * (last - 4)))  # the last four are still being played
    assert len(tournament.open()) == 8
    tournament.points = by_strength([2, 1])
    tournament.finish(tournament.open())
    counts = [sum(game.won_by(1) for game in tournament.games), sum(game.won_by(2) for game in tournament.games)]
    test = DuelOptions(elo0=0, elo1=300).test([("win", "win")] * (counts[0] // 2) + [("loss", "loss")] * 4)
    assert test is not None
    assert test.llr < test.bounds[1]
    assert tournament.issue_pairings() == []


def test_the_test_waits_for_a_running_pair() -> None:
    options = DuelOptions(elo0=0, elo1=300)
    all_won = [("win", "win")] * 50
    decided = options.test(all_won)
    assert decided is not None
    assert decided.verdict == "H1"
    waiting = options.test([None, *all_won])
    assert waiting is not None
    assert (waiting.verdict, sum(waiting.counts)) == (None, 0)
    assert DuelOptions().test(all_won) is None


@pytest.mark.parametrize("points", [DRAW, (0.0, 0.0)])
def test_equal_points_are_a_draw(points: tuple[float, float]) -> None:
    games = match(lambda _: points, pairs=100, elo0=200, elo1=400).play()
    test = DuelOptions(elo0=200, elo1=400).test([("draw", "draw")] * (len(games) // 2))
    assert test is not None
    assert test.verdict == "H0"
    assert len(games) < 200


def test_late_teams_and_others_play_nothing() -> None:
    tournament = match(by_chance(Random(1)), teams=4, pairs=3)
    tournament.issue_pairings()
    tournament.teams[:] = [9, 4, 2, 1]
    assert {team for game in tournament.play() for team in game.pairing.teams} == {1, 2}
    assert len(tournament.games) == 6


def test_it_is_over_when_one_of_the_two_withdraws() -> None:
    tournament = match(by_chance(Random(1)), teams=3)
    tournament.issue_pairings()
    tournament.withdraw(2)
    assert tournament.format.is_over(tournament.teams, tournament.games)


def test_a_pair_with_a_cancelled_game_counts_for_nothing_and_is_replaced() -> None:
    tournament = match(WIN_OF_ONE, pairs=3, elo0=0, elo1=2000)
    tournament.issue_pairings()
    tournament.games[0] = replace(tournament.games[0], cancelled=True)
    assert tournament.issue_pairings() == []  # its other game is being played
    games = tournament.play()
    assert [game.pairing.pairing for game in games[2:4]] == [2, 2]
    counted = [("win", "win")] * (len(games) // 2 - 1)
    test = DuelOptions(elo0=0, elo1=2000).test(counted)
    assert test is not None
    assert test.verdict is not None or len(counted) == 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"pairs": 0}, "pairs"),
        ({"pairs": MOST_PAIRS + 1}, "pairs"),
        ({"at_once": 0}, "at_once"),
        ({"elo0": 0}, "elo0 and elo1 or neither; elo0 = 0.0"),
        ({"elo1": 50}, "elo0 and elo1 or neither; elo0 = None"),
        ({"elo0": 50, "elo1": 50}, "more than elo0, which is 50.0"),
        ({"elo0": -2001, "elo1": 50}, "elo0"),
        ({"elo0": 0, "elo1": float("nan")}, "elo1"),
        ({"elo0": 0, "elo1": 50, "alpha": 0}, "alpha"),
        ({"elo0": 0, "elo1": 50, "beta": 0.5}, "beta"),
    ],
)
def test_settings_that_cannot_be(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        make("match", **wrong)


def test_a_long_match_takes_no_longer_to_ask() -> None:
    """Each pair's ratio is worked out once, however often it is asked whether the games have told."""
    games = [
        Played(Pairing(pair, pair, leg, leg, 3 - leg), (WIN, LOSS)[(pair + leg * (pair % 3 == 0)) % 2])
        for pair in range(1, 1001)
        for leg in (1, 2)
    ]
    format_ = make("match", pairs=MOST_PAIRS, elo0=-1, elo1=1)
    assert format_.next_pairings([1, 2], games)
    worked_out = _ratio.cache_info().misses
    assert format_.next_pairings([1, 2], games)
    assert _ratio.cache_info().misses == worked_out
    assert _ratio.cache_info().maxsize == REMEMBERED > 2 * MOST_PAIRS
