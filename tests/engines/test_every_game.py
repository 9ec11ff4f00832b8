"""Properties of every game of the registry. A new game is tested as soon as it is there."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from math import nan
from random import Random
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import getstep_engines
from benchmarks import plain
from getstep import wire
from getstep_engines import GAMES, Game, IllegalMove, State

PLAYOUTS = 500
"""Random games played to the end, for each way to start a game."""

Starts = tuple[str, dict[str, int]]


def ways_to_start() -> Iterator[Starts]:
    """Yield each game with its options' defaults, and with each option's lowest and highest value."""
    for name, game in GAMES.items():
        yield name, {}
        for option in game.options.values():
            yield name, {option.name: option.lowest}
            yield name, {option.name: option.highest}


EVERY_GAME = pytest.mark.parametrize("name", GAMES)
EVERY_START = pytest.mark.parametrize(
    ("name", "options"), [pytest.param(n, o, id="-".join([n, *map(str, o.values())])) for n, o in ways_to_start()]
)


@dataclass
class Record:
    """A random game: the moves, and a copy of the state before each of them and after the last."""

    moves: list[Any]
    states: list[State]

    def sample(self, most: int = 8) -> list[tuple[State, list[Any]]]:
        """Return some of the states, the first and the last among them, each with the moves still to come."""
        numbers = {round(part * len(self.moves) / (most - 1)) for part in range(most)}
        return [(self.states[number], self.moves[number:]) for number in sorted(numbers)]


@cache
def record(name: str, seed: int, **options: int) -> Record:
    """Nobody may play on its states: they are shared."""
    dice = Random(f"{name} {options} {seed}")
    state = GAMES[name].start(**options)
    game = Record([], [state.copy()])
    while state.outcome is None:
        game.moves.append(dice.choice(list(state.legal_moves())))
        state.play(game.moves[-1])
        game.states.append(state.copy())
    return game


def everything(state: State) -> tuple[Any, ...]:
    """Return all that the interface shows of a state."""
    moves = list(islice(state.legal_moves(), 500))
    return state.board(), state.to_move, state.passed, state.outcome, moves, state.estimate(), str(state)


def as_lists(move: Any) -> Any:
    """Return a move as the wire delivers it."""
    return [as_lists(item) for item in move] if isinstance(move, (list, tuple)) else move


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
    [pytest.param(n, o, id="-".join([n, *map(str, o.values())])) for n, o in ways_to_start() if n in REFERENCES],
)


# --- playing --------------------------------------------------------------------------------------------------


@REFERENCED
def test_random_games_end_as_the_rules_on_plain_lists_say(name: str, options: dict[str, int]) -> None:
    dice = Random(f"{name} {options}")
    for _ in range(PLAYOUTS):
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
    for state, _ in record(name, 1, **options).sample():
        before = everything(state)
        moves = list(state.legal_moves())
        assert bool(moves) == (state.outcome is None)
        assert len({repr(move) for move in moves}) == len(moves), "none twice"
        for move in moves[:: 1 + len(moves) // 20]:
            assert state.is_legal(move)
            assert state.is_legal(as_lists(move))
            one, other = state.copy(), state.copy()
            one.play(move)
            other.play(as_lists(move))
            assert everything(one) == everything(other)
            assert everything(one) != before
        assert everything(state) == before, "copies are independent"


@EVERY_START
def test_a_copy_continues_alone(name: str, options: dict[str, int]) -> None:
    game = record(name, 2, **options)
    for state, moves in game.sample():
        before, twin = everything(state), state.copy()
        for move in moves:
            twin.play(move)
        assert everything(twin) == everything(game.states[-1])
        assert everything(state) == before


@EVERY_START
def test_turns_alternate_and_a_pass_counts_as_a_turn(name: str, options: dict[str, int]) -> None:
    for seed in range(5):
        for before, after in pairwise(record(name, seed, **options).states):
            if after.outcome is None:
                turns = [before.to_move, *after.passed, after.to_move]
                assert all(player != following for player, following in pairwise(turns))


@EVERY_START
def test_the_estimate_is_a_guess_first_and_right_in_the_end(name: str, options: dict[str, int]) -> None:
    assert GAMES[name].start(**options).estimate() == 0
    for seed in range(5):
        *guesses, last = (state.estimate() for state in record(name, seed, **options).states)
        assert all(-1 <= guess <= 1 for guess in guesses)
        assert len(set(guesses)) > 5, "it moves with the game"
        outcome = record(name, seed, **options).states[-1].outcome
        assert outcome is not None
        assert last == {0: 1, 1: -1, None: 0}[outcome.winner]


@EVERY_START
def test_it_is_drawn_a_line_a_row(name: str, options: dict[str, int]) -> None:
    for state, _ in record(name, 1, **options).sample():
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
    for state, moves in record(name, 3, **options).sample():
        if not moves:
            continue
        question = over_the_wire(state, moves[0])
        assert question.board == state.board()
        twin = GAMES[name].from_board(question.board, question.is_black)
        assert list(twin.legal_moves()) == list(state.legal_moves())
        assert (twin.board(), twin.to_move, twin.outcome) == (state.board(), state.to_move, None)
        twin.play(question.last_move)
        assert twin.board() == record(name, 3, **options).states[-len(moves)].board()


@EVERY_START
def test_a_board_is_the_callers_to_keep(name: str, options: dict[str, int]) -> None:
    state = record(name, 1, **options).states[5]
    before = everything(state)
    board = state.board()
    board[0][0] = 99
    board.pop()
    assert everything(state) == before


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
    for state in record(name, 4, **options).states[:-1]:
        before, after = everything(state), state.copy()
        after.fault()
        PENALTIES[name](state, after)
        assert everything(state) == before


@EVERY_START
def test_nothing_happens_after_the_end(name: str, options: dict[str, int]) -> None:
    game = record(name, 5, **options)
    over = game.states[-1]
    before, after = everything(over), over.copy()
    with pytest.raises(IllegalMove, match="over"):
        after.fault()
    for move in game.moves:
        assert not after.is_legal(move)
        with pytest.raises(IllegalMove, match="over"):
            after.play(move)
    assert everything(after) == before


# --- illegal moves --------------------------------------------------------------------------------------------

DEEP: list[Any] = []
for _ in range(900):  # msgpack's own limit is 1024
    DEEP = [DEEP]

LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 20),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.sampled_from("RBGY"),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=3)),
    st.builds(msgpack.Timestamp, st.integers(0, 2**32)),
)
DECODABLE: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.tuples(inner, inner),
        st.dictionaries(LEAVES.filter(lambda key: key == key), inner, max_size=4),
    ),
    max_leaves=12,
)
"""Whatever msgpack can decode, the use of tuples for arrays and any key for maps included."""


@st.composite
def near_misses(draw: st.DrawFn, move: Any) -> Any:
    """Return a move as lists, changed in one place; now and then that is a legal move again."""
    if not isinstance(move, list) or not move or draw(st.integers(0, 9)) == 0:
        near = [move + 1, move - 1, -move, float(move), bool(move), str(move), [move]] if type(move) is int else []
        return draw(st.sampled_from(near) if near else DECODABLE)
    at = draw(st.integers(0, len(move) - 1))
    match draw(st.sampled_from(["inside", "inside", "inside", "drop", "double", "insert", "reverse"])):
        case "inside":
            return [*move[:at], draw(near_misses(move[at])), *move[at + 1 :]]
        case "drop":
            return move[:at] + move[at + 1 :]
        case "double":
            return move[: at + 1] + move[at:]
        case "insert":
            return [*move[:at], draw(DECODABLE), *move[at:]]
        case _:
            return move[::-1]


def is_really_legal(name: str, state: State, move: Any) -> bool:
    """Return True if ``move`` is listed, or is legal by the rules beyond the list, types included."""
    if state.outcome:
        return False
    if name == "hop":
        path = as_lists(move)
        return (
            isinstance(move, (list, tuple))
            and 2 <= len(path) <= 100
            and all(type(pair) is list and [type(x) for x in pair] == [int, int] for pair in path)
            and all(0 <= x < 8 for pair in path for x in pair)
            and plain.hop_is_legal(state.board(), state.to_move, [(r, c) for r, c in path])
        )
    listed = [as_lists(legal) for legal in state.legal_moves()]
    if name == "linkage":
        listed += [[colour, second, first] for colour, first, second in listed]
    return repr(as_lists(move)) in {repr(legal) for legal in listed}


def check(name: str, state: State, move: Any) -> None:
    """Play ``move``, and see that it is refused, without a trace, unless it is really legal."""
    before, trial = everything(state), state.copy()
    legal = is_really_legal(name, state, move)
    assert state.is_legal(move) == legal
    if legal:
        trial.play(move)
        assert everything(trial) != before
    else:
        with pytest.raises(IllegalMove) as refusal:
            trial.play(move)
        assert str(refusal.value)
        assert everything(trial) == before
    assert everything(state) == before


@EVERY_START
@pytest.mark.parametrize(
    "move",
    [
        *(None, True, 0, -1, 2**64 - 1, nan, "", "Skip", b"", {}, {0: 0, 1: 1}, [], [[]], [[[]]]),
        *((True, 0), (0, False), (0.0, 0), ("0", "0"), (0,), (0, 0, 0), (-1, 0), (0, -1), (0, 2**64 - 1), {0: 0}),
        *([[0, 0]], [[0, 0], [0, 0]], [[0, 0], [0.0, 1]], [[0, 0]] * 101, "01", b"\x00\x01"),
        *(("R",), ("R", (0, 0)), ("R", (0, 0), (0, 0)), ("RB", (0, 0), (0, 1)), (b"R", (0, 0), (0, 1))),
        *((1, (0, 0), (0, 1)), ("", (0, 0), (0, 1)), (["R"], (0, 0), (0, 1)), ("R", (0, 6), (1, 0))),
    ],
)
def test_nonsense_is_an_illegal_move(name: str, options: dict[str, int], move: Any) -> None:
    for state, _ in record(name, 6, **options).sample(most=3):
        check(name, state, move)


@EVERY_GAME
@pytest.mark.parametrize(
    "move", [DEEP, (0, DEEP), [DEEP, DEEP], ("R", DEEP, (0, 1)), (DEEP, (0, 0), (0, 1)), {"a": DEEP}]
)
def test_deep_nesting_is_an_illegal_move(name: str, move: Any) -> None:
    state = GAMES[name].start()
    before = everything(state)
    assert not state.is_legal(move)
    with pytest.raises(IllegalMove) as refusal:
        state.play(move)
    assert len(str(refusal.value)) < 500
    assert everything(state) == before


@EVERY_GAME
@settings(max_examples=100)
@given(data=st.data())
def test_any_object_is_judged_without_another_exception(name: str, data: st.DataObject) -> None:
    state, _ = data.draw(st.sampled_from(record(name, 7).sample()))
    check(name, state, data.draw(DECODABLE))


@EVERY_GAME
@settings(max_examples=200)
@given(data=st.data())
def test_near_misses_of_legal_moves_are_illegal(name: str, data: st.DataObject) -> None:
    state, _ = data.draw(st.sampled_from(record(name, 8).sample()))
    listed = list(islice(state.legal_moves(), 500)) or record(name, 8).moves
    check(name, state, data.draw(near_misses(as_lists(data.draw(st.sampled_from(listed))))))


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
    assert everything(GAMES[name].start()) == everything(GAMES[name].start(**defaults))
