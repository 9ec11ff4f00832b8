"""The command `rehearse` as a child of the page: `python -m getstep_server.cli.rehearsal_process FOLDER`.

It ends with its standard input, so it cannot outlive the page that started it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from getstep_server.children.parent import until_parent_ends

from ._parser import EXIT_STOPPED
from .main import main as command

NICENESS = 19
"""The lowest priority, as of sample bots: the page and a server that waits for its teams come first."""

END_SECONDS = 10.0
"""The time for an orderly end, which removes the copy of the contest. It takes 0.3 s on an idle machine."""


def main() -> None:
    """Play a copy of the contest in the folder that is the argument; exit as the command does."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a server in the background of a shell ignores it
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        command(["rehearse", "--bots", "--plain", "--", sys.argv[1]])
    except KeyboardInterrupt:  # before the command has begun
        sys.exit(EXIT_STOPPED)


def _end_with_input() -> None:
    until_parent_ends()
    signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
    time.sleep(END_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
