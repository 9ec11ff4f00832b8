"""Knockout: the bracket for any number of teams, pairings of several matches, ties, and teams that leave."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from getstep_server.formats import Pairing, Played
from tests.support.formats import (
    BOTH_LOST,
    DRAW,
    LOSS,
    WIN,
    Tournament,
    busiest,
    by_chance,
    by_strength,
    make,
    pairings_played,
)

SEEDS = st.integers(0, 2**63 - 1)


def knockout(teams: int, **options: Any) -> Tournament:
    """Return a tournament of the teams 1, 2, … in the order of their seeding and strength."""
    order = list(range(1, teams + 1))
    return Tournament(make("knockout", **options), order, by_strength(order))


def met(pairings: list[Pairing]) -> list[tuple[int, ...]]:
    return [pairing.teams for pairing in pairings]


# --- the bracket ----------------------------------------------------------------------------------------------


def test_the_bracket_of_eight() -> None:
    tournament = knockout(8, best_of=1)
    rounds = [
        [(8, 1), (5, 4), (7, 2), (6, 3)],
        [(4, 1), (3, 2)],
        [(2, 1), (4, 3)],
    ]
    for number, pairs in enumerate(rounds, start=1):
        pairings = tournament.issue_pairings()
        assert met(pairings) == pairs
        assert {pairing.round for pairing in pairings} == {number}
        tournament.finish(tournament.open())
    assert tournament.format.is_over(tournament.teams, tournament.games)
    assert tournament.format.places(tournament.teams, tournament.games) == {
        1: 1,
        2: 2,
        3: 3,
        4: 4,
        **dict.fromkeys((5, 6, 7, 8), 5),
    }


def test_byes_for_the_best_seeds() -> None:
    tournament = knockout(6, best_of=1)
    assert met(tournament.issue_pairings()) == [(1,), (5, 4), (2,), (6, 3)]
    tournament.finish(tournament.open())
    assert met(tournament.issue_pairings()) == [(4, 1), (3, 2)]
    assert tournament.format.byes(tournament.games) == {}


def test_a_pairing_begins_as_soon_as_both_teams_are_known() -> None:
    tournament = knockout(8, best_of=1)
    tournament.issue_pairings()
    tournament.finish([0])
    assert tournament.issue_pairings() == []
    tournament.finish([1])
    assert met(tournament.issue_pairings()) == [(4, 1)]


def by_pairing(games: list[Played]) -> dict[int, list[Played]]:
    legs: dict[int, list[Played]] = {}
    for game in games:
        legs.setdefault(game.pairing.pairing, []).append(game)
    return legs


def winner(legs: list[Played]) -> int:
    """Return the winner of a pairing in which both teams stayed: by wins, then by points, then by seeding."""
    if legs[0].pairing.is_bye:
        return legs[0].pairing.first
    worse, better = legs[0].pairing.teams
    won = [sum(leg.won_by(team) for leg in legs) for team in (worse, better)]
    points = [sum(leg.points_of(team) for leg in legs) for team in (worse, better)]
    return worse if (won[0], points[0]) > (won[1], points[1]) else better


@settings(max_examples=40)
@given(
    teams=st.lists(st.integers(0, 2**31 - 1), min_size=2, max_size=64, unique=True),
    best_of=st.integers(1, 4),
    third_place=st.booleans(),
    seed=SEEDS,
)
def test_winners_play_on_until_one_is_left(teams: list[int], best_of: int, third_place: bool, seed: int) -> None:
    format_ = make("knockout", seed, best_of=best_of, third_place=third_place)
    games = Tournament(format_, teams, by_chance(Random(seed))).play(rng=Random(seed))
    room = 1 << (len(teams) - 1).bit_length()
    assert busiest([game for game in games if game.pairing.pairing < room]) == 1
    legs = by_pairing(games)
    third = legs.pop(room, None)
    assert (third is not None) == (third_place and len(teams) > 2)
    assert len(pairings_played(game for each in legs.values() for game in each)) == len(teams) - 1
    alive = set(teams)
    for round_ in range(1, room.bit_length()):
        meet = [each for each in legs.values() if each[0].pairing.round == round_]
        assert sorted(team for each in meet for team in each[0].pairing.teams) == sorted(alive)
        assert all(teams.index(each[0].pairing.teams[-1]) <= teams.index(each[0].pairing.first) for each in meet)
        alive = {winner(each) for each in meet}
    places = format_.places(teams, games)
    assert alive == {team for team, place in places.items() if place == 1}
    if third:
        assert places[winner(third)] == 3
        assert all(places[team] == 4 for team in third[0].pairing.teams if team != winner(third))


@pytest.mark.parametrize("teams", [2, 3, 4, 5, 8, 13, 32, 63, 64])
def test_the_best_meet_as_late_as_they_can(teams: int) -> None:
    games = knockout(teams, best_of=1, third_place=False).play()
    room = 1 << (teams - 1).bit_length()
    for round_ in range(1, room.bit_length()):
        seeds = [game.pairing.teams for game in games if game.pairing.round == round_]
        left = room >> (round_ - 1)
        assert {pair[-1] for pair in seeds} == set(range(1, left // 2 + 1))
        assert {sum(pair) for pair in seeds if len(pair) == 2} <= {left + 1}


def test_byes_are_for_the_best_seeds_alone() -> None:
    for teams in range(2, 65):
        first = knockout(teams).issue_pairings()
        byes = {pairing.first for pairing in first if pairing.is_bye and pairing.round == 1}
        room = 1 << (teams - 1).bit_length()
        assert byes == set(range(1, room - teams + 1))


# --- a pairing ------------------------------------------------------------------------------------------------


def play_pairing(
    results: list[tuple[float, float]], **options: Any
) -> tuple[list[tuple[int, ...]], dict[int, int]]:
    """Play a pairing of two teams, 1 the better seed; return the first players and the places.

    All results are needed. They are the worse seed's points and the better one's, in either colour.
    """
    tournament = knockout(2, **options)
    for worse, better in results:
        (pairing,) = tournament.issue_pairings()
        points = (worse, better) if pairing.first == 2 else (better, worse)
        tournament.games[-1] = replace(tournament.games[-1], points=points)
    assert tournament.issue_pairings() == []
    return met([game.pairing for game in tournament.games]), dict(
        tournament.format.places(tournament.teams, tournament.games)
    )


@pytest.mark.parametrize(
    ("best_of", "results", "champion"),
    [
        (1, [LOSS], 1),
        (1, [WIN], 2),
        (3, [WIN, WIN], 2),
        (3, [WIN, LOSS, WIN], 2),
        (3, [DRAW, DRAW, LOSS], 1),
        (3, [WIN, DRAW, DRAW], 2),
        (4, [WIN, WIN, WIN], 2),
        (4, [WIN, WIN, DRAW], 2),
        (5, [LOSS, DRAW, DRAW, LOSS], 1),
        (2, [WIN, LOSS, WIN, WIN], 2),  # a tie, and two further games
        (2, [WIN, LOSS, WIN, DRAW], 2),
        (2, [DRAW, DRAW, DRAW, DRAW], 1),  # then the better seed
        (2, [WIN, LOSS, LOSS, WIN], 1),
        (1, [DRAW, WIN, DRAW], 2),
        (1, [BOTH_LOST, BOTH_LOST, BOTH_LOST], 1),
        (2, [(3.5, -3.5), (-3.4, 3.4)], 2),  # as many games, more points
        (2, [(0.1 + 0.2, -0.3), (-0.3, 0.3), DRAW, DRAW], 1),  # the same points, by rights
    ],
)
def test_a_pairing_ends_as_soon_as_it_is_decided(
    best_of: int, results: list[tuple[float, float]], champion: int
) -> None:
    seats, places = play_pairing(results, best_of=best_of)
    assert seats == [(2, 1), (1, 2)] * (len(results) // 2) + [(2, 1)] * (len(results) % 2)
    assert places == {champion: 1, 3 - champion: 2}


def test_the_number_of_extra_matches_after_a_tie() -> None:
    assert len(play_pairing([DRAW] * 2, best_of=2, extra_pairs=0)[0]) == 2
    assert len(play_pairing([DRAW] * 8, best_of=2, extra_pairs=3)[0]) == 8
    assert len(play_pairing([DRAW] * 5 + [LOSS, DRAW], best_of=3, extra_pairs=3)[0]) == 7


def test_a_cancelled_game_is_replaced() -> None:
    tournament = knockout(2, best_of=2)
    tournament.issue_pairings()
    tournament.games[0] = replace(tournament.games[0], cancelled=True)
    assert [(p.leg, p.teams) for p in tournament.issue_pairings()] == [(2, (2, 1))]
    tournament.finish(tournament.open())
    assert [(p.leg, p.teams) for p in tournament.issue_pairings()] == [(3, (1, 2))]


# --- teams come and go ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("forfeit", [True, False])
def test_a_team_that_withdraws_loses_its_pairing(forfeit: bool) -> None:
    tournament = knockout(4, best_of=3, third_place=False)
    tournament.issue_pairings()
    tournament.finish([0])  # 1 leads against 4
    tournament.withdraw(1, forfeit=forfeit)
    tournament.play()
    places = tournament.format.places(tournament.teams, tournament.games)
    assert places == {4: 2, 2: 1, 3: 3, 1: 3}


def test_a_team_that_withdraws_before_its_next_pairing_gives_the_opponent_a_bye() -> None:
    tournament = knockout(8, best_of=1)
    tournament.issue_pairings()
    tournament.finish([0])
    tournament.withdraw(1)
    assert tournament.issue_pairings() == []
    tournament.finish(tournament.open())
    assert met(tournament.issue_pairings()) == [(4,), (3, 2)]
    tournament.finish(tournament.open())
    assert met(tournament.issue_pairings()) == [(4, 2), (3,)]  # there is no loser for 3 to meet
    tournament.finish(tournament.open())
    assert tournament.format.is_over(tournament.teams, tournament.games)
    assert tournament.format.places(tournament.teams, tournament.games) == {
        2: 1,
        4: 2,
        3: 3,
        **dict.fromkeys((1, 5, 6, 7, 8), 4),
    }


def test_no_team_wins_a_pairing_that_both_have_left() -> None:
    tournament = knockout(4, best_of=1)
    tournament.issue_pairings()
    tournament.withdraw(1)
    tournament.withdraw(4)
    tournament.finish(tournament.open())
    assert met(tournament.issue_pairings()) == [(2,), (3,)]
    assert tournament.format.is_over(tournament.teams, tournament.games)
    assert tournament.format.places(tournament.teams, tournament.games) == {2: 1, 3: 2, 1: 3, 4: 3}


def test_finalists_that_have_left_are_still_ahead() -> None:
    tournament = knockout(4, best_of=1)
    tournament.issue_pairings()
    tournament.finish(tournament.open())
    tournament.withdraw(1)
    tournament.withdraw(2)
    assert met(tournament.issue_pairings()) == [(4, 3)]
    tournament.play()
    assert tournament.format.places(tournament.teams, tournament.games) == {1: 1, 2: 1, 3: 3, 4: 4}


def test_a_late_team_does_not_play() -> None:
    tournament = knockout(4, best_of=1)
    tournament.issue_pairings()
    tournament.teams.append(9)
    games = tournament.play()
    assert all(9 not in game.pairing.teams for game in games)
    assert tournament.format.places(tournament.teams, games)[9] == 5


def test_a_correction_does_not_change_later_pairings() -> None:
    tournament = knockout(4, best_of=2)
    tournament.issue_pairings()
    tournament.finish(tournament.open())
    tournament.issue_pairings()
    tournament.finish(tournament.open())
    assert met(tournament.issue_pairings()) == [(2, 1), (4, 3)]
    first = [place for place, game in enumerate(tournament.games) if set(game.pairing.teams) == {1, 4}]
    for points in (None, DRAW):  # to be played again; then drawn, which would have needed further games
        for place in first:
            tournament.games[place] = replace(tournament.games[place], points=points)
        assert tournament.issue_pairings() == []
    tournament.play()
    assert tournament.format.places(tournament.teams, tournament.games) == {1: 1, 2: 2, 3: 3, 4: 4}


def test_a_result_that_is_corrected_in_time_counts() -> None:
    tournament = knockout(4, best_of=1)
    tournament.issue_pairings()
    tournament.finish([0])
    tournament.games[0] = replace(tournament.games[0], points=WIN)  # 4 is first, and has won after all
    tournament.finish([1])
    assert met(tournament.issue_pairings()) == [(4, 2), (3, 1)]
