"""A bot for every game that looks one move ahead: it plays the move after which the engine's estimate is best.

Try it: ``getstep play greedy.py --team 7``

Among moves of the same estimate it plays the one that the opponent would like best: that move is then gone. If the
board of a game says whose turn it is, the opponent cannot be asked, and it plays the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from getstep_engines import GAMES, State

if TYPE_CHECKING:
    from getstep import Turn


def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
    game = GAMES[turn.game]
    mine = game.from_board(board, is_black)
    values = [(value_after(mine, move), move) for move in mine.legal_moves()]
    best = max(value for value, _ in values)
    moves = [move for value, move in values if value == best]
    try:
        theirs = game.from_board(board, not is_black)
    except ValueError:
        return moves[0]
    return max(moves, key=lambda move: value_after(theirs, move) if theirs.is_legal(move) else -1)


def value_after(position: State, move: Any) -> float:
    """Return the estimate after a move, for the player who makes it: from -1 (lost) to 1 (won)."""
    later = position.copy()
    later.play(move)
    return later.estimate() if position.to_move == 0 else -later.estimate()
