"""A server that dies again and again, at named points and at random moments: nothing that it announced is lost.

GETSTEP_CRASHES=300 kills it so often at random moments and 10 times at each point, in games of several kinds.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from .crash_server import AT_START, BEFORE_LISTENING, POINTS
from .ledger import Audit, audit, on_record, read_ledger
from .programs import free_port, write_contest

if TYPE_CHECKING:
    from .programs import Program, Programs, Server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")

SERVER = Path(__file__).with_name("crash_server.py")
BOTS = Path(__file__).with_name("crash_bots.py")


@dataclass(frozen=True)
class Plan:
    """A contest that lasts for some tens of a server's lives: its matches and the bots' thinking time."""

    game: str
    teams: int
    think_seconds: float
    time: dict[str, Any]


PLANS = [
    Plan("linkage", 8, 0.015, {}),  # has passes
    Plan("chain_reaction", 6, 0.01, {}),
    Plan("pseudo_tonga", 6, 0.01, {"budget_seconds": 600.0}),  # one clock for a whole match
    Plan("hop", 5, 0.002, {}),  # many turns, and faults that only cost one
]
USUAL = 10
CRASHES = int(os.environ.get("GETSTEP_CRASHES", USUAL))
PLAYED = PLANS if CRASHES > USUAL else PLANS[:1]
AT_RANDOM = ceil(CRASHES / len(PLAYED))
AT_EACH_POINT = ceil(CRASHES / 30 / len(PLAYED))


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


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    """The figures of all tests here, printed at the end."""
    counted, began = Figures(), time.monotonic()
    yield counted
    usual, slowest = median(counted.until_listening), max(counted.until_listening)
    print(
        f"{counted.kills} kills in {counted.contests} contests: of {counted.announced} announced results"
        f" {counted.lost} lost, {counted.double} double; it listened again after {usual:.2f} s,"
        f" at most {slowest:.2f} s; {time.monotonic() - began:.0f} s in all"
    )


def drawn_kills(dice: random.Random) -> list[Kill]:
    """Kills in any order; but there is something to resume only where a match was begun."""
    kills = [Kill(seconds=dice.uniform(0, 0.6), starting=n % 5 == 0) for n in range(AT_RANDOM)]
    for point in POINTS:
        if point not in AT_START:
            most = 40 if point.startswith("turn") else 1 if point.startswith("journal") else 2
            kills += [Kill(point, dice.randint(1, most)) for _ in range(AT_EACH_POINT)]
    dice.shuffle(kills)
    for kill in [kill for kill in kills if kill.point == "turn-written"]:
        kills.insert(kills.index(kill) + 1, Kill("journal-resumed"))
    return kills


class Crashes:
    """A contest whose server is killed again and again, and the bots that stay."""

    def __init__(self, programs: Programs, folder: Path, plan: Plan, figures: Figures) -> None:
        self.folder = folder
        self._programs = programs
        self._figures = figures
        self._servers: list[Server] = []
        self._head: str | None = None
        self._ledger = folder.with_suffix(".ledger")
        port = free_port()
        write_contest(folder, [""] * plan.teams, game=plan.game, port=port, absent_seconds=600.0, **plan.time)
        arguments = [str(port), str(self._ledger), str(plan.teams), str(plan.think_seconds), "1"]
        self._bots: Program = programs.start(sys.executable, str(BOTS), *arguments)

    def survive(self, kills: list[Kill]) -> None:
        """Kill servers as ``kills`` says while the contest lasts, removing them from it, and run it to its end."""
        while kills and self._killed(kills[0]):
            kills.pop(0)
            self._figures.kills += 1
            self.check()
        server = self._servers[-1] if kills else self._started()
        assert server.wait() == 0
        assert self._bots.wait() == 0
        self._figures.contests += 1
        self._figures.announced += len(self.check().announced)

    @property
    def table(self) -> str:
        """The final standings, as printed."""
        return self._servers[-1].output.rpartition("Standings after")[2]

    def check(self) -> Audit:
        """Hold what has been announced against the records, now that no server runs."""
        printed = "".join(server.output for server in self._servers)
        record = on_record(self.folder, head=self._head)
        self._head = record.head if record.games else None
        found = audit(record, read_ledger(self._ledger), printed)
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

    def _started(self, kill: Kill | None = None, *, waiting: bool = True) -> Server:
        """Start a server, and return it once it listens, unless it may die before that."""
        stand_in = {} if kill is None else {"server": (str(SERVER), kill.point, str(kill.count))}
        began = time.monotonic()
        server = self._programs.serve(self.folder, "--now", **stand_in)
        self._servers.append(server)
        if waiting and (kill is None or kill.point not in BEFORE_LISTENING):
            assert server.port
            self._figures.until_listening.append(time.monotonic() - began)
        return server


@pytest.mark.parametrize("plan", PLAYED, ids=lambda plan: plan.game)
@pytest.mark.long
def test_nothing_announced_is_lost(programs: Programs, tmp_path: Path, figures: Figures, plan: Plan) -> None:
    undisturbed = Crashes(programs, tmp_path / "undisturbed", replace(plan, think_seconds=0.0), figures)
    undisturbed.survive([])
    expected = on_record(undisturbed.folder).played
    assert len(expected) == plan.teams * (plan.teams - 1)

    kills = drawn_kills(random.Random(plan.game))
    contests = 0
    while kills:
        contests += 1
        disturbed = Crashes(programs, tmp_path / f"disturbed-{contests}", plan, figures)
        left = len(kills)
        disturbed.survive(kills)
        assert len(kills) < left
        assert on_record(disturbed.folder).played == expected
        assert disturbed.table == undisturbed.table
        assert any(game["resumed"] for game in on_record(disturbed.folder).games)


@pytest.mark.parametrize("point", [pytest.param("pairings-written", marks=pytest.mark.long), "pairings-stored"])
def test_pairings_are_stored_as_a_whole_or_not_at_all(
    programs: Programs, tmp_path: Path, figures: Figures, point: str
) -> None:
    for n in range(AT_EACH_POINT * len(PLAYED)):
        contest = Crashes(programs, tmp_path / f"contest-{n}", Plan("linkage", 2, 0.0, {}), figures)
        kills = [Kill(point)]
        contest.survive(kills)
        assert not kills
        assert sorted(on_record(contest.folder).played) == [1, 2]
