"""Calls a Python program of the TopCoder match: ``python topcoder_wrapper.py FILE``; see `topcoder` for the lines.

The file has a class ``PseudoTonga`` with the methods ``init`` and ``move``, or two functions of these names.
What it prints goes to standard error, so that it cannot get between the moves.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def main(file: str) -> None:
    """Call the program for each line of standard input, until it ends."""
    moves = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    sys.path.insert(0, str(Path(file).resolve().parent))
    names = runpy.run_path(file, run_name="pseudo_tonga")
    methods = names["PseudoTonga"]() if "PseudoTonga" in names else None
    init, move = (getattr(methods, name) if methods else names[name] for name in ("init", "move"))
    call = init
    for line in sys.stdin:
        moves.write(_line(call(*map(int, line.split()))))
        moves.flush()
        call = move


def _line(array: Any) -> str:
    """Return the array that a method returned as a line of numbers. Something else than an array has none."""
    numbers: Iterable[Any] = array if isinstance(array, (list, tuple)) else ()
    return " ".join(str(int(number)) for number in numbers) + "\n"


if __name__ == "__main__":
    main(sys.argv[1])
