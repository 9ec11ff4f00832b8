"""An example for the Linkage ladder (``--as linkage``): as More it parts the colours, as Fewer it joins them.

With an argument it prints its id line. Without one it reads ``input.txt`` and writes ``order.txt``, such as RA1A2.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

COLOURS = "RBGY"
Square = tuple[int, int]
Order = tuple[str, Square, Square]


def main() -> None:
    if len(sys.argv) > 1:
        print("Example in Python, The getstep authors, 2026-01-31, 1.0")
        return
    first, *board = Path("input.txt").read_text().split()
    best = max if first[0] == "F" else min
    colour, one, other = best(orders(first[1:], board), key=lambda order: same_around(order, board))
    Path("order.txt").write_text(f"{colour}{name(one)}{name(other)}\n")


def orders(left: str, board: list[str]) -> Iterator[Order]:
    """Yield all legal orders. ``left`` has the dominoes left of each colour; a dot is a free square."""
    for colour, count in zip(COLOURS, left, strict=True):
        for r in range(7):
            for c in range(7):
                for other in ((r + 1, c), (r, c + 1)):
                    if count != "0" and cell(board, (r, c)) == cell(board, other) == ".":
                        yield colour, (r, c), other


def same_around(order: Order, board: list[str]) -> int:
    """Return how many squares of the same colour the domino touches."""
    colour, *squares = order
    return sum(
        cell(board, (r + dr, c + dc)) == colour for r, c in squares for dr, dc in ((1, 0), (-1, 0), (0, 1), (0, -1))
    )


def cell(board: list[str], square: Square) -> str:
    r, c = square
    return board[r][c] if 0 <= r < 7 and 0 <= c < 7 else ""


def name(square: Square) -> str:
    r, c = square
    return f"{'ABCDEFG'[c]}{r + 1}"


if __name__ == "__main__":
    main()
