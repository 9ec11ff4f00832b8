"""Ratings: what the model says of known strengths, what the same games say, and what is never infinite."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import exp, isfinite, log, log10, sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist, fmean
from typing import TypeAlias, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks._players import Players
from benchmarks.ratings import KINDS, SMALL, Kind, claims, contest
from getstep_engines import Player
from getstep_server.records.match import Match
from getstep_server.tournament import _bradley_terry
from getstep_server.tournament._bradley_terry import ELO, Model, sums
from getstep_server.tournament._numpy import Floats
from getstep_server.tournament.estimate import Estimate
from getstep_server.tournament.ratings import Ratings, Tally, TeamRating, rate, ratings_of, tally_of
from tests.support.contests import make_contest
from tests.support.tournament_host import Host, result_of

Game: TypeAlias = tuple[int, int, int | None]

TEAMS = range(1, 7)
GAMES = st.lists(
    st.tuples(st.sampled_from(TEAMS), st.sampled_from(TEAMS), st.sampled_from([0, 1, None])).filter(
        lambda game: game[0] != game[1]
    ),
    max_size=40,
)


def rated(games: Sequence[Game], teams: Sequence[int] = TEAMS, *, replicates: int = 0, seed: int = 0) -> Ratings:
    tally = Tally(teams)
    for first, second, winner in games:
        tally.add(first, second, cast("Player | None", winner))
    return rate(tally, replicates=replicates, seed=seed)


def values(ratings: Ratings) -> dict[int, float]:
    return {rating.team: rating.elo.value for rating in ratings.table if rating.elo}


def the(estimate: Estimate | None) -> Estimate:
    assert estimate
    return estimate


# --- the model ------------------------------------------------------------------------------------------------


def test_expected_results_are_fitted_to_their_strengths() -> None:
    strengths, advantage, draw = [1.3, 0.2, -0.1, -1.4], 0.25, 0.4
    games = np.full((4, 4), 10.0) - 10 * np.eye(4)
    results = np.zeros((1, 3, 4, 4))
    for first, second in permutations(range(4), 2):
        odds = exp((strengths[first] - strengths[second] + advantage) / 2)
        parts = np.array([odds, draw, 1 / odds])
        results[0, :, first, second] = 10 * parts / parts.sum()
    fitted = Model(games, np.zeros((3, 4, 4))).fit(sums(results))[0]
    assert fitted == pytest.approx([*strengths, advantage, np.log(draw)], abs=1e-5)


def test_the_rating_of_two_teams_follows_from_their_wins() -> None:
    won, lost = 900, 300
    games: Sequence[Game] = [(1, 2, 0), (2, 1, 1)] * (won // 2) + [(1, 2, 1), (2, 1, 0)] * (lost // 2)
    ratings = rated(games, [1, 2])
    elo = values(ratings)
    assert elo[1] - elo[2] == pytest.approx(400 * log10(won / lost), abs=0.5)
    assert the(ratings.advantage).value == pytest.approx(0, abs=1e-6)
    assert the(ratings.draw).value < 0.001


def test_the_advantage_of_the_first_player_is_no_strength() -> None:
    ratings = rated([(1, 2, 0)] * 300 + [(1, 2, 1)] * 100 + [(2, 1, 0)] * 60 + [(2, 1, 1)] * 20, [1, 2])
    assert the(ratings.advantage).value == pytest.approx(400 * log10(3), abs=5)
    assert abs(values(ratings)[1]) < 3


def test_draws_are_counted_against_equals() -> None:
    ratings = rated([(1, 2, 0), (1, 2, None), (1, 2, 1), (2, 1, None), (2, 1, None)] * 40, [1, 2])
    assert the(ratings.draw).value == pytest.approx(0.6, abs=0.01)


# --- whatever was played ----------------------------------------------------------------------------------------


@given(GAMES)
def test_a_table_is_finite_in_order_and_around_its_mean(games: list[Game]) -> None:
    ratings = rated(games, replicates=20)
    played = {team for first, second, _ in games for team in (first, second)}
    assert {rating.team for rating in ratings.table} == set(TEAMS)
    assert [rating.elo is None for rating in ratings.table] == [r.team not in played for r in ratings.table]
    elo = [rating.elo for rating in ratings.table if rating.elo]
    assert all(isfinite(number) for one in elo for number in (one.value, one.low, one.high))
    assert all(one.low <= one.high for one in elo)
    assert [round(one.value, 6) for one in elo] == sorted((round(one.value, 6) for one in elo), reverse=True)
    for group in {rating.group for rating in ratings.table}:
        assert sum(r.elo.value for r in ratings.table if r.group == group and r.elo) == pytest.approx(0, abs=1e-6)
    assert sum(rating.games for rating in ratings.table) == 2 * len(games)
    assert (ratings.advantage is None, ratings.draw is None) == (not games, not games)


@given(GAMES, st.permutations(TEAMS))
def test_the_order_of_teams_and_games_changes_nothing(
    games: Sequence[tuple[int, int, Player | None]], teams: Sequence[int]
) -> None:
    one, other = rated(games), rated(games[::-1], teams)
    assert values(one) == pytest.approx(values(other), abs=0.01)


@given(GAMES)
def test_with_the_colours_exchanged_only_the_advantage_turns_round(games: list[Game]) -> None:
    one = rated(games)
    other = rated([(second, first, None if winner is None else 1 - winner) for first, second, winner in games])
    assert values(one) == pytest.approx(values(other), abs=0.01)
    if games:
        assert the(one.advantage).value == pytest.approx(-the(other.advantage).value, abs=0.01)
        assert the(one.draw).high == pytest.approx(the(other.draw).high, abs=1e-4)


@settings(max_examples=40)
@given(GAMES)
def test_with_the_results_reversed_everything_turns_round(games: list[Game]) -> None:
    one = rated(games)
    other = rated([(first, second, None if winner is None else 1 - winner) for first, second, winner in games])
    assert values(one) == pytest.approx({team: -elo for team, elo in values(other).items()}, abs=0.01)
    for team in TEAMS:
        assert one.stronger(1, team) == pytest.approx(1 - other.stronger(1, team), abs=1e-4)


@pytest.mark.parametrize("times", [1, 100])
def test_a_ladder_without_upsets_has_a_fit(times: int) -> None:
    elo = values(rated([(team, team + 1, 0) for team in range(100)] * times, range(101)))
    steps = [elo[team] - elo[team + 1] for team in range(100)]
    assert all(0 < step < 1000 for step in steps)


# --- intervals ------------------------------------------------------------------------------------------------


ROUND_ROBIN: list[Game] = [
    (first, second, None if (first + second) % 5 == 0 else 0 if first < second or second % 3 == 0 else 1)
    for first, second in permutations(TEAMS, 2)
]


def test_the_same_games_and_seed_give_the_same_intervals() -> None:
    one, same, other = (rated(ROUND_ROBIN, replicates=50, seed=seed) for seed in (1, 1, 2))
    assert one.table == same.table
    assert one.table != other.table
    assert values(one) == values(other)


@pytest.mark.parametrize("replicates", [0, 200])
def test_an_interval_holds_its_value_and_shrinks_with_the_root_of_the_games(replicates: int) -> None:
    def widths(times: int) -> float:
        table = rated(ROUND_ROBIN * times, replicates=replicates).table
        assert all(rating.elo and rating.elo.low < rating.elo.value < rating.elo.high for rating in table)
        return fmean(rating.elo.high - rating.elo.low for rating in table if rating.elo)

    assert widths(4) / widths(64) == pytest.approx(4, rel=0.3)


@pytest.mark.parametrize("wins", [True, False])
def test_the_interval_of_a_team_that_won_everything_is_wide_upwards(wins: bool) -> None:
    """A team that lost everything may be a lot weaker."""
    games: list[Game] = [
        (a, b, int(a != 1) if wins else int(a == 1)) for a, b in permutations(TEAMS, 2) if 1 in (a, b)
    ]
    games += [(a, b, None) for a, b in permutations(TEAMS, 2) if 1 not in (a, b)]
    table = rated(games, replicates=200).table
    sweeper, others = (table[0], table[1:]) if wins else (table[-1], table[:-1])
    assert sweeper.team == 1
    assert all(the(other.elo).value == pytest.approx(the(others[0].elo).value, abs=1) for other in others)
    elo = the(sweeper.elo)
    assert (elo.high - elo.value if wins else elo.value - elo.low) > 200


def test_without_draws_their_probability_is_not_zero() -> None:
    draw = the(rated([(a, b, 0) for a, b in permutations(TEAMS, 2)], replicates=200).draw)
    assert 0 < draw.low < draw.value < 0.05 < draw.high < 0.3


def test_where_few_teams_have_met_a_fit_is_as_precise_and_eliminates_seldom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An elimination for each step of each replicate took 4 of the 5 s of a report of 256 teams."""
    solved: list[int] = []
    solve = np.linalg.solve

    def counted(information: Floats, missing: Floats) -> Floats:
        solved.append(len(information))
        return np.asarray(solve(information, missing))

    monkeypatch.setattr(np.linalg, "solve", counted)
    dice, tally = Random(1), Tally(range(96))
    for number in range(96):
        for step in (1, 5, 17):
            tally.add(number, (number + step) % 96, dice.choice((0, 0, 0, 1, None)))
    for step in range(2, 40):
        tally.add(7, (7 + step) % 96, 0)  # it has won everything: its replicates are the last to be fitted
    sparse, few = rate(tally, replicates=60), sum(solved)
    monkeypatch.setattr(_bradley_terry, "SPARSE", 10**9)
    dense, many = rate(tally, replicates=60), sum(solved) - few
    assert few < 20
    assert many > 10 * few
    for one, other in zip(estimates(sparse), estimates(dense), strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=0.01)


def estimates(ratings: Ratings) -> list[Estimate]:
    found = [*(rating.elo for rating in ratings.table), ratings.advantage, ratings.draw]
    return [one for one in found if one is not None]


@pytest.mark.long
def test_the_intervals_hold_the_truth_as_often_as_they_say() -> None:
    sampled = [contest(KINDS[0], seed) for seed in range(60)]
    assert 0.92 <= fmean(inside for one in sampled for inside in one.teams) <= 0.98
    assert fmean(one.advantage for one in sampled) >= 0.9
    assert fmean(one.draw for one in sampled) >= 0.9
    assert sum(one.wrong for one in sampled) < 0.05 * 7 * len(sampled)


@pytest.mark.parametrize(("games", "less"), [(4, 0.04), (100, 0.0016)])
def test_many_strengths_from_few_games_do_not_make_draws_likelier(games: int, less: float) -> None:
    """Forty pairs of teams that only ever met each other."""
    dice, players = Random(4), Players(tuple(50 * (-1) ** team for team in range(80)), 0, 0.3)
    tally = Tally(range(80))
    for team in range(0, 80, 2):
        for first, second in [(team, team + 1), (team + 1, team)] * (games // 2):
            tally.add(first, second, players.play(first, second, dice))
    fitted, conditional = (the(rate(tally, replicates=replicates).draw) for replicates in (0, 20))
    assert fitted.value - conditional.value == pytest.approx(less, rel=0.5)
    assert conditional.low < 0.3 < conditional.high


# --- superiority ----------------------------------------------------------------------------------------------


def test_more_games_make_superiority_surer() -> None:
    claims = [rated([(1, 2, 0), (2, 1, 1), (1, 2, 1)] * times, [1, 2]).stronger(1, 2) for times in (1, 4, 16, 64)]
    assert claims == sorted(claims)
    assert (claims[0] < 0.8, claims[-1] > 0.99) == (True, True)


def test_the_covariance_counts() -> None:
    """Two pairs of teams that nearly only met inside the pair: inside it much is known, across it little."""
    games: Sequence[Game] = [(1, 2, 0), (2, 1, 1), (1, 2, 1), (3, 4, 0), (4, 3, 1), (3, 4, 1)] * 30 + [(1, 3, 0)]
    ratings = rated(games, [1, 2, 3, 4])
    elo = values(ratings)
    assert elo[1] - elo[2] < elo[1] - elo[3]
    assert ratings.stronger(1, 2) > 0.99 > ratings.stronger(1, 3)


@pytest.mark.parametrize(
    "kind",
    [*(pytest.param(kind, marks=pytest.mark.long) for kind in SMALL[1:3]), SMALL[6]],
    ids=lambda kind: kind.name,
)
def test_claims_of_few_games_come_true_as_often_as_they_say(kind: Kind) -> None:
    """They were of 0.84 to 0.93 and came true in 0.70 to 0.86 of these contests."""
    sampled = [claim for seed in range(2400 // kind.teams) for claim in claims(kind, seed) if claim[0] >= 0.75]
    claimed, true = (fmean(column) for column in zip(*sampled, strict=True))
    assert len(sampled) > 150
    assert true == pytest.approx(claimed, abs=0.05)


def test_the_prior_vanishes_with_many_games() -> None:
    """Then the likelihood is that of the normal errors of a fit."""
    wins = 560, 440
    ratings = rated([(1, 2, 0), (2, 1, 1)] * (wins[0] // 2) + [(1, 2, 1), (2, 1, 0)] * (wins[1] // 2), [1, 2])
    z = log(wins[0] / wins[1]) / sqrt(1 / wins[0] + 1 / wins[1])
    assert ratings.stronger(1, 2) == pytest.approx(NormalDist().cdf(z), abs=0.0005)


def test_groups_that_never_met_are_not_compared() -> None:
    games: Sequence[Game] = [(1, 2, 0), (2, 1, 1)] * 20 + [(4, 5, 1), (5, 6, 0)]
    ratings = rated(games)
    group = {rating.team: rating.group for rating in ratings.table}
    assert group[1] == group[2] != group[4] == group[5] == group[6] != group[3]
    assert ratings.table[-1] == TeamRating(3, 0, group[3], None)
    assert ratings.stronger(1, 2) > 0.95
    assert [ratings.stronger(1, team) for team in (1, 3, 4, 6)] == [0.5] * 4


def test_before_the_first_game_nothing_is_known() -> None:
    ratings = rated([])
    assert [rating.team for rating in ratings.table] == list(TEAMS)
    assert {rating.elo for rating in ratings.table} == {None}
    assert (ratings.advantage, ratings.draw, ratings.stronger(1, 2)) == (None, None, 0.5)
    assert rated([], []).table == ()


# --- of a contest -------------------------------------------------------------------------------------------------


def test_a_match_without_a_turn_says_nothing_of_strength() -> None:
    won = result_of(Match(1, 1, 1, 1, 2, 1, "hop"), strong=1)
    drawn = replace(won, match=Match(2, 1, 1, 2, 1, 2, "hop"), winner=None)
    forfeited = [replace(won, turns=0), replace(drawn, turns=0, reason="never_arrived")]
    tally = tally_of([1, 2], [won, *forfeited, drawn])
    assert tally.results.tolist() == [[[0, 0], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]]


def test_each_event_has_ratings_of_its_own_results(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 4, {"game": "hop"}, {"game": "linkage"}))
    host.issue_pairings()
    hop, linkage = host.contest.events
    for match in host.tournament.open():
        host.play(match, strong=4 if match.event == 2 else 1)
    assert ratings_of(host.tournament, hop, 0).table[0].team == 1
    assert ratings_of(host.tournament, linkage, 0).table[0].team == 4
    assert {rating.games for rating in ratings_of(host.tournament, hop, 0).table} == {6}


def test_ratings_are_made_again_when_there_are_new_results(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 4, {"game": "hop"}))
    (event,) = host.contest.events
    assert {rating.elo for rating in ratings_of(host.tournament, event, 0).table} == {None}
    first, *others = host.issue_pairings()
    host.play(first)
    once = ratings_of(host.tournament, event, 0)
    assert sum(rating.elo is not None for rating in once.table) == 2
    assert ratings_of(host.tournament, event, 0) is once
    assert ratings_of(host.tournament, event, 20) is not once
    for match in others:
        host.play(match)
    assert {rating.games for rating in ratings_of(host.tournament, event, 0).table} == {6}


# --- mistakes ---------------------------------------------------------------------------------------------------


def test_a_game_counts_only_between_two_of_the_teams() -> None:
    tally = Tally([1, 2])
    for first, second in ((1, 1), (1, 3), (0, 2)):
        with pytest.raises(ValueError, match=rf"a game of {first} against {second}, expected two of the teams"):
            tally.add(first, second, None)
    assert not tally.results.any()
    with pytest.raises(ValueError, match="expected none twice"):
        Tally([1, 2, 1])


def test_superiority_needs_teams_of_the_table() -> None:
    with pytest.raises(ValueError, match="team 9, expected one of"):
        rated(ROUND_ROBIN).stronger(1, 9)


def test_a_natural_unit_is_e_to_one() -> None:
    assert pytest.approx(10 ** (ELO / 400)) == exp(1)
