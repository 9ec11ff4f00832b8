"""pseudo_tonga's points against a plain reference, its option, and its penalty."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from getstep_engines import GAMES, IllegalMove
from getstep_engines.pseudo_tonga import score

PSEUDO_TONGA = GAMES["pseudo_tonga"]
SIZES = range(6, 17, 2)

Square = tuple[int, int]


def bits(squares: set[Square], size: int) -> int:
    return sum(1 << row * (size + 1) + column for row, column in squares)


def reference(squares: set[Square]) -> int:
    """Return the sum of the squares of the sizes of the isles, square by square."""
    points, rest = 0, set(squares)
    while rest:
        isle = [rest.pop()]
        for row, column in isle:
            near = {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)} & rest
            rest -= near
            isle += near
        points += len(isle) ** 2
    return points


EXAMPLE = """
W W B B
W B W W
B W B B
B W W B
"""


def test_the_worked_example() -> None:
    rows = [line.split() for line in EXAMPLE.strip().splitlines()]
    black, white = (
        {(r, c) for r, row in enumerate(rows) for c, cell in enumerate(row) if cell == colour} for colour in "BW"
    )
    assert score(bits(black, 4), 4) == 18
    assert score(bits(white, 4), 4) == 22


@pytest.mark.parametrize("size", SIZES)
def test_players_alternate_until_the_board_is_full(size: int) -> None:
    state = PSEUDO_TONGA.start(size=size)
    for turn in range(size * size):
        assert (state.outcome, state.to_move, state.passed) == (None, turn % 2, ())
        state.play(divmod(turn, size))
    assert state.outcome is not None
    # With an even side every column is one isle, and each player has half of them.
    assert (state.outcome.winner, state.outcome.scores) == (None, (size**3 // 2, size**3 // 2))
    assert list(state.legal_moves()) == []
    with pytest.raises(IllegalMove, match="the game is over"):
        state.play((0, 0))
    with pytest.raises(IllegalMove, match="the game is over"):
        state.fault()


def test_the_default_board_is_eight_by_eight() -> None:
    assert [len(row) for row in PSEUDO_TONGA.start().board()] == [8] * 8


@pytest.mark.parametrize("size", [4, 5, 7, 15, 17, 18, 0, -8, True, 8.0, "8", None])
def test_other_sizes_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match="expected a whole number from 6 to 16 in steps of 2"):
        PSEUDO_TONGA.start(size=size)


@pytest.mark.parametrize(
    ("rows", "winner", "scores"),
    [
        (["111111"] * 4 + ["222222"] * 2, 0, (24**2, 12**2)),
        (["111111"] * 2 + ["222222"] * 4, 1, (12**2, 24**2)),
        (["111111"] * 3 + ["222222"] * 3, None, (18**2, 18**2)),
        (["121212", "212121"] * 3, None, (18, 18)),
        (["111111", "222222"] * 3, None, (3 * 36, 3 * 36)),
    ],
)
def test_more_points_win(rows: list[str], winner: int | None, scores: tuple[int, int]) -> None:
    state = PSEUDO_TONGA.from_board([[int(cell) for cell in row] for row in rows], is_black=True)
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (winner, scores)
    assert state.outcome.reason == f"Black has {scores[0]} points, White {scores[1]}"


def test_the_last_stone_may_join_isles() -> None:
    rows = ["112211", "112211", "110211", "222222", "222222", "222222"]
    state = PSEUDO_TONGA.from_board([[int(cell) for cell in row] for row in rows], is_black=False)
    assert state.outcome is None
    state.play((2, 2))
    assert state.outcome is not None
    assert state.outcome.scores == (2 * 6**2, 24**2)


def test_a_fault_gives_every_empty_square_to_the_opponent_and_scores_that() -> None:
    state = PSEUDO_TONGA.start(size=6)
    state.play((0, 0))
    state.play((5, 5))
    state.play((0, 1))
    state.fault()
    assert state.outcome is not None
    assert state.board() == [[1] * 6] * 5 + [[1] * 5 + [2]]
    assert (state.outcome.winner, state.outcome.scores) == (0, (35**2, 1))
    assert state.outcome.reason.startswith("White made a fault")
    assert list(state.legal_moves()) == []


def test_a_fault_of_black_fills_the_board_with_white() -> None:
    state = PSEUDO_TONGA.start(size=6)
    state.fault()
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (1, (0, 36**2))


def test_a_player_may_win_in_spite_of_its_fault() -> None:
    rows = ["111111"] * 5 + ["222220"]
    state = PSEUDO_TONGA.from_board([[int(cell) for cell in row] for row in rows], is_black=True)
    state.fault()
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (0, (30**2, 6**2))


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (None, r"None is not a square of the 6x6 board; a square is \(row, column\), and both go from 0 to 5"),
        ("00", "'00' is not a square"),
        (b"00", "is not a square"),
        ([0], "is not a square"),
        ([0, 1, 2], "is not a square"),
        ([False, 1], r"\[False, 1\] is not a square"),
        ([0.0, 1], "is not a square"),
        ([float("nan"), 1], "is not a square"),
        ([2**64, 1], "is not a square"),
        ([0, -1], "is not a square"),
        ([0, 6], r"\[0, 6\] is not a square"),
        ([6, 0], r"\[6, 0\] is not a square"),
        ([[0], [1]], "is not a square"),
        ({"row": 0, "column": 1}, "is not a square"),
        ([2, 2], r"\(2, 2\) is occupied; a piece goes on an empty square"),
    ],
)
def test_an_illegal_move_says_what_was_expected_and_changes_nothing(move: object, message: str) -> None:
    state = PSEUDO_TONGA.start(size=6)
    state.play((2, 2))
    before = state.board()
    assert not state.is_legal(move)
    with pytest.raises(IllegalMove, match=message):
        state.play(move)
    assert (state.board(), state.to_move, state.outcome) == (before, 1, None)


def test_the_board_as_text() -> None:
    state = PSEUDO_TONGA.start(size=6)
    state.play((0, 1))
    state.play((5, 5))
    assert str(state) == "\n".join([". B . . . .", *[". . . . . ."] * 4, ". . . . . W"])


@pytest.mark.parametrize("size", SIZES)
def test_legal_moves_are_the_empty_squares_row_by_row(size: int) -> None:
    state = PSEUDO_TONGA.start(size=size)
    squares = [(row, column) for row in range(size) for column in range(size)]
    assert list(state.legal_moves()) == squares
    state.play(squares.pop())
    assert list(state.legal_moves()) == squares


def test_a_copy_is_independent() -> None:
    state = PSEUDO_TONGA.start(size=10)
    twin = state.copy()
    twin.play((9, 9))
    assert (state.board()[9][9], state.to_move) == (0, 0)
    assert (twin.board()[9][9], twin.to_move) == (1, 1)


@pytest.mark.parametrize("board", [None, [], 8, [[0] * 4] * 4, [[0] * 7] * 7, [[0] * 8] * 6, [[0] * 5 + [3]] * 6])
def test_a_board_of_another_form_is_refused(board: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="expected"):
        PSEUDO_TONGA.from_board(board, is_black=True)


@given(st.data(), st.sampled_from(SIZES))
def test_points_equal_the_reference(data: st.DataObject, size: int) -> None:
    cells = data.draw(st.lists(st.integers(0, 2), min_size=size * size, max_size=size * size))
    colours = [{divmod(n, size) for n, cell in enumerate(cells) if cell == colour} for colour in (0, 1, 2)]
    empty, black, white = colours
    assert score(bits(black, size), size) == reference(black)
    state = PSEUDO_TONGA.from_board([cells[n : n + size] for n in range(0, size * size, size)], is_black=True)
    if empty:
        state.fault()
    assert state.outcome is not None
    assert state.outcome.scores == (reference(black), reference(white | empty))
