"""A bot for any game that plays a random legal move in a share of its turns (DOUBT, 0.5), otherwise greedily.

Try it: ``DOUBT=0.2 getstep play hesitant.py --team 7``
"""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING, Any

from getstep_bots import greedy, random_bot

if TYPE_CHECKING:
    from getstep import Turn

DOUBT = float(os.environ.get("DOUBT", "0.5"))


def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
    dice = Random(f"{turn.match} {turn.move_number} {board} doubt")  # the same turn gives the same move again
    bot = random_bot if dice.random() < DOUBT else greedy
    return bot.get_step(board, is_black, turn)
