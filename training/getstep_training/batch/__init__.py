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

A game of another package is played by its own engine, board after board. A package may bring a faster batch for it:
a subclass of `Batch`, and an entry point of the group ``getstep.batches`` with the name of the game.
`checks.check_batch` compares it with the engine.
"""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from getstep_engines import GAMES

from ._base import Batch
from .chain_reaction import ChainReactionBatch
from .generic import GameBatch
from .hop import HopBatch
from .linkage import LinkageBatch
from .longest_path import LongestPathBatch
from .pseudo_tonga import PseudoTongaBatch

__all__ = [
    "GROUP",
    "Batch",
    "ChainReactionBatch",
    "GameBatch",
    "HopBatch",
    "LinkageBatch",
    "LongestPathBatch",
    "PseudoTongaBatch",
    "batch_of",
]

GROUP = "getstep.batches"
"""Entry points of other packages: the name of a game, and the class of its batch."""

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
        ValueError: the game does not have one of the options, its moves have no numbers, or its board is not
            square.
        TypeError: a package has another thing than a batch for this game.
    """
    GAMES[game].start(**options)  # called for its checks only
    if game in _OWN:
        return _OWN[game](count, **options)
    found = [point for point in entry_points(group=GROUP) if point.name == game]
    if not found:
        return GameBatch(GAMES[game], count, **options)
    made: Any = found[0].load()
    if not (isinstance(made, type) and issubclass(made, Batch)):
        raise TypeError(
            f"{found[0].value}: the entry point of {game} in {GROUP} names {made!r:.80}; expected a Batch"
        )
    return made(count, **options)
