"""Othello by its rules, and as every game of getstep has to be."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from getstep_conformance.games import CHECKS
from getstep_engines import GAMES, Game, IllegalMove, State
from getstep_othello import OTHELLO


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_is_a_game_as_every_other(check: Callable[[Game], None]) -> None:
    check(OTHELLO)


def test_getstep_finds_it() -> None:
    assert GAMES["othello"] is OTHELLO


# --- perft ------------------------------------------------------------------------------------------------------


def perft(state: State, depth: int) -> int:
    """Return the number of sequences of ``depth`` moves."""
    if depth == 0 or state.outcome:
        return 1
    total = 0
    for move in state.legal_moves():
        after = state.copy()
        after.play(move)
        total += perft(after, depth - 1)
    return total


@pytest.mark.parametrize(("depth", "sequences"), [*enumerate([4, 12, 56, 244, 1396, 8200], start=1)])
def test_perft_from_the_start(depth: int, sequences: int) -> None:
    assert perft(OTHELLO.start(), depth) == sequences


# --- positions --------------------------------------------------------------------------------------------------


def position(text: str, is_black: bool = True) -> State:
    """Return a position from rows of ``.BW``; rows that are missing are empty."""
    rows = [row.strip() for row in text.split("/")]
    cells = [[".BW".index(cell) for cell in row.ljust(8, ".")] for row in rows]
    return OTHELLO.from_board([*cells, *([0] * 8 for _ in range(8 - len(cells)))], is_black)


def rows_of(state: State) -> list[str]:
    return str(state).replace(" ", "").splitlines()


def test_a_disc_turns_over_all_that_it_encloses_in_every_direction() -> None:
    state = position("B..B..B/.W.W.W./..WWW../BWW.WWB/..WWW../.W.W.W./B..B..B")
    state.play((3, 3))
    assert rows_of(state)[:7] == [
        "B..B..B.",
        ".B.B.B..",
        "..BBB...",
        "BBBBBBB.",
        "..BBB...",
        ".B.B.B..",
        "B..B..B.",
    ]
    assert sum(map(sum, state.board())) == 25, "all discs are Black's"


def test_a_line_with_a_gap_or_without_an_own_disc_is_not_turned() -> None:
    state = position(".W.WB/WW")
    assert list(state.legal_moves()) == [(0, 2)]
    state.play((0, 2))
    assert rows_of(state)[:2] == [".WBBB...", "WW......"]


def test_a_player_without_a_move_is_passed_over() -> None:
    state = position("BW./......../......../......../......../.......W/.......W/.......B")
    state.play((0, 2))
    assert (state.to_move, state.passed, state.outcome) == (0, (1,), None)
    state.play((4, 7))
    assert state.outcome
    assert (state.outcome.winner, state.outcome.scores) == (0, (7, 0))


def test_the_game_ends_when_nobody_can_move() -> None:
    state = position("BW.")
    state.play((0, 2))
    assert state.outcome
    assert (state.outcome.winner, state.outcome.scores, state.outcome.reason) == (
        0,
        (3, 0),
        "Black has 3 discs, White 0",
    )


def test_a_fault_loses() -> None:
    state = OTHELLO.start()
    state.fault()
    assert state.outcome
    assert (state.outcome.winner, state.outcome.scores) == (1, (0, 64))


def test_an_illegal_move_is_explained() -> None:
    with pytest.raises(IllegalMove, match=r"turns over a disc, one of \[\(2, 3\), \(3, 2\), \(4, 5\), \(5, 4\)\]"):
        OTHELLO.start().play((0, 0))
