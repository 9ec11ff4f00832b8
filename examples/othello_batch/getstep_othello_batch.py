"""Thousands of games of Othello at once: a batch for a game of another package."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from getstep_engines import State
from getstep_othello import OTHELLO
from getstep_training.batch import Batch

Words: TypeAlias = NDArray[np.uint64]
"""For each game a number of 64 bits; bit ``8 * row + column`` is a square."""

ONE = np.uint64(1)
START = np.array([1 << 28 | 1 << 35, 1 << 27 | 1 << 36], np.uint64)
NOT_LEFT, NOT_RIGHT = np.uint64(0xFEFEFEFEFEFEFEFE), np.uint64(0x7F7F7F7F7F7F7F7F)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
WAYS = [
    (-9, NOT_RIGHT),
    (-8, ALL),
    (-7, NOT_LEFT),
    (-1, NOT_RIGHT),
    (1, NOT_LEFT),
    (7, NOT_RIGHT),
    (8, ALL),
    (9, NOT_LEFT),
]
"""The steps to the eight neighbours, each with the squares that it can reach without leaving the board."""


def step(words: Words, way: int, reached: np.uint64) -> Words:
    """Return the squares one step away."""
    moved: Words = (words << np.uint64(way) if way > 0 else words >> np.uint64(-way)) & reached
    return moved


def lines(first: Words, enemies: Words, way: int, reached: np.uint64) -> Words:
    """Return the enemies that follow without a gap, in one way, on the squares ``first``."""
    line = step(first, way, reached) & enemies
    for _ in range(5):  # at most six discs lie between two others
        line |= step(line, way, reached) & enemies
    return line


def flags(words: Words) -> NDArray[np.bool_]:
    """Return an array ``(games, 64)`` of the bits."""
    octets = words.astype("<u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(octets, axis=1, bitorder="little").astype(np.bool_)


def words_of(bits: NDArray[np.bool_]) -> Words:
    """Return the words of an array ``(games, 64)``."""
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").reshape(-1).astype(np.uint64)


class OthelloBatch(Batch):
    """``count`` games of Othello. An action is ``8 * row + column``. A score is the number of discs."""

    size = 8
    actions = 64
    cells = range(3)

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._discs: Words = np.tile(START[:, None], count)  # of Black, of White

    def _take(self, at: NDArray[np.intp]) -> None:
        self._discs = self._discs[:, at]

    def legal(self) -> NDArray[np.bool_]:
        return flags(np.where(self._running, self._moves(self.to_move), np.uint64(0)))

    def boards(self) -> NDArray[np.int8]:
        black, white = map(flags, self._discs)
        return (black + np.int8(2) * white).reshape(-1, 8, 8).astype(np.int8)

    def scores(self) -> NDArray[np.int64]:
        return np.bitwise_count(self._discs).T.astype(np.int64)

    def state(self, number: int) -> State:
        return OTHELLO.from_board(self.boards()[number].tolist(), self.to_move[number] == 0)

    def _play(self, actions: NDArray[np.intp]) -> None:
        at = np.flatnonzero(self._running)
        placed = ONE << actions[at].astype(np.uint64)
        mine, theirs = self._sides(self.to_move)[:, at]
        turned = np.zeros(len(at), np.uint64)
        for way, reached in WAYS:
            line = lines(placed, theirs, way, reached)
            turned |= np.where(step(line, way, reached) & mine != 0, line, np.uint64(0))
        mover = self.to_move[at]
        self._discs[mover, at] |= placed | turned
        self._discs[1 - mover, at] &= ~turned
        self.to_move[at] = 1 - mover
        self._pass_on()

    def _restart(self, at: NDArray[np.intp]) -> None:
        self._discs[:, at] = START[:, None]

    def _set_boards(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> None:
        self._discs = np.stack([words_of(cells == 1), words_of(cells == 2)])
        self.to_move[:] = to_move
        self.winner[:] = -1
        self._running[:] = True

    def _sides(self, players: NDArray[np.int8]) -> Words:
        """Return the discs of these players, and those of their opponents."""
        return np.where(players == 0, self._discs, self._discs[::-1])

    def _moves(self, players: NDArray[np.int8]) -> Words:
        mine, theirs = self._sides(players)
        empty, moves = ~(mine | theirs), np.zeros(len(self), np.uint64)
        for way, reached in WAYS:
            moves |= step(lines(mine, theirs, way, reached), way, reached) & empty
        return moves

    def _pass_on(self) -> None:
        """Pass over opponents without a legal move; end the games in which nobody has one."""
        stuck = self._running & (self._moves(self.to_move) == 0)
        self.to_move[stuck] = 1 - self.to_move[stuck]
        over = np.flatnonzero(stuck & (self._moves(self.to_move) == 0))
        black, white = self.scores()[over].T
        self._end(over, black - white)
