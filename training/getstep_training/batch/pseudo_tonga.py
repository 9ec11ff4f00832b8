"""Many boards of pseudo_tonga at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from getstep_engines.pseudo_tonga import PSEUDO_TONGA, SIZE

from ._filling import FillingBatch, find_groups, group_sizes
from ._words import Numbers


class PseudoTongaBatch(FillingBatch):
    """``count`` games of pseudo_tonga; an action is ``row * size + column``. A score is the points of a player.

    Args:
        size: the squares along a side of the board, as the option of the game.
    """

    game = PSEUDO_TONGA

    def __init__(self, count: int, size: int = SIZE.default) -> None:
        super().__init__(count, SIZE.check(size))

    def _fault(self, at: Numbers) -> None:
        """Fill the empty squares with pieces of the opponent, then score the boards."""
        cells = self._cells[at]
        self._cells[at] = np.where(cells == 0, 2 - self.to_move[at][:, None], cells)
        self._left[at] = 0
        self._finish(at)

    def _score(self, cells: NDArray[np.int8]) -> NDArray[np.int64]:
        sizes = group_sizes(find_groups(cells, self.size))
        points = sizes * sizes
        # A group's points stand on its last square, which has the piece of its owner.
        return np.stack([(points * (cells == piece)).sum(1) for piece in (1, 2)], 1)

    def _leads(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        leads: NDArray[np.int64] = scores[:, 0] - scores[:, 1]
        return leads
