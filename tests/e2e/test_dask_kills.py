"""A contest on a Dask cluster whose workers, scheduler and host are killed: every result once, and the same table.

GETSTEP_CRASHES=20 kills 20 workers, restarts the scheduler twice and kills the host twice, in 210 matches.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.programs.version import GETSTEP
from tests.support.contests import make_contest
from tests.support.dask_cluster import Lab, kill_all
from tests.support.interrupted_contest import wait_until
from tests.support.ledger import ANNOUNCED, audit, on_record
from tests.support.patience import PATIENCE_SECONDS
from tests.support.submitted_programs import add_program, needs_sandbox, trust_sandbox

if TYPE_CHECKING:
    from tests.support.processes import Programs, Server

pytestmark = [pytest.mark.long, needs_sandbox]

USUAL = 4
CRASHES = int(os.environ.get("GETSTEP_CRASHES", USUAL))
TEAMS = 15 if CRASHES > USUAL else 5
"""15 teams play 210 matches, 5 play 20."""

CONTEST_SECONDS = 4 * PATIENCE_SECONDS
"""For a whole contest: a match takes half a second, on a busy machine two."""

PROGRAM = """\
def get_step(board, is_black):
    free = [(r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if not cell]
    return free[{team} * 31 % len(free)]
"""
"""It depends on nothing but the board; each team's plays another way."""


def contest_with_programs(folder: Path) -> Path:
    """Make a contest in which each team has a program."""
    make_contest(folder, TEAMS, on_disk=True, patient=True, event={"game": "longest_path"})
    trust_sandbox(folder)
    for team in range(1, TEAMS + 1):
        add_program(folder, team, GETSTEP, PROGRAM.format(team=team))
    return folder


class Disturbed:
    """A contest on a cluster that is disturbed while it is played."""

    def __init__(self, programs: Programs, folder: Path, lab: Lab) -> None:
        self.folder = folder
        self.lab = lab
        self._programs = programs
        self._servers: list[Server] = [self._start()]

    @property
    def printed(self) -> str:
        """What all servers have printed."""
        return "".join(server.output for server in self._servers)

    @property
    def server(self) -> Server:
        """The server that runs."""
        return self._servers[-1]

    def kill_host(self) -> None:
        """Kill the server, and start another one."""
        kill_all(self.server)
        self._servers.append(self._start())

    def wait_for_results(self, count: int) -> None:
        """Wait until so many results were announced, or the contest is over."""
        wait_until(lambda: len(ANNOUNCED.findall(self.printed)) >= count or not self.server.running)

    def _start(self) -> Server:
        return self._programs.serve(self.folder, "--now", "--dask", self.lab.address)


def test_every_result_counts_once(programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GETSTEP_WORKER_FOLDER", str(tmp_path / "workers"))
    alone = contest_with_programs(tmp_path / "alone")
    undisturbed = programs.serve(alone, "--now")
    assert undisturbed.wait(seconds=CONTEST_SECONDS) == 0
    expected = on_record(alone).played
    matches = len(expected)
    assert matches == TEAMS * (TEAMS - 1)

    lab = Lab(programs, tmp_path, workers=2)
    contest = Disturbed(programs, contest_with_programs(tmp_path / "cluster"), lab)
    dice = random.Random(2019)
    deeds: list[Callable[[], None]] = [partial(lab.kill_worker, dice.randrange(2)) for _ in range(CRASHES)]
    deeds += [lab.restart_scheduler, contest.kill_host] * ceil(CRASHES / 10)
    dice.shuffle(deeds)
    for place, deed in enumerate(deeds, start=1):
        contest.wait_for_results(place * matches // (len(deeds) + 1))
        assert contest.server.running
        deed()
    assert contest.server.wait(seconds=CONTEST_SECONDS) == 0

    record = on_record(contest.folder)
    assert audit(record, [], contest.printed).complaints == []
    assert "Traceback" not in contest.printed
    assert record.played == expected
    assert (
        contest.server.output.rpartition("Standings after")[2]
        == undisturbed.output.rpartition("Standings after")[2]
    )
    assert all("worker" in game for game in record.games)
