"""The process of a bot that this machine runs: ``bot_process getstep play ...``, or ``bot_process house play ...``.

It plays as ``getstep`` does with the same arguments, a house bot at a low priority. ``bot_process program FOLDER
COMMAND ...`` starts a program that connects by itself. The process ends when its standard input
does, with all that it has started. So it cannot outlive the process that started it, however that one dies.

It is a module of its own that imports no trio: each bot is such a process, and the import takes 50 ms.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from getstep.processes import run
from getstep_server.children.parent import until_parent_ends

HOUSE, PROGRAM = "house", "program"
NICENESS = 19
"""Added to the niceness of a house bot. If both want the same core, the server gets 98 % of it."""


def _take_input() -> int:
    """Return the descriptor of standard input, and give the bot an empty input in its place."""
    # a bot that reads its input must not take what tells this process to end
    taken, empty = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return taken


def _end_with_the_starter(taken: int) -> None:
    """End this process when its input ends, which it does with the process that holds the other end."""
    until_parent_ends(taken)
    if sys.platform != "win32" and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)  # also programs that the bot has started, which may go on forever
    if (program := sys.modules.get("getstep.programs.program")) is not None:
        program.kill_running()
    os._exit(0)  # also out of a search that would go on for a second


def _run_program(folder: str, *command: str) -> int:
    try:
        return run(command, folder)
    except OSError as error:
        print(f"{command[0]} cannot be started: {error.strerror or error}", file=sys.stderr)
        return 1


def main() -> int:
    """Play as long as the process that started this one lives."""
    # a daemon: it waits for an input that may stay open after the last match
    threading.Thread(target=_end_with_the_starter, args=(_take_input(),), daemon=True).start()
    kind, *arguments = sys.argv[1:]
    if kind == PROGRAM:
        return _run_program(*arguments)
    if kind == HOUSE and hasattr(os, "nice"):
        # the contestants' matches come first on a busy core
        os.nice(NICENESS)
    from getstep.cli import main as getstep  # here: the server imports this module for the name of a house bot

    return getstep(arguments)


if __name__ == "__main__":
    sys.exit(main())
