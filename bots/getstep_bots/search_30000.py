"""A bot for every game that simulates 30,000 moves before its own: level 6 of 6.

Try it: ``getstep play search_30000.py --team 7``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from getstep_bots.counted import counted_move

if TYPE_CHECKING:
    from getstep import Turn

MOVES = 30_000


def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
    return counted_move(board, is_black, turn, MOVES)
