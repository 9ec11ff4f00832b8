"""A client in Go, written from protocol.md and docs/conformance.md alone: they have all that a client needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from getstep_server.cli.main import run_command
from tests.compilers import need

from .programs import MakeContest, Programs, token_of

SOURCES = sorted((Path(__file__).parents[1] / "conformance" / "go").glob("*.go"))

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


@pytest.mark.parametrize("game", ["hop", "chain_reaction"])
def test_it_plays_a_contest_to_its_end(
    game: str, client: str, programs: Programs, make_contest: MakeContest
) -> None:
    server = programs.serve(make_contest(["", ""], game=game))
    clients = [
        programs.start(sys.executable, "-c", START, client, str(server.port), str(team), token_of(team))
        for team in (1, 2)
    ]
    assert server.wait() == 0
    assert [program.wait() for program in clients] == [0, 0]
    server.expect(r"^\[2/2\] ")
    assert server.complaints == []
