"""chain_reaction's waves, its win at once and its boards, by hand and against the rules on plain lists."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import plain
from getstep_engines import GAMES, IllegalMove, State

CHAIN_REACTION = GAMES["chain_reaction"]

Square = tuple[int, int]
Orbs = dict[Square, int]

SQUARES = [(row, column) for row in range(8) for column in range(8)]
CAPACITY = {square: len(plain.around(square, 8)) for square in SQUARES}
FAR: Orbs = {(7, 7): 1}
"""An orb of the opponent's out of the way, so that nobody has won."""


def board_with(red: Orbs, green: Orbs) -> plain.Board:
    return [[red.get((r, c), 0) - green.get((r, c), 0) for c in range(8)] for r in range(8)]


def position(red: Orbs, green: Orbs, *, is_black: bool = True) -> State:
    return CHAIN_REACTION.from_board(board_with(red, green), is_black)


def orbs(board: plain.Board) -> int:
    return sum(abs(cell) for row in board for cell in row)


def played(seed: int, moves: int) -> State:
    """Return the position after this many random moves, or before the one that ends the game."""
    dice = Random(seed)
    state = CHAIN_REACTION.start()
    for _ in range(moves):
        later = state.copy()
        later.play(dice.choice(list(state.legal_moves())))
        if later.outcome:
            break
        state = later
    return state


POSITIONS = st.builds(played, st.integers(0, 2**32), st.integers(0, 150))


# --- the rules ------------------------------------------------------------------------------------------------


def test_it_starts_empty_and_red_moves_first() -> None:
    state = CHAIN_REACTION.start()
    assert state.board() == board_with({}, {})
    assert (state.to_move, state.passed, state.outcome) == (0, (), None)
    assert list(state.legal_moves()) == SQUARES


def test_decision_the_limit_is_five_seconds_a_move() -> None:
    assert str(CHAIN_REACTION.time_control) == "5 s a move"


def test_an_orb_goes_to_an_empty_square_or_to_an_own_one() -> None:
    state = CHAIN_REACTION.start()
    for move in [(3, 4), (0, 0), (3, 4), (6, 6), (3, 4)]:
        state.play(move)
    assert state.board() == board_with({(3, 4): 3}, {(0, 0): 1, (6, 6): 1})
    assert set(SQUARES) - set(state.legal_moves()) == {(3, 4)}
    with pytest.raises(IllegalMove, match="has orbs of Red; an orb goes on an empty square or on one of Green"):
        state.play((3, 4))


@pytest.mark.parametrize("square", [(0, 0), (0, 7), (7, 0), (0, 3), (3, 0), (3, 7), (7, 3), (1, 1), (3, 4)])
def test_a_square_explodes_when_it_has_as_many_orbs_as_neighbours(square: Square) -> None:
    state = position({square: CAPACITY[square] - 1}, FAR)
    state.play(square)
    assert state.board() == board_with(dict.fromkeys(plain.around(square, 8), 1), FAR)


def test_orbs_reached_by_an_explosion_turn_to_the_movers_colour() -> None:
    state = position({(3, 3): 3, (4, 3): 1}, {(2, 3): 2, (3, 2): 1, **FAR})
    state.play((3, 3))
    assert state.board() == board_with({(2, 3): 3, (3, 2): 2, (4, 3): 2, (3, 4): 1}, FAR)
    assert (state.to_move, state.outcome) == (1, None)


def test_explosions_continue_as_long_as_a_square_is_at_capacity() -> None:
    state = position({(0, 0): 1, (0, 1): 2}, {(1, 1): 3, **FAR})
    state.play((0, 0))
    # (0, 0) gives (0, 1) its third orb; that gives (1, 1) its fourth, and (0, 0) one again, as does nobody else.
    assert state.board() == board_with({(0, 0): 1, (0, 1): 1, (0, 2): 1, (1, 0): 2, (1, 2): 1, (2, 1): 1}, FAR)


def test_all_squares_at_capacity_explode_together_and_may_be_over_it() -> None:
    # Both neighbours of the corner explode in one wave: it has one orb, gains two, and loses two in the next.
    state = position({(0, 0): 1, (0, 1): 2, (1, 0): 2, (1, 1): 3}, FAR)
    state.play((1, 1))
    ones = dict.fromkeys([(0, 0), (0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)], 1)
    assert state.board() == board_with({**ones, (1, 1): 2}, FAR)


# --- winning --------------------------------------------------------------------------------------------------


def test_the_first_move_owns_all_orbs_and_does_not_win() -> None:
    state = CHAIN_REACTION.start()
    state.play((0, 0))
    assert state.outcome is None


def test_taking_the_last_orb_wins() -> None:
    state = CHAIN_REACTION.start()
    for move in [(0, 0), (0, 1), (0, 0)]:
        state.play(move)
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (0, (3, 0))
    assert state.outcome.reason == "Red owns all 3 orbs"
    assert state.board() == board_with({(0, 1): 2, (1, 0): 1}, {})


def test_the_second_player_wins_too() -> None:
    state = position({(0, 1): 1}, {(0, 0): 1}, is_black=False)
    state.play((0, 0))
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (1, (0, 3))


def test_a_win_stops_the_cascade() -> None:
    # The corner takes Green's only orb, on (0, 1), which is then at capacity and is left so.
    state = position({(0, 0): 1}, {(0, 1): 2})
    state.play((0, 0))
    assert state.outcome is not None
    assert state.board() == board_with({(0, 1): 3, (1, 0): 1}, {})


@pytest.mark.parametrize("green", [(0, 0), (7, 7), (3, 4), (0, 5)])
def test_a_saturated_board_ends_at_once(green: Square) -> None:
    full = {square: CAPACITY[square] - 1 for square in SQUARES if square != green}
    state = position(full, {green: CAPACITY[green] - 1})
    state.play((7, 0))  # with 161 orbs no board is stable
    assert state.outcome is not None
    assert state.outcome.winner == 0
    assert state.outcome.scores == (161, 0)
    assert orbs(state.board()) == 161


def test_a_fault_loses() -> None:
    state = position({(0, 0): 1, (3, 3): 2}, {(5, 5): 2}, is_black=False)
    state.fault()
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (0, (3, 2))
    assert state.outcome.reason == "Green made a fault"


# --- against the rules on plain lists ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(100))
def test_whole_games_go_as_on_plain_lists(seed: int) -> None:
    dice = Random(seed)
    state = CHAIN_REACTION.start()
    while state.outcome is None:
        player, board = state.to_move, state.board()
        moves = [square for square in SQUARES if board[square[0]][square[1]] * (1 - 2 * player) >= 0]
        assert list(state.legal_moves()) == moves
        move = dice.choice(moves)
        state.play(move)
        won = plain.play_chain_reaction(board, player, move)
        assert state.board() == board
        assert (state.outcome is not None) == won


@given(state=POSITIONS, data=st.data())
def test_a_move_adds_one_orb(state: State, data: st.DataObject) -> None:
    before = orbs(state.board())
    state.play(data.draw(st.sampled_from(list(state.legal_moves()))))
    assert orbs(state.board()) == before + 1


@given(state=POSITIONS, data=st.data(), seed=st.integers(0, 2**32))
def test_a_stable_board_does_not_depend_on_the_order_of_explosions(
    state: State, data: st.DataObject, seed: int
) -> None:
    player, board = state.to_move, state.board()
    move = data.draw(st.sampled_from(list(state.legal_moves())))
    state.play(move)
    if state.outcome is None:
        assert state.board() == exploded_one_by_one(board, player, move, Random(seed))


def exploded_one_by_one(board: plain.Board, player: int, move: Square, dice: Random) -> plain.Board:
    """Return a stable board, after one explosion at a time: which one is up to the dice."""
    sign = 1 - 2 * player
    board[move[0]][move[1]] += sign
    while unstable := [square for square in SQUARES if plain.at_capacity(board, square)]:
        row, column = dice.choice(unstable)
        board[row][column] -= sign * CAPACITY[row, column]
        for r, c in plain.around((row, column), 8):
            board[r][c] = sign * (abs(board[r][c]) + 1)
    return board


# --- boards -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("square", "most"), [((0, 0), 1), ((0, 3), 2), ((3, 3), 3)])
def test_no_square_of_a_board_is_at_capacity(square: Square, most: int) -> None:
    assert position({square: most}, FAR).outcome is None
    with pytest.raises(ValueError, match=f"has {most + 1} orbs; expected at most {most}"):
        position({square: most + 1}, FAR)


@pytest.mark.parametrize(("square", "most"), [((0, 0), 3), ((0, 3), 5), ((3, 3), 7)])
def test_a_halted_board_is_over(square: Square, most: int) -> None:
    state = position({square: most}, {}, is_black=False)
    assert state.board() == board_with({square: most}, {})
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores) == (0, (most, 0))
    with pytest.raises(ValueError, match="expected"):
        position({square: most + 1}, {})


def test_a_final_board_is_read_back_as_it_is() -> None:
    for seed in range(50):
        state = played(seed, 200)
        move = next(move for move in state.legal_moves() if ends(state, move))
        state.play(move)
        twin = CHAIN_REACTION.from_board(state.board(), state.to_move == 0)
        assert (twin.board(), twin.outcome) == (state.board(), state.outcome)


def ends(state: State, move: Square) -> bool:
    later = state.copy()
    later.play(move)
    return later.outcome is not None


def test_it_is_drawn_with_the_first_letters_of_the_players() -> None:
    state = position({(0, 0): 1, (2, 3): 3}, {(0, 7): 1})
    assert str(state).splitlines()[:3] == [
        "R1 .  .  .  .  .  .  G1",
        ".  .  .  .  .  .  .  .",
        ".  .  .  R3 .  .  .  .",
    ]
