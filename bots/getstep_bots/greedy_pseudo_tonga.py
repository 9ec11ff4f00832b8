"""Plays pseudo_tonga one move ahead: where my points and the opponent's would grow most together.

Try it: ``getstep play greedy_pseudo_tonga.py --team 7``
It needs the host's package too: see README.md, "Take part".
"""

from typing import Any

from getstep_engines import GAMES
from getstep_engines.pseudo_tonga import score

Square = tuple[int, int]


def get_step(board: list[list[int]], is_black: bool) -> Square:
    mine = GAMES["pseudo_tonga"].from_board(board, is_black)
    theirs = GAMES["pseudo_tonga"].from_board(board, not is_black)

    def value(square: Square) -> int:
        return points_after(mine, square) + points_after(theirs, square)

    best: Square = max(mine.legal_moves(), key=value)
    return best


def points_after(position: Any, square: Square) -> int:
    """The points of the player on turn when it has played this square."""
    player = position.to_move
    later = position.copy()
    later.play(square)
    return score(later.pieces[player], later.size)
