"""The client at the beginning of protocol.md plays a contest as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from getstep_server.cli.main import run_command
from getstep_server.events import MatchEnded
from getstep_server.incident import Incident
from tests.support.contests import make_contest, token_of
from tests.support.conversations import PROTOCOL
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import running


def minimal_client(folder: Path) -> Path:
    """Write the first program of protocol.md to a file."""
    section = PROTOCOL.read_text(encoding="utf-8").split("\n## A minimal client\n")[1].split("\n## ")[0]
    (program,) = re.findall(r"^```python\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    file = folder / "minimal_client.py"
    file.write_text(program, encoding="utf-8")
    return file


async def run_client(file: Path, port: int, team: int, token: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-I", str(file), "127.0.0.1", str(port), str(team), token]
    return await trio.run_process(command, capture_stdout=True, capture_stderr=True, check=False)


@pytest.mark.parametrize("game", ["longest_path", "pseudo_tonga"])
async def test_it_plays_a_contest_to_its_end(tmp_path: Path, game: str) -> None:
    contest = make_contest(tmp_path, event={"game": game, "settings": {"legs": 2}})
    file = minimal_client(tmp_path)
    done: dict[int, subprocess.CompletedProcess[bytes]] = {}

    async def play(port: int, team: int) -> None:
        done[team] = await run_client(file, port, team, token_of(team))

    with trio.fail_after(PATIENCE_SECONDS):
        async with running(contest) as server, trio.open_nursery() as nursery:
            for team in (1, 2):
                nursery.start_soon(play, server.port, team)
            await server.over.wait()
    ended = server.recorder.of(MatchEnded)
    assert [match.result.reason for match in ended] == ["finished"] * 2
    assert server.recorder.of(Incident) == []
    assert [(team, process.returncode, process.stderr) for team, process in sorted(done.items())] == [
        (1, 0, b""),
        (2, 0, b""),
    ]
    assert all(b"'contest_over'" in process.stdout for process in done.values())


async def test_it_shows_why_it_is_refused(tmp_path: Path) -> None:
    with trio.fail_after(PATIENCE_SECONDS):
        async with running(make_contest(tmp_path)) as server:
            process = await run_client(minimal_client(tmp_path), server.port, 1, "wrong-token")
    assert (process.returncode, process.stderr) == (0, b"")
    assert b"'bad_token'" in process.stdout


def test_it_reads_every_encoding_and_ignores_what_it_does_not_know(tmp_path: Path) -> None:
    """It need not come back after a lost connection, and asks for no proof."""
    client = [sys.executable, str(minimal_client(tmp_path)), "{host}", "{port}", "{team}", "{token}"]
    assert run_command(["conformance", "--strict", "--patience=60", "--case", "1.2,3.12,4.1", "--", *client]) == 0
