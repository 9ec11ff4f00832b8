"""A batch of any game, on the single engine: the calls of the fast batches, at the speed of the engine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from getstep_engines import Game, State
from getstep_training._actions import Path, actions_of, side_of

from ._base import NOBODY, Batch, cells_of
from ._words import Flags, Numbers


class GameBatch(Batch):
    """``count`` games of any kind whose moves have numbers; for games from other packages.

    A score is a player's number in the score line of the game, once the game is over that of its outcome.

    Args:
        game: the game.
        options: the options of the game's start.

    Raises:
        ValueError: the game does not have one of the options, its moves have no numbers, or its board is not
            square.
    """

    def __init__(self, game: Game, count: int, **options: int) -> None:
        super().__init__(count)
        self._game = game
        self._first = game.start(**options)
        self.size = side_of(game, self._first)
        self._numbers = actions_of(game, self.size)
        self.actions = self._numbers.count
        self.cells = cells_of(game)
        self._states: list[State] = [self._first.copy() for _ in range(count)]
        self._paths: list[Path] = [()] * count
        self._read(np.arange(count))

    @property
    def hopping(self) -> Flags:
        return np.array([bool(path) for path in self._paths], np.bool_)

    def legal(self) -> Flags:
        legal = np.zeros((len(self), self.actions), np.bool_)
        for number in np.flatnonzero(self._running).tolist():
            legal[number, self._legal(number)] = True
        return legal

    def boards(self) -> NDArray[np.int8]:
        boards = np.empty((len(self), self.size, self.size), np.int8)
        for number, (state, path) in enumerate(zip(self._states, self._paths, strict=True)):
            boards[number] = self._game.trace(state, list(path))[-1].board if path else state.board()
        return boards

    def observations(self) -> NDArray[np.int8]:
        planes = super().observations()
        for number, path in enumerate(self._paths):
            if path:
                planes[(number, *path[-1], 2)] = 1
        return planes

    def scores(self) -> NDArray[np.int64]:
        """Return the scores.

        Raises:
            ValueError: the game has no score line.
        """
        scores = [state.outcome.scores if state.outcome else self._game.measures(state) for state in self._states]
        if not all(score and all(isinstance(number, int) for number in score) for score in scores):
            raise ValueError(f"{self._game.name}: the scores are not two whole numbers; expected a score line")
        return np.array(scores, np.int64).reshape(-1, 2)

    def state(self, number: int) -> State:
        if self._paths[number]:
            raise ValueError(f"board {number}: the move is not finished")
        return self._states[number].copy()

    def _legal(self, number: int) -> list[int]:
        return self._numbers.legal(self._states[number], self._paths[number])

    def _play(self, actions: Numbers) -> None:
        at = np.flatnonzero(self._running)
        for number in at:
            state = self._states[number]
            self._paths[number], move = self._numbers.choose(state, self._paths[number], int(actions[number]))
            if move is not None:
                state.play(move)
        self._read(at)

    def _fault(self, at: Numbers) -> None:
        for number in at:
            self._states[number].fault()
        self._read(at)

    def _restart(self, at: Numbers) -> None:
        for number in at:
            self._states[number] = self._first.copy()
            self._paths[number] = ()
        self._read(at)

    def _set_boards(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> None:
        states = []
        for number, (board, player) in enumerate(zip(cells, to_move, strict=True)):
            try:
                rows = board.reshape(self.size, self.size).tolist()
                states.append(self._game.from_board(rows, bool(player == 0)))
            except ValueError as error:
                raise ValueError(f"board {number}: {error}") from error
        self._states = states
        self._paths = [()] * len(self)
        self._running[:] = True
        self.winner[:] = NOBODY
        self._read(np.arange(len(self)))

    def _take(self, at: Numbers) -> None:
        self._states = [self._states[number].copy() for number in at]
        self._paths = [self._paths[number] for number in at]

    def _read(self, at: Numbers) -> None:
        """Read who is on turn on the boards ``at``, and which games are over."""
        for number in at:
            state = self._states[number]
            self.to_move[number] = state.to_move
            if state.outcome:
                winner = state.outcome.winner
                self._end(np.array([number]), np.array([0 if winner is None else 1 - 2 * winner]))
