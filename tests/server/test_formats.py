"""Properties of every format, and of the two whose schedule is a table: round robin and gauntlet."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getstep_server.formats import FORMATS, Pairing, Played
from getstep_server.formats.round_robin import berger
from getstep_server.validation import ValidationError
from tests.support.formats import BOTH_LOST, WIN, Tournament, busiest, by_chance, colours, make, pairings_played

OPTIONS: dict[str, dict[str, Any]] = {
    "round_robin": {"legs": 2},
    "gauntlet": {"challengers": [5, 2]},
    "swiss": {"rounds": 2, "legs": 1},
    "knockout": {"best_of": 2},
    "ladder": {"rounds": 3, "games": 2},
    "arena": {"matches": 60, "house": [2]},
    "match": {"pairs": 20, "at_once": 3, "elo0": 0, "elo1": 300},
    "best": {"pairs": 2, "at_once": 3, "elo": 300},
}
EVERY_FORMAT = pytest.mark.parametrize("name", OPTIONS)
SEEDS = st.integers(0, 2**63 - 1)
TEAMS = st.lists(st.integers(0, 2**31 - 1), min_size=2, max_size=64, unique=True)


def test_every_format_is_in_these_tests() -> None:
    assert FORMATS.keys() == OPTIONS.keys()
    assert all(name == format_.name for name, format_ in FORMATS.items())


# --- every format ---------------------------------------------------------------------------------------------


@EVERY_FORMAT
@settings(max_examples=8)
@given(teams=st.integers(2, 64), seed=SEEDS)
def test_it_ends_whatever_the_results(name: str, teams: int, seed: int) -> None:
    teams = teams % 9 + 2 if name == "best" else teams  # of a few bots: each two of them play
    tournament = Tournament(make(name, seed, **OPTIONS[name]), list(range(1, teams + 1)), by_chance(Random(seed)))
    games = tournament.play()
    if name == "best":
        assert busiest(games) == teams - 1
        return
    assert busiest(games) == (min(2, teams - 1) if name == "ladder" else 1)  # a ladder's teams have two neighbours


@EVERY_FORMAT
@settings(max_examples=25)
@given(teams=st.integers(2, 20), seed=SEEDS, data=st.data())
def test_it_ends_while_teams_come_and_go(name: str, teams: int, seed: int, data: st.DataObject) -> None:
    rng = Random(seed)
    tournament = Tournament(make(name, seed, **OPTIONS[name]), list(range(1, teams + 1)), by_chance(rng))
    late = iter(range(100, 100 + data.draw(st.integers(0, 4), "late")))
    leaving = data.draw(st.integers(0, min(teams, 5)), "leaving")

    def come_and_go() -> None:
        nonlocal leaving
        if rng.random() < 0.2 and (team := next(late, None)) is not None:
            tournament.teams.append(team)
        if leaving and tournament.teams and rng.random() < 0.2:
            leaving -= 1
            tournament.withdraw(rng.choice(tournament.teams), forfeit=rng.random() < 0.5)

    tournament.play(come_and_go, rng)
    places = tournament.format.places(tournament.teams, tournament.games)
    assert not places or set(tournament.teams) <= places.keys()


@EVERY_FORMAT
@settings(max_examples=5)
@given(teams=TEAMS, seed=SEEDS)
def test_the_same_seed_and_results_give_the_same_schedule(name: str, teams: list[int], seed: int) -> None:
    options = OPTIONS[name] | ({"challengers": teams[:2]} if name == "gauntlet" else {})
    teams = teams[:10] if name == "best" else teams
    one, other = (
        Tournament(make(name, seed, **options), list(teams), by_chance(Random(1))).play() for _ in range(2)
    )
    assert one == other


@pytest.mark.parametrize("name", ["round_robin", "gauntlet", "swiss"])
def test_another_seed_gives_another_schedule(name: str) -> None:
    schedules = {tuple(make(name, seed, **OPTIONS[name]).next_pairings(range(1, 13), [])) for seed in range(10)}
    assert len(schedules) == 10


@EVERY_FORMAT
@pytest.mark.parametrize("teams", [[], [5]])
def test_nothing_is_played_by_fewer_than_two(name: str, teams: list[int]) -> None:
    format_ = make(name, **OPTIONS[name])
    assert format_.next_pairings(teams, []) == []
    assert format_.is_over(teams, [])


@EVERY_FORMAT
def test_it_waits_for_open_games(name: str) -> None:
    tournament = Tournament(make(name, **OPTIONS[name]), [1, 2, 3, 4, 5, 6], by_chance(Random(1)))
    assert tournament.issue_pairings()
    assert tournament.issue_pairings() == []
    assert not tournament.format.is_over(tournament.teams, tournament.games)


@EVERY_FORMAT
@settings(max_examples=8)
@given(teams=st.integers(0, 20), seed=SEEDS)
def test_it_has_no_more_pairings_than_it_says_beforehand(name: str, teams: int, seed: int) -> None:
    tournament = Tournament(make(name, seed, **OPTIONS[name]), list(range(1, teams + 1)), by_chance(Random(seed)))
    most = tournament.format.max_matches(teams)
    games = tournament.play()
    assert len(games) <= most
    if name in ("round_robin", "ladder") or (name == "swiss" and teams > 3) or (name == "gauntlet" and teams > 4):
        assert len(games) == most


def test_too_many_matches_are_counted_without_making_them() -> None:
    assert make("round_robin", legs=1000).max_matches(256) == 32_640_000
    assert make("ladder", rounds=10_000, games=1000).max_matches(256) == 2_550_000_000


@pytest.mark.parametrize("name", [name for name in OPTIONS if name not in ("knockout", "match", "best", "arena")])
@pytest.mark.parametrize("teams", [2, 7, 12])
def test_remaining_estimate_agrees_with_the_matches_played(name: str, teams: int) -> None:
    """The number of issued matches and the estimate have a constant sum, and the estimate is 0 in the end."""
    tournament = Tournament(make(name, **OPTIONS[name]), list(range(1, teams + 1)), by_chance(Random(1)))
    totals, left = set(), []

    def count() -> None:
        left.append(tournament.format.remaining_estimate(tournament.teams, tournament.games))
        totals.add(left[-1] + sum(not game.pairing.is_bye for game in tournament.games))

    games = tournament.play(count, Random(1))
    if name not in ("round_robin", "gauntlet"):  # their matches are issued at once
        left.insert(0, tournament.format.remaining_estimate(tournament.teams, []))
        assert left[0] == sum(not game.pairing.is_bye for game in games)
    assert totals == {sum(not game.pairing.is_bye for game in games)}
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0


@EVERY_FORMAT
@settings(max_examples=8)
@given(teams=st.integers(0, 20), seed=SEEDS)
def test_remaining_estimate_is_never_negative(name: str, teams: int, seed: int) -> None:
    rng = Random(seed)
    tournament = Tournament(make(name, seed, **OPTIONS[name]), list(range(1, teams + 1)), by_chance(rng))

    def leave() -> None:
        assert tournament.format.remaining_estimate(tournament.teams, tournament.games) >= 0
        if tournament.teams and rng.random() < 0.2:
            tournament.withdraw(rng.choice(tournament.teams), forfeit=rng.random() < 0.5)

    leave()
    tournament.play(leave, rng)


@EVERY_FORMAT
@pytest.mark.parametrize(
    "wrong", [{"legs": 0}, {"legs": True}, {"rounds": 0}, {"games": 3}, {"best_of": "3"}, {"unknown": 1}]
)
def test_options_that_cannot_be_are_refused(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        make(name, **OPTIONS[name] | wrong)


@pytest.mark.parametrize("challengers", [[], [3, 3], [-1], [2**31], 3, [True]])
def test_challengers_are_ids_each_once(challengers: object) -> None:
    with pytest.raises(ValidationError, match="challengers"):
        make("gauntlet", challengers=challengers)


def test_points_and_winner_of_a_match() -> None:
    game = Played(Pairing(1, 1, 1, 7, 8), (0.0, 1.5))
    assert (game.points_of(8), game.won_by(8), game.won_by(7)) == (1.5, True, False)
    root = Played(game.pairing, (-2.5, 2.5))
    assert (root.won_by(7), root.won_by(8)) == (False, True)
    nobody = Played(game.pairing, BOTH_LOST)
    assert (nobody.won_by(7), nobody.won_by(8), nobody.counts) == (False, False, True)
    cancelled = Played(game.pairing, (0.0, 2.0), cancelled=True)
    assert (cancelled.points_of(8), cancelled.won_by(8), cancelled.open, cancelled.counts) == (
        0,
        False,
        False,
        False,
    )
    bye = Played(Pairing(1, 2, 1, 0, None), WIN)
    assert (bye.points_of(0), bye.open, bye.counts, bye.pairing.teams) == (2, False, False, (0,))
    assert Played(game.pairing).open


# --- round robin ----------------------------------------------------------------------------------------------

PUBLISHED = {
    4: """
        1-4 2-3
        4-3 1-2
        2-4 3-1""",
    6: """
        1-6 2-5 3-4
        6-4 5-3 1-2
        2-6 3-1 4-5
        6-5 1-4 2-3
        3-6 4-2 5-1""",
    8: """
        1-8 2-7 3-6 4-5
        8-5 6-4 7-3 1-2
        2-8 3-1 4-7 5-6
        8-6 7-5 1-4 2-3
        3-8 4-2 5-1 6-7
        8-7 1-6 2-5 3-4
        4-8 5-3 6-2 7-1""",
}
"""FIDE handbook, C.05, annex 1: the Berger tables."""


@pytest.mark.parametrize("teams", [3, 4, 5, 6, 7, 8])
def test_berger_tables_as_published(teams: int) -> None:
    lines = PUBLISHED[teams + teams % 2].split("\n")[1:]
    published = [[tuple(map(int, pair.split("-"))) for pair in line.split()] for line in lines]
    expected = [
        [pair for pair in pairs if max(pair) <= teams] for pairs in published
    ]  # the highest number is no team
    assert berger(range(1, teams + 1)) == expected


@settings(max_examples=25)
@given(teams=TEAMS, seed=SEEDS, legs=st.integers(1, 4))
def test_round_robin(teams: list[int], seed: int, legs: int) -> None:
    tournament = Tournament(make("round_robin", seed, legs=legs), teams, by_chance(Random(seed)))
    pairings = tournament.issue_pairings()
    met = Counter(frozenset(pairing.teams) for pairing in pairings)
    assert met == {frozenset(pair): legs for pair in combinations(teams, 2)}
    assert busiest(tournament.games) == 1
    assert pairings[-1].round == legs * (len(teams) - 1 + len(teams) % 2)
    directed = Counter(pairing.teams for pairing in pairings)
    assert all(abs(directed[a, b] - directed[b, a]) <= legs % 2 for a, b in combinations(teams, 2))
    balance = colours(tournament.games)
    bound = legs % 2 if len(teams) % 2 == 0 else 0
    assert {abs(balance[team]) for team in teams} == {bound}


@settings(max_examples=25)
@given(teams=st.integers(2, 20), late=st.integers(1, 5), legs=st.integers(1, 3), seed=SEEDS)
def test_round_robin_with_late_teams(teams: int, late: int, legs: int, seed: int) -> None:
    tournament = Tournament(make("round_robin", seed, legs=legs), list(range(teams)), by_chance(Random(seed)))
    tournament.issue_pairings()
    early = len(tournament.games)
    for team in range(100, 100 + late):
        tournament.teams.append(team)
        rounds = tournament.games[-1].pairing.round
        assert {pairing.round for pairing in tournament.issue_pairings()} >= {rounds + 1}
    met = Counter(pairings_played(tournament.games).values())
    assert met == {frozenset(pair): 1 for pair in combinations(tournament.teams, 2)}
    assert len(tournament.games) == legs * len(met) > early
    assert busiest(tournament.games) == 1
    balance = colours(tournament.games)
    assert max(map(abs, balance.values())) <= (1 + late) * (legs % 2)


def test_a_schedule_stays_what_it_was() -> None:
    """Contests that were played with it are verified by making it again."""
    pairings = make("round_robin", 2019).next_pairings([3, 1, 4, 15, 9], [])
    assert [pairing.teams for pairing in pairings] == [
        *[(15, 9), (1, 4), (9, 1), (3, 15), (1, 3), (4, 9), (3, 4), (15, 1), (4, 15), (9, 3)],
        *[(9, 15), (4, 1), (1, 9), (15, 3), (3, 1), (9, 4), (4, 3), (1, 15), (15, 4), (3, 9)],
    ]
    assert [pairing.round for pairing in pairings] == [n // 2 + 1 for n in range(20)]
    assert [(pairing.pairing, pairing.leg) for pairing in pairings] == [
        (n % 10 + 1, n // 10 + 1) for n in range(20)
    ]


def test_round_robin_gives_out_what_more_legs_add() -> None:
    tournament = Tournament(make("round_robin", legs=1), [1, 2, 3, 4], by_chance(Random(1)))
    tournament.issue_pairings()
    tournament.format = make("round_robin", legs=2)
    assert [pairing.leg for pairing in tournament.issue_pairings()] == [2] * 6
    assert set(colours(tournament.games).values()) == {0}
    assert len(pairings_played(tournament.games)) == 6


# --- gauntlet -------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(teams=TEAMS, seed=SEEDS, legs=st.integers(1, 3), data=st.data())
def test_gauntlet(teams: list[int], seed: int, legs: int, data: st.DataObject) -> None:
    challengers = teams[: data.draw(st.integers(1, len(teams)))]
    others = teams[len(challengers) :]
    format_ = make("gauntlet", seed, legs=legs, challengers=challengers)
    tournament = Tournament(format_, data.draw(st.permutations(teams)), by_chance(Random(seed)))
    pairings = tournament.issue_pairings()
    met = Counter(frozenset(pairing.teams) for pairing in pairings)
    assert met == {frozenset((a, b)): legs for a in challengers for b in others}
    assert busiest(tournament.games) == (1 if others else 0)
    assert max((pairing.round for pairing in pairings), default=0) == (
        legs * max(len(challengers), len(others)) if others else 0
    )
    assert all(abs(balance) <= legs % 2 for balance in colours(tournament.games).values())


def test_gauntlet_with_late_teams() -> None:
    tournament = Tournament(make("gauntlet", challengers=[1, 9]), [1, 2, 3], by_chance(Random(1)))
    tournament.issue_pairings()
    tournament.teams += [4]
    assert {frozenset(p.teams) for p in tournament.issue_pairings()} == {frozenset((1, 4))}
    tournament.teams += [9]
    assert Counter(frozenset(p.teams) for p in tournament.issue_pairings()) == {
        frozenset((9, n)): 2 for n in (2, 3, 4)
    }
    assert busiest(tournament.games) == 1


def test_gauntlet_is_over_without_challengers() -> None:
    tournament = Tournament(make("gauntlet", challengers=[1]), [1, 2, 3], by_chance(Random(1)))
    tournament.issue_pairings()
    tournament.withdraw(1)
    assert tournament.format.is_over(tournament.teams, tournament.games)
