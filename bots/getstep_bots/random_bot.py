"""A bot for any game that plays random legal moves: the first opponent to beat, and the shortest sample bot.

Try it: ``getstep play random_bot.py --team 7``
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from getstep_engines import GAMES

if TYPE_CHECKING:
    from getstep import Turn


def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
    position = GAMES[turn.game].from_board(board, is_black)
    dice = Random(f"{turn.match} {turn.move_number} {board}")  # the same turn gives the same move again
    return dice.choice(list(position.legal_moves()))
