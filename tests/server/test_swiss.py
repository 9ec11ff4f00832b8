"""Swiss: nobody meets twice, teams with about the same points meet, byes and colours are shared out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from getstep_server.formats import Pairing, Played
from getstep_server.formats.swiss import _Side as Side
from getstep_server.formats.swiss import _sides as sides_before
from tests.support.formats import (
    DRAW,
    WIN,
    Tournament,
    busiest,
    by_chance,
    by_strength,
    colours,
    make,
    pairings_played,
)
from tests.support.swiss import EVENTS, RECORDED, Event

SEEDS = st.integers(0, 2**63 - 1)


def rounds(games: list[Played]) -> int:
    return max((game.pairing.round for game in games), default=0)


def pairs(pairings: list[Pairing]) -> set[frozenset[int]]:
    return {frozenset(pairing.teams) for pairing in pairings}


@settings(max_examples=20)
@given(teams=st.integers(2, 24), legs=st.integers(1, 3), seed=SEEDS, data=st.data())
def test_half_as_many_rounds_as_teams_can_always_be_played(
    teams: int, legs: int, seed: int, data: st.DataObject
) -> None:
    wanted = data.draw(st.integers(1, teams // 2))
    format_ = make("swiss", seed, rounds=wanted, legs=legs)
    games = Tournament(format_, list(range(teams)), by_chance(Random(seed))).play()
    assert rounds(games) == wanted
    assert busiest(games) == 1
    assert set(Counter(pairings_played(games).values()).values()) == {1}
    byes = Counter(game.pairing.first for game in games if game.pairing.is_bye)
    assert byes.total() == wanted * legs * (teams % 2)
    assert set(byes.values()) <= {legs}, "a second bye"
    assert format_.byes(games) == byes
    met = Counter((game.pairing.round, team) for game in games for team in game.pairing.teams)
    assert met == {(round_, team): legs for round_ in range(1, wanted + 1) for team in range(teams)}
    balance = colours(games)
    assert max(abs(balance[team]) for team in range(teams)) <= (2 if legs % 2 else 0)


@settings(max_examples=30)
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
    assert set(Counter(pairings_played(games).values()).values()) <= {1}
    assert busiest(games) == 1
    byes = Counter(game.pairing.round for game in games if game.pairing.is_bye)
    assert set(byes.values()) <= {legs}


def test_the_upper_half_plays_the_lower() -> None:
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
    for round_ in expected:
        assert pairs(tournament.issue_pairings()) == set(map(frozenset, round_))
        tournament.finish(tournament.open())
    assert tournament.issue_pairings() == []


def test_the_last_without_a_bye_gets_it() -> None:
    teams = [1, 2, 3, 4, 5]
    tournament = Tournament(make("swiss", rounds=4, legs=2), teams, by_strength(teams))
    byes = []
    for _ in range(3):
        byes += [(pairing.first, pairing.leg) for pairing in tournament.issue_pairings() if pairing.is_bye]
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
    """-0.1 - 0.2 and -0.3 are, so the seeding decides which team is last and has the bye."""
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
    tournament.issue_pairings()
    tournament.teams += [5, 6]
    tournament.finish(tournament.open())
    assert pairs(tournament.issue_pairings()) == {frozenset((1, 2)), frozenset((3, 5)), frozenset((4, 6))}


def test_teams_with_only_cancelled_matches_may_be_paired_again() -> None:
    tournament = Tournament(make("swiss", rounds=9, legs=2), [1, 2], by_strength([1, 2]))
    tournament.issue_pairings()
    tournament.games = [replace(game, cancelled=True) for game in tournament.games]
    assert [pairing.round for pairing in tournament.issue_pairings()] == [2, 2]
    tournament.games[-1] = replace(tournament.games[-1], cancelled=True)
    tournament.finish(tournament.open())
    assert tournament.issue_pairings() == []


def test_an_earlier_game_that_is_played_again_is_waited_for() -> None:
    tournament = Tournament(make("swiss", rounds=3, legs=1), [1, 2, 3, 4], by_strength([1, 2, 3, 4]))
    for _ in range(2):
        tournament.issue_pairings()
        tournament.finish(tournament.open())
    tournament.games[0] = replace(tournament.games[0], points=None)
    assert tournament.issue_pairings() == []
    tournament.finish(tournament.open())
    assert len(tournament.issue_pairings()) == 2


# --- the pairing against all there are ------------------------------------------------------------------------


def ways_to_pair(sides: list[Side]) -> Iterator[tuple[list[tuple[Side, Side]], Side | None]]:
    """Yield all ways to pair teams, the better rank first.

    With an odd number of teams each of them may have the bye.
    """
    if len(sides) % 2:
        yield from ((pairs, bye) for bye in sides for pairs, _ in ways_to_pair([s for s in sides if s != bye]))
    elif not sides:
        yield [], None
    else:
        first, *others = sides
        for second in others:
            for pairs, _ in ways_to_pair([side for side in others if side != second]):
                yield [(first, second), *pairs], None


def badness(pairs: list[tuple[Side, Side]], bye: Side | None, legs: int) -> tuple[int, ...]:
    """Return the costs of a way to pair in the order of `Swiss`, the most important first; without the lot."""
    after = []
    for one, other in pairs:
        less, more = sorted((one.colours, other.colours))
        after += [less + legs % 2, more - legs % 2]
    usual = [one.size // 2 if one.group == other.group else 0 for one, other in pairs]
    return (
        bye.byes if bye else 0,
        -bye.rank if bye else 0,
        sum(abs(colours) > 2 for colours in after),
        sum((one.group - other.group) ** 2 for one, other in pairs),
        sum(colours**2 for colours in after),
        sum((other.rank - one.rank - half) ** 2 for (one, other), half in zip(pairs, usual, strict=True)),
    )


@settings(max_examples=25)
@given(teams=st.integers(2, 8), legs=st.integers(1, 3), seed=SEEDS, roots=st.booleans())
def test_no_other_way_to_pair_a_round_is_better(teams: int, legs: int, seed: int, roots: bool) -> None:
    dice = Random(seed)
    results = (lambda _: (x := dice.gauss(0, 1), -x)) if roots else by_chance(dice)
    tournament = Tournament(make("swiss", seed, rounds=teams, legs=legs), list(range(teams)), results)
    while True:
        sides = sides_before(tournament.teams, tournament.games)
        by_team = {side.team: side for side in sides}
        met = set(pairings_played(tournament.games).values())
        possible = [
            badness(pairs, bye, legs)
            for pairs, bye in ways_to_pair(sides)
            if not any(frozenset((one.team, other.team)) in met for one, other in pairs)
        ]
        new = [
            sorted((by_team[team] for team in p.teams), key=lambda s: s.rank) for p in tournament.issue_pairings()
        ]
        if not new:
            assert not possible or teams == rounds(tournament.games)
            return
        pairs = {(one.rank, other.rank): (one, other) for one, *rest in new for other in rest}
        bye = next((side for side, *rest in new if not rest), None)
        assert badness(list(pairs.values()), bye, legs) == min(possible)
        tournament.finish(tournament.open())


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_pairings_are_those_on_record(event: Event) -> None:
    """A contest is verified by making its pairings again, so they stay what they were."""
    recorded = json.loads(RECORDED.read_text())[event.name]
    assert [[list(pairing.teams) for pairing in round_] for round_ in event.play()] == recorded


def test_the_team_that_was_first_less_often_has_the_first_leg() -> None:
    tournament = Tournament(make("swiss", rounds=2, legs=1), [1, 2, 3, 4], by_strength([1, 2, 3, 4]))
    tournament.issue_pairings()
    tournament.finish(tournament.open())
    balance = colours(tournament.games)
    for pairing in tournament.issue_pairings():
        first, second = pairing.teams
        assert balance[first] <= balance[second]
