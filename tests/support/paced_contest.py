"""A contest that goes on as the test says: bots that play up to a move and wait there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.contests import token_of
from tests.support.interrupted_contest import wait_until

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs, Server

BOT = """\
import time
from pathlib import Path
from getstep_engines import GAMES

gate = Path({gate!r})

def get_step(board, is_black, turn):
    while turn.move_number > int(gate.read_text() or 0):
        time.sleep(0.01)
    return next(GAMES[turn.game].from_board(board, is_black).legal_moves())
"""


class Stage:
    """A running contest with its page.

    Args:
        programs: starts and ends the server and the bots.
        folder: the contest's folder.
        teams: the ids of the teams that come.
        moves: the number of moves that the bots play in each match until `play_to` is called.
    """

    def __init__(self, programs: Programs, folder: Path, teams: int, *, moves: int = 0) -> None:
        self.folder = folder
        self.gate = folder / "gate"
        self.play_to(moves)
        self._bot = folder / "gated_bot.py"
        self._bot.write_text(BOT.format(gate=str(self.gate)))
        self._programs = programs
        self.server: Server = programs.serve(folder, "--now", "--web-port", "0")
        self.url = self.server.expect(r"^Live page .*: (http://\S+/)$")[1]
        self.bots = [self._play(number) for number in range(1, teams + 1)]

    def _play(self, team: int) -> Program:
        where = ["--host", "127.0.0.1", "--port", str(self.server.port), "--team", str(team)]
        who = ["--token", token_of(team)]
        return self._programs.start(sys.executable, "-m", "getstep", "play", str(self._bot), *where, *who)

    def play_to(self, move: int) -> None:
        """Let the bots play each match up to this move."""
        new = self.gate.with_suffix(".new")
        new.write_text(str(move))
        new.replace(self.gate)

    def page_process(self) -> int:
        """The id of the page's process, once there is one."""
        found: list[int] = []

        def look() -> bool:
            found[:] = children(self.server.pid)
            return bool(found)

        wait_until(look)
        return found[0]


def children(pid: int) -> list[int]:
    """Return the running child processes of a process."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def is_running(pid: int) -> bool:
    """True if a process runs; one that has ended and waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
