"""A contest whose server is killed again and again, and the figures of all such contests."""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.support import processes
from tests.support.contests import make_contest
from tests.support.ledger import Audit, audit, on_record, read_ledger
from tests.support.processes import free_port
from tests.support.scripts import SCRIPTS
from tests.support.scripts.crash_server import BEFORE_LISTENING

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs, Server

SERVER = SCRIPTS / "crash_server.py"
BOTS = SCRIPTS / "crash_bots.py"


@dataclass(frozen=True)
class Plan:
    """A contest that lasts for some tens of a server's lives: its matches and the bots' thinking time."""

    game: str
    teams: int
    think_seconds: float
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What contest.toml says beside them."""


@dataclass(frozen=True)
class Kill:
    """The death of a server: when it reaches ``point`` for the ``count``-th time, or seconds after it listens."""

    point: str = ""
    count: int = 1
    seconds: float = 0.0
    starting: bool = False
    """True if ``seconds`` are counted from its start."""


@dataclass
class Figures:
    """The figures to report."""

    kills: int = 0
    contests: int = 0
    announced: int = 0
    lost: int = 0
    double: int = 0
    until_listening: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        usual, slowest = median(self.until_listening), max(self.until_listening)
        return (
            f"{self.kills} kills in {self.contests} contests: of {self.announced} announced results"
            f" {self.lost} lost, {self.double} double; it listened again after {usual:.2f} s,"
            f" at most {slowest:.2f} s; {time.monotonic() - self.began:.0f} s in all"
        )


class Crashes:
    """A contest whose server is killed again and again, and the bots that stay.

    Its records are in its folder, or in ``database``.
    """

    def __init__(
        self, programs: Programs, folder: Path, plan: Plan, figures: Figures, database: str | None = None
    ) -> None:
        self.folder = folder
        self._programs = programs
        self._figures = figures
        self._servers: list[Server] = []
        self._head: str | None = None
        self._ledger = folder.with_suffix(".ledger")
        port = free_port()
        make_contest(
            folder,
            plan.teams,
            on_disk=True,
            patient=True,
            event={"game": plan.game, **plan.tables.get("event", {})},
            server={"port": port, **plan.tables.get("server", {}), **({"database": database} if database else {})},
            start={"absent_seconds": 600.0},
        )
        arguments = [str(port), str(self._ledger), str(plan.teams), str(plan.think_seconds), "1"]
        self._bots: Program = programs.start(sys.executable, str(BOTS), *arguments)

    def survive(self, kills: list[Kill]) -> None:
        """Kill servers as ``kills`` says while the contest lasts, removing them from it, and run it to its end."""
        while kills and self._killed(kills[0]):
            kills.pop(0)
            self._figures.kills += 1
            self.check()
        server = self._servers[-1] if kills else self.running()
        assert server.wait() == 0
        assert self._bots.wait() == 0
        self._figures.contests += 1
        self._figures.announced += len(self.check().announced)

    @property
    def table(self) -> str:
        """The final standings, as printed."""
        return self._servers[-1].output.rpartition("Standings after")[2]

    def check(self) -> Audit:
        """Hold what has been announced against the records."""
        printed, ledger = "".join(server.output for server in self._servers), read_ledger(self._ledger)
        record = on_record(self.folder, head=self._head)  # last: a server may be running
        self._head = record.head if record.games else None
        found = audit(record, ledger, printed)
        self._figures.lost += len(found.lost)
        self._figures.double += len(found.double)
        assert not found.complaints
        assert "Traceback" not in printed
        return found

    def _killed(self, kill: Kill) -> bool:
        """Return True if a server ended as ``kill`` says; otherwise the contest ended."""
        if kill.point:
            server = self._started(kill)
        else:
            server = self._started(waiting=not kill.starting)
            time.sleep(kill.seconds)  # one moment is as good as another
            server.signal(signal.SIGKILL)
        code = server.wait()
        assert code in (0, -signal.SIGKILL), server.output
        return code != 0

    def running(self) -> Server:
        """Return a server that runs: the last one, unless it has ended."""
        if self._servers and self._servers[-1].running:
            return self._servers[-1]
        return self._started()

    def _started(self, kill: Kill | None = None, *, waiting: bool = True) -> Server:
        """Start a server, and return it once it listens, unless it may die before that."""
        code = processes.SERVER if kill is None else (str(SERVER), kill.point, str(kill.count))
        began = time.monotonic()
        server = self._programs.serve(self.folder, "--now", server=code)
        self._servers.append(server)
        if waiting and (kill is None or kill.point not in BEFORE_LISTENING):
            assert server.port
            self._figures.until_listening.append(time.monotonic() - began)
        return server
