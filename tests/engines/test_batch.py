"""The batch engines, compared with the single engines on random games."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import numpy as np
import pytest

from getstep_engines import GAMES
from getstep_engines.batch import ChainReactionBatch
from getstep_engines.batch._words import random_bits, to_flags

BOARDS = 60


def test_games_of_a_batch_are_games_of_the_single_engine() -> None:
    """Compare all that can be seen after every move; a game that is over is compared until all are over."""
    batch = ChainReactionBatch(BOARDS)
    states = [GAMES["chain_reaction"].start() for _ in range(BOARDS)]
    generator = np.random.default_rng(5)
    while not batch.over.all():
        legal = batch.legal()
        actions = batch.random_actions(generator)
        for number, state in enumerate(states):
            squares = [row * 8 + column for row, column in state.legal_moves()]
            assert np.flatnonzero(legal[number]).tolist() == squares
            if not state.outcome:
                state.play(divmod(int(actions[number]), 8))
        batch.play(actions)
        assert batch.boards().tolist() == [state.board() for state in states]
        assert batch.to_move.tolist() == [state.to_move for state in states]
        assert batch.winner.tolist() == [state.outcome.winner if state.outcome else -1 for state in states]
    assert batch.scores().tolist() == [list(state.outcome.scores) for state in states if state.outcome]


def test_the_program_in_the_docs_plays_all_games(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "training.md"
    program = next(
        p for p in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL) if "Batch" in p
    )
    exec(program.replace("4096", "64"), {})
    assert 0 < float(capsys.readouterr().out.removeprefix("Red wins ")) < 1


def test_a_board_of_a_batch_goes_on_as_a_single_game() -> None:
    batch = ChainReactionBatch(3)
    generator = np.random.default_rng(2)
    for _ in range(20):
        batch.play(batch.random_actions(generator))
    state = batch.state(1)
    assert state.board() == batch.boards()[1].tolist()
    assert state.to_move == batch.to_move[1]
    assert [r * 8 + c for r, c in state.legal_moves()] == np.flatnonzero(batch.legal()[1]).tolist()


def test_only_the_named_boards_restart() -> None:
    batch = ChainReactionBatch(4)
    generator = np.random.default_rng(3)
    while not batch.over.all():
        batch.play(batch.random_actions(generator))
    before = batch.boards()
    batch.restart(np.array([True, False, True, False]))
    assert batch.winner.tolist()[::2] == [-1, -1]
    assert batch.over.tolist() == [False, True, False, True]
    after = batch.boards()
    assert not after[::2].any()
    assert np.array_equal(after[1::2], before[1::2])
    batch.play(np.array([9, 0, 10, 99]))  # the games that are over ignore their actions
    assert batch.boards()[:, 1, 1:3].tolist()[::2] == [[1, 0], [0, 1]]
    assert np.array_equal(batch.boards()[1::2], before[1::2])


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([1, 5], "board 1: action 5 is illegal"),  # the opponent's square
        ([1, 64], "board 1: action 64 is illegal"),
        ([-1, 6], "board 0: action -1 is illegal"),
        ([1], r"an array \(1,\)"),
        ([1.0, 6.0], "of float64"),
    ],
)
def test_an_illegal_action_changes_no_board(actions: list[int], message: str) -> None:
    batch = ChainReactionBatch(2)
    batch.play(np.array([5, 5]))
    before = batch.boards()
    with pytest.raises(ValueError, match=message):
        batch.play(np.array(actions))
    assert np.array_equal(batch.boards(), before)
    assert batch.to_move.tolist() == [1, 1]


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
        assert to_flags(np.array([word], np.uint64))[0].sum() == word.bit_count()
