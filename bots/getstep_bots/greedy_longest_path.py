"""Plays longest_path one move ahead: lengthen my longest group, if I can where the opponent wants to go.

Try it: ``getstep play greedy_longest_path.py --team 7``
It needs the host's package too: see README.md, "Take part".
"""

from typing import Any

from getstep_engines import GAMES
from getstep_engines.longest_path import Counts, count_lengths

Square = tuple[int, int]


def get_step(board: list[list[int]], is_black: bool) -> Square:
    mine = GAMES["longest_path"].from_board(board, is_black)
    theirs = GAMES["longest_path"].from_board(board, not is_black)

    def value(square: Square) -> tuple[int, int, Counts]:
        my_groups, their_groups = groups_after(mine, square), groups_after(theirs, square)
        return len(my_groups), len(their_groups), my_groups[::-1]

    best: Square = max(mine.legal_moves(), key=value)
    return best


def groups_after(position: Any, square: Square) -> Counts:
    """How many groups of length 1, 2, … the player on turn has when it has played this square."""
    player = position.to_move
    later = position.copy()
    later.play(square)
    return count_lengths(later.pieces[player])
