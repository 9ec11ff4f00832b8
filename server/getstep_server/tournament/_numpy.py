"""numpy with one thread, or a stand-in where numpy is not installed.

By default its linear algebra (OpenBLAS) starts as many threads as there are cores, and they wait for each other in
busy loops. On the machine of a contest, bots and the judge need those cores: with two cores and a load of five,
the ratings of 256 teams took five times as long. OpenBLAS reads its number of threads when it is loaded. Programs
that are started from here, such as bots, do not inherit the setting.

numpy takes 70 MB, twice as much as all other packages together, and only ratings use it. So it belongs to the extra
``ratings``. Without it all modules can be imported, and the first computation raises `NumpyMissingError`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from getstep_server.errors import NumpyMissingError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class MissingNumpy:
    """A stand-in for the module numpy: each use of it raises `NumpyMissingError`."""

    def __getattr__(self, name: str) -> NoReturn:
        raise NumpyMissingError


_THREADS = "OPENBLAS_NUM_THREADS"
_before = os.environ.get(_THREADS)
os.environ.setdefault(_THREADS, "1")
try:
    import numpy as np
except ImportError:  # not installed, or without a library that it needs
    np = MissingNumpy()  # type: ignore[assignment]  # no module, but it stands for one

if _before is None:
    del os.environ[_THREADS]

Floats: TypeAlias = "NDArray[np.float64]"
Bools: TypeAlias = "NDArray[np.bool_]"


def require_numpy() -> None:
    """Raise `NumpyMissingError` if numpy is not installed."""
    if isinstance(np, MissingNumpy):
        raise NumpyMissingError


__all__ = ["Bools", "Floats", "MissingNumpy", "np", "require_numpy"]
