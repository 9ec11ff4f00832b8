"""Makes the attempts that are named on the command line."""

from __future__ import annotations

import json
import sys

from . import files, kernel, network, processes, resources  # noqa: F401 - they fill the table
from .attempt import ATTEMPTS


def main() -> None:
    """Make the attempts that are named on the command line."""
    aim = json.loads(sys.stdin.readline())
    for name in sys.argv[1:]:
        try:
            achieved = ATTEMPTS[name](aim)
            line = [name, bool(achieved) or achieved == 0, str(achieved)]
            if achieved is False or achieved is None or achieved == []:
                line = [name, False, "achieved nothing"]
        except BaseException as error:
            line = [name, False, f"{type(error).__name__}: {error}"[:200]]
        print(json.dumps(line), flush=True)


main()
