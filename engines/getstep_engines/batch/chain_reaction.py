"""Many boards of chain_reaction at once: the planes of `getstep_engines.chain_reaction`, in arrays of words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from getstep_engines._game import State
from getstep_engines.chain_reaction import CHAIN_REACTION, SIZE

from ._words import ONE, SQUARES, Flags, Numbers, Words, random_bits, to_flags, word

_TOP = word(0xFF)
_BOTTOM = word(0xFF << 56)
_LEFT = word(0x0101010101010101)
_RIGHT = word(0x8080808080808080)
_CORNERS = (_TOP | _BOTTOM) & (_LEFT | _RIGHT)
_EDGES = (_TOP | _BOTTOM | _LEFT | _RIGHT) ^ _CORNERS
_ROW = word(8)
_NONE = word(0)
RUNNING = -1


class ChainReactionBatch:
    """``count`` games of chain_reaction.

    ``to_move`` is the player on turn (0 or 1) of each board, ``winner`` is 0 or 1, or -1 while the game runs.
    Both are arrays of int8; they are the batch's own, so do not change them.
    """

    def __init__(self, count: int) -> None:
        self.to_move: NDArray[np.int8] = np.zeros(count, np.int8)
        self.winner: NDArray[np.int8] = np.full(count, RUNNING, np.int8)
        self._ones: Words = np.full(count, _EDGES)
        self._twos: Words = np.full(count, _CORNERS)
        self._fours: Words = np.zeros(count, np.uint64)
        self._mine: Words = np.zeros(count, np.uint64)
        self._theirs: Words = np.zeros(count, np.uint64)

    def __len__(self) -> int:
        return len(self.to_move)

    @property
    def over(self) -> Flags:
        """True for each game that is over."""
        over: Flags = self.winner != RUNNING
        return over

    def legal(self) -> Flags:
        """Return the legal actions, an array ``(count, 64)``; none for a game that is over."""
        return to_flags(self._legal())

    def random_actions(self, generator: np.random.Generator) -> Numbers:
        """Return a legal action for each board, all with the same chance; 0 for a game that is over."""
        return random_bits(self._legal(), generator).astype(np.intp)

    def play(self, actions: Numbers) -> None:
        """Play ``row * size + column`` on each board that is not over; the other actions are ignored.

        Raises:
            ValueError: there is not one action for each board, or one of them is illegal. No board is changed.
        """
        running = self.winner == RUNNING
        added = self._added(np.asarray(actions), running)
        both_have_moved = (self._mine | self._theirs) != 0
        self._mine |= added
        self._ones ^= added
        carry = added & ~self._ones
        self._twos ^= carry
        exploding = np.flatnonzero(carry & ~self._twos)
        if len(exploding):
            self._explode(exploding, (carry & ~self._twos)[exploding])
        won = running & both_have_moved & (self._theirs == 0)
        self.winner[won] = self.to_move[won]
        exchanged = np.where(running, self._mine ^ self._theirs, _NONE)
        self._mine ^= exchanged
        self._theirs ^= exchanged
        self.to_move ^= running.astype(np.int8)

    def restart(self, boards: Flags) -> None:
        """Begin a new game on each board for which ``boards`` is True."""
        self.to_move[boards] = 0
        self.winner[boards] = RUNNING
        self._ones[boards] = _EDGES
        self._twos[boards] = _CORNERS
        for plane in (self._fours, self._mine, self._theirs):
            plane[boards] = 0

    def boards(self) -> NDArray[np.int8]:
        """Return the boards as ``get_step`` gets them, an array ``(count, 8, 8)``."""
        ones, twos, fours, theirs = (
            to_flags(plane).astype(np.int8) for plane in (self._ones, self._twos, self._fours, self._theirs)
        )
        spare = to_flags(np.array([_EDGES]))[0] + 2 * to_flags(np.array([_CORNERS]))[0].astype(np.int8)
        orbs = ones + 2 * twos + 4 * fours - spare
        signs = (1 - 2 * self.to_move)[:, None] * (1 - 2 * theirs)
        boards: NDArray[np.int8] = (orbs * signs).astype(np.int8).reshape(-1, SIZE, SIZE)
        return boards

    def scores(self) -> NDArray[np.int64]:
        """Return the orbs of the first and of the second player, an array ``(count, 2)``."""
        boards = self.boards().reshape(-1, SQUARES)
        return np.stack([np.maximum(boards, 0).sum(1), -np.minimum(boards, 0).sum(1)], 1)

    def state(self, number: int) -> State:
        """Return the position of one board for the single engine."""
        return CHAIN_REACTION.from_board(self.boards()[number].tolist(), self.to_move[number] == 0)

    def _legal(self) -> Words:
        return np.where(self.winner == RUNNING, ~self._theirs, _NONE)

    def _added(self, actions: Numbers, running: Flags) -> Words:
        """Return the square of each action as a bit, 0 on boards that are over."""
        if actions.shape != running.shape or actions.dtype.kind not in "iu":
            raise ValueError(
                f"the actions are an array {actions.shape} of {actions.dtype}; expected {running.shape} integers"
            )
        # A negative action is a large number of 64 bits without a sign, so one comparison checks both limits.
        squares = actions.astype(np.uint64)
        added = np.where(running, ONE << (squares & word(SQUARES - 1)), _NONE)
        wrong = np.flatnonzero(running & (squares >= SQUARES) | (added & self._theirs != 0))
        if len(wrong):
            raise ValueError(f"board {wrong[0]}: action {actions[wrong[0]]} is illegal; expected one of legal()")
        return added

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
