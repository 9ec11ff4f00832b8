"""Hop's rules, its decisions, and its two ways of ending, against positions drawn by hand and a plain reference."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from getstep_engines import GAMES, IllegalMove, Player, State
from getstep_engines.hop import HopState

HOP = GAMES["hop"]
BLACK: Player = 0
WHITE: Player = 1

Path = list[tuple[int, int]]

START = """
1 0 0 0 0 0 0 0
0 1 0 0 0 0 0 2
1 0 1 0 0 0 2 0
0 1 0 0 0 2 0 2
1 0 1 0 0 0 2 0
0 1 0 0 0 2 0 2
1 0 0 0 0 0 2 0
0 0 0 0 0 0 0 2
"""


def board_with(black: Path, white: Path) -> list[list[int]]:
    board = [[0] * 8 for _ in range(8)]
    for row, column in black:
        board[row][column] = 1
    for row, column in white:
        board[row][column] = 2
    return board


def position(*, black: Path, white: Path, is_black: bool = True) -> HopState:
    state = HOP.from_board(board_with(black, white), is_black)
    assert isinstance(state, HopState)
    return state


def snapshot(state: State) -> tuple[object, ...]:
    assert isinstance(state, HopState)
    return state.pieces, state.to_move, state.turns, state.passed, state.outcome


def test_the_start_is_the_one_drawn_in_the_rules_and_black_moves_first() -> None:
    state = HOP.start()
    assert str(state) == START.strip()
    assert state.board() == [[int(cell) for cell in row.split()] for row in START.strip().splitlines()]
    assert (state.to_move, state.outcome, state.passed) == (BLACK, None, ())


def test_a_move_ends_the_turn() -> None:
    state = HOP.start()
    state.play([(0, 0), (0, 1)])
    assert state.to_move == WHITE
    assert state.board()[0][:2] == [0, 1]


@pytest.mark.parametrize("to", [(2, 3), (4, 3), (3, 2), (3, 4)])
def test_a_step_goes_to_any_of_the_four_adjacent_squares(to: tuple[int, int]) -> None:
    state = position(black=[(3, 3)], white=[(7, 7)])
    state.play([(3, 3), to])
    assert state.board() == board_with([to], [(7, 7)])


def test_moves_may_come_as_lists_as_the_wire_delivers_them() -> None:
    state = HOP.start()
    state.play([[0, 0], [0, 1]])
    assert state.board()[0][1] == 1


def test_hopping_over_an_enemy_captures_it_at_once() -> None:
    state = position(black=[(3, 3)], white=[(3, 4), (7, 7)])
    state.play([(3, 3), (3, 5)])
    assert state.board() == board_with([(3, 5)], [(7, 7)])


def test_hopping_over_an_own_piece_leaves_it() -> None:
    state = position(black=[(3, 3), (3, 4)], white=[(7, 7)])
    state.play([(3, 3), (3, 5)])
    assert state.board() == board_with([(3, 4), (3, 5)], [(7, 7)])


def test_a_path_of_hops_turns_corners_and_captures_on_its_way() -> None:
    state = position(black=[(0, 0), (2, 3)], white=[(0, 1), (1, 2), (7, 7)])
    state.play([(0, 0), (0, 2), (2, 2), (2, 4)])
    assert state.board() == board_with([(2, 3), (2, 4)], [(7, 7)])


def test_a_captured_piece_cannot_be_hopped_over_again() -> None:
    state = position(black=[(3, 3)], white=[(3, 4), (7, 7)])
    with pytest.raises(IllegalMove, match="no piece in between"):
        state.play([(3, 3), (3, 5), (3, 3)])


def test_a_square_freed_by_a_capture_can_be_landed_on() -> None:
    enemies = [(3, 4), (2, 5), (1, 4), (3, 2)]
    state = position(black=[(3, 3), (2, 3)], white=[*enemies, (7, 7)])
    # Round a square of captures, back to the start over an own piece, and on over the last enemy.
    state.play([(3, 3), (3, 5), (1, 5), (1, 3), (3, 3), (3, 1)])
    assert state.board() == board_with([(2, 3), (3, 1)], [(7, 7)])


def test_landing_where_an_enemy_was_captured() -> None:
    white = [(3, 4), (2, 5), (1, 6), (2, 7), (3, 6)]
    state = position(black=[(3, 3)], white=[*white, (7, 0)])
    path = [(3, 3), (3, 5), (1, 5), (1, 7), (3, 7), (3, 5)]
    assert state.is_legal(path)
    assert not state.is_legal([*path, (3, 3)]), "the piece on (3, 4) has gone"


def test_decision_squares_may_be_visited_again_and_a_path_may_end_where_it_began() -> None:
    state = position(black=[(3, 3), (3, 4)], white=[(7, 7)])
    before = state.board()
    state.play([(3, 3), (3, 5), (3, 3)])
    assert state.board() == before
    assert state.to_move == WHITE


def test_decision_the_starting_square_is_empty_while_the_piece_travels() -> None:
    ring = [(3, 3), (3, 5), (5, 5), (5, 3), (3, 3)]
    state = position(black=[(3, 3), (3, 4), (4, 5), (5, 4), (4, 3)], white=[(7, 7)])
    assert state.is_legal(ring), "it may land where it started"


@pytest.mark.parametrize(
    "path",
    [
        [(3, 3), (3, 2), (3, 1)],
        [(3, 3), (4, 3), (4, 5)],
        [(3, 3), (3, 5), (3, 6)],
    ],
    ids=["step and step", "step and hop", "hop and step"],
)
def test_decision_a_step_is_a_whole_move(path: Path) -> None:
    state = position(black=[(3, 3), (3, 4), (4, 4)], white=[(7, 7)])
    with pytest.raises(IllegalMove, match="a step is a whole move"):
        state.play(path)


def test_ninety_nine_hops_are_legal_and_a_hundred_are_not() -> None:
    state = HOP.start()
    state.play([(1, 1), (2, 1)])
    state.play([(1, 7), (0, 7)])
    there_and_back = [(2, 1), (2, 3)] * 50
    assert len(there_and_back) == 99 + 1
    with pytest.raises(IllegalMove, match="has 101 squares; expected 2 to 100"):
        state.play([*there_and_back, (2, 1)])
    state.play(there_and_back)
    assert state.board()[2][:4] == [1, 0, 1, 1]


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (None, "None; expected a list of squares"),
        ("skip", "'skip'; expected a list of squares"),
        (b"\x00\x01", "expected a list of squares"),
        ({"from": [0, 0]}, "expected a list of squares"),
        (float("nan"), "nan; expected a list of squares"),
        (2**64, "expected a list of squares"),
        ([], "has 0 squares; expected 2 to 100"),
        ([(0, 0)], "has 1 squares; expected 2 to 100"),
        ((0, 1), "0 is not a square of the 8x8 board; a square is"),
        ([(0, 0), None], "None is not a square"),
        ([(0, 0), (0, 1, 2)], r"\(0, 1, 2\) is not a square"),
        ([(0, 0), (0, True)], r"\(0, True\) is not a square"),
        ([(0, 0), (0, 1.0)], r"\(0, 1.0\) is not a square"),
        ([(0, 0), (0, float("nan"))], r"\(0, nan\) is not a square"),
        ([(0, 0), (0, 2**64)], "is not a square"),
        ([(0, 0), (0, -1)], r"\(0, -1\) is not a square.*both go from 0 to 7"),
        ([(0, 0), (8, 0)], r"\(8, 0\) is not a square"),
        ([(0, 0), [[[[]]]]], "is not a square"),
        ([(0, 0), {0: 1, 1: 2}], "is not a square"),
        ([(0, 1), (0, 2)], r"\(0, 1\) is not one of Black's pieces"),
        ([(1, 7), (0, 7)], r"\(1, 7\) is not one of Black's pieces"),
        ([(1, 1), (1, 1)], r"\(1, 1\) to \(1, 1\) is neither a step"),
        ([(0, 0), (1, 1)], r"\(0, 0\) to \(1, 1\) is neither a step"),
        ([(0, 0), (0, 3)], r"\(0, 0\) to \(0, 3\) is neither a step"),
        ([(0, 0), (0, 2)], r"\(0, 0\) to \(0, 2\) has no piece in between"),
        ([(2, 2), (2, 0)], "has no piece in between"),
    ],
)
def test_an_illegal_move_says_what_was_expected_and_changes_nothing(move: object, message: str) -> None:
    state = HOP.start()
    before = snapshot(state)
    assert not state.is_legal(move)
    with pytest.raises(IllegalMove, match=message):
        state.play(move)
    assert snapshot(state) == before


def test_neither_step_nor_hop_ends_on_a_piece() -> None:
    state = position(black=[(3, 3), (3, 4), (3, 5)], white=[(4, 3), (5, 3)])
    for to in [(3, 4), (3, 5), (4, 3), (5, 3)]:
        with pytest.raises(IllegalMove, match="is occupied; a piece moves to an empty square"):
            state.play([(3, 3), to])


def test_no_move_goes_round_the_edge_of_the_board() -> None:
    state = position(black=[(3, 7), (4, 0), (5, 6), (0, 3)], white=[(6, 0)])
    for path in ([(3, 7), (4, 0)], [(3, 7), (4, 1)], [(5, 6), (6, 1)], [(5, 6), (6, 0)], [(0, 3), (7, 3)]):
        assert not state.is_legal(path)


def test_a_message_stays_short_whatever_the_move() -> None:
    with pytest.raises(IllegalMove) as error:
        HOP.start().play([["x" * 10_000] * 1000])
    assert len(str(error.value)) < 300


def test_legal_moves_are_every_step_and_every_path_that_visits_no_square_twice() -> None:
    state = position(black=[(0, 0), (0, 1)], white=[(1, 2), (7, 7)])
    assert sorted(state.legal_moves()) == sorted(
        [
            [(0, 0), (1, 0)],
            [(0, 0), (0, 2)],
            [(0, 0), (0, 2), (2, 2)],
            [(0, 1), (0, 2)],
            [(0, 1), (1, 1)],
        ]
    )


def test_a_fault_skips_the_turn_and_counts_as_one() -> None:
    state = HOP.start()
    before = state.board()
    state.fault()
    assert isinstance(state, HopState)
    assert (state.to_move, state.turns, state.passed, state.board()) == (WHITE, 1, (), before)


def test_decision_the_game_ends_when_each_player_has_had_200_turns_skipped_ones_included() -> None:
    state = HOP.start()
    for turn in range(200):
        assert (state.outcome, state.to_move) == (None, BLACK)
        if turn % 2:
            state.fault()
        else:
            state.play([(0, 0), (0, 1)] if turn % 4 == 0 else [(0, 1), (0, 0)])
        assert (state.outcome, state.to_move) == (None, WHITE)
        state.fault()
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (None, (0, 0))
    assert "200 turns" in state.outcome.reason
    assert list(state.legal_moves()) == []
    assert not state.is_legal([(0, 1), (0, 2)])


def test_at_the_last_turn_the_higher_score_wins() -> None:
    state = position(black=[(0, 6), (1, 1)], white=[(0, 0), (2, 1), (5, 5)])
    for _ in range(400):
        assert state.outcome is None
        state.fault()
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (WHITE, (1, 2))


def test_nothing_can_be_played_after_the_end() -> None:
    state = position(black=[(0, 5)], white=[(3, 3)])
    state.play([(0, 5), (0, 6)])
    over = snapshot(state)
    with pytest.raises(IllegalMove, match="the game is over"):
        state.play([(3, 3), (3, 2)])
    with pytest.raises(IllegalMove, match="the game is over"):
        state.fault()
    assert snapshot(state) == over


def test_the_game_ends_when_all_pieces_of_a_player_are_home() -> None:
    state = position(black=[(0, 5), (7, 7)], white=[(3, 3), (0, 0)])
    state.play([(0, 5), (0, 6)])
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (BLACK, (2, 1))
    assert "Black" in state.outcome.reason


def test_arriving_first_does_not_decide() -> None:
    state = position(black=[(0, 5)], white=[(3, 3), (0, 0), (1, 0)])
    state.play([(0, 5), (0, 6)])
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (WHITE, (1, 2))


def test_equal_scores_draw() -> None:
    state = position(black=[(0, 5)], white=[(3, 3), (0, 0)])
    state.play([(0, 5), (0, 6)])
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (None, (1, 1))


def test_losing_the_last_piece_outside_the_target_region_is_arriving_too() -> None:
    state = position(black=[(3, 2), (3, 6)], white=[(3, 3), (0, 0)])
    state.play([(3, 2), (3, 4)])
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (None, (1, 1))
    assert state.outcome.reason.startswith("all White pieces are home")


def test_both_players_can_arrive_with_one_move() -> None:
    state = position(black=[(3, 4), (0, 6)], white=[(3, 5), (0, 0)])
    state.play([(3, 4), (3, 6)])
    assert state.outcome is not None
    assert state.outcome.scores == (2, 1)
    assert state.outcome.reason.startswith("all Black pieces and all White pieces are home")


def test_a_player_without_pieces_is_passed_over_while_the_other_plays_on() -> None:
    state = position(black=[(3, 2)], white=[(3, 3)])
    state.play([(3, 2), (3, 4)])
    assert (state.to_move, state.passed, state.outcome, state.turns) == (BLACK, (WHITE,), None, 2)
    state.play([(3, 4), (3, 5)])
    assert (state.to_move, state.passed, state.turns) == (BLACK, (WHITE,), 4)
    state.fault()
    assert (state.to_move, state.passed, state.turns) == (BLACK, (WHITE,), 6)
    state.play([(3, 5), (3, 6)])
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores, state.passed) == (BLACK, (1, 0), ())


def test_the_turns_of_a_player_without_pieces_count() -> None:
    state = position(black=[(3, 2)], white=[(3, 3)])
    state.play([(3, 2), (3, 4)])
    for _ in range(199):
        assert state.outcome is None
        state.fault()
    assert state.outcome is not None
    assert (state.passed, state.outcome.scores) == ((WHITE,), (0, 0))


def test_a_player_whose_pieces_are_all_blocked_is_passed_over() -> None:
    corner = [(0, 0)]
    wall = [(0, 1), (1, 0), (0, 2), (3, 0)]
    state = position(black=corner, white=[*wall], is_black=False)
    assert state.has_move(BLACK)
    state.play([(3, 0), (2, 0)])
    assert not state.has_move(BLACK)
    assert (state.to_move, state.passed) == (WHITE, (BLACK,))


def test_a_blocked_piece_that_can_only_hop_has_a_move() -> None:
    state = position(black=[(0, 0)], white=[(0, 1), (1, 0), (2, 0), (7, 7)])
    assert state.has_move(BLACK)
    assert list(state.legal_moves()) == [[(0, 0), (0, 2)]]


def test_when_neither_can_move_the_game_ends() -> None:
    state = HOP.from_board([[1] * 4 + [2] * 4 for _ in range(8)], is_black=True)
    assert state.passed == (BLACK, WHITE) * 200
    assert state.outcome is not None
    assert state.outcome.scores == (0, 0)


@pytest.mark.parametrize(
    "board",
    [
        None,
        [],
        [[0] * 8] * 7,
        [[0] * 8] * 7 + [[0] * 7],
        [[0] * 8] * 7 + [None],
        [[0] * 8] * 7 + [[0] * 7 + [3]],
        [[0] * 8] * 7 + [[0] * 7 + [True]],
        [[0] * 8] * 7 + [[0] * 7 + [1.0]],
    ],
)
def test_a_board_of_another_form_is_refused(board: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="expected"):
        HOP.from_board(board, is_black=True)


def test_a_copy_is_independent() -> None:
    state = HOP.start()
    twin = state.copy()
    twin.play([(0, 0), (0, 1)])
    assert snapshot(state) == snapshot(HOP.start())
    assert twin.to_move == WHITE


# A plain reference on lists, and random positions.


def reference(board: list[list[int]], path: Path, mine: int) -> list[list[int]] | None:
    """Return the board after ``path``, or None if it is illegal."""
    board = [row[:] for row in board]
    (row, column), *rest = path
    if board[row][column] != mine or not 1 <= len(rest) <= 99:
        return None
    board[row][column] = 0
    for to_row, to_column in rest:
        distance = abs(to_row - row) + abs(to_column - column)
        straight = to_row == row or to_column == column
        if board[to_row][to_column] or not straight:
            return None
        if distance == 2:
            over = (row + to_row) // 2, (column + to_column) // 2
            if not board[over[0]][over[1]]:
                return None
            if board[over[0]][over[1]] != mine:
                board[over[0]][over[1]] = 0
        elif distance != 1 or len(rest) > 1:
            return None
        row, column = to_row, to_column
    board[row][column] = mine
    return board


def all_simple_paths(board: list[list[int]], mine: int) -> list[Path]:
    """Return every step and every path of hops without a square twice, found with the reference alone."""
    found: list[Path] = []
    todo: list[Path] = [[(r, c)] for r in range(8) for c in range(8) if board[r][c] == mine]
    while todo:
        path = todo.pop()
        row, column = path[-1]
        near = ((row + d * n, column + e * n) for n in (1, 2) for d, e in ((0, 1), (0, -1), (1, 0), (-1, 0)))
        for to in near:
            if 0 <= to[0] < 8 and 0 <= to[1] < 8 and to not in path and reference(board, [*path, to], mine):
                found.append([*path, to])
                todo.append([*path, to])
    return found


def random_board(dice: Random, pieces: int) -> list[list[int]]:
    squares = dice.sample([(row, column) for row in range(8) for column in range(8)], pieces)
    return board_with(squares[::2], squares[1::2])


@given(st.randoms(use_true_random=False), st.integers(2, 24), st.booleans())
def test_legal_moves_are_those_of_the_reference(dice: Random, pieces: int, is_black: bool) -> None:
    board = random_board(dice, pieces)
    state = HOP.from_board(board, is_black)
    if state.outcome or state.to_move != (BLACK if is_black else WHITE):
        return
    assert sorted(state.legal_moves()) == sorted(all_simple_paths(board, 1 if is_black else 2))


@given(st.randoms(use_true_random=False), st.integers(2, 30), st.booleans())
def test_a_random_walk_is_judged_as_by_the_reference(dice: Random, pieces: int, is_black: bool) -> None:
    board = random_board(dice, pieces)
    mine = 1 if is_black else 2
    state = HOP.from_board(board, is_black)
    if state.outcome or state.to_move != (BLACK if is_black else WHITE):
        return
    path = [dice.choice([(r, c) for r in range(8) for c in range(8) if board[r][c] == mine])]
    for _ in range(dice.randint(1, 8)):
        row, column = path[-1]
        distance = dice.choice((1, 2, 2, 2))
        d, e = dice.choice(((0, 1), (0, -1), (1, 0), (-1, 0)))
        to = row + d * distance, column + e * distance
        if not (0 <= to[0] < 8 and 0 <= to[1] < 8):
            continue
        path.append(to)
        expected = reference(board, path, mine)
        assert state.is_legal(path) == (expected is not None)
        if expected is None:
            return
        later = state.copy()
        later.play(path)
        assert later.board() == expected


@given(st.randoms(use_true_random=False))
def test_in_a_random_game_pieces_never_increase_and_the_end_comes_when_it_must(dice: Random) -> None:
    state = HOP.start()
    assert isinstance(state, HopState)
    while not state.outcome:
        turns, counts = state.turns, [bits.bit_count() for bits in state.pieces]
        mover = state.to_move
        state.play(dice.choice(list(state.legal_moves())))
        after = [bits.bit_count() for bits in state.pieces]
        assert after[mover] == counts[mover]
        assert after[1 - mover] <= counts[1 - mover]
        assert state.turns == turns + 1 + len(state.passed)
    cells = state.board()
    home = [
        [row[column] for row in cells for column in columns].count(piece)
        for piece, columns in ((1, (6, 7)), (2, (0, 1)))
    ]
    pieces = [sum(row.count(piece) for row in cells) for piece in (1, 2)]
    assert state.outcome.scores == tuple(home)
    assert state.turns == 400 or any(n and n == h for n, h in zip(pieces, home, strict=True))
