"""The common part of all batches: the players on turn, the winners, and the checks of the callers' arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from getstep_engines import Game, State

from ._words import Flags, Numbers

NOBODY = -1

AnyBatch = TypeVar("AnyBatch", bound="Batch")


def cells_of(game: Game) -> range:
    """Return the values that a cell of the board of ``game`` can have; those of int8 if the game does not say."""
    pieces = game.look.pieces
    return range(min(0, *pieces), max(0, *pieces) + 1) if pieces else range(-128, 128)


class Batch(ABC):
    """``count`` games of one kind.

    ``to_move`` is the player on turn (0 or 1) of each board. ``winner`` is 0 or 1; it is -1 for a draw, and for a
    game that is not over. Both are arrays of int8; they are the batch's own, so do not change them.
    """

    size: int
    """The squares along a side of the board."""

    actions: int
    """The number of actions: each is a number from 0 to ``actions - 1``."""

    cells: range
    """The values that a cell of `boards` can have."""

    def __init__(self, count: int) -> None:
        self.to_move: NDArray[np.int8] = np.zeros(count, np.int8)
        self.winner: NDArray[np.int8] = np.full(count, NOBODY, np.int8)
        self._running: Flags = np.ones(count, np.bool_)

    def __len__(self) -> int:
        return len(self.to_move)

    @property
    def over(self) -> Flags:
        """True for each game that is over."""
        return ~self._running

    @property
    def hopping(self) -> Flags:
        """True for each board with an unfinished move: its player acts again. Only hop has such moves."""
        return np.zeros(len(self), np.bool_)

    @abstractmethod
    def legal(self) -> Flags:
        """Return the legal actions, an array ``(count, actions)``; none for a game that is over."""

    def random_actions(self, generator: np.random.Generator) -> Numbers:
        """Return a legal action for each board, all with the same chance; 0 for a game that is over."""
        legal = self.legal()
        drawn: Numbers = np.where(legal, 1 - generator.random(legal.shape), 0).argmax(axis=1)
        return drawn

    @abstractmethod
    def boards(self) -> NDArray[np.int8]:
        """Return the boards as ``get_step`` gets them, an array ``(count, size, size)``."""

    def observations(self) -> NDArray[np.int8]:
        """Return what the PettingZoo environment shows the player on turn: an array ``(count, size, size, 3)``."""
        planes = np.zeros((len(self), self.size, self.size, 3), np.int8)
        planes[..., 0] = self.boards()
        planes[..., 1] = (self.to_move == 0)[:, None, None]
        return planes

    @abstractmethod
    def scores(self) -> NDArray[np.int64]:
        """Return the scores of the first and of the second player on the boards as they are: ``(count, 2)``.

        The class of the game says what a score is; in longest_path it is a row of numbers, ``(count, 2, 121)``.
        """

    @abstractmethod
    def state(self, number: int) -> State:
        """Return the position of one board for the single engine."""

    def play(self, actions: Numbers) -> None:
        """Play one action on each board that is not over; the other actions are ignored.

        Raises:
            ValueError: there is not one action for each board, or one of them is illegal. No board is changed.
        """
        actions = np.asarray(actions)
        if actions.shape != self.to_move.shape or actions.dtype.kind not in "iu":
            raise ValueError(
                f"the actions are an array {actions.shape} of {actions.dtype};"
                f" expected {self.to_move.shape} integers"
            )
        # A negative action is a large number without a sign, so the smaller number is an action in any case.
        bounded: Numbers = np.minimum(actions.astype(np.uint64), np.uint64(self.actions - 1)).astype(np.intp)
        wrong = np.flatnonzero(self._running & ((bounded != actions) | ~self._is_legal(bounded)))
        if len(wrong):
            raise ValueError(f"board {wrong[0]}: action {actions[wrong[0]]} is illegal; expected one of legal()")
        self._play(bounded)

    def fault(self, boards: Flags) -> None:
        """Apply the game's penalty for an illegal move or a missed limit where ``boards`` is True.

        It is a fault of the player on turn. A game that is over stays as it is.

        Raises:
            ValueError: one of the boards has an unfinished move. No board is changed.
        """
        at = np.flatnonzero(boards & self._running)
        unfinished = at[self.hopping[at]]
        if len(unfinished):
            raise ValueError(f"board {unfinished[0]}: the move is not finished; expected the end of the move first")
        self._fault(at)

    def resign(self, boards: Flags) -> None:
        """End each game for which ``boards`` is True and that is not over: the player on turn loses it."""
        self._resign(np.flatnonzero(boards & self._running))

    def restart(self, boards: Flags) -> None:
        """Begin a new game on each board for which ``boards`` is True."""
        at = np.flatnonzero(boards)
        self.to_move[at] = 0
        self.winner[at] = NOBODY
        self._running[at] = True
        self._restart(at)

    def set_boards(self, boards: NDArray[Any], to_move: NDArray[Any]) -> None:
        """Put every game into a position, as ``from_board`` of the single engine does.

        Args:
            boards: an array ``(count, size, size)`` of cells as `boards` returns them.
            to_move: the player on turn of each board, 0 or 1.

        Raises:
            ValueError: an array has another form, or a board is not possible. No board is changed.
        """
        boards, to_move = np.asarray(boards), np.asarray(to_move)
        self._check_array("boards", boards, (len(self), self.size, self.size), self.cells)
        self._check_array("players on turn", to_move, (len(self),), range(2))
        self._set_boards(boards.astype(np.int8).reshape(len(self), -1), to_move.astype(np.int8))

    def take(self: AnyBatch, numbers: Numbers) -> AnyBatch:
        """Return a new batch with copies of these boards, in this order: a search tries actions on them.

        Unfinished moves are copied, too, and all that `set_boards` cannot know. This batch does not change.

        Args:
            numbers: numbers of boards, each any number of times.

        Raises:
            ValueError: the numbers are not one row of integers, or there is no board with one of them.
        """
        numbers = np.asarray(numbers)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise ValueError(f"the numbers are an array {numbers.shape} of {numbers.dtype}; expected (n,) integers")
        if len(wrong := numbers[(numbers < 0) | (numbers >= len(self))]):
            raise ValueError(f"there is no board {wrong[0]}; expected 0 to {len(self) - 1}")
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        twin.to_move, twin.winner, twin._running = (
            self.to_move[numbers],
            self.winner[numbers],
            self._running[numbers],
        )
        twin._take(numbers.astype(np.intp))
        return twin

    def _check_array(self, name: str, array: NDArray[Any], shape: tuple[int, ...], values: range) -> None:
        if array.shape != shape or array.dtype.kind not in "iu":
            raise ValueError(f"the {name} are an array {array.shape} of {array.dtype}; expected {shape} integers")
        wrong = np.argwhere((array < values.start) | (array >= values.stop))
        if len(wrong):
            number, value = wrong[0][0], array[tuple(wrong[0])]
            raise ValueError(
                f"board {number}: the {name} have {value}; expected {values.start} to {values.stop - 1}"
            )

    def _is_legal(self, actions: Numbers) -> Flags:
        """Return True for each legal action; anything for a game that is over. All are below ``self.actions``."""
        legal: Flags = self.legal()[np.arange(len(self)), actions]
        return legal

    @abstractmethod
    def _play(self, actions: Numbers) -> None:
        """Play legal actions on the boards that are not over; the other boards have any action."""

    def _fault(self, at: Numbers) -> None:
        """Apply the penalty on the boards ``at``, which are not over; by default the player on turn loses."""
        self._resign(at)

    def _resign(self, at: Numbers) -> None:
        self._end(at, 2 * self.to_move[at] - 1)

    @abstractmethod
    def _restart(self, at: Numbers) -> None:
        """Put the boards ``at`` into the starting position."""

    @abstractmethod
    def _set_boards(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> None:
        """Check the boards ``(count, squares)``, then put all games into these positions; some may be over."""

    @abstractmethod
    def _take(self, at: Numbers) -> None:
        """Replace what this batch has for each board by copies of that of the boards ``at``."""

    def _end(self, at: Numbers, lead: NDArray[Any]) -> None:
        """End the games ``at``. ``lead`` is above 0 if the first player wins, below 0 if the second does."""
        self._running[at] = False
        self.winner[at] = np.where(lead > 0, 0, np.where(lead < 0, 1, NOBODY))
