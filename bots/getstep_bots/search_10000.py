"""A bot for every game that visits 10,000 positions before it plays: level 5 of 6.

Try it: ``getstep play search_10000.py --team 7``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from getstep_bots.counted import counted_move

if TYPE_CHECKING:
    from getstep import Turn

POSITIONS = 10_000


def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
    return counted_move(board, is_black, turn, POSITIONS)
