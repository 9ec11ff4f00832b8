"""Standings are a pure function of the results."""

from __future__ import annotations

import random
from math import sqrt
from typing import Any

import pytest

from getstep_engines import Player
from getstep_server.results import Result, standings
from getstep_server.schedule import Match


def result(
    first: int, second: int, winner: Player | None, scores: tuple[Any, Any] | None = (0, 0), **more: Any
) -> Result:
    match = Match(number=1, round=1, pairing=1, leg=1, first=first, second=second, game="hop")
    fields = {"reason": "finished", "detail": "", "turns": 1, "thought": (0.0, 0.0), "faults": (0, 0)}
    return Result(match=match, winner=winner, scores=scores, started=0.0, seconds=0.0, **{**fields, **more})


def ranks(rows: list[Any]) -> list[tuple[int, int]]:
    return [(row.rank, row.team) for row in rows]


def test_a_win_is_two_points_and_a_draw_one() -> None:
    rows = standings([1, 2, 3], [result(1, 2, 0), result(2, 3, None), result(3, 1, 1)])
    assert [(r.team, r.points, r.won, r.drawn, r.lost) for r in rows] == [
        (1, 4, 2, 0, 0),
        (2, 1, 0, 1, 1),
        (3, 1, 0, 1, 1),
    ]


def test_ties_are_broken_by_wins_then_by_score_difference() -> None:
    # 1 has two draws' worth more draws, 2 has the win; 3 and 4 are apart in score difference only
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
    assert [r.team for r in rows] == [3, 4, 2, 1]
    assert [r.points for r in rows] == [4, 4, 2, 2]
    assert rows[0].difference > rows[1].difference
    assert (rows[2].won, rows[3].won) == (1, 0)


def test_what_is_equal_shares_a_rank() -> None:
    assert ranks(standings([5, 3, 9], [])) == [(1, 3), (1, 5), (1, 9)]
    assert ranks(standings([1, 2, 3], [result(1, 2, None)])) == [(1, 1), (1, 2), (3, 3)]


def test_nobody_came_is_a_loss_for_both() -> None:
    rows = standings([1, 2], [result(1, 2, None, None, reason="never_arrived")])
    assert [(r.points, r.lost, r.drawn) for r in rows] == [(0, 1, 0), (0, 1, 0)]


def test_scores_that_are_no_numbers_make_no_difference() -> None:
    rows = standings([1, 2], [result(1, 2, 0, ((1, 0, 1), (2,)))])
    assert [r.difference for r in rows] == [0, 0]


@pytest.mark.parametrize(("scores", "expected"), [((22, 18), sqrt(4)), ((18, 22), -sqrt(4)), ((7, 7), 0.0)])
def test_signed_roots(scores: tuple[int, int], expected: float) -> None:
    rows = standings([1, 2], [result(1, 2, None, scores)], scoring="signed_roots")
    assert {r.team: r.points for r in rows} == {1: pytest.approx(expected), 2: pytest.approx(-expected)}


def test_the_order_of_the_results_does_not_matter() -> None:
    rng = random.Random(1)
    results = [
        result(a, b, rng.choice([0, 1, None]), (rng.randrange(9), rng.randrange(9)))
        for a in range(5)
        for b in range(5)
        if a != b
    ]
    table = standings(range(5), results)
    for _ in range(5):
        rng.shuffle(results)
        assert standings(range(5), results) == table


def test_who_lost_gains_nothing_from_having_been_ahead() -> None:
    rows = standings([1, 2], [result(1, 2, 1, (30, 2), reason="missed_limit")])
    assert {r.team: r.difference for r in rows} == {1: 0, 2: 0}
