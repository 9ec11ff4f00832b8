"""The sequential test: its ratio against formulas known otherwise, its errors with simulated players."""

from __future__ import annotations

from itertools import combinations
from math import exp, inf, isfinite, log, nan
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks._players import Players
from benchmarks.best import ADVANTAGE, DRAW, search, strengths
from benchmarks.sprt import TRIALS, Trial
from getstep.sprt import PairOutcomes, Selection, Sprt, mean_interval
from tests.support.quick import quick

OUTCOMES = ("loss", "draw", "win")
PAIRS = st.lists(st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(OUTCOMES)), max_size=60)


def fed(test: Sprt, pairs: list[tuple[str, str]]) -> Sprt:
    for pair in pairs:
        test.add(*pair)
    return test


def mean_score(elo: float) -> float:
    return 1 / (1 + 10 ** (-elo / 400))


def test_the_bounds_are_walds() -> None:
    low, high = Sprt(0, 10, alpha=0.01, beta=0.2).bounds
    assert [low, high] == pytest.approx([log(0.2 / 0.99), log(0.8 / 0.01)])


def test_there_is_no_verdict_before_the_first_pair() -> None:
    test = Sprt(0, 10)
    assert (test.llr, test.verdict, test.counts) == (0, None, (0, 0, 0, 0, 0))


@pytest.mark.parametrize(("won", "lost"), [(70, 30), (30, 70), (10, 0), (0, 10), (1000, 1)])
def test_with_two_results_the_ratio_is_binomial(won: int, lost: int) -> None:
    test = fed(Sprt(0, 100), [("win", "win")] * won + [("loss", "loss")] * lost)
    one, other = mean_score(100), mean_score(0)
    assert test.llr == pytest.approx(won * log(one / other) + lost * log((1 - one) / (1 - other)), abs=0.01)
    assert test.counts == (lost, 0, 0, 0, won)


def test_with_many_pairs_and_small_differences_the_ratio_is_normal() -> None:
    dice = Random(1)
    pairs = [(dice.choice(OUTCOMES), dice.choice(OUTCOMES)) for _ in range(1000)]
    scores = [(OUTCOMES.index(one) + OUTCOMES.index(other)) / 4 for one, other in pairs]
    mean0, mean1, mean = mean_score(-3), mean_score(6), fmean(scores)
    variance = fmean((score - mean) ** 2 for score in scores)
    normal = len(scores) * (mean1 - mean0) * (2 * mean - mean0 - mean1) / (2 * variance)
    assert abs(normal) > 0.1
    assert fed(Sprt(-3, 6), pairs).llr == pytest.approx(normal, rel=0.02)


@given(PAIRS, st.floats(-800, 700), st.floats(1, 100))
def test_the_other_side_sees_the_same_reversed(pairs: list[tuple[str, str]], elo0: float, more: float) -> None:
    opposite = dict(zip(OUTCOMES, OUTCOMES[::-1], strict=True))
    test = fed(Sprt(elo0, elo0 + more), pairs)
    mirrored = fed(Sprt(-elo0 - more, -elo0), [(opposite[one], opposite[other]) for one, other in pairs])
    assert mirrored.llr == pytest.approx(-test.llr, rel=1e-6, abs=1e-6)
    assert mirrored.verdict == {"H0": "H1", "H1": "H0", None: None}[test.verdict]


@given(st.sampled_from(OUTCOMES), st.integers(1, 60), st.floats(-2000, 1999), st.floats(1, 4000))
def test_the_ratio_stays_a_number_whatever_is_repeated(outcome: str, times: int, elo0: float, more: float) -> None:
    test = fed(Sprt(elo0, min(2000, elo0 + more)), [(outcome, outcome)] * times)
    assert isfinite(test.llr)


@pytest.mark.parametrize(("outcome", "then", "verdict"), [("win", "loss", "H1"), ("loss", "win", "H0")])
def test_a_verdict_comes_at_a_bound_and_stays(outcome: str, then: str, verdict: str) -> None:
    test = Sprt(-100, 100)
    while test.verdict is None:
        assert test.bounds[0] < test.llr < test.bounds[1]
        test.add(outcome, outcome)
    assert (test.verdict, test.bounds[0] < test.llr < test.bounds[1]) == (verdict, False)
    before = test.llr
    fed(test, [(then, then)] * 50)
    assert (test.verdict, test.llr * before < 0) == (verdict, True)
    assert abs(test.llr) > test.bounds[1]


@pytest.mark.parametrize("trial", TRIALS[::2])
def test_the_errors_are_about_those_asked_for(trial: Trial) -> None:
    runs = {elo: [trial.run(elo, seed) for seed in range(80)] for elo in (trial.elo0, trial.elo1)}
    alpha = fmean(verdict == "H1" for verdict, _ in runs[trial.elo0])
    beta = fmean(verdict == "H0" for verdict, _ in runs[trial.elo1])
    assert (alpha <= 0.11, beta <= 0.11) == (True, True)
    assert all(fmean(pairs for _, pairs in run) < 60 for run in runs.values())


@pytest.mark.parametrize(("elo0", "elo1"), [(10, 10), (10, 0), (nan, 0), (0, inf), (-2001, 0), (0, 2001)])
def test_elo_that_cannot_be_tested_is_an_error(elo0: float, elo1: float) -> None:
    with pytest.raises(ValueError, match="expected -2000 ≤ elo0 < elo1 ≤ 2000"):
        Sprt(elo0, elo1)


@pytest.mark.parametrize(("alpha", "beta"), [(0, 0.05), (0.5, 0.05), (0.05, -1), (0.05, nan)])
def test_errors_that_cannot_be_kept_are_an_error(alpha: float, beta: float) -> None:
    with pytest.raises(ValueError, match=r"expected more than 0 and less than 0\.5"):
        Sprt(0, 10, alpha, beta)


def test_an_unknown_outcome_is_an_error() -> None:
    test = Sprt(0, 10)
    with pytest.raises(ValueError, match="a pair of 'win' and 'void', expected outcomes of"):
        test.add("win", "void")
    assert test.counts == (0, 0, 0, 0, 0)


# --- the interval ---------------------------------------------------------------------------------------------


def counted(scores: list[int]) -> list[int]:
    return [scores.count(result) for result in range(5)]


@pytest.mark.parametrize("truth", quick([(1, 2, 3, 2, 1), (0, 1, 2, 4, 9), (5, 0, 0, 0, 5)], [(0, 1, 2, 4, 9)]))
@pytest.mark.parametrize("pairs", quick([20, 200], [20]))
def test_the_truth_is_in_the_interval_about_95_times_in_100(truth: tuple[int, ...], pairs: int) -> None:
    dice, mean = Random(pairs), sum(count * result / 4 for result, count in enumerate(truth)) / sum(truth)
    inside = []
    for _ in range(200):
        _, low, high = mean_interval(counted(dice.choices(range(5), truth, k=pairs)))
        inside.append(low <= mean <= high)
    assert 0.9 <= fmean(inside) <= 0.985


def test_an_interval_is_as_wide_as_the_normal_one_where_there_are_many_pairs() -> None:
    counts = [100, 200, 400, 200, 100]
    variance = sum(count * (result / 4 - 0.5) ** 2 for result, count in enumerate(counts)) / 1000
    reach = 1.96 * (variance / 1000) ** 0.5
    mean, low, high = mean_interval(counts)
    assert mean == 0.5
    assert [low, high] == pytest.approx([0.5 - reach, 0.5 + reach], abs=1e-3)


def test_the_interval_of_a_team_that_won_all_pairs_has_a_lower_end() -> None:
    assert mean_interval([0, 0, 0, 0, 10]) == pytest.approx((1, exp(-1.92 / 10), 1), abs=0.005)
    assert mean_interval([10, 0, 0, 0, 0]) == pytest.approx((0, 0, 1 - exp(-1.92 / 10)), abs=0.005)
    mean, low, high = mean_interval([0, 0, 1, 0, 0])
    assert mean == 0.5
    assert (low < 0.1, high > 0.9) == (True, True)


# --- the best of several ----------------------------------------------------------------------------------------

WON, LOST = ("win", "win"), ("loss", "loss")


def fed_rounds(selection: Selection, outcomes: dict[tuple[int, int], PairOutcomes], most: int = 200) -> Selection:
    """Give each round's couples the same outcomes, until the search ends."""
    while selection.couples and selection.rounds < most:
        selection.add_round({two: outcomes[two] for two in selection.couples})
    return selection


def test_the_best_is_left_and_the_others_play_no_more() -> None:
    search = Selection([4, 7, 9], elo=200)
    assert search.couples == [(4, 7), (4, 9), (7, 9)]
    fed_rounds(search, {(4, 7): LOST, (4, 9): LOST, (7, 9): ("draw", "draw")}, most=4)
    assert (search.remaining, search.eliminated, search.couples) == ([7, 9], {4: 4}, [(7, 9)])
    fed_rounds(search, {(7, 9): WON})
    assert (search.remaining, search.couples) == ([7], [])
    assert search.eliminated.keys() == {4, 9}


def test_in_a_circle_no_bot_is_the_best() -> None:
    search = fed_rounds(Selection([1, 2, 3], elo=200), {(1, 2): WON, (1, 3): LOST, (2, 3): WON})
    assert search.in_circle
    assert search.remaining == [1, 2, 3]
    assert search.eliminated == {}


def test_each_test_gets_its_part_of_the_error() -> None:
    search = fed_rounds(Selection(range(5), alpha=0.08), dict.fromkeys(combinations(range(5), 2), WON), most=1)
    assert {(test.alpha, test.beta, test.elo0, test.elo1) for test in search.tests.values()} == {
        (0.02, 0.02, -50, 50)
    }


def test_a_cancelled_pair_counts_for_nothing() -> None:
    search = Selection([1, 2, 3])
    search.add_round({(1, 2): WON})
    assert search.tests.keys() == {(1, 2)}
    assert search.rounds == 1


@pytest.mark.parametrize("bots", [[], [1], [1, 1, 2]])
def test_a_search_needs_two_bots_none_twice(bots: list[int]) -> None:
    with pytest.raises(ValueError, match="expected two or more, none twice"):
        Selection(bots)


@pytest.mark.long
def test_the_best_of_simulated_bots_is_eliminated_as_rarely_as_promised() -> None:
    """One of four bots is ahead. At an error of 1 in 20, 19 of 200 searches are wrong once in 200 times."""
    players = Players(strengths("one ahead", 4), ADVANTAGE, DRAW)
    outcomes = [search(players, seed) for seed in range(200)]
    assert sum(one.wrong for one in outcomes) <= 18
    assert fmean(one.pairs for one in outcomes) < 0.6 * fmean(one.pairwise for one in outcomes)
