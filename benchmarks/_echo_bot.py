"""The bot of `benchmarks.clients` for Python's SDK: it answers at once, as those of the other languages do."""

from __future__ import annotations

import getstep


def get_step(board: list[list[int]], is_black: bool) -> tuple[int, int]:  # noqa: ARG001 - every bot has these two
    """Return the first empty square."""
    return next((row, cells.index(0)) for row, cells in enumerate(board) if 0 in cells)


if __name__ == "__main__":
    getstep.play(get_step)
