"""Swiss: nobody meets twice, teams with about the same points meet, byes and colours are shared out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getstep_server.formats import Pairing, Played
from getstep_server.formats.swiss import Cost, Pair, cheapest

from .tournaments import DRAW, WIN, Tournament, busiest, by_chance, by_strength, colours, make, meetings

SEEDS = st.integers(0, 2**63 - 1)


def rounds(games: list[Played]) -> int:
    return max((game.pairing.round for game in games), default=0)


def pairs(pairings: list[Pairing]) -> set[frozenset[int]]:
    return {frozenset(pairing.teams) for pairing in pairings}


@settings(deadline=None, max_examples=20)
@given(teams=st.integers(2, 24), legs=st.integers(1, 3), seed=SEEDS, data=st.data())
def test_half_as_many_rounds_as_teams_can_always_be_played(
    teams: int, legs: int, seed: int, data: st.DataObject
) -> None:
    wanted = data.draw(st.integers(1, teams // 2))
    format_ = make("swiss", seed, rounds=wanted, legs=legs)
    games = Tournament(format_, list(range(teams)), by_chance(Random(seed))).play()
    assert rounds(games) == wanted
    assert busiest(games) == 1
    assert set(Counter(meetings(games).values()).values()) == {1}
    byes = Counter(game.pairing.first for game in games if game.pairing.is_bye)
    assert byes.total() == wanted * legs * (teams % 2)
    assert set(byes.values()) <= {legs}, "a second bye"
    assert format_.byes(games) == byes
    met = Counter((game.pairing.round, team) for game in games for team in game.pairing.teams)
    assert met == {(round_, team): legs for round_ in range(1, wanted + 1) for team in range(teams)}
    balance = colours(games)
    assert max(abs(balance[team]) for team in range(teams)) <= (2 if legs % 2 else 0)


@settings(deadline=None, max_examples=30)
@given(teams=st.integers(2, 12), legs=st.integers(1, 2), seed=SEEDS)
def test_no_repeats_while_teams_come_and_go(teams: int, legs: int, seed: int) -> None:
    rng = Random(seed)
    tournament = Tournament(make("swiss", seed, rounds=8, legs=legs), list(range(teams)), by_chance(rng))
    late = iter(range(100, 105))

    def come_and_go() -> None:
        if rng.random() < 0.15 and (team := next(late, None)) is not None:
            tournament.teams.append(team)
        if rng.random() < 0.15 and tournament.teams:
            tournament.withdraw(rng.choice(tournament.teams), forfeit=rng.random() < 0.5)

    games = tournament.play(come_and_go, rng)
    assert set(Counter(meetings(games).values()).values()) <= {1}
    assert busiest(games) == 1
    byes = Counter(game.pairing.round for game in games if game.pairing.is_bye)
    assert set(byes.values()) <= {legs}


def test_the_upper_half_meets_the_lower() -> None:
    format_ = make("swiss")
    assert pairs(format_.next_pairings([4, 8, 1, 2, 7, 9, 3, 5], [])) == pairs(
        [Pairing(1, 1, 1, first, second) for first, second in [(4, 7), (8, 9), (1, 3), (2, 5)]]
    )


def test_winners_meet_winners() -> None:
    teams = list(range(1, 9))
    tournament = Tournament(make("swiss", rounds=3, legs=1), teams, by_strength(teams))
    expected = [
        {(1, 5), (2, 6), (3, 7), (4, 8)},
        {(1, 3), (2, 4), (5, 7), (6, 8)},
        {(1, 2), (3, 5), (4, 6), (7, 8)},
    ]
    for meeting in expected:
        assert pairs(tournament.give_out()) == set(map(frozenset, meeting))
        tournament.finish(tournament.open())
    assert tournament.give_out() == []


def test_the_last_without_a_bye_gets_it() -> None:
    teams = [1, 2, 3, 4, 5]
    tournament = Tournament(make("swiss", rounds=4, legs=2), teams, by_strength(teams))
    byes = []
    for _ in range(3):
        byes += [(pairing.first, pairing.leg) for pairing in tournament.give_out() if pairing.is_bye]
        tournament.finish(tournament.open())
    assert byes == [(5, 1), (5, 2), (4, 1), (4, 2), (3, 1), (3, 2)]


def test_colours_matter_more_than_points() -> None:
    """1 and 2 lead and have been first twice, 3 and 4 trail and have been second twice."""
    history = [[(1, 3), (2, 4), (5, 6)], [(1, 4), (2, 5), (6, 3)]]
    games = [
        Played(Pairing(round_, 3 * round_ - 3 + table, 1, *pair), WIN)
        for round_, played in enumerate(history, start=1)
        for table, pair in enumerate(played, start=1)
    ]
    new = make("swiss", rounds=3, legs=1).next_pairings([1, 2, 3, 4, 5, 6], games)
    assert pairs(new) & {frozenset((1, 2)), frozenset((3, 4))} == set()
    assert {pairing.second for pairing in new} > {1, 2}
    assert {pairing.first for pairing in new} > {3, 4}


@pytest.mark.parametrize(("history", "expected"), [("1-3 2-4", "1-4 2-3"), ("1-3 4-2", "1-2 3-4")])
def test_colours_decide_between_equals(history: str, expected: str) -> None:
    played, wanted = ([tuple(map(int, pair.split("-"))) for pair in line.split()] for line in (history, expected))
    games = [Played(Pairing(1, table, 1, *pair), DRAW) for table, pair in enumerate(played, start=1)]
    new = make("swiss", rounds=3, legs=1).next_pairings([1, 2, 3, 4], games)
    assert pairs(new) == set(map(frozenset, wanted))


def test_points_that_are_equal_by_rights_are_equal() -> None:
    """-0.1 - 0.2 and -0.3 are, so the seeding says who is last and has the bye."""
    lost = [((1, 5), -0.1), ((1, 6), -0.2), ((2, 7), -0.3)]
    games = [Played(Pairing(1, n, 1, *pair), (root, -root)) for n, (pair, root) in enumerate(lost, start=1)]
    new = make("swiss", rounds=3, legs=1).next_pairings([1, 2, 9], games)
    assert [pairing.first for pairing in new if pairing.is_bye] == [2]


def test_points_of_any_kind_make_score_groups() -> None:
    points = {(1, 3): (0.5, -0.5), (2, 4): (0.3, -0.3)}
    first = [Played(Pairing(1, n, 1, *pair), value) for n, (pair, value) in enumerate(points.items(), start=1)]
    second = [Played(Pairing(2, 3, 1, 1, 4), (0.2, -0.2)), Played(Pairing(2, 4, 1, 3, 2), (0.0, 0.0))]
    assert pairs(make("swiss", rounds=3).next_pairings([1, 2, 3, 4], [*first, *second])) == {
        frozenset((1, 2)),
        frozenset((3, 4)),
    }


def test_a_late_team_begins_with_nothing() -> None:
    tournament = Tournament(make("swiss", rounds=3, legs=1), [1, 2, 3, 4], by_strength([1, 2, 3, 4, 5, 6]))
    tournament.give_out()
    tournament.teams += [5, 6]
    tournament.finish(tournament.open())
    assert pairs(tournament.give_out()) == {frozenset((1, 2)), frozenset((3, 5)), frozenset((4, 6))}


def test_who_met_in_cancelled_games_only_may_meet_again() -> None:
    tournament = Tournament(make("swiss", rounds=9, legs=2), [1, 2], by_strength([1, 2]))
    tournament.give_out()
    tournament.games = [replace(game, cancelled=True) for game in tournament.games]
    assert [pairing.round for pairing in tournament.give_out()] == [2, 2]
    tournament.games[-1] = replace(tournament.games[-1], cancelled=True)
    tournament.finish(tournament.open())
    assert tournament.give_out() == []


def test_an_earlier_game_that_is_played_again_is_waited_for() -> None:
    tournament = Tournament(make("swiss", rounds=3, legs=1), [1, 2, 3, 4], by_strength([1, 2, 3, 4]))
    for _ in range(2):
        tournament.give_out()
        tournament.finish(tournament.open())
    tournament.games[0] = replace(tournament.games[0], points=None)
    assert tournament.give_out() == []
    tournament.finish(tournament.open())
    assert len(tournament.give_out()) == 2


# --- the matching against all there are -----------------------------------------------------------------------


def matchings(ranks: list[int], allowed: set[Pair]) -> Iterator[list[Pair]]:
    """All ways to pair, somebody left over included."""
    if not ranks:
        yield []
        return
    first, *others = ranks
    yield from matchings(others, allowed)
    for second in others:
        if (first, second) in allowed:
            rest = [rank for rank in others if rank != second]
            yield from ([(first, second), *pairs] for pairs in matchings(rest, allowed))


COSTS = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: pair[0] < pair[1]),
    st.tuples(st.integers(-3, 3), st.integers(0, 4), st.integers(-1, 60)),
)


@settings(deadline=None, max_examples=100)
@given(costs=COSTS)
def test_no_other_matching_is_better(costs: dict[Pair, Cost]) -> None:
    def value(matching: list[Pair]) -> tuple[int, ...]:
        columns = zip(*(costs[pair] for pair in matching), strict=True)
        return (-len(matching), *map(sum, columns))

    found = cheapest(costs)
    assert len(set().union(*found)) == 2 * len(found)
    assert value(found) == min(map(value, matchings(list(range(7)), set(costs))))


@settings(deadline=None)
@given(costs=COSTS, rng=st.randoms(use_true_random=False))
def test_with_lots_there_is_one_best_matching(costs: dict[Pair, Cost], rng: Random) -> None:
    drawn = {pair: (*cost, 2**lot) for lot, (pair, cost) in enumerate(costs.items())}
    shuffled = list(drawn.items())
    rng.shuffle(shuffled)
    assert set(cheapest(dict(shuffled))) == set(cheapest(drawn))


def test_the_first_leg_goes_to_who_was_first_less_often() -> None:
    tournament = Tournament(make("swiss", rounds=2, legs=1), [1, 2, 3, 4], by_strength([1, 2, 3, 4]))
    tournament.give_out()
    tournament.finish(tournament.open())
    balance = colours(tournament.games)
    for pairing in tournament.give_out():
        first, second = pairing.teams
        assert balance[first] <= balance[second]
