"""The house bot plays exactly what a search without any cleverness plays."""

from __future__ import annotations

from random import Random

import pytest

from getstep_bots.house_pseudo_tonga import get_step
from getstep_engines import GAMES

Board = list[list[int]]
Square = tuple[int, int]


def around(row: int, column: int) -> list[Square]:
    return [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]


def score(board: Board, colour: int) -> int:
    """Return the sum of ``area² × perimeter`` over the isles of one colour."""
    rest = {(r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if cell == colour}
    total = 0
    while rest:
        isle = [rest.pop()]
        for square in isle:
            near = rest.intersection(around(*square))
            rest -= near
            isle += near
        perimeter = sum(near not in isle for square in isle for near in around(*square))
        total += len(isle) ** 2 * perimeter
    return total


def search(board: Board, mine: int, mover: int, plies: int) -> tuple[int, Square | None]:
    """Return the value of ``board`` for ``mine``, and the first of the best moves, row by row."""
    empty = [(r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if not cell]
    if not plies or not empty:
        return score(board, mine) - score(board, 3 - mine), None
    best: tuple[int, Square] | None = None
    for row, column in empty:
        board[row][column] = mover
        value, _ = search(board, mine, 3 - mover, plies - 1)
        board[row][column] = 0
        if best is None or (value > best[0] if mover == mine else value < best[0]):
            best = value, (row, column)
    assert best
    return best


def random_board(dice: Random, size: int, empty: int) -> Board:
    """Return a board with this many empty squares, its stones laid in streaks: some boards have large isles."""
    squares = [(row, column) for row in range(size) for column in range(size)]
    holes = dice.sample(squares, empty)
    board = [[0] * size for _ in range(size)]
    colour = 1
    for row, column in squares:
        colour = 3 - colour if dice.random() < dice.choice((0.1, 0.5, 0.9)) else colour
        board[row][column] = 0 if (row, column) in holes else colour
    return board


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["1"], 1 * 4),
        (["11"], 4 * 6),
        (["11", "11"], 16 * 8),
        (["111", "101", "111"], 64 * (12 + 4)),
        (["1.1", "111"], 25 * 12),
        (["12", "21"], 2 * 4),
    ],
)
def test_the_score_of_isles_drawn_by_hand(rows: list[str], expected: int) -> None:
    board = [[int(cell) if cell != "." else 0 for cell in row] for row in rows]
    assert score(board, 1) == expected


def test_a_search_done_by_hand() -> None:
    # Three in one isle (9 × 8) against two (4 × 6); (0, 1) is the first square that gets there.
    board = [[1, 0, 0], [0, 0, 0], [0, 0, 2]]
    assert search(board, 1, 1, 3) == (72 - 24, (0, 1))
    assert get_step(board, True) == (0, 1)


@pytest.mark.parametrize("empty", [1, 2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("is_black", [True, False], ids=["black", "white"])
def test_it_plays_what_a_plain_search_of_three_plies_plays(empty: int, is_black: bool) -> None:
    dice = Random(f"{empty} {is_black}")
    mine = 1 if is_black else 2
    for _ in range(60 if empty < 8 else 15):
        board = random_board(dice, dice.choice((3, 4, 6)), empty)
        assert get_step(board, is_black) == search(board, mine, mine, 3)[1], board


@pytest.mark.parametrize("stones", range(1, 8))
def test_it_plays_what_a_plain_search_plays_on_a_nearly_empty_board(stones: int) -> None:
    dice = Random(stones)
    for _ in range(4):
        board = random_board(dice, 4, 16 - stones)
        for mine in (1, 2):
            assert get_step(board, mine == 1) == search(board, mine, mine, 3)[1], board


@pytest.mark.parametrize("size", range(6, 17, 2))
def test_it_begins_in_the_middle_of_the_board(size: int) -> None:
    row, column = get_step([[0] * size for _ in range(size)], True)
    assert {row, column} <= {size // 2 - 1, size // 2}


def test_equal_moves_go_to_the_lowest_row_and_then_column() -> None:
    board = [[0] * 6 for _ in range(6)]
    board[3][3] = 2
    assert get_step(board, True) == search(board, 1, 1, 3)[1] == (0, 0)


def test_it_does_not_change_the_board_it_is_shown() -> None:
    board = random_board(Random(1), 6, 20)
    before = [row[:] for row in board]
    get_step(board, True)
    assert board == before


def test_it_plays_whole_games_against_itself() -> None:
    state = GAMES["pseudo_tonga"].start(size=6)
    while not state.outcome:
        state.play(get_step(state.board(), state.to_move == 0))
    assert min(state.outcome.scores) > 0
