"""Ladder: neighbours meet, places change after the round, and teams come and go between rounds."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support.formats import (
    DRAW,
    LOSS,
    WIN,
    Tournament,
    by_chance,
    by_strength,
    colours,
    make,
    pairings_played,
)

SEEDS = st.integers(0, 2**63 - 1)


def play_round(tournament: Tournament) -> list[tuple[int, int]]:
    """Play the next round; return its pairs from the top."""
    pairings = tournament.issue_pairings()
    tournament.finish(tournament.open())
    return [(p.teams[0], p.teams[1]) for p in pairings if p.leg == 1]


@settings(max_examples=25)
@given(teams=st.integers(2, 64), rounds=st.integers(1, 4), pairs=st.integers(1, 5), seed=SEEDS)
def test_neighbours_meet_as_often_as_they_should(teams: int, rounds: int, pairs: int, seed: int) -> None:
    tournament = Tournament(
        make("ladder", rounds=rounds, games=2 * pairs), list(range(teams)), by_chance(Random(seed))
    )
    for round_ in range(1, rounds + 1):
        order = tournament.format.places(tournament.teams, tournament.games)
        assert sorted(order.values()) == list(range(1, teams + 1))
        ladder = sorted(order, key=order.__getitem__)
        pairings = tournament.issue_pairings()
        assert {pairing.round for pairing in pairings} == {round_}
        directed = Counter(pairing.teams for pairing in pairings)
        assert directed == {pair: pairs for a, b in pairwise(ladder) for pair in ((a, b), (b, a))}
        tournament.finish(tournament.open())
    assert tournament.issue_pairings() == []
    assert set(colours(tournament.games).values()) == {0}
    assert len(pairings_played(tournament.games)) == rounds * (teams - 1)


@settings(max_examples=50)
@given(teams=st.integers(2, 30), seed=SEEDS)
def test_a_team_that_won_more_changes_places(teams: int, seed: int) -> None:
    """The rule once more, as a walk down the ladder with a bot in hand."""
    tournament = Tournament(make("ladder", rounds=1, games=4), list(range(teams)), by_chance(Random(seed)))
    tournament.play()
    won = Counter((g.pairing.pairing, team) for g in tournament.games for team in g.pairing.teams if g.won_by(team))
    expected, upper, met = [], 0, True
    for lower in range(1, teams):
        if met and won[lower, lower] > won[lower, upper]:  # the n-th pairing is that of n - 1 and n
            expected.append(lower)
            met = False
        else:
            expected.append(upper)
            upper, met = lower, True
    places = tournament.format.places(tournament.teams, tournament.games)
    assert sorted(places, key=places.__getitem__) == [*expected, upper]
    assert all(abs(place - 1 - team) <= 1 for team, place in places.items())


def test_pairs_are_taken_from_the_top() -> None:
    """Each team beats the one above: the first pair changes, so the second pair did not play, and so on."""
    tournament = Tournament(make("ladder"), [1, 2, 3, 4, 5], by_strength([5, 4, 3, 2, 1]))
    assert play_round(tournament) == [(1, 2), (2, 3), (3, 4), (4, 5)]
    assert play_round(tournament) == [(2, 1), (1, 4), (4, 3), (3, 5)]
    assert play_round(tournament)[0] == (2, 4)


@pytest.mark.parametrize(
    ("results", "top"), [([WIN, LOSS], 1), ([LOSS, LOSS], 1), ([DRAW, LOSS], 1), ([LOSS, DRAW], 2)]
)
def test_more_games_won_are_needed(results: list[tuple[float, float]], top: int) -> None:
    tournament = Tournament(make("ladder", games=2), [1, 2], lambda pairing: results[pairing.leg - 1])
    play_round(tournament)
    assert tournament.format.places([1, 2], tournament.games)[top] == 1


def test_the_places_stand_while_a_round_is_played() -> None:
    tournament = Tournament(make("ladder", games=2), [1, 2, 3], by_strength([3, 2, 1]))
    tournament.issue_pairings()
    tournament.finish(tournament.open()[:-1])
    assert tournament.format.places([1, 2, 3], tournament.games) == {1: 1, 2: 2, 3: 3}
    tournament.finish(tournament.open())
    assert tournament.format.places([1, 2, 3], tournament.games) == {2: 1, 1: 2, 3: 3}


def test_three_rounds_with_a_joining_and_a_leaving_team() -> None:
    tournament = Tournament(make("ladder", rounds=3), [1, 2, 3, 4], by_strength([9, 4, 3, 2, 1]))
    assert play_round(tournament) == [(1, 2), (2, 3), (3, 4)]  # 2 passes 1; 4 passes 3
    tournament.teams.append(9)
    assert play_round(tournament) == [(2, 1), (1, 4), (4, 3), (3, 9)]  # 4 passes 1; 9 passes 3
    tournament.withdraw(4)
    assert play_round(tournament) == [(2, 1), (1, 9), (9, 3)]
    assert tournament.issue_pairings() == []
    places = tournament.format.places(tournament.teams, tournament.games)
    assert places == {2: 1, 9: 2, 1: 3, 3: 4}
    assert max(game.pairing.leg for game in tournament.games) == 10


def test_a_team_that_leaves_during_a_round_is_left_out_of_the_order() -> None:
    tournament = Tournament(make("ladder", games=2), [1, 2, 3, 4], by_strength([4, 3, 2, 1]))
    tournament.issue_pairings()
    tournament.finish(tournament.open()[:2])  # 2 has beaten 1 ...
    tournament.withdraw(2)  # ... and leaves
    tournament.finish(tournament.open())
    assert tournament.format.places([1, 3, 4], tournament.games) == {1: 1, 4: 2, 3: 3}


def test_a_team_that_comes_back_joins_at_the_bottom() -> None:
    tournament = Tournament(make("ladder"), [1, 2, 3], by_strength([1, 2, 3]))
    play_round(tournament)
    tournament.withdraw(1)
    play_round(tournament)
    tournament.teams = [1, *tournament.teams]
    assert play_round(tournament) == [(2, 3), (3, 1)]


def test_cancelled_games_count_for_neither() -> None:
    tournament = Tournament(make("ladder", games=2), [1, 2], by_strength([2, 1]))
    play_round(tournament)
    tournament.games = [replace(game, cancelled=True) for game in tournament.games]
    assert tournament.format.places([1, 2], tournament.games) == {1: 1, 2: 2}


def test_a_ladder_continues_when_rounds_are_raised() -> None:
    tournament = Tournament(make("ladder", rounds=1), [1, 2], by_strength([2, 1]))
    play_round(tournament)
    assert tournament.format.is_over([1, 2], tournament.games)
    tournament.format = make("ladder", rounds=2)
    assert play_round(tournament) == [(2, 1)]
