"""Every game there is. A new game is one module and one line here."""

from ._game import Game
from .chain_reaction import CHAIN_REACTION
from .hop import HOP

GAMES: dict[str, Game] = {game.name: game for game in (CHAIN_REACTION, HOP)}
