"""A pause outlives a killed server: the match continues paused, on the page too, until the host resumes it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import free_port

if TYPE_CHECKING:
    from tests.support.processes import Programs

SLOW = """
import time
from getstep_bots import random_bot
def get_step(board, is_black, turn):
    time.sleep(0.3)
    return random_bot.get_step(board, is_black, turn)
"""


def command(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "getstep_server", *arguments], check=True)


@pytest.mark.long
def test_a_killed_server_resumes_a_match_in_its_pause(programs: Programs, tmp_path: Path) -> None:
    folder, web, bot = tmp_path / "contest", str(free_port()), tmp_path / "slow.py"
    bot.write_text(SLOW)
    make_contest(folder, 2, {"game": "hop"}, on_disk=True, server={"port": free_port()})

    def match(until: Callable[[Any], bool]) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                with urlopen(f"http://127.0.0.1:{web}/api/v1/pages/match/1") as answer:
                    if until(page := json.load(answer)):
                        return page
            except OSError:  # the server, or the match, is not there yet
                pass
            assert time.monotonic() < deadline
            time.sleep(0.1)

    server = programs.serve(folder, "--web-port", web)
    for team in (1, 2):
        programs.play(server, bot, team)
    match(lambda page: page["board"] and page["board"]["turn"] > 2)
    command("pause", str(folder), "--now", "--why", "the beamer", "--yes")
    match(lambda page: page["paused"] == "the beamer" and page["board"]["clock"]["stopped"])
    server.signal(signal.SIGKILL)
    server.wait()
    again = programs.serve(folder, "--web-port", web)
    again.expect("resumes after turn")
    before = match(lambda page: page["board"] and page["board"]["paused"] == "the beamer")
    time.sleep(1.5)  # five turns, if it were not paused
    after = match(lambda page: page["board"])
    assert after["board"]["turn"] == before["board"]["turn"]
    assert [one["name"] for one in after["notices"]["paused"]] == ["the contest"]
    command("resume", str(folder), "--why", "it works", "--yes")
    going = match(lambda page: page["board"]["turn"] > before["board"]["turn"] + 2)
    assert going["paused"] is None
    assert going["board"]["faults"] == [0, 0]
