"""The test that a batch has to pass, also one of another package: it plays as the engine of its game.

    from getstep_training.batch.checks import check_batch

    def test_my_batch():
        check_batch("othello")

A check raises an AssertionError that says what is wrong. The games are random, from a fixed seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from getstep_engines import GAMES

from . import batch_of
from ._base import Batch
from .generic import GameBatch


def check_batch(game: str, count: int = 8, **options: int) -> None:
    """Play random games in the batch of a game and on its engine, and compare them after each action.

    Args:
        game: a name in `GAMES`.
        count: the number of boards.
        options: the options of the game's start.

    Raises:
        AssertionError: the batch differs from the engine.
    """
    batch, engine = batch_of(game, count, **options), GameBatch(GAMES[game], count, **options)
    generator = np.random.default_rng(1)
    _compare(batch, engine, "at the start")
    actions = 0
    while not engine.over.all():
        _check_positions(game, batch, options)
        drawn = engine.random_actions(generator)
        batch.play(drawn)
        engine.play(drawn)
        actions += 1
        _compare(batch, engine, f"after {actions} actions")
        every_other = np.arange(0, count, 2)
        _compare(batch.take(every_other), engine.take(every_other), f"in copies after {actions} actions")
    _check_scores(batch, engine)
    _check_ends(batch, engine)


def _check_positions(game: str, batch: Batch, options: dict[str, int]) -> None:
    """Put the positions of a batch into another one and into engines, unless a move is unfinished."""
    at = np.flatnonzero(~batch.over & ~batch.hopping)
    if len(at):
        made = batch_of(game, len(at), **options), GameBatch(GAMES[game], len(at), **options)
        for each in made:
            each.set_boards(batch.boards()[at], batch.to_move[at])
        _compare(*made, "after set_boards()")
        state = batch.state(int(at[0]))
        _same("state()", np.array(state.board()), batch.boards()[at[0]], "in a position")


def _check_scores(batch: Batch, engine: GameBatch) -> None:
    try:
        expected = engine.scores()
    except ValueError:
        return  # the scores of the game are other things than two whole numbers
    _same("scores()", batch.scores(), expected, "at the end")


def _check_ends(batch: Batch, engine: GameBatch) -> None:
    """Begin again, and end half of the games by a fault or by resigning."""
    some = np.arange(len(batch)) % 2 == 0
    for name in ("fault", "resign"):
        for each in (batch, engine):
            each.restart(np.ones(len(batch), np.bool_))
            getattr(each, name)(some)
        _compare(batch, engine, f"after {name}()")


def _compare(batch: Batch, engine: Batch, when: str) -> None:
    running = ~engine.over
    _same("over", batch.over, engine.over, when)
    _same("winner", batch.winner, engine.winner, when)
    _same("to_move", batch.to_move[running], engine.to_move[running], when)
    _same("legal()", batch.legal(), engine.legal(), when)
    _same("boards()", batch.boards(), engine.boards(), when)
    _same("observations()", batch.observations()[running], engine.observations()[running], when)
    _same("hopping", batch.hopping, engine.hopping, when)


def _same(name: str, found: NDArray[Any], expected: NDArray[Any], when: str) -> None:
    if found.shape != expected.shape:
        raise AssertionError(f"{name} has the shape {found.shape} {when}; expected {expected.shape}")
    wrong = np.argwhere(found != expected)
    if len(wrong):
        at = tuple(wrong[0].tolist())
        raise AssertionError(f"{name}[{at}] is {found[at]} {when}; the engine has {expected[at]}")
