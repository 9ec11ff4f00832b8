"""Many boards of linkage at once. Square (row, column) is bit ``8 * row + column``; the eighth column is empty."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from getstep_engines import State
from getstep_engines.linkage import (
    BLOCKED,
    CENTRE,
    COLOURS,
    DOMINOES_EACH,
    GROUPS_FOR_MORE,
    LINKAGE,
    SIZE,
    TOUCHING,
)

from ._base import Batch
from ._filling import find_groups
from ._words import ONE, Flags, Numbers, Words, random_below, ranked_bits, to_flags, to_words, word

_STRIDE = 8
_ROW = word(_STRIDE)
_NONE = word(0)
_FULL = word(sum(0x7F << _STRIDE * row for row in range(SIZE)))
_CENTRE = word(1 << _STRIDE * CENTRE[0] + CENTRE[1])
_EACH = len(COLOURS)

# The places of a domino, as `getstep_training._actions` numbers them: horizontal ones, then vertical ones.
_FIRST = np.array(
    [_STRIDE * row + column for row in range(SIZE) for column in range(SIZE - 1)]
    + [_STRIDE * row + column for row in range(SIZE - 1) for column in range(SIZE)],
    np.uint64,
)
_ACROSS = SIZE * (SIZE - 1)
_PLACES = len(_FIRST)
_BESIDE = np.where(np.arange(_PLACES) < _ACROSS, ONE, _ROW)
_DOMINOES: Words = (ONE << _FIRST) | (ONE << _FIRST + _BESIDE)
_PLACE_AT = np.zeros((2, 64), np.intp)
_PLACE_AT[(np.arange(_PLACES) >= _ACROSS).astype(np.intp), _FIRST.astype(np.intp)] = np.arange(_PLACES)


class LinkageBatch(Batch):
    """``count`` games of linkage. An action is ``84 * colour + place``; a score is the groups on the board.

    ``_placed`` are the squares of each colour, an array ``(4, count)``. ``_free`` are the empty squares that the
    player on turn may cover.
    """

    size = SIZE
    actions = _EACH * _PLACES
    cells = range(TOUCHING, _EACH + 1)

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._placed: Words = np.zeros((_EACH, count), np.uint64)
        self._free: Words = np.full(count, _FULL ^ _CENTRE)

    def legal(self) -> Flags:
        places = np.stack([flags[:, _FIRST[part]] for flags, part in self._places()], 1)
        legal = self._left().T[:, :, None] & places.reshape(len(self), 1, _PLACES)
        flags: Flags = legal.reshape(len(self), self.actions) & self._running[:, None]
        return flags

    def random_actions(self, generator: np.random.Generator) -> Numbers:
        across, down = _across(self._free), _down(self._free)
        first, second = np.bitwise_count(across).astype(np.intp), np.bitwise_count(down).astype(np.intp)
        left = self._left()
        colours = left.sum(0)
        colour, place = np.divmod(
            random_below((first + second) * colours, generator), np.maximum(first + second, 1)
        )
        vertical = place >= first
        bits = ranked_bits(np.where(vertical, down, across), place - np.where(vertical, first, 0))
        number = (left.cumsum(0) <= colour).sum(0)  # of the colour: `colour` counts those that are left
        drawn = _PLACES * number + _PLACE_AT[vertical.astype(np.intp), bits.astype(np.intp)]
        return np.where(self._running, drawn, 0)

    def boards(self) -> NDArray[np.int8]:
        boards = self._coloured(np.arange(len(self)))
        boards -= _squares(self._empty() & ~self._free) * np.int8(-TOUCHING)
        boards[(slice(None), *CENTRE)] = BLOCKED
        return boards

    def scores(self) -> NDArray[np.int64]:
        return np.repeat(self._groups(np.arange(len(self)))[:, None], 2, 1)

    def state(self, number: int) -> State:
        return LINKAGE.from_board(self.boards()[number].tolist(), self.to_move[number] == 0)

    def _left(self) -> Flags:
        """Return True for each colour with a domino left, an array ``(4, count)``."""
        left: Flags = np.bitwise_count(self._placed) < 2 * DOMINOES_EACH
        return left

    def _empty(self) -> Words:
        placed: Words = np.bitwise_or.reduce(self._placed, 0)
        return _FULL & ~_CENTRE & ~placed

    def _is_legal(self, actions: Numbers) -> Flags:
        colour, place = np.divmod(actions, _PLACES)
        domino = _DOMINOES[place]
        legal: Flags = (self._free & domino == domino) & self._left()[colour, np.arange(len(self))]
        return legal

    def _play(self, actions: Numbers) -> None:
        at = np.flatnonzero(self._running)
        colour, place = np.divmod(actions[at], _PLACES)
        domino = _DOMINOES[place]
        self._placed[colour, at] |= domino
        touching = domino << ONE | domino >> ONE | domino << _ROW | domino >> _ROW
        self._free[at] = self._empty()[at] & ~touching
        self.to_move[at] ^= 1
        self._settle(at)

    def _restart(self, at: Numbers) -> None:
        self._placed[:, at] = 0
        self._free[at] = _FULL ^ _CENTRE

    def _set_boards(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> None:
        padded = np.zeros((len(self), _STRIDE, _STRIDE), np.int8)
        padded[:, :SIZE, :SIZE] = cells.reshape(-1, SIZE, SIZE)
        flat = padded.reshape(len(self), -1)
        wrong = np.flatnonzero(to_words(flat == BLOCKED) != _CENTRE)
        if len(wrong):
            raise ValueError(f"board {wrong[0]}: expected {BLOCKED} on {CENTRE} alone")
        placed = np.stack([to_words(flat == colour) for colour in range(1, _EACH + 1)])
        squares = np.bitwise_count(placed)
        for colour, number in np.argwhere((squares > 2 * DOMINOES_EACH) | (squares & 1 != 0)):
            raise ValueError(
                f"board {number}: {squares[colour, number]} squares are {COLOURS[colour]};"
                f" expected an even number up to {2 * DOMINOES_EACH}"
            )
        self.restart(np.ones(len(self), np.bool_))
        self.to_move[:] = to_move
        self._placed = placed
        self._free = to_words(flat == 0) & _FULL
        self._settle(np.arange(len(self)))

    def _take(self, at: Numbers) -> None:
        self._placed, self._free = self._placed.take(at, 1), self._free[at]

    def _settle(self, at: Numbers) -> None:
        """Pass over players without a legal placement; end the games in which no domino fits anywhere."""
        left = self._left()[:, at].any(0)
        at = at[~(left & _has_place(self._free[at]))]
        self._free[at] = self._empty()[at]
        going = self._left()[:, at].any(0) & _has_place(self._free[at])
        self.to_move[at[going]] ^= 1
        over = at[~going]
        self._end(over, 2 * (self._groups(over) >= GROUPS_FOR_MORE) - 1)

    def _groups(self, at: Numbers) -> NDArray[np.int64]:
        """Return the number of groups of the boards ``at``, of all colours together."""
        cells = self._coloured(at).reshape(-1, SIZE * SIZE)
        last = np.arange(SIZE * SIZE) == find_groups(cells, SIZE).T
        groups: NDArray[np.int64] = (last & (cells > 0)).sum(1)
        return groups

    def _coloured(self, at: Numbers) -> NDArray[np.int8]:
        """Return the boards ``at`` with the dominoes on them, 0 on all other squares."""
        planes = [_squares(squares[at]) * np.int8(colour) for colour, squares in enumerate(self._placed, 1)]
        boards: NDArray[np.int8] = np.add.reduce(planes)
        return boards

    def _places(self) -> tuple[tuple[Flags, slice], tuple[Flags, slice]]:
        """Return the squares where a horizontal and a vertical domino may begin, each with its places."""
        return (
            (to_flags(_across(self._free)), slice(_ACROSS)),
            (to_flags(_down(self._free)), slice(_ACROSS, None)),
        )


def _squares(words: Words) -> NDArray[np.int8]:
    """Return a 1 for each bit that is set, an array ``(count, 7, 7)``."""
    return to_flags(words).view(np.int8).reshape(-1, _STRIDE, _STRIDE)[:, :SIZE, :SIZE]


def _across(free: Words) -> Words:
    return free & free >> ONE


def _down(free: Words) -> Words:
    return free & free >> _ROW


def _has_place(free: Words) -> Flags:
    found: Flags = (_across(free) | _down(free)) != _NONE
    return found
