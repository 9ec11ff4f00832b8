"""Bitboards: square boards as integers, and the checks that every game's moves and boards need.

A board of ``size`` × ``size`` squares has one bit a square and one unused *guard* column at the right:
square (row, column) is bit ``row * (size + 1) + column``. A shift by 1 moves every piece sideways, and a shift
by ``size + 1`` moves it up or down. A piece that leaves the board at the left or right lands in the guard column,
where one ``&`` with the real squares removes it. So no shift needs a mask of its own.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from reprlib import repr as short_repr  # bounded: a bot may send 4 KiB or deep nesting, and is shown the message

from ._game import IllegalMove

__all__ = [
    "check_board",
    "components",
    "full",
    "neighbours",
    "read_board",
    "short_repr",
    "square",
    "squares",
    "write_board",
]

_LISTS = (list, tuple)
_DIGITS = bytes.maketrans(b"012", bytes((0, 1, 2)))


def full(size: int) -> int:
    """Return every square of the board as bits, without the guard column."""
    return sum(((1 << size) - 1) << row * (size + 1) for row in range(size))


def square(pair: object, size: int) -> int:
    """Return the bit number of ``pair``, a ``(row, column)`` as the wire delivers it.

    Raises:
        IllegalMove: ``pair`` is not two integers that name a square of the board. A bool is not an integer here.
    """
    if isinstance(pair, _LISTS) and len(pair) == 2:
        row, column = pair
        if type(row) is int and type(column) is int and 0 <= row < size and 0 <= column < size:
            return row * (size + 1) + column
    raise IllegalMove(
        f"{short_repr(pair)} is not a square of the {size}x{size} board;"
        f" a square is (row, column), and both go from 0 to {size - 1}"
    )


def squares(bits: int) -> Iterator[int]:
    """Yield the numbers of the bits set in ``bits``, lowest first: row by row, left to right."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def neighbours(bits: int, stride: int) -> int:
    """Return the squares orthogonally adjacent to any of ``bits``.

    The result may contain guard squares; the caller removes them by ``&`` with the real squares. ``stride`` is the
    number of bits in a row, guard column included.
    """
    return bits << 1 | bits >> 1 | bits << stride | bits >> stride


def components(bits: int, stride: int) -> Iterator[int]:
    """Yield the maximal orthogonally connected groups of ``bits``, ordered by their first square."""
    while bits:
        before = bits
        front = bits & -bits
        while front:
            bits ^= front
            front = (front << 1 | front >> 1 | front << stride | front >> stride) & bits
        yield before ^ bits


def check_board(board: Sequence[Sequence[int]], size: int, cells: Container[int]) -> None:
    """Check that ``board`` is ``size`` rows of ``size`` integers, each one of ``cells``.

    Raises:
        ValueError: the board, a row or a cell is not of that form.
    """
    if not isinstance(board, _LISTS) or len(board) != size:
        raise ValueError(f"the board is {short_repr(board)}; expected {size} rows")
    for number, row in enumerate(board):
        if not isinstance(row, _LISTS) or len(row) != size:
            raise ValueError(f"row {number} of the board is {short_repr(row)}; expected {size} integers")
        for cell in row:
            if type(cell) is not int or cell not in cells:
                raise ValueError(f"row {number} of the board has {short_repr(cell)}; expected one of {cells!r}")


def read_board(board: Sequence[Sequence[int]], size: int) -> tuple[int, int]:
    """Return the first and the second player's bits on a board of 0 (empty), 1 (first) and 2 (second player).

    Raises:
        ValueError: the board does not have ``size`` × ``size`` such cells.
    """
    check_board(board, size, (0, 1, 2))
    cells = [(row * (size + 1) + c, cell) for row in range(size) for c, cell in enumerate(board[row])]
    return sum(1 << n for n, cell in cells if cell == 1), sum(1 << n for n, cell in cells if cell == 2)


def write_board(pieces: tuple[int, int], size: int) -> list[list[int]]:
    """Return the board of 0, 1 and 2 with the bits of the two players: the inverse of ``read_board``."""
    first, second = pieces
    stride = size + 1
    # Each binary digit is read as a hexadecimal digit, so that 1s and 2s can be added without a carry. This is four
    # times as fast as a loop over the bits.
    digits = int(f"{first:b}", 16) + 2 * int(f"{second:b}", 16)
    cells = f"{digits:0{size * stride}x}".encode().translate(_DIGITS)[::-1]
    return [list(cells[start : start + size]) for start in range(0, size * stride, stride)]
