"""longest_path's counting against a plain reference, its comparison of results, and its ends."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from getstep_engines import GAMES, IllegalMove, State
from getstep_engines.longest_path import Counts, count_lengths, score

LONGEST_PATH = GAMES["longest_path"]

Square = tuple[int, int]
Squares = frozenset[Square]

ALL = frozenset((row, column) for row in range(11) for column in range(11))


def bits(squares: Squares) -> int:
    return sum(1 << row * 12 + column for row, column in squares)


def drawn(text: str, piece: str) -> Squares:
    rows = [line.split() for line in text.strip().splitlines()]
    return frozenset((r, c) for r, row in enumerate(rows) for c, cell in enumerate(row) if cell == piece)


def full_board(first: Squares) -> list[list[int]]:
    return [[1 if (row, column) in first else 2 for column in range(11)] for row in range(11)]


def distances(source: Square, within: Squares) -> dict[Square, int]:
    found = {source: 0}
    todo = deque([source])
    while todo:
        row, column = todo.popleft()
        for near in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if near in within and near not in found:
                found[near] = found[row, column] + 1
                todo.append(near)
    return found


def reference(squares: Squares) -> Counts:
    """Return the groups per length, from a search that starts at every square."""
    counts = [0] * 122
    rest = set(squares)
    while rest:
        group = distances(min(rest), squares).keys()
        counts[1 + max(max(distances(square, squares).values()) for square in group)] += 1
        rest -= group
    longest = max((length for length, count in enumerate(counts) if count), default=0)
    return tuple(counts[1 : longest + 1])


EXAMPLE = """
x o o x o o
x x x x o o
x x x o x o
"""


def test_the_worked_example() -> None:
    first, second = drawn(EXAMPLE, "x"), drawn(EXAMPLE, "o")
    assert count_lengths(bits(first)) == (1, 0, 0, 0, 0, 1), "the longest x group has length 6"
    assert count_lengths(bits(second)) == (1, 1, 0, 1)
    assert score(bits(first), bits(second)) == ((1, 0, 0, 0, 0, 1), (1, 1, 1, 1)), "a bonus group of length 3"


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("x", 1),
        ("x x", 2),
        ("x x\nx .", 3),
        ("x x\nx x", 3),
        ("x x x x", 4),
        (". x .\nx x x", 3),
        ("x x .\n. x x", 4),
        ("x x x\nx . x\nx x x", 5),
        ("x x x x\nx . . x\nx x x x", 6),
        (". x .\nx x x\n. x .", 3),
        (". x x\nx x x\nx . x\nx x x\nx . .", 7),  # a search from the square farthest from its first finds only 6
        ("x x x x x\n. . . . x\nx x x x x\nx . . . .\nx x x x x", 17),
    ],
)
def test_a_length_is_the_diameter_plus_one(text: str, length: int) -> None:
    assert count_lengths(bits(drawn(text, "x"))) == (0,) * (length - 1) + (1,)


def test_there_is_no_bonus_group_of_length_zero() -> None:
    assert score(0, 0) == ((), ())
    assert score(0, bits(frozenset({(0, 0), (5, 5)}))) == ((), (2,))


def test_the_bonus_group_may_join_others_of_its_length() -> None:
    second = frozenset({(0, 0), (0, 1), (5, 5), (7, 7)})
    assert score(0, bits(second)) == ((), (3, 1))


@pytest.mark.parametrize(
    ("first_columns", "winner", "scores"),
    [
        (range(0, 11, 2), 0, ((0,) * 10 + (6,), (0,) * 9 + (1, 5))),
        (range(1, 11, 2), 1, ((0,) * 10 + (5,), (0,) * 9 + (1, 6))),
    ],
)
def test_the_greatest_length_at_which_the_counts_differ_decides(
    first_columns: range, winner: int, scores: tuple[Counts, Counts]
) -> None:
    state = LONGEST_PATH.from_board(full_board(frozenset(s for s in ALL if s[1] in first_columns)), is_black=True)
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (winner, scores)
    assert state.outcome.reason == f"Player {winner + 1} has more groups of length 11"


def test_a_longer_group_beats_any_number_of_shorter_ones() -> None:
    # A chessboard on which Player 1 has one whole row: Player 2 is left with 55 groups of length 1.
    first = frozenset(s for s in ALL if sum(s) % 2 or s[0] == 5)
    state = LONGEST_PATH.from_board(full_board(first), is_black=True)
    assert state.outcome is not None
    assert state.outcome.winner == 0
    mine, theirs = state.outcome.scores
    assert len(mine) > len(theirs)
    assert sum(mine) < sum(theirs)


def test_equal_results_draw() -> None:
    # A chessboard with one pair of equal rows for each player: 11 dominoes each, 39 singles against 38 and the
    # bonus.
    rows = "PQPPQQPQPQP"
    first = frozenset((r, c) for r, c in ALL if c % 2 == "PQ".index(rows[r]))
    assert len(first) == 61
    state = LONGEST_PATH.from_board(full_board(first), is_black=True)
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (None, ((39, 11), (39, 11)))


def test_players_alternate_until_all_121_squares_are_filled() -> None:
    state = LONGEST_PATH.start()
    for turn in range(121):
        assert (state.outcome, state.to_move, state.passed) == (None, turn % 2, ())
        state.play(divmod(turn, 11))
    assert state.outcome is not None
    assert state.outcome.scores == ((61,), (60,))
    assert state.outcome.winner == 0
    assert state.outcome.reason == "Player 1 has more groups of length 1"
    assert list(state.legal_moves()) == []
    with pytest.raises(IllegalMove, match="the game is over"):
        state.play((0, 0))
    with pytest.raises(IllegalMove, match="the game is over"):
        state.fault()


def test_the_board_shows_the_pieces_of_both_players() -> None:
    state = LONGEST_PATH.start()
    state.play((0, 1))
    state.play([10, 10])
    board = state.board()
    assert (board[0][1], board[10][10], sum(map(sum, board))) == (1, 2, 3)
    rows = str(state).splitlines()
    assert rows[0] == ". 1 . . . . . . . . ."
    assert rows[10] == ". . . . . . . . . . 2"
    assert rows[1:10] == [". . . . . . . . . . ."] * 9


@pytest.mark.parametrize("moves", [[], [(0, 0)], [(0, 0), (5, 5), (0, 1)]])
def test_a_fault_loses_and_the_pieces_placed_are_counted(moves: list[Square]) -> None:
    state = LONGEST_PATH.start()
    for move in moves:
        state.play(move)
    loser = state.to_move
    state.fault()
    assert state.outcome is not None
    assert state.outcome.winner == 1 - loser
    assert state.outcome.reason.startswith(f"Player {loser + 1} ")
    mine = reference(frozenset(moves[::2]))
    theirs = reference(frozenset(moves[1::2]))
    assert state.outcome.scores == (mine, theirs)
    assert list(state.legal_moves()) == []
    assert not state.is_legal((9, 9))


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (None, r"None is not a square of the 11x11 board; a square is \(row, column\), and both go from 0 to 10"),
        ("ab", "'ab' is not a square"),
        (b"ab", "is not a square"),
        (7, "7 is not a square"),
        ((), "is not a square"),
        ((1,), "is not a square"),
        ((1, 2, 3), "is not a square"),
        ((True, 2), r"\(True, 2\) is not a square"),
        ((1.0, 2), r"\(1.0, 2\) is not a square"),
        ((float("nan"), 2), "is not a square"),
        ((2**64, 2), "is not a square"),
        ((-1, 2), "is not a square"),
        ((2, 11), r"\(2, 11\) is not a square"),
        ([[1, 2], [3, 4]], "is not a square"),
        ({0: 1, 1: 2}, "is not a square"),
        ((5, 5), r"\(5, 5\) is occupied; a piece goes on an empty square"),
        ([5, 5], r"\(5, 5\) is occupied"),
    ],
)
def test_an_illegal_move_says_what_was_expected_and_changes_nothing(move: object, message: str) -> None:
    state = LONGEST_PATH.start()
    state.play((5, 5))
    before = state.board()
    assert not state.is_legal(move)
    with pytest.raises(IllegalMove, match=message):
        state.play(move)
    assert (state.board(), state.to_move, state.outcome) == (before, 1, None)


def test_legal_moves_are_the_empty_squares_row_by_row() -> None:
    state = LONGEST_PATH.start()
    assert list(state.legal_moves()) == sorted(ALL)
    state.play((3, 4))
    assert list(state.legal_moves()) == sorted(ALL - {(3, 4)})


def test_a_copy_is_independent() -> None:
    state = LONGEST_PATH.start()
    twin = state.copy()
    twin.play((3, 4))
    assert (state.board()[3][4], state.to_move) == (0, 0)
    assert (twin.board()[3][4], twin.to_move) == (1, 1)


@pytest.mark.parametrize("board", [None, [], [[0] * 11] * 10, [[0] * 10] * 11, [[0] * 10 + [-1]] * 11])
def test_a_board_of_another_form_is_refused(board: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="expected"):
        LONGEST_PATH.from_board(board, is_black=True)


# Random sets of squares: sparse, half full as at the end of a game, and dense with long ways round holes.

halves = st.lists(st.booleans(), min_size=121, max_size=121).map(
    lambda cells: frozenset(divmod(n, 11) for n, cell in enumerate(cells) if cell)
)
boards: st.SearchStrategy[Squares] = st.one_of(
    halves,
    st.tuples(halves, halves).map(lambda pair: pair[0] | pair[1]),
    st.tuples(halves, halves).map(lambda pair: pair[0] & pair[1]),
    st.frozensets(st.sampled_from(sorted(ALL)), max_size=12).map(lambda holes: ALL - holes),
)


@given(boards)
@example(ALL)
@example(frozenset())
def test_counts_equal_the_reference(squares: Squares) -> None:
    assert count_lengths(bits(squares)) == reference(squares)


@given(boards)
def test_counts_stay_the_same_under_transposition_and_rotation(squares: Squares) -> None:
    transposed = frozenset((column, row) for row, column in squares)
    rotated = frozenset((column, 10 - row) for row, column in squares)
    assert count_lengths(bits(squares)) == count_lengths(bits(transposed)) == count_lengths(bits(rotated))


@given(halves)
def test_a_full_board_is_decided_as_its_results_compare(first: Squares) -> None:
    state: State = LONGEST_PATH.from_board(full_board(first), is_black=False)
    assert state.outcome is not None
    mine, theirs = reference(first), [*reference(ALL - first)]
    if len(theirs) > 1:
        theirs[-2] += 1
    assert state.outcome.scores == (mine, tuple(theirs))
    for length in range(121, 0, -1):
        counts = [counts[length - 1] if length <= len(counts) else 0 for counts in (mine, theirs)]
        if counts[0] != counts[1]:
            assert state.outcome.winner == counts.index(max(counts))
            assert state.outcome.reason.endswith(f"of length {length}")
            return
    assert state.outcome.winner is None
