"""Plays any game by looking one move ahead, as the greedy bot of that game does.

Try it: ``getstep play greedy.py --team 7``
It needs the host's package too: see README.md, "Take part".
"""

from importlib import import_module
from typing import Any

from getstep import Turn


def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
    return import_module(f"getstep_bots.greedy_{turn.game}").get_step(board, is_black)
