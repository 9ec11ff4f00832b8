"""The rules of the games: pure, without I/O and without a clock.

>>> from getstep_engines import GAMES
>>> state = GAMES["hop"].start()
>>> state.play(next(state.legal_moves()))
>>> state.to_move
1
"""

from ._game import Game, IllegalMove, Option, Outcome, Player, State, TimeControl
from ._registry import GAMES

__all__ = ["GAMES", "Game", "IllegalMove", "Option", "Outcome", "Player", "State", "TimeControl"]
