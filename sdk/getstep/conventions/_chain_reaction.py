"""The board of the CSE Fest contest as its programs read it, which both of its conventions share."""

from __future__ import annotations

from getstep.games import Board

COLOURS = ("R", "G")
"""The colours of the first and the second player."""


EMPTY: Board = [[0] * 8 for _ in range(8)]
"""The board before the first move."""


def board_lines(board: Board) -> bytes:
    """Return a line for each row, without a newline at the end.

    Each cell is followed by a space, the last one too: there are programs that drop the last part of a split line.
    """
    return b"\n".join(b"".join(_cell(cell) for cell in row) for row in board)


def _cell(cell: int) -> bytes:
    return b"No " if cell == 0 else b"%s%d " % (b"R" if cell > 0 else b"G", abs(cell))
