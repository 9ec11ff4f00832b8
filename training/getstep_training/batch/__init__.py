"""Many boards of a game at once, in numpy, for programs that learn; needs ``getstep-training``.

>>> import numpy as np
>>> from getstep_training.batch import ChainReactionBatch
>>> generator = np.random.default_rng(1)
>>> batch = ChainReactionBatch(1000)
>>> while not batch.over.all():
...     batch.play(batch.random_actions(generator))
>>> bool(np.all(batch.scores()[np.arange(1000), batch.winner] > 0))
True

A batch plays exactly the rules of the single engine. ``python -m benchmarks.batch`` compares their speed.
"""

from collections.abc import Callable

from getstep_engines import GAMES

from ._base import Batch
from .chain_reaction import ChainReactionBatch
from .generic import GameBatch
from .hop import HopBatch
from .linkage import LinkageBatch
from .longest_path import LongestPathBatch
from .pseudo_tonga import PseudoTongaBatch

__all__ = [
    "Batch",
    "ChainReactionBatch",
    "GameBatch",
    "HopBatch",
    "LinkageBatch",
    "LongestPathBatch",
    "PseudoTongaBatch",
    "batch_of",
]

_OWN: dict[str, Callable[..., Batch]] = {
    "chain_reaction": ChainReactionBatch,
    "hop": HopBatch,
    "linkage": LinkageBatch,
    "longest_path": LongestPathBatch,
    "pseudo_tonga": PseudoTongaBatch,
}


def batch_of(game: str, count: int, **options: int) -> Batch:
    """Return ``count`` games of the game of this name, which may be from another package.

    Args:
        game: a name in `GAMES`.
        count: the number of boards.
        options: the options of the game's start, such as ``size=6`` for pseudo_tonga.

    Raises:
        UnknownGameError: there is no such game.
        ValueError: the game does not have one of the options, or its moves have no numbers.
    """
    GAMES[game].start(**options)  # called for its checks only
    return _OWN[game](count, **options) if game in _OWN else GameBatch(GAMES[game], count, **options)
