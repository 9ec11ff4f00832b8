"""A contest whose server stops or dies, with bots that stay."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from getstep_server.storage.journal import read, segments
from tests.support.ledger import audit, on_record, read_ledger
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import SERVER
from tests.support.scripts import SCRIPTS

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs, Server

CRASH_SERVER = str(SCRIPTS / "crash_server.py")
BOTS = str(SCRIPTS / "crash_bots.py")


class Hosted:
    """A contest with bots that stay when its servers die.

    In matches 1 and 2 they answer from move ``until`` on only once `go_on` was called.
    """

    def __init__(self, programs: Programs, folder: Path, teams: int, *, until: int = 9, legs: int = 2) -> None:
        self.folder = folder
        self.servers: list[Server] = []
        self._programs = programs
        self._teams = teams
        self._matches = teams * (teams - 1) // 2 * legs
        self._ledger = folder.with_name("ledger")
        self._gate = folder.with_name("gate")
        self._gated = [str(self._gate), "1", str(until), "1", "2"]
        self._bots: Program | None = None

    def start(self, *server: str) -> Server:
        """Start a server, and the bots unless they run already; return the server."""
        self.servers.append(self._programs.serve(self.folder, "--now", server=server or SERVER))
        if self._bots is None:
            arguments = [str(self.servers[-1].port), str(self._ledger), str(self._teams), "0", "0"]
            self._bots = self._programs.start(sys.executable, BOTS, *arguments, *self._gated)
        return self.servers[-1]

    @property
    def segment(self) -> Path:
        """The newest segment of the journal."""
        return segments(self.folder / "running")[-1]

    def turns(self, match: int) -> list[dict[str, Any]]:
        """Return the turns of a running match in the journal."""
        lines = [line for path in segments(self.folder / "running") for line in read(path).lines]
        return [line.entry for line in lines if line.tag == b"%d-1" % match and "player" in line.entry]

    def in_the_middle(self, *matches: int, turns: int = 6) -> None:
        """Wait until this many turns of each of these matches are played."""
        wait_until(lambda: all(len(self.turns(match)) >= turns for match in matches))

    def kill_in_the_middle(self, *matches: int, turns: int = 6) -> None:
        """Kill the server when this many turns of each of these matches are played."""
        self.in_the_middle(*matches, turns=turns)
        self.servers[-1].signal(signal.SIGKILL)
        assert self.servers[-1].wait() == -signal.SIGKILL

    def asked(self, match: int) -> list[dict[str, Any]]:
        """Return the questions that the bots were asked in a match."""
        return [line for line in read_ledger(self._ledger) if "asked" in line and line["match"] == match]

    def go_on(self) -> None:
        """Let the bots answer."""
        self._gate.touch()

    def hold(self) -> None:
        """Let the bots answer no longer."""
        self._gate.unlink()

    def play_on(self) -> str:
        """Start a server again and see the contest to its end; what that server says."""
        self.go_on()
        server = self.start()
        assert server.wait() == 0
        assert self._bots is not None
        assert self._bots.wait() == 0
        return server.output

    def complaints(self) -> list[str]:
        """Return the errors in the announcements and in the records."""
        record = on_record(self.folder)
        assert len(record.results) == self._matches
        printed = "".join(server.output for server in self.servers)
        assert "Traceback" not in printed
        return audit(record, read_ledger(self._ledger), printed).complaints


def wait_until(condition: Callable[[], object], *, every: float = 0.005) -> None:
    """Look again and again, ``every`` so many seconds; a file that grows wakes nobody."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(every)
