"""Properties of every game of the registry. A new game is tested as soon as it is there."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest

import getstep_engines
from benchmarks import plain
from getstep import wire
from getstep_conformance.games import as_lists, seen
from getstep_engines import GAMES, Game, IllegalMove, State
from tests.support.games import EVERY_GAME, EVERY_START, STARTS, playout_of
from tests.support.quick import quick

# --- enrolment ------------------------------------------------------------------------------------------------


def test_every_module_with_a_game_is_in_the_registry() -> None:
    found = {
        id(thing): thing
        for module in pkgutil.iter_modules(getstep_engines.__path__, "getstep_engines.")
        for thing in vars(importlib.import_module(module.name)).values()
        if isinstance(thing, Game)
    }
    others = {plugin.name for plugin in GAMES.plugins()}
    assert Counter(game.name for game in found.values()) == Counter(name for name in GAMES if name not in others)
    assert all(GAMES[game.name] is game for game in found.values())


def test_the_packages_examples_are_true() -> None:
    assert doctest.testmod(getstep_engines, optionflags=doctest.IGNORE_EXCEPTION_DETAIL).failed == 0


@EVERY_GAME
def test_it_says_what_people_need(name: str) -> None:
    game = GAMES[name]
    assert game.name == name
    assert game.title
    assert game.penalty
    assert len(set(game.players)) == 2
    assert game.time_control.seconds > 0
    assert str(game.time_control)


# --- the outcome, by the rules on plain lists -----------------------------------------------------------------


def by_scores(first: Any, second: Any) -> tuple[int | None, tuple[Any, Any]]:
    return None if first == second else 0 if first > second else 1, (first, second)


def longest_path_result(board: plain.Board) -> tuple[int | None, tuple[Any, Any]]:
    assert not plain.squares_of(board, [0])
    first, second = plain.longest_path_counts(board)
    most = max(len(first), len(second))
    padded = [counts + (0,) * (most - len(counts)) for counts in (first, second)]
    winner, _ = by_scores(padded[0][::-1], padded[1][::-1])
    return winner, (first, second)


def orbs(board: plain.Board) -> tuple[int, int]:
    red, green = (sum(max(0, cell * sign) for row in board for cell in row) for sign in (1, -1))
    return red, green


def chain_reaction_result(board: plain.Board) -> tuple[int | None, tuple[Any, Any]]:
    red, green = orbs(board)
    assert min(red, green) == 0, "the loser has no orb left"
    return by_scores(red, green)


def pseudo_tonga_result(board: plain.Board) -> tuple[int | None, tuple[Any, Any]]:
    assert not plain.squares_of(board, [0])
    return by_scores(*plain.pseudo_tonga_points(board))


def hop_result(board: plain.Board) -> tuple[int | None, tuple[Any, Any]]:
    black = sum(column >= 6 for _, column in plain.squares_of(board, [1]))
    white = sum(column <= 1 for _, column in plain.squares_of(board, [2]))
    return by_scores(black, white)


def linkage_result(board: plain.Board) -> tuple[int | None, tuple[Any, Any]]:
    assert plain.squares_of(board, [-1]) == [(3, 3)]
    unmarked = [[0 if cell == -2 else cell for cell in row] for row in board]
    assert not list(plain.linkage_moves(unmarked)), "no domino fits anywhere"
    groups = plain.linkage_groups(board)
    return int(groups < 12), (groups, groups)


REFERENCES: dict[str, Callable[[plain.Board], tuple[int | None, tuple[Any, Any]]]] = {
    "longest_path": longest_path_result,
    "chain_reaction": chain_reaction_result,
    "pseudo_tonga": pseudo_tonga_result,
    "hop": hop_result,
    "linkage": linkage_result,
}
"""For each game: the winner and the scores of a final board."""

REFERENCED = pytest.mark.parametrize(
    ("name", "options"),
    [pytest.param(n, o, id="-".join([n, *map(str, o.values())])) for n, o in STARTS if n in REFERENCES],
)


# --- playing --------------------------------------------------------------------------------------------------


@REFERENCED
@pytest.mark.parametrize("playouts", quick([50, 500], [50]))
def test_random_games_end_as_the_rules_on_plain_lists_say(
    name: str, options: dict[str, int], playouts: int
) -> None:
    dice = Random(f"{name} {options}")
    for _ in range(playouts):
        state = GAMES[name].start(**options)
        while state.outcome is None:
            state.play(dice.choice(list(state.legal_moves())))
        assert (state.outcome.winner, state.outcome.scores) == REFERENCES[name](state.board())
        assert state.outcome.reason
        if GAMES[name].differs:
            first, second = state.outcome.scores
            assert {type(first), type(second)} == {int}
            assert state.outcome.winner == (None if first == second else int(second > first))


@EVERY_START
def test_the_moves_it_lists_can_be_played_as_tuples_and_as_lists(name: str, options: dict[str, int]) -> None:
    for state, _ in playout_of(name, 1, **options).sample():
        before = seen(state)
        moves = list(state.legal_moves())
        assert bool(moves) == (state.outcome is None)
        assert len({repr(move) for move in moves}) == len(moves), "none twice"
        for move in moves[:: 1 + len(moves) // 20]:
            assert state.is_legal(move)
            assert state.is_legal(as_lists(move))
            one, other = state.copy(), state.copy()
            one.play(move)
            other.play(as_lists(move))
            assert seen(one) == seen(other)
            assert seen(one) != before
        assert seen(state) == before, "copies are independent"


@EVERY_START
def test_a_copy_continues_alone(name: str, options: dict[str, int]) -> None:
    game = playout_of(name, 2, **options)
    for state, moves in game.sample():
        before, twin = seen(state), state.copy()
        for move in moves:
            twin.play(move)
        assert seen(twin) == seen(game.states[-1])
        assert seen(state) == before


@EVERY_START
def test_turns_alternate_and_a_pass_counts_as_a_turn(name: str, options: dict[str, int]) -> None:
    for seed in range(5):
        for before, after in pairwise(playout_of(name, seed, **options).states):
            if after.outcome is None:
                turns = [before.to_move, *after.passed, after.to_move]
                assert all(player != following for player, following in pairwise(turns))


@EVERY_START
def test_the_estimate_is_a_guess_first_and_right_in_the_end(name: str, options: dict[str, int]) -> None:
    assert GAMES[name].start(**options).estimate() == 0
    for seed in range(5):
        *guesses, last = (state.estimate() for state in playout_of(name, seed, **options).states)
        assert all(-1 <= guess <= 1 for guess in guesses)
        assert len(set(guesses)) > 5, "it moves with the game"
        outcome = playout_of(name, seed, **options).states[-1].outcome
        assert outcome is not None
        assert last == {0: 1, 1: -1, None: 0}[outcome.winner]


@EVERY_START
def test_it_is_drawn_a_line_a_row(name: str, options: dict[str, int]) -> None:
    for state, _ in playout_of(name, 1, **options).sample():
        assert len(str(state).splitlines()) == len(state.board())


# --- boards ---------------------------------------------------------------------------------------------------


def over_the_wire(state: State, last_move: Any) -> wire.GetStep:
    """Return the question that a client gets when a server asks for a move in ``state``."""
    server, client = wire.Connection(wire.Role.SERVER), wire.Connection(wire.Role.CLIENT)
    server.state = client.state = wire.State.MATCH
    question = wire.GetStep(
        id=1,
        move_number=1,
        board=state.board(),
        is_black=state.to_move == 0,
        time_left_ms=1000,
        last_move=as_lists(last_move),
    )
    client.receive_data(server.send(question))
    received = client.next_event()
    assert isinstance(received, wire.GetStep)
    return received


@EVERY_START
def test_a_board_from_the_wire_means_the_same_position(name: str, options: dict[str, int]) -> None:
    for state, moves in playout_of(name, 3, **options).sample():
        if not moves:
            continue
        question = over_the_wire(state, moves[0])
        assert question.board == state.board()
        twin = GAMES[name].from_board(question.board, question.is_black)
        assert list(twin.legal_moves()) == list(state.legal_moves())
        assert (twin.board(), twin.to_move, twin.outcome) == (state.board(), state.to_move, None)
        twin.play(question.last_move)
        assert twin.board() == playout_of(name, 3, **options).states[-len(moves)].board()


@EVERY_START
def test_a_board_is_the_callers_to_keep(name: str, options: dict[str, int]) -> None:
    state = playout_of(name, 1, **options).states[5]
    before = seen(state)
    board = state.board()
    board[0][0] = 99
    board.pop()
    assert seen(state) == before


@EVERY_GAME
@pytest.mark.parametrize("cell", [99, -99, True, 0.0, None, "1", [1], 2**70])
def test_a_board_with_an_unknown_cell_is_refused(name: str, cell: Any) -> None:
    board = GAMES[name].start().board()
    board[2][1] = cell
    with pytest.raises(ValueError, match="expected"):
        GAMES[name].from_board(board, True)


@EVERY_GAME
def test_a_board_of_another_shape_is_refused(name: str) -> None:
    board = GAMES[name].start().board()
    for strange in (
        [],
        None,
        "board",
        board[1:],
        [*board, board[0]],
        [board[0][1:], *board[1:]],
        [None, *board[1:]],
    ):
        with pytest.raises(ValueError, match="expected"):
            GAMES[name].from_board(strange, True)  # type: ignore[arg-type]  # no board, on purpose


# --- faults ---------------------------------------------------------------------------------------------------


def loses(before: State, after: State) -> None:
    assert after.outcome is not None
    assert after.outcome.winner == 1 - before.to_move
    assert after.board() == before.board()


def loses_with_the_current_counts(before: State, after: State) -> None:
    loses(before, after)
    assert after.outcome is not None
    assert after.outcome.scores == plain.longest_path_counts(before.board())


def loses_with_the_current_orbs(before: State, after: State) -> None:
    loses(before, after)
    assert after.outcome is not None
    assert after.outcome.scores == orbs(before.board())


def loses_with_the_current_groups(before: State, after: State) -> None:
    loses(before, after)
    assert after.outcome is not None
    assert after.outcome.scores == (plain.linkage_groups(before.board()),) * 2


def gives_away_every_empty_square(before: State, after: State) -> None:
    filled = [[cell or 2 - before.to_move for cell in row] for row in before.board()]
    assert after.board() == filled
    assert after.outcome is not None
    assert (after.outcome.winner, after.outcome.scores) == pseudo_tonga_result(filled)


def skips_the_turn(before: State, after: State) -> None:
    assert after.board() == before.board()
    turns = [before.to_move, *after.passed, after.to_move]
    assert after.outcome is not None or all(player != following for player, following in pairwise(turns))


PENALTIES: dict[str, Callable[[State, State], None]] = {
    "longest_path": loses_with_the_current_counts,
    "chain_reaction": loses_with_the_current_orbs,
    "pseudo_tonga": gives_away_every_empty_square,
    "hop": skips_the_turn,
    "linkage": loses_with_the_current_groups,
}
"""For each game: what a fault makes of a state."""


@REFERENCED
def test_a_fault_at_any_time_costs_what_the_game_says(name: str, options: dict[str, int]) -> None:
    for state in playout_of(name, 4, **options).states[:-1]:
        before, after = seen(state), state.copy()
        after.fault()
        PENALTIES[name](state, after)
        assert seen(state) == before


@EVERY_START
def test_nothing_happens_after_the_end(name: str, options: dict[str, int]) -> None:
    game = playout_of(name, 5, **options)
    over = game.states[-1]
    before, after = seen(over), over.copy()
    with pytest.raises(IllegalMove, match="over"):
        after.fault()
    for move in game.moves:
        assert not after.is_legal(move)
        with pytest.raises(IllegalMove, match="over"):
            after.play(move)
    assert seen(after) == before


# --- options --------------------------------------------------------------------------------------------------


@EVERY_GAME
def test_an_unknown_option_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="colour_of_the_board"):
        GAMES[name].start(colour_of_the_board=1)


@EVERY_GAME
def test_its_options_take_what_they_say(name: str) -> None:
    for option in GAMES[name].options.values():
        for value in range(option.lowest, option.highest + 1, option.step):
            assert GAMES[name].start(**{option.name: value}).outcome is None
        strange: list[Any] = [
            option.lowest - option.step,
            option.highest + option.step,
            str(option.default),
            None,
            True,
        ]
        for value in [*strange, float(option.default), *([option.lowest + 1] if option.step > 1 else [])]:
            with pytest.raises(ValueError, match=option.name):
                GAMES[name].start(**{option.name: value})


@EVERY_GAME
def test_without_options_it_starts_with_the_defaults(name: str) -> None:
    defaults = {option.name: option.default for option in GAMES[name].options.values()}
    assert seen(GAMES[name].start()) == seen(GAMES[name].start(**defaults))
