"""Programs of an original contest that play in a contest over the network, from the contestants' machines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import results_of
from tests.support.contests import token_of
from tests.support.convention_programs import PROGRAMS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.contests import MakeContest
    from tests.support.processes import Programs


def test_programs_play_a_contest(programs: Programs, make_contest: MakeContest, tmp_path: Path) -> None:
    """Two programs and two conventions of the same game; each program is started again for each match."""
    folder = make_contest(2, event={"game": "chain_reaction"})
    server = programs.serve_in_thread(folder)
    players = []
    for team, convention in ((1, "csefest-console"), (2, "csefest-file")):
        home = tmp_path / convention
        home.mkdir()
        (home / "program.py").write_text(PROGRAMS[convention], encoding="utf-8")
        words = ["--as", convention, "--team", str(team), "--token", token_of(team), "--host", "127.0.0.1"]
        command = [sys.executable, "-m", "getstep", "play", "program.py", *words, "--port", str(server.port)]
        players.append(programs.start(*command, cwd=home))
    assert server.wait() == 0
    assert [player.wait() for player in players] == [0, 0]
    results = results_of(load_contest(folder))
    assert [(result.reason, result.faults) for result in results] == [("finished", (0, 0))] * 2
