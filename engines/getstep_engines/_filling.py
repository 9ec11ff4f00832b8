"""The common part of games in which the players fill an empty board, one piece a turn, and count at the end."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator
from functools import cache
from typing import TypeVar

from ._bits import full, square, write_board
from ._game import IllegalMove, Move, Outcome, Player, State
from ._tables import Tables, move_tables, moves_at

_OTHER: tuple[Player, Player] = (1, 0)


@cache
def _moves(size: int) -> Tables[tuple[int, int]]:
    return move_tables([divmod(number, size + 1) for number in range(size * (size + 1))])


Filling = TypeVar("Filling", bound="FillingState")


class FillingState(State):
    """A position on ``size`` × ``size`` squares; a move is the ``(row, column)`` of an empty one.

    ``pieces`` are the two players' bits, ``empty`` the bits of the empty squares. Until the game is over there is
    an empty square, so no player is ever passed over.
    """

    __slots__ = ("empty", "outcome", "pieces", "size", "to_move")

    passed = ()

    def __init__(self, size: int, pieces: tuple[int, int], to_move: Player) -> None:
        self.size = size
        self.pieces = pieces
        self.empty = full(size) ^ (pieces[0] | pieces[1])
        self.to_move = to_move
        self.outcome: Outcome | None = None
        if not self.empty:
            self.outcome = self._result()

    @abstractmethod
    def _result(self) -> Outcome:
        """Return the outcome of the full board."""

    def board(self) -> list[list[int]]:
        return write_board(self.pieces, self.size)

    def legal_moves(self) -> Iterator[tuple[int, int]]:
        """Return the empty squares, row by row."""
        tables = _moves(self.size)
        free = 0 if self.outcome else self.empty
        return moves_at(tables, free.to_bytes(len(tables), "little"))

    def is_legal(self, move: Move) -> bool:
        try:
            self._number(move)
        except IllegalMove:
            return False
        return True

    def play(self, move: Move) -> None:
        piece = 1 << self._number(move)
        first, second = self.pieces
        self.pieces = (first, second | piece) if self.to_move else (first | piece, second)
        self.empty ^= piece
        self.to_move = _OTHER[self.to_move]
        if not self.empty:
            self.outcome = self._result()

    def copy(self: Filling) -> Filling:
        twin = object.__new__(type(self))
        twin.size = self.size
        twin.pieces = self.pieces
        twin.empty = self.empty
        twin.to_move = self.to_move
        twin.outcome = self.outcome
        return twin

    def key(self) -> Hashable:
        return self.pieces, self.to_move

    def _number(self, move: Move) -> int:
        """Return the bit number of the square of a legal move; raise IllegalMove if the move is illegal."""
        self._expect_running()
        number = square(move, self.size)
        if not self.empty >> number & 1:
            raise IllegalMove(f"{tuple(move)} is occupied; a piece goes on an empty square")
        return number

    def _expect_running(self) -> None:
        if self.outcome:
            raise IllegalMove(f"the game is over: {self.outcome.reason}")
