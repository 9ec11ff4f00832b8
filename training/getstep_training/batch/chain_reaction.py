"""Many boards of chain_reaction at once: the planes of `getstep_engines.chain_reaction`, in arrays of words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from getstep_engines import State
from getstep_engines.chain_reaction import CHAIN_REACTION, SIZE

from ._base import Batch
from ._words import ONE, SQUARES, Flags, Numbers, Words, random_bits, to_flags, to_words, word

_TOP = word(0xFF)
_BOTTOM = word(0xFF << 56)
_LEFT = word(0x0101010101010101)
_RIGHT = word(0x8080808080808080)
_CORNERS = (_TOP | _BOTTOM) & (_LEFT | _RIGHT)
_EDGES = (_TOP | _BOTTOM | _LEFT | _RIGHT) ^ _CORNERS
_ROW = word(8)
_NONE = word(0)
_CAPACITIES = np.full(SQUARES, 4, np.int8)
_CAPACITIES -= to_flags(np.array([_EDGES]))[0] + 2 * to_flags(np.array([_CORNERS]))[0].astype(np.int8)


class ChainReactionBatch(Batch):
    """``count`` games of chain_reaction; an action is ``row * 8 + column``. A score is the orbs of a player."""

    size = SIZE
    actions = SQUARES
    cells = range(-7, 8)

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._ones: Words = np.full(count, _EDGES)
        self._twos: Words = np.full(count, _CORNERS)
        self._fours: Words = np.zeros(count, np.uint64)
        self._mine: Words = np.zeros(count, np.uint64)
        self._theirs: Words = np.zeros(count, np.uint64)

    def legal(self) -> Flags:
        return to_flags(self._legal())

    def random_actions(self, generator: np.random.Generator) -> Numbers:
        return random_bits(self._legal(), generator).astype(np.intp)

    def boards(self) -> NDArray[np.int8]:
        ones, twos, fours, theirs = (
            to_flags(plane).astype(np.int8) for plane in (self._ones, self._twos, self._fours, self._theirs)
        )
        orbs = ones + 2 * twos + 4 * fours + _CAPACITIES - 4
        signs = (1 - 2 * self.to_move)[:, None] * (1 - 2 * theirs)
        boards: NDArray[np.int8] = (orbs * signs).astype(np.int8).reshape(-1, SIZE, SIZE)
        return boards

    def scores(self) -> NDArray[np.int64]:
        boards = self.boards().reshape(-1, SQUARES)
        return np.stack([np.maximum(boards, 0).sum(1), -np.minimum(boards, 0).sum(1)], 1)

    def state(self, number: int) -> State:
        return CHAIN_REACTION.from_board(self.boards()[number].tolist(), self.to_move[number] == 0)

    def _legal(self) -> Words:
        return np.where(self._running, ~self._theirs, _NONE)

    def _is_legal(self, actions: Numbers) -> Flags:
        legal: Flags = self._theirs >> actions.astype(np.uint64) & ONE == 0
        return legal

    def _play(self, actions: Numbers) -> None:
        running = self._running
        added = np.where(running, ONE << actions.astype(np.uint64), _NONE)
        both_have_moved = (self._mine | self._theirs) != 0
        self._mine |= added
        self._ones ^= added
        carry = added & ~self._ones
        self._twos ^= carry
        exploding = np.flatnonzero(carry & ~self._twos)
        if len(exploding):
            self._explode(exploding, (carry & ~self._twos)[exploding])
        won = np.flatnonzero(running & both_have_moved & (self._theirs == 0))
        exchanged = np.where(running, self._mine ^ self._theirs, _NONE)
        self._mine ^= exchanged
        self._theirs ^= exchanged
        # `_end` changes `_running`, so it comes last.
        leads = 1 - 2 * self.to_move[won]
        self.to_move ^= running.astype(np.int8)
        self._end(won, leads)

    def _restart(self, at: Numbers) -> None:
        self._ones[at] = _EDGES
        self._twos[at] = _CORNERS
        for plane in (self._fours, self._mine, self._theirs):
            plane[at] = 0

    def _set_boards(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> None:
        red, green = cells > 0, cells < 0
        orbs = np.abs(cells)
        won = ~(red.any(1) & green.any(1)) & (orbs.sum(1) > 1)
        # On the board of a won game a square may be over capacity: its cascade was halted.
        most = np.where(won, 2, 1)[:, None] * _CAPACITIES - 1
        wrong = np.argwhere(orbs > most)
        if len(wrong):
            number, square = wrong[0]
            raise ValueError(
                f"board {number}: {divmod(int(square), SIZE)} has {orbs[number, square]} orbs;"
                f" expected at most {most[number, square]}"
            )
        self.restart(np.ones(len(self), np.bool_))
        fills = orbs + (4 - _CAPACITIES)
        self._ones, self._twos, self._fours = (to_words(fills >> place & 1 != 0) for place in range(3))
        second = to_move[:, None] == 1
        self._mine, self._theirs = to_words(np.where(second, green, red)), to_words(np.where(second, red, green))
        self.to_move[:] = to_move
        at = np.flatnonzero(won)
        self._end(at, np.where(red[at].any(1), 1, -1))

    def _take(self, at: Numbers) -> None:
        self._ones, self._twos, self._fours = self._ones[at], self._twos[at], self._fours[at]
        self._mine, self._theirs = self._mine[at], self._theirs[at]

    def _explode(self, at: Numbers, fours: Words) -> None:
        """Play the waves on the boards ``at``, which begin with the squares ``fours`` at capacity."""
        ones, twos, theirs = self._ones[at], self._twos[at], self._theirs[at]
        while len(at):
            going = (fours != 0) & (theirs != 0)
            if not going.all():
                # Boards that are stable or won leave: a wave costs as much for a still board as for any other.
                still = ~going
                self._store(at[still], ones[still], twos[still], fours[still], theirs[still])
                at, ones, twos, fours, theirs = at[going], ones[going], twos[going], fours[going], theirs[going]
            # See getstep_engines.chain_reaction: the same wave, with masks in place of the guard column.
            up = fours >> _ROW | fours & _TOP
            down = fours << _ROW | fours & _BOTTOM
            left = fours >> ONE & ~_RIGHT | fours & _LEFT
            right = fours << ONE & ~_LEFT | fours & _RIGHT
            theirs = theirs & ~(up | down | left | right)
            both, pair = up & down, left & right
            odd, even = up ^ down, left ^ right
            gain_ones, gain_twos, gain_fours = odd ^ even, both ^ pair ^ (odd & even), both & pair
            carry = ones & gain_ones
            ones = ones ^ gain_ones
            mixed = np.bitwise_xor(twos, gain_twos)
            fours = gain_fours | twos & gain_twos | mixed & carry
            twos = np.bitwise_xor(mixed, carry)

    def _store(self, at: Numbers, ones: Words, twos: Words, fours: Words, theirs: Words) -> None:
        self._ones[at], self._twos[at], self._fours[at], self._theirs[at] = ones, twos, fours, theirs
        self._mine[at] = ((ones ^ _EDGES) | (twos ^ _CORNERS) | fours) & ~theirs
