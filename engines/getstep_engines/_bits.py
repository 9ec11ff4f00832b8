"""Square boards as whole numbers, and the checks that every game's moves and boards need.

A board of ``size`` × ``size`` squares has one bit a square and one unused *guard* column at the right:
square (row, column) is bit ``row * (size + 1) + column``. A shift by 1 moves every piece sideways, a shift
by ``size + 1`` up or down, and what leaves the board at the left or right lands in the guard column, where
one ``&`` with real squares removes it. So no shift needs a mask of its own.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from reprlib import repr as shown  # bounded: a bot may send kilobytes or deep nesting, and reads the message

from ._game import IllegalMove

__all__ = ["check_board", "components", "flood", "full", "shown", "square", "squares"]

_LISTS = (list, tuple)


def full(size: int) -> int:
    """Every square of the board, without the guard column."""
    return sum(((1 << size) - 1) << row * (size + 1) for row in range(size))


def square(pair: object, size: int) -> int:
    """The bit number of ``pair``, a ``(row, column)`` as the wire delivers it.

    Raises:
        IllegalMove: it is not two whole numbers (True is none) that name a square of the board.
    """
    if isinstance(pair, _LISTS) and len(pair) == 2:
        row, column = pair
        if type(row) is int and type(column) is int and 0 <= row < size and 0 <= column < size:
            return row * (size + 1) + column
    raise IllegalMove(f"{shown(pair)} is no square, expected (row, column), both from 0 to {size - 1}")


def squares(bits: int) -> Iterator[int]:
    """The numbers of the bits set in ``bits``, lowest first: row by row, left to right."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def flood(seed: int, within: int, stride: int) -> int:
    """The squares of ``within`` that are connected orthogonally with ``seed``, itself a part of ``within``.

    ``stride`` is the bits a row takes, guard column included.
    """
    grown = seed
    while True:
        wider = (grown | grown << 1 | grown >> 1 | grown << stride | grown >> stride) & within
        if wider == grown:
            return grown
        grown = wider


def components(bits: int, stride: int) -> Iterator[int]:
    """The maximal orthogonally connected groups of ``bits``, by their first square."""
    while bits:
        group = flood(bits & -bits, bits, stride)
        yield group
        bits ^= group


def check_board(board: Sequence[Sequence[int]], size: int, cells: Container[int]) -> None:
    """Check that ``board`` is ``size`` rows of ``size`` whole numbers, each one of ``cells``.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(board, _LISTS) or len(board) != size:
        raise ValueError(f"the board is {shown(board)}, expected {size} rows")
    for number, row in enumerate(board):
        if not isinstance(row, _LISTS) or len(row) != size:
            raise ValueError(f"row {number} of the board is {shown(row)}, expected {size} whole numbers")
        for cell in row:
            if type(cell) is not int or cell not in cells:
                raise ValueError(f"row {number} of the board has {shown(cell)}, expected one of {cells!r}")
