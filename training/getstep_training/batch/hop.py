"""Many boards of hop at once. A hop is one action, so that every legal path can be played, hop by hop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from getstep_engines import State
from getstep_engines.hop import MOST_HOPS, SIZE, START, TURNS_EACH, HopState
from getstep_training._actions import HOP_END, HOP_WAYS

from ._base import Batch
from ._words import ONE, SQUARES, Flags, Numbers, Words, random_below, ranked_bits, to_flags, to_words, word

_NONE = word(0)
_TWO = word(2)
_ROW = word(SIZE)
_TWO_ROWS = word(2 * SIZE)
_TURNS = 2 * TURNS_EACH
_START = np.array(START, np.int8).reshape(1, -1)

_COLUMNS = [word(0x0101010101010101 << column) for column in range(SIZE)]
_BLACK_TARGET, _WHITE_TARGET = _COLUMNS[6] | _COLUMNS[7], _COLUMNS[0] | _COLUMNS[1]

# The ways of `HOP_WAYS` are steps up, left, right and down, then hops in the same directions.
_WAYS = 8
_STEPS, _HOPS = slice(4), slice(4, 8)
_DISTANCES = np.array([length * (SIZE * down + right) for length in (1, 2) for down, right in HOP_WAYS], np.intp)


class HopBatch(Batch):
    """``count`` games of hop, with the actions of the PettingZoo environment.

    An action is ``8 * (8 * row + column) + way``: a step or one hop of the piece on ``(row, column)``. If that
    piece can hop on, `hopping` is True after the hop, and the same player acts again: it chooses the next hop, or
    512, which ends the move. A score is the pieces in a player's own target region.

    ``turns`` are the turns of both players together, skipped turns included. The array is the batch's own.
    """

    size = SIZE
    actions = HOP_END + 1
    cells = range(3)

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.turns: NDArray[np.int16] = np.zeros(count, np.int16)
        self._black: Words = np.zeros(count, np.uint64)
        self._white: Words = np.zeros(count, np.uint64)
        self._hops: NDArray[np.int8] = np.zeros(count, np.int8)  # of the unfinished move; 0 at the start of a turn
        self._ways: Words = np.zeros((_WAYS, count), np.uint64)  # for each way, the pieces that may go it
        self._restart(np.arange(count))

    @property
    def hopping(self) -> Flags:
        hopping: Flags = self._hops > 0
        return hopping

    def legal(self) -> Flags:
        ways = np.stack([to_flags(pieces) for pieces in self._ways], 2).reshape(len(self), HOP_END)
        return np.concatenate([ways, self.hopping[:, None]], 1)

    def random_actions(self, generator: np.random.Generator) -> Numbers:
        # Number the legal actions of a board: those of the first way, of the second way, …, the end of the move.
        hopping = self.hopping
        counts = np.bitwise_count(self._ways).cumsum(0, dtype=np.int16)
        number = random_below(counts[-1] + hopping, generator)
        way = (number >= counts).sum(0, dtype=np.intp)
        ends = hopping & (way == _WAYS)
        way &= _WAYS - 1  # a board whose game is over has no way; any will do
        every = np.arange(len(self))
        pieces = self._ways[way, every]
        number -= counts[way, every] - np.bitwise_count(pieces)
        actions = 8 * ranked_bits(pieces, number).astype(np.intp) + way
        return np.where(self._running, np.where(ends, HOP_END, actions), 0)

    def boards(self) -> NDArray[np.int8]:
        cells = to_flags(self._black) + 2 * to_flags(self._white).astype(np.int8)
        boards: NDArray[np.int8] = cells.reshape(-1, SIZE, SIZE)
        return boards

    def observations(self) -> NDArray[np.int8]:
        planes = super().observations()
        # Only the piece that has hopped may go on, so that it stands where the legal ways begin.
        hopping = np.where(self.hopping, np.bitwise_or.reduce(self._ways, 0), _NONE)
        planes[..., 2] = to_flags(hopping).reshape(-1, SIZE, SIZE)
        return planes

    def scores(self) -> NDArray[np.int64]:
        return self._scores_at(np.arange(len(self)))

    def state(self, number: int) -> State:
        """Return the position of one board for the single engine, with its number of turns.

        Raises:
            ValueError: the board has an unfinished move.
        """
        if self._hops[number]:
            raise ValueError(f"board {number}: the move is not finished; play another hop, or {HOP_END} to end it")
        board = self.boards()[number]
        black, white = (
            sum(1 << row * (SIZE + 1) + column for row, column in np.argwhere(board == piece).tolist())
            for piece in (1, 2)
        )
        return HopState((black, white), 1 if self.to_move[number] else 0, int(self.turns[number]))

    def _resign(self, at: Numbers) -> None:
        super()._resign(at)
        self._ways[:, at] = 0
        self._hops[at] = 0

    def _scores_at(self, at: Numbers) -> NDArray[np.int64]:
        home = [self._black[at] & _BLACK_TARGET, self._white[at] & _WHITE_TARGET]
        scores: NDArray[np.int64] = np.bitwise_count(np.stack(home, 1)).astype(np.int64)
        return scores

    def _is_legal(self, actions: Numbers) -> Flags:
        squares, ways = actions >> 3, actions & _WAYS - 1
        pieces = self._ways[ways, np.arange(len(self))]
        legal: Flags = pieces >> squares.astype(np.uint64) & ONE != 0
        return np.where(actions == HOP_END, self.hopping, legal)

    def _play(self, actions: Numbers) -> None:
        moving = self._running & (actions != HOP_END)
        squares, ways = actions >> 3, actions & _WAYS - 1
        reached = squares + _DISTANCES[ways]
        hops = moving & (ways >= _HOPS.start)
        start, end, over = (
            np.where(condition, ONE << (bits & SQUARES - 1).astype(np.uint64), _NONE)
            for condition, bits in ((moving, squares), (moving, reached), (hops, squares + reached >> 1))
        )
        second = self.to_move == 1
        self._black = np.where(second, self._black & ~over, self._black ^ (start | end))
        self._white = np.where(second, self._white ^ (start | end), self._white & ~over)
        open_ways = _open_ways(self._black | self._white)
        may_hop_on = (np.bitwise_or.reduce(open_ways[_HOPS], 0) & end != 0) & (self._hops < MOST_HOPS - 1)
        self._hops[:] = np.where(hops & may_hop_on, self._hops + 1, 0)
        ended = self._running & ~self.hopping
        self.turns += ended
        self.to_move ^= ended
        self._settle(ended, open_ways, end)

    def _fault(self, at: Numbers) -> None:
        """Skip the turn."""
        self.turns[at] += 1
        self.to_move[at] ^= 1
        hopping = np.where(self.hopping, np.bitwise_or.reduce(self._ways, 0), _NONE)
        # The other boards without an unfinished move are settled once more, which changes nothing.
        self._settle(self._running & ~self.hopping, _open_ways(self._black | self._white), hopping)

    def _restart(self, at: Numbers) -> None:
        self._black[at], self._white[at] = _START_PIECES
        self._ways[:, at] = _START_WAYS
        self._hops[at] = 0
        self.turns[at] = 0

    def _set_boards(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> None:
        every = np.ones(len(self), np.bool_)
        self.restart(every)
        self.to_move[:] = to_move
        self._black, self._white = to_words(cells == 1), to_words(cells == 2)
        self._settle(every, _open_ways(self._black | self._white), np.zeros(len(self), np.uint64))

    def _take(self, at: Numbers) -> None:
        self._black, self._white, self._ways = self._black[at], self._white[at], self._ways.take(at, 1)
        self._hops, self.turns = self._hops[at], self.turns[at]

    def _settle(self, ended: Flags, open_ways: Words, hopping: Words) -> None:
        """End the games that are over, and pass over players without a legal move, on the boards whose turn ended.

        Args:
            ended: True for each board on which a turn has ended.
            open_ways: the result of `_open_ways`.
            hopping: the piece that has hopped, on the other boards.
        """
        home = _is_home(self._black, _BLACK_TARGET) | _is_home(self._white, _WHITE_TARGET)
        own = np.where(self.to_move == 1, self._white, self._black)
        running = self._running & ~(ended & (home | (self.turns == _TURNS)))
        self._ways[_STEPS] = open_ways[_STEPS] & np.where(running & ended, own, _NONE)
        self._ways[_HOPS] = open_ways[_HOPS] & np.where(running, np.where(ended, own, hopping), _NONE)
        stuck = np.flatnonzero(running & (np.bitwise_or.reduce(self._ways, 0) == 0))
        if len(stuck):
            others = np.where(self.to_move[stuck] == 1, self._black[stuck], self._white[stuck])
            ways = open_ways[:, stuck] & others
            # If the opponent has no legal move either, all turns that are left are passed.
            passed = np.where(ways.any(0), 1, _TURNS - self.turns[stuck])
            self.turns[stuck] += passed.astype(np.int16)
            self.to_move[stuck] ^= (passed & 1).astype(np.int8)
            over = self.turns[stuck] == _TURNS
            running[stuck[over]] = False
            self._ways[:, stuck] = np.where(over, _NONE, ways)
        over = np.flatnonzero(self._running & ~running)
        scores = self._scores_at(over)
        self._end(over, scores[:, 0] - scores[:, 1])


def _open_ways(occupied: Words) -> Words:
    """Return, for each way, the squares from which a piece could go it: an array ``(8, count)``."""
    # From the last column, a step sideways would lead to another row. So would a hop from the last two columns,
    # which are a target region.
    empty = ~occupied
    return np.stack(
        [
            empty << _ROW,
            empty << ONE & ~_COLUMNS[0],
            empty >> ONE & ~_COLUMNS[7],
            empty >> _ROW,
            occupied << _ROW & empty << _TWO_ROWS,
            occupied << ONE & empty << _TWO & ~_WHITE_TARGET,
            occupied >> ONE & empty >> _TWO & ~_BLACK_TARGET,
            occupied >> _ROW & empty >> _TWO_ROWS,
        ]
    )


def _is_home(pieces: Words, target: np.uint64) -> Flags:
    home: Flags = (pieces != 0) & (pieces & ~target == 0)
    return home


_START_PIECES = to_words(_START == 1), to_words(_START == 2)
_START_WAYS = _open_ways(_START_PIECES[0] | _START_PIECES[1]) & _START_PIECES[0]
