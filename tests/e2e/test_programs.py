"""Programs of an original contest that play in a contest over the network, from the contestants' machines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import results_of
from tests.support.contests import token_of
from tests.support.convention_programs import PROGRAMS
from tests.support.model_endpoint import plays_last, serving
from tests.support.records import games_of

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


def test_a_language_model_plays_a_program_of_ugi(
    programs: Programs, make_contest: MakeContest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both note what they think, which is on record. The key of the model is not."""
    key = "sk-very-secret-0815"
    monkeypatch.setenv("GETSTEP_LLM_KEY", key)
    folder = make_contest(2, event={"game": "longest_path"})
    server = programs.serve_in_thread(folder)
    (tmp_path / "program.py").write_text(PROGRAMS["ugi"], encoding="utf-8")
    with serving(plays_last) as endpoint:
        bots = (
            ["program.py", "--as", "ugi"],
            ["--as", "llm", "--url", endpoint.url, "--model", "tiny"],
        )
        players = []
        for team, words in enumerate(bots, 1):
            where = ["--team", str(team), "--token", token_of(team), "--host", "127.0.0.1"]
            command = [sys.executable, "-m", "getstep", "play", *words, *where, "--port", str(server.port)]
            players.append(programs.start(*command, cwd=tmp_path))
        assert server.wait() == 0
        assert [player.wait() for player in players] == [0, 0]
    results = results_of(load_contest(folder))
    assert [(result.reason, result.faults) for result in results] == [("finished", (0, 0))] * 2
    assert set(endpoint.keys) == {f"Bearer {key}"}
    notes: dict[int, list[Any]] = {1: [], 2: []}
    for game in games_of(folder):
        for turn in game["turns"]:
            notes[game["teams"][turn["player"]]["id"]].append(turn["notes"])
    assert all(noted["estimate"] > 0 and noted["say"].startswith("pv ") for noted in notes[1])
    assert all(noted["say"].startswith("tiny: 110 tokens, ") for noted in notes[2])
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert key.encode() not in kept
    assert key not in "".join(player.output for player in players)
