"""Contests on real Dask workers: on this machine, as jobs of SLURM, and killed at any time."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.programs.version import GETSTEP
from getstep_server.storage.contest_state import results_of, tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import Verified, verify
from tests.support.hosted_programs import LOOP, RANDOM, game_heads, kill, limits_of_a_hung_program
from tests.support.interrupted_contest import wait_until
from tests.support.patience import PATIENCE_SECONDS
from tests.support.slurm import Slurm, needs_slurm
from tests.support.submitted_programs import GET_STEP, add_program, needs_sandbox

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs

pytestmark = [pytest.mark.long, needs_sandbox]

WAIT_SECONDS = 4 * PATIENCE_SECONDS
"""A worker imports Dask and tries the sandbox before it plays: on a crowded machine that takes a minute."""

LAST = """\
def get_step(board, is_black):
    return max((r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if not cell)
"""
"""Another file that plays longest_path and pseudo_tonga."""


def filled(folder: Path, settings: str = "") -> Path:
    """Add a program for each team of a contest, and settings of [programs]."""
    with (folder / "contest.toml").open("a", encoding="utf-8") as file:
        file.write(f"[programs]\n{settings}")
    for team in load_contest(folder).teams:
        add_program(folder, team, GETSTEP, LAST if team % 2 else GET_STEP)
    return folder


def verified(folder: Path) -> Verified:
    with Store(folder / "contest.db", reading=True) as store:
        return verify(load_contest(folder), store)


def outcomes(folder: Path) -> list[tuple[object, ...]]:
    """Return what a contest has come to, without times."""
    results = results_of(load_contest(folder))
    return sorted((r.match.number, r.match.teams, r.winner, r.reason, r.scores, r.turns) for r in results)


def processes(word: str, below: int) -> list[int]:
    """Return the processes below another one whose command has a word."""
    found = []
    for path in Path(f"/proc/{below}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            try:
                command = Path(f"/proc/{child}/cmdline").read_bytes()
            except OSError:
                continue
            found += [child] if word.encode() in command else []
            found += processes(word, child)
    return found


PAGE = (Path(__file__).parents[2] / "docs/host-programs.md").read_text(encoding="utf-8")
(RUN,) = re.findall(r"^getstep-server run .*--dask.*$", PAGE, re.MULTILINE)
"""The command of the page that plays a contest on a cluster."""

EVENTS: list[dict[str, Any]] = [
    {"settings": {"legs": 1}},
    {"game": "pseudo_tonga", "format": "swiss", "settings": {"rounds": 2}, "options": {"size": 6}},
]


def test_a_contest_on_workers_has_the_same_table_as_on_one_machine(
    programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    folder = filled(make_contest(4, *EVENTS, event={"game": "longest_path"}))
    alone = Path(shutil.copytree(folder, tmp_path / "alone"))
    program, command, _, *options = shlex.split(RUN)
    assert (program, command) == ("getstep-server", "run")
    server = programs.serve(folder, *options)
    there = programs.serve_in_thread(alone)
    assert there.wait() == 0
    assert server.wait(seconds=WAIT_SECONDS) == 0
    assert outcomes(folder) == outcomes(alone)
    assert tournament_of(load_contest(folder)).tables() == tournament_of(load_contest(alone)).tables()
    games = game_heads(folder)
    assert {game["worker"] for game in games} == {1, 2}
    assert not any("worker" in game for game in game_heads(alone))
    assert all(len(rows) == 1 for rows in _workers_of_pairings(folder).values())
    assert verified(folder).played == games_that_count(folder).total()
    assert "The cluster has 2 workers, for 2 matches at once" in server.output


def test_a_program_that_a_worker_had_to_end_costs_its_opponent_three_limits(
    programs: Programs, make_contest: MakeContest
) -> None:
    folder = make_contest(2, event={"move_seconds": 0.1, "settings": {"legs": 1}})
    add_program(folder, 1, GETSTEP, LOOP)
    add_program(folder, 2, GETSTEP, RANDOM)
    server = programs.serve(folder, "--dask", "local:1", "--now")
    assert server.wait(seconds=WAIT_SECONDS) == 0
    limits = limits_of_a_hung_program(folder)
    assert [turn["fault"] for turn in limits[:4]] == ["missed_limit"] * 3 + ["stalled"]
    assert {turn["fault"] for turn in limits[3:]} == {"stalled"}


def games_that_count(folder: Path) -> Counter[int]:
    """Return the number of games of each match, without those that a lost worker broke off."""
    return Counter(game["match"] for game in game_heads(folder) if game["reason"] != "server_fault")


def _workers_of_pairings(folder: Path) -> dict[tuple[int, int], set[int]]:
    found: dict[tuple[int, int], set[int]] = {}
    for game in game_heads(folder):
        found.setdefault((game["event"], game["pairing"]), set()).add(game["worker"])
    return found


def test_workers_the_process_and_the_host_are_killed_and_every_result_is_on_record_once(
    programs: Programs, make_contest: MakeContest
) -> None:
    folder = filled(make_contest(4, event={"game": "longest_path", "settings": {"legs": 2}}), 'sandbox = "none"\n')
    server = programs.serve(folder, "--dask", "local:2", "--now")
    server.expect(r"^\[1/12\]", seconds=WAIT_SECONDS)
    (process,) = processes("getstep_server.cluster.process", server.pid)
    os.kill(processes("spawn_main", process)[0], signal.SIGKILL)
    server.expect(r"^\[5/12\]", seconds=WAIT_SECONDS)
    os.kill(process, signal.SIGKILL)
    server.expect("the process that talks to Dask has ended", seconds=WAIT_SECONDS)
    server.expect(r"^\[9/12\]", seconds=WAIT_SECONDS)
    kill(server)
    again = programs.serve(folder, "--dask", "local:2", "--now")
    assert again.wait(seconds=WAIT_SECONDS) == 0
    assert verified(folder).played == 12
    assert set(games_that_count(folder).values()) == {1}


@needs_slurm
def test_workers_are_jobs_of_slurm_that_are_submitted_again(
    programs: Programs, make_contest: MakeContest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only job is cancelled in mid-contest. SLURM does the same when the time of a job is over."""
    folder = filled(make_contest(2, event={"game": "longest_path", "settings": {"legs": 24}}), 'sandbox = "none"\n')
    file = tmp_path / "slurm.yaml"
    file.write_text(
        f"jobs: 1\nqueue: lab\ncores: 2\nmemory: 1 GB\nwalltime: '00:10:00'\npython: {sys.executable}\n"
        f"local_directory: {tmp_path}\nlog_directory: {tmp_path}\n"
    )
    with Slurm() as slurm:
        for name, value in slurm.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT", "1s")
        server = programs.serve(folder, "--dask", str(file), "--now")
        server.expect(r"^The cluster has 1 worker, for 2 matches at once$", seconds=WAIT_SECONDS)
        server.expect(r"^\[2/24\]", seconds=WAIT_SECONDS)
        (first,) = slurm.jobs()
        slurm.run("scancel", str(first))
        server.expect(r"^The cluster has 0 workers, ", seconds=WAIT_SECONDS)
        wait_until(lambda: slurm.jobs() - {first}, every=0.2)
        assert server.wait(seconds=WAIT_SECONDS) == 0
        assert verified(folder).played == 24
        assert set(games_that_count(folder).values()) == {1}
        wait_until(lambda: not slurm.jobs(), every=0.2)


@needs_slurm
def test_a_job_that_slurm_refuses_is_told(
    programs: Programs, make_contest: MakeContest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = filled(make_contest(2, event={"game": "longest_path"}), 'sandbox = "none"\n')
    (tmp_path / "slurm.yaml").write_text("queue: nowhere\ncores: 1\nmemory: 1 GB\n")
    with Slurm() as slurm:
        for name, value in slurm.environment.items():
            monkeypatch.setenv(name, value)
        server = programs.serve(folder, "--dask", str(tmp_path / "slurm.yaml"), "--now")
        server.expect(r"^! Cluster: .*invalid partition specified: nowhere", seconds=WAIT_SECONDS)
