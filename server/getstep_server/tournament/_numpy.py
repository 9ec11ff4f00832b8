"""numpy with one thread.

By default its linear algebra (OpenBLAS) starts as many threads as there are cores, and they wait for each other in
busy loops. On the machine of a contest, bots and the judge need those cores: with two cores and a load of five,
the ratings of 256 teams took five times as long. OpenBLAS reads its number of threads when it is loaded. Programs
that are started from here, such as bots, do not inherit the setting.

The import takes 100 ms: only modules of ratings import this one, and only commands that show ratings import those.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

_THREADS = "OPENBLAS_NUM_THREADS"
_before = os.environ.get(_THREADS)
os.environ.setdefault(_THREADS, "1")
import numpy as np  # noqa: E402 - OpenBLAS reads the variable while it is imported

if _before is None:
    del os.environ[_THREADS]

Floats: TypeAlias = "NDArray[np.float64]"
Integers: TypeAlias = "NDArray[np.intp]"
Bools: TypeAlias = "NDArray[np.bool_]"

__all__ = ["Bools", "Floats", "Integers", "np"]
