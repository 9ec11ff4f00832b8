"""A contest on PostgreSQL: its server and the database are killed again and again, and nothing announced is lost.

GETSTEP_CRASHES=100 kills them so often.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.crashes import Crashes, Figures, Kill, Plan
from tests.support.interrupted_contest import wait_until
from tests.support.ledger import ANNOUNCED, on_record
from tests.support.postgres import PostgresServer, needs_postgres

if TYPE_CHECKING:
    from tests.support.processes import Programs, Server

pytestmark = [pytest.mark.long, needs_postgres]

CRASHES = int(os.environ.get("GETSTEP_CRASHES", "25"))
PLAN = Plan("linkage", 8, 0.015)


class Victim(Enum):
    """The processes that are killed together."""

    SERVER = "the server"
    DATABASE = "the database"
    BOTH = "both"
    SESSIONS = "the database's processes for its clients"


@dataclass(frozen=True)
class DatabaseKill(Kill):
    """The death of a victim, ``seconds`` after the last.

    A database comes back after ``away_seconds``. If ``settled``, the next kill waits until a result is stored.
    """

    victim: Victim = Victim.SERVER
    away_seconds: float = 0.0
    settled: bool = False


class PostgresCrashes(Crashes):
    """A contest whose records are in PostgreSQL. Its server survives the death of the database."""

    def __init__(
        self, programs: Programs, folder: Path, plan: Plan, figures: Figures, postgres: PostgresServer
    ) -> None:
        address = postgres.address()
        super().__init__(programs, folder, plan, figures, f"{address.url}#{address.schema}")
        self._postgres = postgres

    def _killed(self, kill: Kill) -> bool:
        assert isinstance(kill, DatabaseKill)
        server = self.running()
        time.sleep(kill.seconds)  # one moment is as good as another
        if kill.victim in (Victim.SERVER, Victim.BOTH):
            server.signal(signal.SIGKILL)
            if server.wait() == 0:
                return False
            assert server.wait() == -signal.SIGKILL
        if kill.victim is Victim.SESSIONS:
            self._postgres.kill_sessions()
        elif kill.victim is not Victim.SERVER:
            self._postgres.kill()
            if kill.victim is Victim.BOTH:
                self._refuse()
            time.sleep(kill.away_seconds)
            self._postgres.start()
        if kill.settled:
            self._settle(server)
        if server.running or kill.victim in (Victim.SERVER, Victim.BOTH):
            return True
        assert server.wait() == 0, server.output
        return False

    def running(self) -> Server:
        """Return the server; start one unless it runs."""
        running = self._servers and self._servers[-1].running
        return self._servers[-1] if running else self._started()

    def _refuse(self) -> None:
        """Start a server while there is no database."""
        refused = self._started(waiting=False)
        assert refused.wait() == 1
        assert re.search(r"^getstep-server: postgresql://\S+: connection failed", refused.output, re.MULTILINE)

    @staticmethod
    def _settle(server: Server) -> None:
        """Wait until a server announces another result, or ends."""
        before = len(ANNOUNCED.findall(server.output))
        wait_until(lambda: not server.running or len(ANNOUNCED.findall(server.output)) > before)


@pytest.fixture
def figures() -> Iterator[Figures]:
    """The figures, printed at the end."""
    counted = Figures()
    yield counted
    print(counted)


def drawn_kills(dice: random.Random) -> list[Kill]:
    """Kills of each victim, in any order."""
    share = [Victim.SERVER] * 10 + [Victim.DATABASE] * 10 + [Victim.SESSIONS] * 3 + [Victim.BOTH] * 2
    victims = (share * ceil(CRASHES / len(share)))[:CRASHES]
    dice.shuffle(victims)
    return [
        DatabaseKill(
            seconds=dice.uniform(0, 0.6),
            victim=victim,
            away_seconds=dice.uniform(0, 0.3),
            settled=dice.random() < 0.5,
        )
        for victim in victims
    ]


def test_nothing_announced_is_lost(programs: Programs, tmp_path: Path, figures: Figures) -> None:
    undisturbed = Crashes(programs, tmp_path / "undisturbed", replace(PLAN, think_seconds=0.0), figures)
    undisturbed.survive([])
    expected = on_record(undisturbed.folder).played

    kills = drawn_kills(random.Random(2019))
    contests = 0
    with PostgresServer() as postgres:
        while kills:
            contests += 1
            left = len(kills)
            disturbed = PostgresCrashes(programs, tmp_path / f"disturbed-{contests}", PLAN, figures, postgres)
            disturbed.survive(kills)
            assert len(kills) < left
            assert on_record(disturbed.folder).played == expected
            assert disturbed.table == undisturbed.table
