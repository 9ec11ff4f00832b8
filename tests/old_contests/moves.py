"""The moves of the bots of old contests: chosen by the match and the board alone, whatever version asks.

So a contest that was interrupted comes to the same results when it is resumed, and has the same next pairings.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from getstep_engines import GAMES


def move(game: str, match: int, board: list[list[int]], is_black: bool) -> Any:
    """Return a legal move."""
    legal = GAMES[game].from_board(board, is_black).legal_moves()
    # Sorted: an engine may list its moves in another order some day, and the records would not show it.
    moves = sorted(legal, key=json.dumps)
    dice = Random(f"{match} {board}")
    if game != "hop":
        return dice.choice(moves)
    # Random games of hop last for 200 turns of each player. Black goes to the right.
    way = 1 if is_black else -1
    return max(moves, key=lambda path: (way * (path[-1][1] - path[0][1]), dice.random()))
