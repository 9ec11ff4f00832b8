"""Every game there is. A new game is one module and one line here."""

from ._game import Game
from .chain_reaction import CHAIN_REACTION
from .hop import HOP
from .linkage import LINKAGE
from .longest_path import LONGEST_PATH
from .pseudo_tonga import PSEUDO_TONGA

GAMES: dict[str, Game] = {
    game.name: game
    for game in (
        LONGEST_PATH,
        CHAIN_REACTION,
        PSEUDO_TONGA,
        HOP,
        LINKAGE,
    )
}
