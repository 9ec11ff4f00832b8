"""The process of a house bot: it plays as ``getstep`` does with the same arguments, at a low priority.

It ends when its standard input does. So it cannot outlive the server that started it, however that one dies.
"""

from __future__ import annotations

import os
import sys
import threading

from getstep.cli import main as getstep

NICENESS = 19
"""Added to the process's niceness, as for the page: if both want the same core, the server gets 98 % of it."""


def _end_with_the_server() -> None:
    """End this process when standard input ends, which it does with the server that holds its other end."""
    sys.stdin.buffer.read()
    os._exit(0)  # also out of a search that would go on for a second


def main() -> int:
    """Play as long as the server lives."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    return getstep(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
