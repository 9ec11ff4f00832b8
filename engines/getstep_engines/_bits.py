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

__all__ = [
    "check_board",
    "components",
    "full",
    "neighbours",
    "read_board",
    "shown",
    "square",
    "squares",
    "write_board",
]

_LISTS = (list, tuple)
_DIGITS = bytes.maketrans(b"012", bytes((0, 1, 2)))


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


def neighbours(bits: int, stride: int) -> int:
    """The squares orthogonally adjacent to any of ``bits``, and guard squares: ``&`` with the real ones.

    ``stride`` is the bits a row takes, guard column included.
    """
    return bits << 1 | bits >> 1 | bits << stride | bits >> stride


def components(bits: int, stride: int) -> Iterator[int]:
    """The maximal orthogonally connected groups of ``bits``, by their first square."""
    while bits:
        before = bits
        front = bits & -bits
        while front:
            bits ^= front
            front = (front << 1 | front >> 1 | front << stride | front >> stride) & bits
        yield before ^ bits


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


def read_board(board: Sequence[Sequence[int]], size: int) -> tuple[int, int]:
    """The first and the second player's bits on a board of 0 (empty), 1 (first) and 2 (second player).

    Raises:
        ValueError: it is no such board of ``size`` × ``size`` squares.
    """
    check_board(board, size, (0, 1, 2))
    cells = [(row * (size + 1) + c, cell) for row in range(size) for c, cell in enumerate(board[row])]
    return sum(1 << n for n, cell in cells if cell == 1), sum(1 << n for n, cell in cells if cell == 2)


def write_board(pieces: tuple[int, int], size: int) -> list[list[int]]:
    """The board of 0, 1 and 2 with those two players' bits: what ``read_board`` reads."""
    first, second = pieces
    stride = size + 1
    # Binary digits read as hexadecimal ones leave room to add 2s to 1s: four times faster than bit by bit.
    digits = int(f"{first:b}", 16) + 2 * int(f"{second:b}", 16)
    cells = f"{digits:0{size * stride}x}".encode().translate(_DIGITS)[::-1]
    return [list(cells[start : start + size]) for start in range(0, size * stride, stride)]
