"""Standings are a pure function of the results, and say in their columns why a team stands before another."""

from __future__ import annotations

import random
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from getstep_engines import Player
from getstep_server.config.event import Scoring
from getstep_server.records.match import Match
from getstep_server.records.result import Result
from getstep_server.reports.tables import standings_table
from getstep_server.tournament.combined import Combined, as_shown, combined
from getstep_server.tournament.points import points_of
from getstep_server.tournament.standings import Standing, standings
from getstep_server.validation import ValidationError, validated
from tests.support.contests import make_contest
from tests.support.tournament_host import Host

ROOTS = Scoring(kind="signed_roots")
PERCENTAGE = Scoring(kind="percentage")


def result(
    first: int, second: int, winner: Player | None, scores: tuple[Any, Any] | None = (0, 0), **more: Any
) -> Result:
    match = Match(number=1, round=1, pairing=1, leg=1, first=first, second=second, game="hop")
    fields = {"reason": "finished", "detail": "", "turns": 1, "thought": (0.0, 0.0), "faults": (0, 0)}
    return Result(match=match, winner=winner, scores=scores, started=0.0, seconds=0.0, **{**fields, **more})


def order(rows: list[Standing]) -> list[int]:
    assert [row.rank for row in rows] == list(range(1, len(rows) + 1))
    return [row.team for row in rows]


RESULTS = st.lists(
    st.builds(
        lambda pair, winner, scores: result(pair[0], pair[1], winner, scores),
        st.permutations(range(6)),
        st.sampled_from([0, 1, None]),
        st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
    ),
    max_size=20,
)


# --- points ---------------------------------------------------------------------------------------------------


def test_a_win_is_two_points_and_a_draw_one() -> None:
    rows = standings([1, 2, 3], [result(1, 2, 0), result(2, 3, None), result(3, 1, 1)])
    assert [(r.points, r.won, r.drawn, r.lost) for r in rows] == [(4, 2, 0, 0), (1, 0, 1, 1), (1, 0, 1, 1)]
    assert rows[0].team == 1


def test_points_can_be_set() -> None:
    rows = standings([1, 2, 3], [result(1, 2, 0), result(2, 3, None)], scoring=Scoring(win=3, draw=0.5, loss=-1))
    assert {row.team: row.points for row in rows} == {1: 3, 2: -0.5, 3: 0.5}


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"draw": 3}, "a value from loss, 0, to win, 2"),
        ({"loss": 1.5}, "a value from loss, 1.5, to win, 2"),
        ({"win": float("inf")}, "win"),
        ({"win": "2"}, "win"),
        ({"kind": "elo"}, "kind"),
        ({"bonus": 1}, "bonus"),
    ],
)
def test_points_that_make_no_sense_are_refused(wrong: dict[str, Any], where: str) -> None:
    with pytest.raises(ValidationError, match=where):
        validated(Scoring, wrong)


def test_a_match_without_players_is_a_loss_for_both() -> None:
    nobody = result(1, 2, None, None, reason="never_arrived")
    rows = standings([1, 2], [nobody])
    assert [(r.points, r.lost, r.drawn) for r in rows] == [(0, 1, 0), (0, 1, 0)]
    assert points_of(Scoring(loss=-1), nobody) == (-1, -1)


def test_scores_that_are_no_numbers_make_no_difference() -> None:
    rows = standings([1, 2], [result(1, 2, 0, ((1, 0, 1), (2,)))])
    assert [r.difference for r in rows] == [0, 0]


def test_a_loser_that_was_ahead_keeps_no_difference() -> None:
    rows = standings([1, 2], [result(1, 2, 1, (30, 2), reason="missed_limit")])
    assert {r.team: r.difference for r in rows} == {1: 0, 2: 0}


@pytest.mark.parametrize(("scores", "expected"), [((22, 18), sqrt(4)), ((18, 22), -sqrt(4)), ((7, 7), 0.0)])
def test_signed_roots(scores: tuple[int, int], expected: float) -> None:
    played = result(1, 2, None, scores)
    assert points_of(ROOTS, played) == (expected, -expected)
    rows = standings([1, 2], [played, played], scoring=ROOTS)
    assert {r.team: r.points for r in rows} == {1: pytest.approx(2 * expected), 2: pytest.approx(-2 * expected)}


def test_percentages_by_seat() -> None:
    results = [*[result(1, 2, 0)] * 3, result(1, 2, 1), result(2, 1, None), result(2, 1, 1)]
    first, second, idle = standings([1, 2, 3], results, scoring=PERCENTAGE)
    assert (first.team, second.team) == (1, 2)
    assert first.points == pytest.approx(100 * 4 / 6, abs=1e-6)
    assert (first.percentage_as_first, first.percentage_as_second) == (75, 50)
    assert (second.percentage_as_first, second.percentage_as_second) == (0, 25)
    assert (idle.points, idle.percentage_as_first) == (0, None)
    assert points_of(PERCENTAGE, result(1, 2, None)) == (0, 0)


def test_a_bye_is_worth_a_win_and_is_not_played() -> None:
    rows = standings([1, 2], [result(1, 2, None)], byes={2: 2})
    assert [(r.team, r.points, r.byes, r.played, r.won) for r in rows] == [(2, 5, 2, 1, 0), (1, 1, 0, 1, 0)]
    assert {r.points for r in standings([1, 2], [], byes={2: 2}, scoring=ROOTS)} == {0}
    assert {r.points for r in standings([1, 2], [], byes={2: 2}, scoring=PERCENTAGE)} == {0}


# --- the order of teams ---------------------------------------------------------------------------------------


def test_ties_are_broken_by_wins_then_by_score_difference() -> None:
    rows = standings(
        [1, 2, 3, 4],
        [
            result(1, 3, None),
            result(1, 4, None),
            result(2, 1, 0, (3, 1)),
            result(3, 4, None, (5, 5)),
            result(4, 2, 0, (9, 2)),
            result(3, 2, 0, (9, 1)),
        ],
    )
    assert order(rows) == [3, 4, 2, 1]
    assert [r.points for r in rows] == [4, 4, 2, 2]
    assert rows[0].difference > rows[1].difference
    assert (rows[2].won, rows[3].won) == (1, 0)
    assert {r.lot for r in rows} == {r.direct for r in rows} == {None}


def test_the_direct_encounter() -> None:
    """1, 2 and 3 are level; among themselves 3 has beaten both, and 2 and 1 have drawn: the lot parts those."""
    results = [result(3, 1, 0), result(2, 3, 1), result(1, 2, None), result(1, 2, None)]
    results += [result(1, 3, 1), result(3, 2, 0)]
    level = [result(1, 9, 0), result(1, 9, 0), result(2, 9, 0), result(2, 9, 0), *[result(3, 9, 1)] * 2]
    rows = standings([1, 2, 3, 9], results + level, tie_breaks=["direct"])
    assert {row.team: row.points for row in rows} == {1: 6, 2: 6, 3: 8, 9: 4}
    losses = [*results, *level, *[result(1, 8, 0)], *[result(2, 8, 0)]]
    rows = standings([1, 2, 3, 8, 9], losses, tie_breaks=["direct"])
    assert rows[0].team == 3
    assert {row.team: row.direct for row in rows} == {1: 2, 2: 2, 3: 8, 8: None, 9: None}
    assert {row.lot for row in rows if row.team in (1, 2)} == {1, 2}


@pytest.mark.parametrize("results", [[], [result(1, 2, 0), result(4, 1, 0), result(2, 4, 0)]])
def test_no_direct_encounter_unless_all_have_played_equally_often(results: list[Result]) -> None:
    rows = standings([1, 2, 3], [r for r in results if 4 not in r.match.teams], tie_breaks=["direct"])
    assert {row.direct for row in rows if row.points == 0} == {None}


def test_buchholz_is_the_opponents_points() -> None:
    results = [result(1, 2, 0), result(3, 4, 0), result(1, 5, None), result(3, 6, None), result(2, 6, 0)]
    rows = standings(range(1, 7), results, tie_breaks=["buchholz"], byes={5: 1})
    values = {row.team: (row.points, row.buchholz) for row in rows}
    assert values == {1: (3, 5), 2: (2, 4), 3: (3, 1), 4: (0, 3), 5: (3, 6), 6: (1, 5)}
    assert order(rows) == [5, 1, 3, 2, 6, 4]
    assert {row.buchholz for row in standings(range(1, 7), results)} == {None}


def test_the_formats_own_places_come_first() -> None:
    rows = standings([1, 2, 3, 4], [result(1, 2, 0), result(1, 3, 0), result(3, 4, 0)], places={2: 1, 3: 2, 1: 2})
    assert order(rows) == [2, 1, 3, 4]
    assert [row.place for row in rows] == [1, 2, 2, None]


def test_until_the_event_is_over_a_team_without_a_result_is_last_and_has_no_rank(tmp_path: Path) -> None:
    """After it, the points alone count; before the first result nobody has a rank."""
    host = Host(make_contest(tmp_path, 4))
    event = host.contest.events[0]
    first, *_ = host.issue_pairings()
    rows = host.tournament.table(event)
    assert [row.waiting for row in rows] == [True] * 4
    assert standings_table(host.contest, event, rows).columns[0].cells == ["-"] * 4
    host.play(first, strong=first.first)
    rows = host.tournament.table(event)
    assert [row.team for row in as_shown(rows)[:2]] == [first.first, first.second]
    table = standings_table(host.contest, event, rows)
    assert table.columns[0].cells == ["1", "2", "-", "-"]
    assert "lot" not in [column.heading for column in table.columns]
    host.play_all()
    assert not any(row.waiting for row in host.tournament.table(event))
    losing = [result(1, 2, 0, (9, 0))]
    assert order(standings([1, 2, 3], losing)) == [1, 3, 2]
    rows = standings([1, 2, 3], losing, under_way=True)
    assert order(rows) == [1, 3, 2]  # as exports have it
    assert order(as_shown(rows)) == [1, 2, 3]
    both = combined([1, 2, 3], {"A": rows, "B": standings([3], [], under_way=True)})
    assert [(row.team, row.waiting) for row in as_shown(both)] == [(1, False), (2, False), (3, True)]


def test_until_the_event_is_over_an_absent_team_is_below_one_that_has_lost() -> None:
    """Its forfeits cost no score difference: by the criteria alone it would be the second."""
    forfeits = [replace(result(winner, team, 0), reason="never_arrived") for team in (3, 4) for winner in (1, 2)]
    nobody = replace(result(3, 4, None), reason="never_arrived")
    lost = [result(1, 2, 0, (9, 0)), result(1, 5, 0, (9, 0))]
    rows = standings([1, 2, 3, 4, 5], [*lost, *forfeits, nobody], under_way=True)
    shown = as_shown(rows)
    assert order(shown)[:3] == [1, 2, 5]
    assert [row.waiting for row in shown] == [False, False, False, True, True]
    assert [(row.played, row.points) for row in shown if row.team in (3, 4)] == [(3, 0), (3, 0)]
    final = standings([1, 2, 3, 4, 5], [*lost, *forfeits, nobody])
    assert order(final) == order(rows)
    assert order(final)[4] == 5


def test_lots_decide_the_remaining_ties() -> None:
    rows = standings([5, 3, 9], [], seed=1)
    assert [row.lot for row in rows] == [1, 2, 3]
    assert sorted(order(rows)) == [3, 5, 9]
    assert len({tuple(order(standings([5, 3, 9], [], seed=seed))) for seed in range(50)}) == 6


def test_another_team_changes_nobodys_lot() -> None:
    for seed in range(10):
        fewer, more = (order(standings(teams, [], seed=seed)) for teams in ([1, 2, 3], [1, 2, 3, 4]))
        assert [team for team in more if team != 4] == fewer


@given(results=RESULTS, seed=st.integers(0, 99), roots=st.booleans(), rng=st.randoms(use_true_random=False))
def test_the_table_depends_only_on_its_arguments(
    results: list[Result], seed: int, roots: bool, rng: random.Random
) -> None:
    scoring = ROOTS if roots else Scoring()
    teams = list(range(6))
    table = standings(teams, results, scoring=scoring, seed=seed)
    rng.shuffle(results)
    rng.shuffle(teams)
    assert standings(teams, results, scoring=scoring, seed=seed) == table
    assert sorted(order(table)) == list(range(6))
    assert sum(row.won for row in table) == sum(row.lost for row in table)
    assert sum(row.difference for row in table) == 0
    assert sum(row.played for row in table) == 2 * len(results)


@given(results=RESULTS)
def test_the_columns_show_the_deciding_criteria(results: list[Result]) -> None:
    """Read from left to right, the first column in which two neighbours differ puts the upper one first."""
    for upper, lower in pairwise(
        standings(range(6), results, tie_breaks=["won", "difference", "direct", "buchholz"])
    ):
        reasons = [
            (upper.points, lower.points),
            (upper.won, lower.won),
            (upper.difference, lower.difference),
            (upper.direct or 0, lower.direct or 0),
            (upper.buchholz or 0, lower.buchholz or 0),
            (-(upper.lot or 0), -(lower.lot or 0)),
        ]
        one, other = next(pair for pair in reasons if pair[0] != pair[1])
        assert one > other


# --- several events -------------------------------------------------------------------------------------------


def table(*levels: set[int]) -> list[Standing]:
    """Return a table in which the teams of each set are level but for the lot."""
    points = {team: len(levels) - index for index, level in enumerate(levels) for team in level}
    rows = standings(points, [], places={team: -value for team, value in points.items()})
    assert [row.place for row in rows] == sorted(-value for value in points.values())
    return [replace(row, played=1) for row in rows]


def shares(rows: list[Combined]) -> dict[int, dict[str, float]]:
    return {row.team: row.shares for row in rows}


def test_shares_of_rivals_behind() -> None:
    rows = combined([1, 2, 3, 4, 5, 6], {"hop": table({1}, {2}, {3}, {4}, {5}), "linkage": table({3}, {1}, {2})})
    assert shares(rows) == {
        1: {"hop": 100, "linkage": 50},
        2: {"hop": 75, "linkage": 0},
        3: {"hop": 50, "linkage": 100},
        4: {"hop": 25},
        5: {"hop": 0},
        6: {},
    }
    assert [(row.rank, row.total, row.firsts) for row in rows[:4]] == [
        (1, 150, 1),
        (2, 150, 1),
        (3, 75, 0),
        (4, 25, 0),
    ]
    assert [row.lot for row in rows] == [1, 2, None, None, 1, 2]


def test_an_event_counts_from_its_first_result_on() -> None:
    """A ladder has places before anything is played; its seeding is no merit of a team."""
    ladder = [replace(row, played=0) for row in table({1}, {2}, {3})]
    rows = combined([1, 2, 3], {"hop": ladder, "linkage": ladder}, seed=1)
    assert [(row.total, row.firsts, row.shares) for row in rows] == [(0, 0, {})] * 3
    played = [replace(row, played=int(row.team < 3)) for row in ladder]
    rows = combined([1, 2, 3], {"hop": ladder, "linkage": played})
    assert shares(rows) == {1: {"linkage": 100}, 2: {"linkage": 50}, 3: {"linkage": 0}}


def test_teams_separated_by_lot_share_their_percentage() -> None:
    rows = combined([1, 2, 3, 4], {"hop": table({4}, {1, 2}, {3})})
    assert shares(rows) == {4: {"hop": 100}, 1: {"hop": 50}, 2: {"hop": 50}, 3: {"hop": 0}}
    rows = combined([1, 2, 3, 4, 5], {"hop": table({1, 2, 3}, {4, 5})})
    assert shares(rows) == {team: {"hop": 75 if team < 4 else 12.5} for team in range(1, 6)}
    assert {row.firsts for row in rows} == {0}


def test_more_events_won_break_a_tie() -> None:
    events = {"a": table({1}, {2}, {3}), "b": table({3}, {2}, {1})}
    rows = combined([1, 2, 3], events)
    assert [row.total for row in rows] == [100, 100, 100]
    assert [row.firsts for row in rows] == [1, 1, 0]
    assert rows[-1].team == 2


def test_an_event_with_one_team_gives_it_nothing() -> None:
    (row,) = combined([1], {"hop": table({1})})
    assert (row.rank, row.total, row.lot) == (1, 0, None)


def test_the_seed_draws_the_combined_lot() -> None:
    orders = {tuple(row.team for row in combined([1, 2, 3], {}, seed=seed)) for seed in range(50)}
    assert len(orders) == 6
