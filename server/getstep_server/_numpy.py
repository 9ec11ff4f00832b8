"""numpy with one thread.

On a machine where a contest runs, its linear algebra (OpenBLAS) would let as many threads as there are cores wait
for each other in busy loops, beside bots and a judge that need those cores. With two cores and a load of five, the
ratings of 256 teams then took five times as long. OpenBLAS reads how many threads it may have when it is loaded;
programs that are started from here, such as bots, do not inherit that.
"""

from __future__ import annotations

import os
from typing import TypeAlias

_THREADS = "OPENBLAS_NUM_THREADS"
_before = os.environ.get(_THREADS)
os.environ.setdefault(_THREADS, "1")
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

if _before is None:
    del os.environ[_THREADS]

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

__all__ = ["Bools", "Floats", "np"]
