"""Plays any legal move of any game: the first opponent to beat, and the shortest bot there is.

Try it: ``getstep play random_bot.py --team 7``
It needs the host's package too: see README.md, "Take part".
"""

from random import Random
from typing import Any

from getstep import Turn
from getstep_engines import GAMES


def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
    position = GAMES[turn.game].from_board(board, is_black)
    dice = Random(f"{turn.match} {turn.move_number} {board}")  # the same turn again gives the same move
    return dice.choice(list(position.legal_moves()))
