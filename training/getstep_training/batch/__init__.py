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

from ._base import Batch
from .chain_reaction import ChainReactionBatch
from .hop import HopBatch
from .longest_path import LongestPathBatch
from .pseudo_tonga import PseudoTongaBatch

__all__ = ["Batch", "ChainReactionBatch", "HopBatch", "LongestPathBatch", "PseudoTongaBatch"]
