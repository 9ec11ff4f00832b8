"""Duels and gauntlets whose matches are played by the workers of a Dask cluster on this machine."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from getstep_server.cluster.machine import FOLDER_VARIABLE, shared_folder
from getstep_server.cluster.order import SandboxRow
from getstep_server.config.contest import load_contest
from getstep_server.programs.protection import machine_key
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.archives import zipped
from tests.support.submitted_programs import GET_STEP, add_program, needs_sandbox

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs

SERVER = [sys.executable, "-m", "getstep_server"]
PAGE = (Path(__file__).parents[2] / "docs/course.md").read_text(encoding="utf-8")
(COMMAND,) = re.findall(r"^getstep-server duel .*--dask.*$", PAGE, re.MULTILINE)
"""The command of the page that compares two programs on a cluster."""

QUICK = ("--game", "pseudo_tonga", "--option", "size=6")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the workers a folder in which the sandbox of this machine counts as tried: that takes 6 s."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "worker"))
    row = SandboxRow(probe="read_users", held=True)
    (shared_folder() / f"sandbox-{machine_key()}.json").write_bytes(msgspec.json.encode([row]))


@pytest.mark.long  # 20 s; `tests/server/test_duel_on_cluster.py` holds when a duel ends
@needs_sandbox
def test_a_duel_on_two_workers_ends_with_its_verdict(programs: Programs, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    for archive, source in (("new.zip", "from getstep_bots.greedy import get_step\n"), ("old.zip", GET_STEP)):
        (tmp_path / archive).write_bytes(zipped({"bot.py": source.encode()}))
    name, *command = shlex.split(COMMAND.replace("tcp://lab1:8786", "local:2"))
    assert name == "getstep-server"
    test = ("--elo1", "300", "--at-once", "3", "--keep", str(kept), "--plain")  # the verdict comes after few pairs
    program = programs.start(*SERVER, *command, *QUICK, *test, cwd=tmp_path)
    assert program.wait() == 0
    found = re.search(r"^(H\d) after (\d+) pairs: new is ", program.output, re.MULTILINE)
    assert found is not None, program.output
    contest = load_contest(kept)
    tournament = tournament_of(contest)
    assert tournament.done >= 2 * int(found[2])
    with Store(contest.database, reading=True) as store:
        assert verify(contest, store).played == tournament.done
        heads = [fields for fields in store.record_headers() if fields["type"] in ("game", "worker")]
    assert {head["worker"] for head in heads} == {1, 2}
    assert {tuple(head["faults"]) for head in heads if head["type"] == "game"} == {(0, 0)}


@pytest.mark.long  # 10 s; `tests/server` holds how pairings are placed
@needs_sandbox
def test_a_gauntlet_on_two_workers(programs: Programs, make_contest: MakeContest) -> None:
    gauntlet = {"game": "longest_path", "format": "gauntlet", "settings": {"challengers": [1], "legs": 2}}
    folder = make_contest(3, gauntlet)
    for team in (1, 2, 3):
        add_program(folder, team, "getstep", GET_STEP)
    server = programs.serve(folder, "--now", "--dask", "local:2")
    assert server.wait() == 0
    contest = load_contest(folder)
    assert tournament_of(contest).done == 4
    with Store(contest.database, reading=True) as store:
        assert verify(contest, store).played == 4
        games = [fields for fields in store.record_headers() if fields["type"] == "game"]
    workers = {(game["pairing"], game["worker"]) for game in games}
    assert len(workers) == 2  # both matches of a pairing are played by the same worker
