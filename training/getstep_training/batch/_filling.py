"""The common part of batches of games in which the players fill an empty board, one piece a turn."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from getstep_engines import Game, State

from ._base import Batch
from ._words import Flags, Numbers, random_below

_ALL, _NONE = np.uint8(255), np.uint8(0)
SCORED_AT_ONCE = 4096
"""The boards that are scored together: fewer need more calls of numpy, and more do not fit into the cache."""


class FillingBatch(Batch):
    """``count`` games on ``size`` × ``size`` squares; an action is ``row * size + column`` of an empty one.

    ``_cells`` is ``(count, squares)``. ``_order`` has the squares of each board, the ``_left`` empty ones first, so
    that a random action is one look-up. ``_place`` is the inverse of ``_order``.
    """

    game: Game
    cells = range(3)

    def __init__(self, count: int, size: int) -> None:
        super().__init__(count)
        self.size = size
        self.actions = size * size
        self._cells: NDArray[np.int8] = np.zeros((count, self.actions), np.int8)
        self._order: NDArray[np.uint8] = np.tile(_squares(self.actions), (count, 1))
        self._place: NDArray[np.uint8] = self._order.copy()
        self._left: Numbers = np.full(count, self.actions, np.intp)
        self._first: Numbers = np.arange(count) * self.actions  # the index of a board's first cell in a flat array

    def legal(self) -> Flags:
        legal: Flags = (self._cells == 0) & self._running[:, None]  # after a fault the board may not be full
        return legal

    def random_actions(self, generator: np.random.Generator) -> Numbers:
        drawn = self._order.reshape(-1)[self._first + random_below(self._left, generator)]
        return np.where(self._running, drawn, 0).astype(np.intp)

    def boards(self) -> NDArray[np.int8]:
        boards: NDArray[np.int8] = self._cells.reshape(-1, self.size, self.size).copy()
        return boards

    def state(self, number: int) -> State:
        board = self._cells[number].reshape(self.size, self.size)
        return self.game.from_board(board.tolist(), self.to_move[number] == 0)

    @abstractmethod
    def _score(self, cells: NDArray[np.int8]) -> NDArray[np.int64]:
        """Return the scores of at most `SCORED_AT_ONCE` boards, as `scores` does."""

    @abstractmethod
    def _leads(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a number for each board: above 0 if the first player wins, 0 for a draw."""

    def scores(self) -> NDArray[np.int64]:
        return np.concatenate([self._score(self._cells[block]) for block in _blocks(np.arange(len(self)))])

    def _is_legal(self, actions: Numbers) -> Flags:
        legal: Flags = self._cells.reshape(-1)[self._first + actions] == 0
        return legal

    def _play(self, actions: Numbers) -> None:
        at = np.flatnonzero(self._running)
        if len(at) == len(self):
            first, left, taken, piece = self._first, self._left, actions, self.to_move
        else:
            first, left, taken, piece = self._first[at], self._left[at], actions[at], self.to_move[at]
        cells, order, place = (array.reshape(-1) for array in (self._cells, self._order, self._place))
        left = left - 1
        cells[first + taken] = piece + 1
        # The last of the empty squares takes the place of the one that is filled.
        hole = place[first + taken]
        last = order[first + left]
        order[first + hole] = last
        place[first + last] = hole
        self._left[at] = left
        self.to_move[at] = piece ^ 1
        self._finish(at[left == 0])

    def _restart(self, at: Numbers) -> None:
        self._cells[at] = 0
        self._order[at] = self._place[at] = _squares(self.actions)
        self._left[at] = self.actions

    def _set_boards(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> None:
        self.restart(np.ones(len(self), np.bool_))
        self.to_move[:] = to_move
        self._cells[:] = cells
        self._order[:] = np.argsort(cells != 0, axis=1, kind="stable")
        np.put_along_axis(self._place, self._order.astype(np.intp), _squares(self.actions)[None], 1)
        self._left[:] = (cells == 0).sum(1)
        self._finish(np.flatnonzero(self._left == 0))

    def _take(self, at: Numbers) -> None:
        self._cells, self._order, self._place = self._cells[at], self._order[at], self._place[at]
        self._left, self._first = self._left[at], np.arange(len(at)) * self.actions

    def _finish(self, at: Numbers) -> None:
        """Score the full boards ``at``."""
        if len(at):
            for block in _blocks(at):
                self._end(block, self._leads(self._score(self._cells[block])))


def _blocks(at: Numbers) -> list[Numbers]:
    """Return ``at`` in parts that are scored together; at least one part."""
    return [at[first : first + SCORED_AT_ONCE] for first in range(0, max(len(at), 1), SCORED_AT_ONCE)]


def find_groups(cells: NDArray[np.int8], size: int) -> NDArray[np.uint8]:
    """Return the groups of equal cells: for each cell the last square of its group, an array ``(squares, count)``.

    Args:
        cells: an array ``(count, squares)``.
    """
    # All boards side by side: numpy handles 16 and more neighbouring octets with one instruction of the processor.
    board = np.ascontiguousarray(cells.T).reshape(size, size, -1)
    same_column = np.where(board[1:] == board[:-1], _ALL, _NONE)
    same_row = np.where(board[:, 1:] == board[:, :-1], _ALL, _NONE).swapaxes(0, 1)
    groups = np.empty(board.shape, np.uint8)
    groups[:] = _squares(size * size).reshape(size, size, 1)
    changed = True
    while changed:
        before = groups.copy()
        _carry(groups, same_column)
        _carry(groups.swapaxes(0, 1), same_row)
        changed = not np.array_equal(before, groups)
    return groups.reshape(size * size, -1)


def _carry(groups: NDArray[np.uint8], same: NDArray[np.uint8]) -> None:
    """Carry the highest number along each straight part of a group: down all lines, then up.

    Args:
        same: for each line but the last, all bits on a square that is connected with the next line.
    """
    for line in range(1, len(groups)):
        np.maximum(groups[line], groups[line - 1] & same[line - 1], out=groups[line])
    for line in range(len(groups) - 2, -1, -1):
        np.maximum(groups[line], groups[line + 1] & same[line], out=groups[line])


def _squares(count: int) -> NDArray[np.uint8]:
    return np.arange(count, dtype=np.uint8)  # 255 is the last square of the largest board, 16×16


def group_sizes(groups: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the size of each group at its last square, an array ``(count, squares)``; 0 at the other squares."""
    squares, count = groups.shape
    numbers = groups.T + np.arange(count)[:, None] * squares
    return np.bincount(numbers.reshape(-1), minlength=count * squares).reshape(count, squares)
