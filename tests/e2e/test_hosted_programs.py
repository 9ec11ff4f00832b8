"""Contests with programs that the server runs itself, beside bots on the network."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.programs.version import GETSTEP
from getstep_server.storage.contest_state import results_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.added_programs import GET_STEP, add_program
from tests.sdk.convention_programs import PROGRAMS

if TYPE_CHECKING:
    from .programs import MakeContest, Programs

pytestmark = pytest.mark.skipif(
    not os.environ.get("GETSTEP_REQUIRE_BROWSER") and shutil.which("bwrap") is None,
    reason="the sandbox is missing: apt install bubblewrap",
)


def game_heads(folder: Path) -> list[dict[str, Any]]:
    """Return the headers of the records of games."""
    with Store(folder / "contest.db", reading=True) as store:
        return [fields for fields in store.record_headers() if fields["type"] == "game"]


def test_hosted_programs_and_a_bot_on_the_network(
    programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    folder = make_contest(["", "", ""], game="longest_path", events=["settings.legs = 1\n"])
    versions = {
        1: add_program(folder, 1, "prodrive", PROGRAMS["prodrive"]),
        2: add_program(folder, 2, GETSTEP, GET_STEP),
    }
    (tmp_path / "bot.py").write_text(GET_STEP)
    server = programs.serve_in_thread(folder)
    bot = programs.play(server, tmp_path / "bot.py", 3)
    assert server.wait() == 0
    assert bot.wait() == 0
    results = results_of(load_contest(folder))
    assert [(result.reason, result.faults) for result in results] == [("finished", (0, 0))] * 3
    for game in game_heads(folder):
        ids = [team["id"] for team in game["teams"]]
        expected = [{"version": 1, "sha256": versions[team].sha256} if team in versions else None for team in ids]
        assert game["programs"] == expected
    with Store(folder / "contest.db", reading=True) as store:
        assert verify(load_contest(folder), store).played == 3
    assert not list((folder / "programs" / ".playing").glob("getstep-*"))
