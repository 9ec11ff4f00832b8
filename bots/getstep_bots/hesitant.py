"""Plays any game as the greedy bot does, but in a share of its turns any legal move: half of them, or DOUBT.

Try it: ``DOUBT=0.2 getstep play hesitant.py --team 7``
It needs the host's package too: see README.md, "Take part".
"""

import os
from random import Random
from typing import Any

from getstep import Turn
from getstep_bots import greedy, random_bot

DOUBT = float(os.environ.get("DOUBT", "0.5"))


def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
    dice = Random(f"{turn.match} {turn.move_number} {board} doubt")  # the same turn again gives the same move
    bot = random_bot if dice.random() < DOUBT else greedy
    return bot.get_step(board, is_black, turn)
