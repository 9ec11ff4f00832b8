"""A client in Go, written from protocol.md and docs/conformance.md alone: they have all that a client needs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from getstep_server.cli.main import run_command
from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import results_of
from tests.support.languages import need
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import Programs

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "tests" / "conformance" / "go").glob("*.go"))
PAGE = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
(COMMANDS,) = re.findall(r"^```sh\n(getstep-server init .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
"""The commands for a contest of two copies of the test bot."""

pytestmark = pytest.mark.long

START = """
import os, sys
os.environ |= dict(zip(("GETSTEP_PORT", "GETSTEP_TEAM", "GETSTEP_TOKEN"), sys.argv[2:]), GETSTEP_HOST="127.0.0.1")
os.execv(sys.argv[1], sys.argv[1:2])
"""
"""Starts the client with its login, which it takes from the environment."""


@pytest.fixture(scope="module", name="client")
def the_client(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The client with its test bot, built once."""
    need("go")
    program = tmp_path_factory.mktemp("go") / "bot"
    subprocess.run(["go", "build", "-o", str(program), *map(str, SOURCES)], check=True)
    return str(program)


def test_it_passes_all_strict_cases(client: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    code = run_command(["conformance", "--strict", "--patience=60", "--json", str(report), "--", client])
    cases = json.loads(report.read_text(encoding="utf-8"))["cases"]
    wrong = {case["number"]: case["why"] for case in cases if case["verdict"] not in ("pass", "informational")}
    assert (code, wrong) == (0, {})


def test_two_copies_play_all_games_as_the_page_says(
    client: str, programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    init, add, run = (shlex.split(line, comments=True) for line in COMMANDS.splitlines())
    assert [command[0] for command in (init, add, run)] == ["getstep-server"] * 3
    assert run_command(init[1:]) == 0
    assert run_command(add[1:]) == 0
    settings = tmp_path / "trial" / "contest.toml"
    toml = settings.read_text(encoding="utf-8")
    for key in ("port", "web_port", "friendly_port"):  # those of the page may be taken here
        toml = re.sub(rf"^{key} = \d+", f"{key} = 0", toml, flags=re.MULTILINE)
    limits = f"move_seconds = {PATIENCE_SECONDS}"  # no answer is late on a busy machine
    settings.write_text(re.sub(r"^(move|budget)_seconds = \d+", limits, toml, flags=re.MULTILINE), encoding="utf-8")

    server = programs.start(sys.executable, "-m", "getstep_server", *run[1:])
    port = server.expect(r"^Listening on 127\.0\.0\.1, port (\d+)\.$")[1]
    contest = load_contest(settings.parent)
    clients = [
        programs.start(sys.executable, "-c", START, client, port, str(team.id), team.token)
        for team in contest.teams.values()
    ]
    assert server.wait() == 0
    assert [program.wait() for program in clients] == [0, 0]
    assert not re.search(r"^!", server.output, re.MULTILINE)
    faults = Counter((result.match.game, sum(result.faults)) for result in results_of(contest))
    assert faults == {(event.game.name, int(event.game.name == "linkage")): 2 for event in contest.events}
