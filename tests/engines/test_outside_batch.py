"""Learning programs and a game of another package: its batch, its environment, and a fast batch for it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from getstep_engines import GAMES
from getstep_training import batch as batches
from getstep_training._actions import actions_of
from getstep_training.batch import Batch, GameBatch, batch_of, checks
from getstep_training.batch.checks import check_batch
from tests.support.plugins import OTHELLO_BATCH, installed, write_metadata, write_othello


@pytest.fixture
def othello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from installed(monkeypatch, *write_othello(tmp_path))


@pytest.fixture
def fast_othello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Batch]]:
    """Othello with a batch of its own; the class of the batch."""
    for _ in installed(monkeypatch, *write_othello(tmp_path), *write_othello(tmp_path, OTHELLO_BATCH)):
        yield type(batch_of("othello", 1))


@pytest.mark.usefixtures("othello")
def test_a_game_of_another_package_is_played_by_its_engine() -> None:
    batch, states = batch_of("othello", 3), [GAMES["othello"].start() for _ in range(3)]
    actions, generator = actions_of(GAMES["othello"], 8), np.random.default_rng(1)
    assert type(batch) is GameBatch
    while not batch.over.all():
        for number, state in enumerate(states):
            legal = [] if state.outcome else actions.legal(state, ())
            assert np.flatnonzero(batch.legal()[number]).tolist() == sorted(legal)
            assert batch.boards()[number].tolist() == state.board()
        drawn = batch.random_actions(generator)
        batch.play(drawn)
        for state, action in zip(states, drawn.tolist(), strict=True):
            if not state.outcome:
                state.play(divmod(action, 8))
    assert [tuple(row) for row in batch.scores().tolist()] == [
        state.outcome.scores for state in states if state.outcome
    ]


@pytest.mark.usefixtures("othello")
def test_it_has_an_environment_and_is_a_game_of_openspiel() -> None:
    pettingzoo = pytest.importorskip("getstep_training.pettingzoo")
    from pettingzoo.test import api_test

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of observations that are no images
        api_test(pettingzoo.env("othello"), num_cycles=100)
    pyspiel = pytest.importorskip("pyspiel")
    from getstep_training.open_spiel import register

    assert "getstep_othello" in register()
    state = pyspiel.load_game("getstep_othello").new_initial_state()
    assert [state.action_to_string(action) for action in state.legal_actions()] == ["2,3", "3,2", "4,5", "5,4"]


def test_a_package_brings_a_fast_batch_for_its_game(fast_othello: type[Batch]) -> None:
    assert fast_othello.__name__ == "OthelloBatch"
    check_batch("othello", count=4)


@pytest.mark.parametrize("game", ["chain_reaction", "linkage", "longest_path", "pseudo_tonga"])
def test_our_own_batches_pass_the_check(game: str) -> None:
    check_batch(game, count=2)


def _mover_stays(self: Any) -> None:
    self.to_move[:] = 1 - self.to_move


def _take_the_first(self: Any, at: Any) -> None:
    self._discs = self._discs[:, : len(at)]


MISTAKES = {
    "_pass_on": (_mover_stays, r"to_move\[\(0,\)\] is 0 after 1 actions; the engine has 1"),
    "boards": (lambda self: np.zeros((len(self), 8, 8), np.int8), r"boards\(\)\[\(0, 3, 3\)\] is 0 at the start"),
    "legal": (lambda self: np.zeros((len(self), 3), np.bool_), r"legal\(\) has the shape \(4, 3\) at the start"),
    "scores": (lambda self: np.ones((len(self), 2), np.int64), r"^winner\["),
    "_restart": (lambda self, at: None, r"after fault\(\)"),
    "_fault": (lambda self, at: None, r"over\[\(0,\)\] is False after fault\(\); the engine has True"),
    "_take": (_take_the_first, r"boards\(\)\[.* in copies after 1 actions"),
    "_set_boards": (lambda self, cells, to_move: None, r"after set_boards\(\)"),
    "state": (lambda self, number: GAMES["othello"].start(), r"state\(\)\[.* in a position"),
}


@pytest.mark.parametrize("method", MISTAKES)
def test_a_mistake_in_a_batch_is_found(
    fast_othello: type[Batch], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, says = MISTAKES[method]
    broken = type("Broken", (fast_othello,), {method: wrong})
    monkeypatch.setattr(checks, "batch_of", lambda game, count: broken(count))
    with pytest.raises(AssertionError, match=says):
        check_batch("othello", count=4)


def test_another_thing_than_a_batch_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_metadata(tmp_path, "wrong", {"othello": "json:loads"}, batches.GROUP)
    for _ in installed(monkeypatch, *write_othello(tmp_path)):
        with pytest.raises(TypeError, match=r"json:loads: the entry point of othello in getstep.batches names"):
            batch_of("othello", 1)


@pytest.mark.usefixtures("othello")
def test_a_board_that_is_not_square_is_refused() -> None:
    othello = GAMES["othello"]
    state = type("Wide", (type(othello.start()),), {"board": lambda self: [[0] * 8] * 7})
    wide = replace(othello, _start=lambda: state([[0] * 8 for _ in range(8)], 0))
    with pytest.raises(ValueError, match="othello: the board is 7×8; expected a square one"):
        GameBatch(wide, 1)
