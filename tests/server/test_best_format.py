"""The format `best`: rounds among the teams that are left, until one is."""

from __future__ import annotations

from itertools import combinations

import pytest

from getstep_server.formats import Played
from getstep_server.formats.best import Best
from tests.support.formats import Tournament, by_strength, make


@pytest.fixture
def tournament() -> Tournament:
    """Of four teams, of which the lower id always wins."""
    format_ = make("best", elo=200, at_once=2)
    return Tournament(format_, [3, 1, 4, 2], by_strength([1, 2, 3, 4, 5]))


def couples(games: list[Played], round_: int) -> set[tuple[int, ...]]:
    return {tuple(sorted(game.pairing.teams)) for game in games if game.pairing.round == round_}


def test_every_two_play_a_pair_in_each_round_until_one_is_left(tournament: Tournament) -> None:
    games = tournament.play()
    rounds = max(game.pairing.round for game in games)
    assert all(couples(games, number) == {*combinations((1, 2, 3, 4), 2)} for number in range(1, rounds + 1))
    assert len(games) == 12 * rounds
    assert tournament.format.places([1, 2, 3, 4], games) == {1: 1, 2: 2, 3: 2, 4: 2}


def test_pairs_are_issued_a_few_at_a_time_and_share_no_team(tournament: Tournament) -> None:
    issued = tournament.issue_pairings()
    assert len(issued) == 4
    assert len({team for pairing in issued for team in pairing.teams}) == 4
    assert tournament.issue_pairings() == []


def test_a_late_team_takes_part_before_the_second_round_only(tournament: Tournament) -> None:
    format_ = tournament.format
    assert isinstance(format_, Best)
    tournament.issue_pairings()
    tournament.teams.append(5)
    games = tournament.play()
    assert couples(games, 1) == {*combinations((1, 2, 3, 4, 5), 2)}
    assert format_.next_pairings([*tournament.teams, 6], games) == []
    assert format_.places([*tournament.teams, 6], games)[6] == 6


def test_who_withdraws_plays_no_more(tournament: Tournament) -> None:
    tournament.issue_pairings()
    tournament.withdraw(1, forfeit=False)
    games = tournament.play()
    assert all(1 not in game.pairing.teams for game in games if game.pairing.round > 1)
    assert tournament.format.places([2, 3, 4], games)[2] == 1


def test_a_match_that_is_played_again_stops_the_search_until_it_is_over(tournament: Tournament) -> None:
    games = tournament.play()
    again = [Played(games[0].pairing), *games[1:]]
    assert tournament.format.next_pairings(tournament.teams, again) == []
    assert not tournament.format.is_over(tournament.teams, again)
