"""The batch engines, compared with the single engines on random games."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.batch import ROWS, random_round
from getstep_engines import GAMES, State
from getstep_engines.hop import HopState
from getstep_training._actions import HOP_END, actions_of
from getstep_training._actions import Path as SquarePath
from getstep_training.batch import (
    Batch,
    ChainReactionBatch,
    GameBatch,
    HopBatch,
    LinkageBatch,
    LongestPathBatch,
    PseudoTongaBatch,
    _filling,
    batch_of,
)
from getstep_training.batch._words import random_bits, to_flags, to_words
from getstep_training.pettingzoo import GetstepEnv

Boards = NDArray[np.int8]


@dataclass(frozen=True)
class Case:
    """A game with a batch; ``few`` and ``many`` are the games that the quick and the long test play."""

    game: str
    make: Callable[[int], Batch]
    few: int
    many: int
    options: dict[str, int] = field(default_factory=dict)
    generic: bool = False

    def __str__(self) -> str:
        return "-".join([self.game, *map(str, self.options.values()), *(["generic"] if self.generic else [])])

    def start(self) -> State:
        return GAMES[self.game].start(**self.options)


def tonga(size: int, few: int, many: int) -> Case:
    return Case("pseudo_tonga", lambda count: PseudoTongaBatch(count, size), few, many, {"size": size})


CASES = [
    Case("chain_reaction", ChainReactionBatch, 30, 300),
    Case("longest_path", LongestPathBatch, 8, 300),
    tonga(6, 20, 300),
    tonga(8, 8, 200),
    tonga(16, 1, 30),
    Case("hop", HopBatch, 2, 30),
    Case("linkage", LinkageBatch, 20, 300),
    Case("linkage", lambda count: GameBatch(GAMES["linkage"], count), 3, 20, generic=True),
    Case("hop", lambda count: GameBatch(GAMES["hop"], count), 1, 3, generic=True),
]
EVERY_GAME = pytest.mark.parametrize("case", CASES, ids=str)
SMALL = [CASES[0], CASES[1], CASES[2], *CASES[5:8]]
EACH_GAME = pytest.mark.parametrize("case", SMALL, ids=str)


class Match:
    """The games of a batch, and the same games on the single engine."""

    def __init__(self, batch: Batch, states: Sequence[State], game: str) -> None:
        self.batch = batch
        self.states = states
        self.actions = actions_of(GAMES[game], batch.size)
        self.paths: list[SquarePath] = [()] * len(states)

    def play(self, actions: NDArray[np.intp]) -> None:
        """Play one action on all boards."""
        self.batch.play(actions)
        for number, state in enumerate(self.states):
            if not state.outcome:
                path, move = self.actions.choose(state, self.paths[number], int(actions[number]))
                self.paths[number] = path
                if move is not None:
                    state.play(move)

    def compare(self) -> None:
        """Compare all that can be seen."""
        batch, states = self.batch, self.states
        legal = batch.legal()
        assert legal.shape == (len(states), batch.actions)
        for number, (state, path) in enumerate(zip(states, self.paths, strict=True)):
            expected = [] if state.outcome else sorted(self.actions.legal(state, path))
            assert np.flatnonzero(legal[number]).tolist() == expected
        assert batch.over.tolist() == [state.outcome is not None for state in states]
        assert batch.to_move.tolist() == [state.to_move for state in states]
        assert batch.winner.tolist() == [winner_of(state) for state in states]
        whole = [number for number, path in enumerate(self.paths) if not path]
        assert batch.boards()[whole].tolist() == [states[number].board() for number in whole]
        assert batch.hopping.tolist() == [path != () for path in self.paths]
        if isinstance(batch, HopBatch):
            assert batch.turns.tolist() == [state.turns for state in states if isinstance(state, HopState)]

    def compare_scores(self) -> None:
        """Compare the scores of the games that are over."""
        for state, scores in zip(self.states, self.batch.scores().tolist(), strict=True):
            if state.outcome:
                assert tuple(map(plain, scores)) == state.outcome.scores


def winner_of(state: State) -> int:
    return -1 if state.outcome is None or state.outcome.winner is None else state.outcome.winner


def plain(score: int | list[int]) -> int | tuple[int, ...]:
    """Return a score as the single engine has it: in longest_path without zeros at the end."""
    if isinstance(score, int):
        return score
    while score and not score[-1]:
        score.pop()
    return tuple(score)


def play_whole_games(case: Case, count: int, seed: int) -> None:
    match = Match(case.make(count), [case.start() for _ in range(count)], case.game)
    generator = np.random.default_rng(seed)
    match.compare()
    while not match.batch.over.all():
        match.play(match.batch.random_actions(generator))
        match.compare()
    match.compare_scores()


@EVERY_GAME
def test_games_of_a_batch_are_games_of_the_single_engine(case: Case) -> None:
    """Compare after every action; a game that is over is compared until all are over."""
    play_whole_games(case, case.few, seed=5)


@pytest.mark.long
@EVERY_GAME
def test_many_games_of_a_batch_are_games_of_the_single_engine(case: Case) -> None:
    play_whole_games(case, case.many, seed=6)


@EACH_GAME
def test_a_batch_shows_what_the_environment_shows(case: Case) -> None:
    """A program that has learned from a batch meets the same observations and masks in PettingZoo."""
    environment = GetstepEnv(case.game, None, **case.options)
    environment.reset()
    batch = case.make(1)
    generator = np.random.default_rng(10)
    hopped = False
    for _ in range(60):
        if batch.over[0]:
            break
        seen = environment.observe(environment.agent_selection)
        assert np.array_equal(batch.observations()[0], seen["observation"])
        assert np.array_equal(batch.legal()[0], seen["action_mask"])
        hopped |= bool(seen["observation"][..., 2].any())
        actions = batch.random_actions(generator)
        batch.play(actions)
        environment.step(int(actions[0]))
    assert hopped == (case.game == "hop")


# --- positions from outside -------------------------------------------------------------------------------------


def sparse_boards(size: int, count: int, seed: int) -> Boards:
    """Return boards with any number of pieces of both players, from none to a full board."""
    generator = np.random.default_rng(seed)
    shape = (count, size, size)
    occupied = generator.random(shape) < generator.random((count, 1, 1))
    return np.where(occupied, generator.integers(1, 3, shape), 0).astype(np.int8)


def match_from(case: Case, boards: Boards, to_move: Sequence[int]) -> Match:
    batch = case.make(len(boards))
    batch.set_boards(boards, np.array(to_move))
    game = GAMES[case.game]
    states = [game.from_board(board, player == 0) for board, player in zip(boards.tolist(), to_move, strict=True)]
    return Match(batch, states, case.game)


@EACH_GAME
def test_positions_are_those_of_the_single_engine(case: Case) -> None:
    """Hop boards without moves, without pieces and with all pieces at home are among them, and full boards."""
    if case.game in ("chain_reaction", "linkage"):  # any pieces on any squares are no board of these games
        played = case.make(60)
        generator = np.random.default_rng(8)
        while played.over.sum() < 20:
            played.play(played.random_actions(generator))
        boards, to_move = played.boards(), played.to_move.tolist()
    else:
        boards = sparse_boards(case.make(1).size, 60, seed=1)
        boards[0], boards[1], boards[2] = 0, 1, 2
        to_move = [number % 2 for number in range(60)]
    match = match_from(case, boards, to_move)
    assert match.batch.over.any()
    assert not match.batch.over.all()
    generator = np.random.default_rng(9)
    for _ in range(8):
        match.compare()
        match.play(match.batch.random_actions(generator))
    match.compare()
    match.compare_scores()


def test_lengths_of_dense_groups_are_exact() -> None:
    """Groups with many cycles need the proof that a path is the longest one, and the search for a longer one."""
    generator = np.random.default_rng(3)
    density = np.linspace(0.4, 0.8, 300).reshape(-1, 1, 1)
    boards = np.where(generator.random((300, 11, 11)) < density, 1, 2).astype(np.int8)
    match_from(CASES[1], boards, [0] * 300).compare_scores()


@pytest.mark.parametrize("number", [1, 2], ids=["longest_path", "pseudo_tonga"])
def test_boards_that_are_scored_in_parts_are_scored_alike(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_filling, "SCORED_AT_ONCE", 7)
    size = CASES[number].make(1).size
    boards = np.random.default_rng(4).integers(1, 3, (20, size, size)).astype(np.int8)
    match = match_from(CASES[number], boards, [0] * 20)
    match.compare()
    match.compare_scores()


def test_sizes_of_winding_groups_are_exact() -> None:
    """A number has to be carried around all corners of the group."""
    board = np.full((16, 16), 2, np.int8)
    board[::2] = 1
    board[1:-1:4, -1] = 1
    board[3:-1:4, 0] = 1
    match = match_from(CASES[4], np.stack([board, board[::-1], board.T, board.T[::-1]]), [0] * 4)
    assert match.batch.scores()[:, 0].tolist() == [135**2] * 4
    match.compare_scores()


@EACH_GAME
def test_a_board_of_a_batch_goes_on_as_a_single_game(case: Case) -> None:
    batch = case.make(3)
    generator = np.random.default_rng(2)
    for _ in range(20):
        batch.play(batch.random_actions(generator))
    if isinstance(batch, HopBatch):
        ends = np.where(batch.hopping, HOP_END, batch.random_actions(generator))
        batch.play(ends)
    match = Match(batch, [batch.state(number) for number in range(3)], case.game)
    match.compare()
    match.play(batch.random_actions(generator))
    match.compare()


@EACH_GAME
def test_a_game_that_is_over_is_over_for_the_single_engine(case: Case) -> None:
    batch = case.make(2)
    generator = np.random.default_rng(2)
    while not batch.over.all():
        batch.play(batch.random_actions(generator))
    match = Match(batch, [batch.state(number) for number in range(2)], case.game)
    match.compare()
    match.compare_scores()


@pytest.mark.parametrize(
    ("cell", "to_move", "message"),
    [
        (3, 0, "board 1: the boards have 3; expected 0 to 2"),
        (-1, 0, "board 1: the boards have -1"),
        (1.0, 0, "the boards are an array .* of float64"),
        ([0, 0], 0, r"the boards are an array \(2, 11, 11, 2\)"),
        (1, 2, "board 1: the players on turn have 2; expected 0 to 1"),
        (1, True, "the players on turn are an array .* of bool"),
        (1, [0], r"the players on turn are an array \(2, 1\)"),
    ],
)
def test_a_wrong_position_changes_no_board(cell: Any, to_move: Any, message: str) -> None:
    batch = LongestPathBatch(2)
    batch.play(np.array([5, 6]))
    before = batch.boards()
    cells = np.zeros((2, 11, 11, *np.shape(cell)), np.array(cell).dtype)
    cells[1, 4, 4] = cell
    players = np.zeros((2, *np.shape(to_move)), np.array(to_move).dtype)
    players[1] = to_move
    with pytest.raises(ValueError, match=message):
        batch.set_boards(cells, players)
    assert np.array_equal(batch.boards(), before)
    assert batch.to_move.tolist() == [1, 1]


def test_a_square_over_capacity_is_refused() -> None:
    batch = ChainReactionBatch(2)
    boards = np.zeros((2, 8, 8), np.int8)
    boards[1, 0, 0], boards[1, 7, 6] = 1, -3
    with pytest.raises(ValueError, match=r"board 1: \(7, 6\) has 3 orbs; expected at most 2"):
        batch.set_boards(boards, np.zeros(2, np.intp))
    boards[1, 0, 0], boards[1, 7, 6] = 0, -5  # the board of a won game: its cascade was halted
    batch.set_boards(boards, np.zeros(2, np.intp))
    assert batch.winner.tolist() == [-1, 1]


# --- actions ----------------------------------------------------------------------------------------------------


@EVERY_GAME
def test_a_fault_costs_what_it_costs_on_the_single_engine(case: Case) -> None:
    batch = case.make(6)
    match = Match(batch, [case.start() for _ in range(6)], case.game)
    generator = np.random.default_rng(12)
    for number in range(12):
        while batch.hopping[[0, 2, 4]].any():
            match.play(batch.random_actions(generator))
        if number % 3 == 2:
            batch.fault(np.arange(6) % 2 == 0)
            for state in match.states[::2]:
                if not state.outcome:
                    state.fault()
        match.play(batch.random_actions(generator))
        running = [number for number in range(6) if not match.states[number].outcome]
        assert batch.over.tolist() == [state.outcome is not None for state in match.states]
        assert batch.winner.tolist() == [winner_of(state) for state in match.states]
        assert batch.to_move[running].tolist() == [match.states[n].to_move for n in running]
        assert not batch.legal()[batch.over].any()
    assert batch.over[::2].all() == (case.game != "hop")
    if case.game == "pseudo_tonga":
        match.compare_scores()


def test_a_fault_or_a_resignation_during_a_move_of_hop() -> None:
    batch = HopBatch(2)
    generator = np.random.default_rng(7)
    while not batch.hopping[0]:
        batch.play(batch.random_actions(generator))
    before, mover = batch.boards(), int(batch.to_move[0])
    with pytest.raises(ValueError, match="board 0: the move is not finished"):
        batch.fault(np.ones(2, np.bool_))
    assert np.array_equal(batch.boards(), before)
    batch.resign(np.array([True, False]))
    assert batch.over.tolist() == [True, False]
    assert batch.winner.tolist() == [1 - mover, -1]
    assert not batch.legal()[0].any()
    assert not batch.hopping[0]
    batch.restart(batch.over)
    assert np.array_equal(batch.boards()[0], HopBatch(1).boards()[0])


@pytest.mark.parametrize("game", GAMES)
def test_each_game_has_a_batch(game: str) -> None:
    assert type(batch_of(game, 2)) is not GameBatch
    assert len(batch_of(game, 2)) == 2


def test_a_game_has_only_its_own_options() -> None:
    assert batch_of("pseudo_tonga", 1, size=6).size == 6
    with pytest.raises(ValueError, match="hop has no option 'size'"):
        batch_of("hop", 1, size=6)


@EACH_GAME
def test_only_the_named_boards_restart(case: Case) -> None:
    batch = case.make(4)
    generator = np.random.default_rng(3)
    while not batch.over.all():
        batch.play(batch.random_actions(generator))
    before, winners = batch.boards(), batch.winner.copy()
    fresh = case.make(4)
    batch.restart(np.array([True, False, True, False]))
    assert batch.winner.tolist() == [-1, winners[1], -1, winners[3]]
    assert batch.over.tolist() == [False, True, False, True]
    actions = fresh.random_actions(generator)
    for _ in range(2):  # the new games are played as any other
        assert np.array_equal(batch.boards()[::2], fresh.boards()[::2])
        assert np.array_equal(batch.legal()[::2], fresh.legal()[::2])
        assert not batch.legal()[1::2].any()
        assert np.array_equal(batch.boards()[1::2], before[1::2])
        assert batch.random_actions(generator)[1::2].tolist() == [0, 0]
        fresh.play(actions)
        batch.play(np.where(batch.over, 9999, actions))  # the games that are over ignore their actions
        actions = fresh.random_actions(generator)


@EACH_GAME
def test_copies_of_boards_go_on_apart_from_them(case: Case) -> None:
    batch, generator = case.make(6), np.random.default_rng(7)
    for _ in range(9):  # in hop some moves are not finished then
        batch.play(batch.random_actions(generator))
    before, numbers = looks(batch), [4, 1, 1, 5]
    twin = batch.take(np.array(numbers))
    assert len(twin) == 4
    assert looks(twin) == [before[number] for number in numbers]
    same = batch.take(np.arange(6))
    while not batch.over.all():
        actions = batch.random_actions(generator)
        batch.play(actions)
        same.play(actions)
        assert looks(same) == looks(batch)
    assert same.scores().tolist() == batch.scores().tolist()
    assert looks(twin) == [before[number] for number in numbers]
    while not twin.over.all():
        twin.play(twin.random_actions(generator))


def looks(batch: Batch) -> list[object]:
    """Return all that can be seen of each board."""
    seen = (batch.to_move, batch.winner, batch.over, batch.hopping, batch.legal(), batch.observations())
    return list(zip(*(array.tolist() for array in seen), strict=True))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (np.array([0, 3]), "there is no board 3; expected 0 to 2"),
        (np.array([-1]), "there is no board -1; expected 0 to 2"),
        (np.zeros((1, 1), np.intp), re.escape("an array (1, 1) of int64; expected (n,) integers")),
        (np.array([True, False, True]), re.escape("an array (3,) of bool; expected (n,) integers")),
    ],
)
def test_only_boards_of_the_batch_are_copied(numbers: NDArray[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChainReactionBatch(3).take(numbers)


@pytest.mark.parametrize(
    ("make", "first", "actions", "message"),
    [
        (ChainReactionBatch, 5, [1, 5], "board 1: action 5 is illegal"),  # the opponent's square
        (ChainReactionBatch, 5, [1, 64], "board 1: action 64 is illegal"),
        (ChainReactionBatch, 5, [-1, 6], "board 0: action -1 is illegal"),
        (ChainReactionBatch, 5, [1], r"an array \(1,\)"),
        (ChainReactionBatch, 5, [1.0, 6.0], "of float64"),
        (LongestPathBatch, 5, [1, 5], "board 1: action 5 is illegal"),
        (LongestPathBatch, 5, [121, 4], "board 0: action 121 is illegal"),
        (PseudoTongaBatch, 5, [5, 1], "board 0: action 5 is illegal"),
        (PseudoTongaBatch, 5, [2**40, 1], "board 0: action 1099511627776 is illegal"),
        (HopBatch, 8 * 18 + 2, [8 * 15 + 1, 8 * 18 + 2], "board 1: action 146 is illegal"),  # an empty square now
        (HopBatch, 8 * 18 + 2, [HOP_END, 8 * 15 + 1], "board 0: action 512 is illegal"),  # no hop to end
        (HopBatch, 8 * 18 + 2, [8 * 15 + 1, 513], "board 1: action 513 is illegal"),
    ],
)
def test_an_illegal_action_changes_no_board(
    make: Callable[[int], Batch], first: int, actions: list[float], message: str
) -> None:
    batch = make(2)
    batch.play(np.array([first, first]))
    before = batch.boards()
    with pytest.raises(ValueError, match=message):
        batch.play(np.array(actions))
    assert np.array_equal(batch.boards(), before)
    assert batch.to_move.tolist() == [1, 1]


@pytest.mark.parametrize("size", [4, 7, 17, 18])
def test_a_size_that_the_game_has_not_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=str(size)):
        PseudoTongaBatch(2, size)


@pytest.mark.parametrize("case", [case for case in SMALL if not case.generic], ids=str)
def test_each_legal_action_is_drawn_equally_often(case: Case) -> None:
    one = case.make(1)
    generator = np.random.default_rng(4)
    for _ in range(12 if case.game == "linkage" else 30):
        one.play(one.random_actions(generator))
    if isinstance(one, HopBatch):
        while not one.hopping[0]:  # the end of a move is a legal action, too
            one.play(one.random_actions(generator))
        assert_equal_chances(one)
        one.play(np.array([HOP_END]))
    batch = case.make(20_000)
    batch.set_boards(np.repeat(one.boards(), 20_000, 0), np.repeat(one.to_move, 20_000))
    legal = np.flatnonzero(one.legal()[0])
    counts = np.bincount(batch.random_actions(generator), minlength=batch.actions)
    assert np.flatnonzero(counts).tolist() == legal.tolist()
    expected = 20_000 / len(legal)
    assert np.abs(counts[legal] - expected).max() < 5 * expected**0.5


def assert_equal_chances(batch: Batch) -> None:
    """Draw again and again on one board: a batch of boards cannot begin with an unfinished move."""
    generator = np.random.default_rng(7)
    counts = np.bincount([int(batch.random_actions(generator)[0]) for _ in range(2000)], minlength=batch.actions)
    legal = np.flatnonzero(batch.legal()[0])
    assert np.flatnonzero(counts).tolist() == legal.tolist()
    expected = 2000 / len(legal)
    assert np.abs(counts[legal] - expected).max() < 5 * expected**0.5


def test_each_set_bit_is_drawn_equally_often() -> None:
    dice = Random(1)
    for word in [0, 1, 1 << 63, (1 << 64) - 1, *(dice.getrandbits(64) & dice.getrandbits(64) for _ in range(5))]:
        draws = 200 * 64
        drawn = random_bits(np.full(draws, word, np.uint64), np.random.default_rng(1))
        counts = np.bincount(drawn.astype(np.intp), minlength=64)
        bits = [number for number in range(64) if word >> number & 1] or [0]
        assert np.flatnonzero(counts).tolist() == bits
        expected = draws / len(bits)
        assert counts[bits].min() > expected * 0.6  # 200 draws of a bit and more: five standard deviations
        flags = to_flags(np.array([word], np.uint64))
        assert flags.sum() == word.bit_count()
        assert to_words(flags).tolist() == [word]


# --- hop --------------------------------------------------------------------------------------------------------


def hop_board(**pieces: list[tuple[int, int]]) -> Boards:
    board = np.zeros((1, 8, 8), np.int8)
    for player, squares in enumerate((pieces.get("black", []), pieces.get("white", [])), 1):
        for square in squares:
            board[0][square] = player
    return board


def test_a_move_ends_after_99_hops() -> None:
    """The piece on (0, 0) may hop to and fro over its neighbour for ever."""
    match = match_from(CASES[5], hop_board(black=[(0, 0), (0, 1)], white=[(7, 7)]), [0])
    right, left = 8 * 0 + 6, 8 * 2 + 5
    for hop in range(99):
        assert match.batch.to_move[0] == 0
        match.play(np.array([left if hop % 2 else right]))
        match.compare()
    assert match.batch.to_move[0] == 1
    assert match.batch.boards()[0, 0, 2] == 1


def test_an_unfinished_move_is_no_position_of_the_single_engine() -> None:
    batch = HopBatch(2)
    batch.set_boards(np.repeat(hop_board(black=[(0, 0), (0, 1)], white=[(7, 7)]), 2, 0), np.array([0, 0]))
    batch.play(np.array([8 * 0 + 6, 8 * 1 + 7 - 4]))
    assert batch.hopping.tolist() == [True, False]
    assert batch.state(1).to_move == 1
    with pytest.raises(ValueError, match="board 0: the move is not finished"):
        batch.state(0)
    batch.restart(np.array([True, False]))
    assert batch.hopping.tolist() == [False, False]
    assert batch.turns.tolist() == [0, 1]


@pytest.mark.parametrize("to_move", [0, 1])
def test_a_game_in_which_nobody_can_move_is_over_at_once(to_move: int) -> None:
    """All 400 turns are passed. The board is full, but no player has all pieces at home."""
    board = np.where(np.indices((1, 8, 8)).sum(0) % 2, 1, 2).astype(np.int8)
    match = match_from(CASES[5], board, [to_move])
    match.compare()
    match.compare_scores()
    assert isinstance(match.batch, HopBatch)
    assert match.batch.turns[0] == 400


def test_a_player_without_pieces_is_passed_over_until_the_400_turns_are_over() -> None:
    match = match_from(CASES[5], hop_board(black=[(0, 0)]), [0])
    down, up = 8 * 0 + 3, 8 * 8 + 0
    for turn in range(200):
        match.play(np.array([up if turn % 2 else down]))
        match.compare()
    assert match.batch.over[0]


# --- the documents and the benchmark ----------------------------------------------------------------------------


def programs() -> Iterator[str]:
    """Yield the programs of docs/training.md that use a batch."""
    page = Path(__file__).parents[2] / "docs" / "training.md"
    for program in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        if "Batch" in program:
            yield program


def test_the_program_in_the_docs_plays_all_games(capsys: pytest.CaptureFixture[str]) -> None:
    program = next(p for p in programs() if "Red wins" in p)
    exec(program.replace("4096", "64"), {})
    assert 0 < float(capsys.readouterr().out.removeprefix("Red wins ")) < 1


def test_the_bot_in_the_docs_beats_random_moves() -> None:
    program = next(p for p in programs() if "def get_step" in p)
    names: dict[str, Any] = {}
    exec(program.replace("PLAYOUTS = 200", "PLAYOUTS = 20").replace("default_rng()", "default_rng(1)"), names)
    dice = Random(1)
    for player in (0, 1):
        state = GAMES["pseudo_tonga"].start(size=6)
        while not state.outcome:
            moves = list(state.legal_moves())
            own = state.to_move == player
            state.play(names["get_step"](state.board(), player == 0) if own else dice.choice(moves))
        assert state.outcome.winner == player


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_benchmark_counts_moves_and_not_hops(row: Any) -> None:
    batch: Batch = row.batch(8)
    generator = np.random.default_rng(1)
    moves = sum(random_round(batch, generator) for _ in range(30))
    if isinstance(batch, HopBatch):
        assert moves == batch.turns.sum() < 30 * 8  # nobody is passed over this early
    else:
        assert moves == 30 * 8
