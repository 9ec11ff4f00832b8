"""linkage's placements, skips, groups and ends, by hand and against the rules on plain lists."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from benchmarks import plain
from getstep_engines import GAMES, IllegalMove, State
from tests.support.quick import each

LINKAGE = GAMES["linkage"]
CELLS = {"x": -2, "X": -1, ".": 0, "R": 1, "B": 2, "G": 3, "Y": 4}

Domino = tuple[str, tuple[int, int], tuple[int, int]]


def drawn(text: str) -> plain.Board:
    return [[CELLS[cell] for cell in line.split()] for line in text.strip().splitlines()]


def position(text: str, *, is_black: bool = True) -> State:
    return LINKAGE.from_board(drawn(text), is_black)


def random_game(seed: int) -> Iterator[State]:
    """Yield the same state before each move of a random game, and at its end."""
    dice = Random(seed)
    state = LINKAGE.start()
    yield state
    while state.outcome is None:
        state.play(dice.choice(list(state.legal_moves())))
        yield state


EMPTY = """
. . . . . . .
. . . . . . .
. . . . . . .
. . . X . . .
. . . . . . .
. . . . . . .
. . . . . . .
"""

# --- placements -------------------------------------------------------------------------------------------------


def test_it_starts_empty_but_for_the_centre_and_more_moves_first() -> None:
    state = LINKAGE.start()
    assert state.board() == drawn(EMPTY)
    assert str(state) == EMPTY.strip()
    assert (state.to_move, state.passed, state.outcome) == (0, (), None)
    assert LINKAGE.players == ("More", "Fewer")
    assert len(list(state.legal_moves())) == 4 * 80


def test_the_lower_square_comes_first_and_either_order_is_accepted() -> None:
    moves = list(LINKAGE.start().legal_moves())
    assert all(first < second for _, first, second in moves)
    one, other = LINKAGE.start(), LINKAGE.start()
    one.play(("G", (2, 3), (1, 3)))
    other.play(["G", [1, 3], [2, 3]])
    assert str(one) == str(other)


def test_no_square_next_to_the_opponents_last_domino_may_be_covered() -> None:
    state = LINKAGE.start()
    state.play(("R", (2, 3), (2, 4)))
    assert (
        str(state)
        == """
. . . . . . .
. . . x x . .
. . x R R x .
. . . X x . .
. . . . . . .
. . . . . . .
. . . . . . .
""".strip()
    )
    state.play(("R", (6, 5), (6, 6)))  # and now the first domino is the player's own
    assert state.is_legal(("B", (1, 3), (1, 4)))
    assert not state.is_legal(("B", (6, 3), (6, 4)))


def test_a_domino_next_to_the_players_own_last_one_is_legal() -> None:
    state = LINKAGE.start()
    for move in [("R", (0, 0), (0, 1)), ("R", (6, 5), (6, 6)), ("R", (0, 2), (0, 3))]:
        state.play(move)
    assert state.board()[0] == [1, 1, 1, 1, -2, 0, 0]
    assert state.board()[1] == [0, 0, -2, -2, 0, 0, 0]


@pytest.mark.parametrize(
    ("move", "lesson"),
    [
        (None, r"the move is None; expected \(colour, \(row, column\), \(row, column\)\)"),
        ("Skip", "the move is 'Skip'; expected"),
        (("O", (5, 0), (5, 1)), "the colour is 'O'; expected one of R, B, G, Y"),
        (("R", (5, 0), (5, 1)), "all 6 dominoes of colour R are placed; expected one of B, G, Y"),
        (("B", (5, 0), (5, 2)), r"\(5, 0\) and \(5, 2\) are not orthogonally adjacent"),
        (("B", (5, 0), (6, 1)), "are not orthogonally adjacent"),
        (("B", (4, 6), (5, 0)), "are not orthogonally adjacent"),
        (("B", (5, 0), (5, 0)), "are not orthogonally adjacent"),
        (("B", (5, 0), (7, 0)), r"\(7, 0\) is not a square"),
        (("B", (3, 2), (3, 3)), r"\(3, 3\) is the blocked centre"),
        (("B", (1, 2), (2, 2)), r"\(1, 2\) is already covered"),
        (("B", (2, 4), (2, 5)), r"\(2, 5\) touches the domino that Fewer placed in its last turn"),
    ],
)
def test_a_refusal_teaches(move: object, lesson: str) -> None:
    state = position("""
        R R R R R R R
        R R R R R . .
        . . . . . x .
        . . . X x Y x
        . . . . x Y x
        . . . . . x .
        . . . . . . .
    """)
    with pytest.raises(IllegalMove, match=lesson):
        state.play(move)


def test_a_mark_is_no_covered_square() -> None:
    state = position("""
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . X . . .
        . . . . . . .
        . . . . . x x
        . . . . x Y Y
    """)
    assert not state.is_legal(("B", (5, 4), (5, 5)))
    assert state.is_legal(("B", (5, 3), (5, 4)))


# --- skips and ends ---------------------------------------------------------------------------------------------

LAST_CORNER = """
. . R R R R R
. . R R R R R
R R B B B B B
B B B X B B B
B G G G G G G
G G G G G G Y
Y Y Y Y Y Y Y
"""
"""Two yellow dominoes are left, and room for both in the corner."""


def test_decision_a_player_without_a_placement_is_passed_over_and_the_opponent_then_plays_anywhere() -> None:
    state = position(LAST_CORNER)
    state.play(("Y", (0, 0), (0, 1)))
    assert (state.to_move, state.passed, state.outcome) == (0, (1,), None)
    assert state.board()[1][:2] == [0, 0], "there is no last domino to touch"
    assert not state.is_legal(None), "a skip is never asked for"
    assert list(state.legal_moves()) == [("Y", (1, 0), (1, 1))]


def test_the_game_ends_when_all_dominoes_are_placed() -> None:
    state = position(LAST_CORNER)
    state.play(("Y", (0, 0), (0, 1)))
    state.play(("Y", (1, 0), (1, 1)))
    assert (state.passed, list(state.legal_moves())) == ((), [])
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (1, (6, 6))


def test_the_game_ends_when_no_domino_fits_anywhere() -> None:
    state = position(LAST_CORNER.replace(". . R", ". Y R", 1).replace(". . R", "Y . R", 1))
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (1, (7, 7))


def test_a_board_on_which_the_player_must_skip_is_its_opponents() -> None:
    state = position(LAST_CORNER.replace(". . R", "Y Y R", 1).replace(". . R", "x x R", 1), is_black=False)
    assert (state.to_move, state.passed, state.outcome) == (0, (1,), None)
    assert list(state.legal_moves()) == [("Y", (1, 0), (1, 1))]


def test_a_fault_loses() -> None:
    state = LINKAGE.start()
    state.play(("R", (0, 0), (0, 1)))
    state.fault()
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (0, (1, 1))
    assert state.outcome.reason == "Fewer made a fault"


@pytest.mark.parametrize(("groups", "winner"), [(11, 1), (12, 0)])
def test_more_wins_from_twelve_groups_on(groups: int, winner: int) -> None:
    found = [state for state in map(final, range(2000)) if plain.linkage_groups(state.board()) == groups]
    assert found
    for state in found:
        assert state.outcome is not None
        assert (state.outcome.winner, state.outcome.scores) == (winner, (groups, groups))
        assert state.outcome.reason == f"{groups} groups, and More needs 12"


def final(seed: int) -> State:
    *_, state = random_game(seed)
    return state


# --- against the rules on plain lists -----------------------------------------------------------------------------


def marked(board: plain.Board, last: Domino | None) -> plain.Board:
    """Return the board as its player gets it: -2 where an empty square touches the opponent's last domino."""
    touched = {near for square in (last[1:] if last else ()) for near in plain.around(square, 7)}
    return [
        [-2 if cell in (0, -2) and (r, c) in touched else 0 if cell == -2 else cell for c, cell in enumerate(row)]
        for r, row in enumerate(board)
    ]


@each("seed", range(150))
def test_whole_games_go_as_on_plain_lists(seed: int) -> None:
    dice = Random(seed)
    state, board = LINKAGE.start(), drawn(EMPTY)
    to_move, last = 0, None
    while state.outcome is None:
        assert (state.to_move, state.board()) == (to_move, marked(board, last))
        assert set(state.legal_moves()) == set(plain.linkage_moves(state.board()))
        last = dice.choice(list(state.legal_moves()))
        state.play(last)
        colour, *squares = last
        for row, column in squares:
            board[row][column] = CELLS[colour]
        to_move = 1 - to_move
        skips = not any(plain.linkage_moves(marked(board, last))) and any(plain.linkage_moves(board))
        assert state.passed == ((to_move,) if skips else ())
        if skips:
            to_move, last = 1 - to_move, None
    assert not any(plain.linkage_moves(board))
    assert state.board() == board
    groups = plain.linkage_groups(board)
    assert (state.outcome.winner, state.outcome.scores) == (0 if groups >= 12 else 1, (groups, groups))


def test_skips_happen_to_both_players() -> None:
    skips = {state.passed for seed in range(300) for state in random_game(seed)}
    assert skips == {(), (0,), (1,)}


# --- boards -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [("X", "."), (". . . X", "X . . X"), ("X .", ". X")])
def test_only_the_centre_is_blocked(change: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=r"expected \(3, 3\) alone"):
        position(EMPTY.replace(*change, 1))


@pytest.mark.parametrize("colour", "RBGY")
@pytest.mark.parametrize("squares", [1, 3, 13, 14])
def test_a_colour_has_two_squares_for_each_of_its_dominoes(colour: str, squares: int) -> None:
    with pytest.raises(ValueError, match=f"{squares} squares are {colour}; expected an even number up to 12"):
        position(EMPTY.replace(".", colour, squares))
