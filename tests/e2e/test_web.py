"""The live page as a program: its address, its package index, and what it is told by the server."""

from __future__ import annotations

import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.config.contestants_package import NAME, package_hash, write_contestants_package
from getstep_server.reports.slips import commands
from getstep_server.storage.run_status import RunStatus, read_status
from getstep_server.web.listener import open_page_listener, page_address
from tests.old_contests.contests import unpack
from tests.support.interrupted_contest import wait_until

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs


@pytest.mark.long
def test_pip_installs_from_the_page(programs: Programs, tmp_path: Path) -> None:
    folder = tmp_path / "contest"
    unpack("0.1.0-before-settings/finished", folder)
    contest = load_contest(folder)
    write_contestants_package(contest)
    page = programs.start(
        sys.executable, "-m", "getstep_server", "web", str(folder), "--host", "127.0.0.1", "--port", "0"
    )
    url = page.expect(r"^Live page .*: (http://\S+)/$")[1]
    target = tmp_path / "target"
    pip = [
        *(sys.executable, "-m", "pip", "install", "--isolated", "--no-cache-dir", "--disable-pip-version-check"),
        *("--index-url", "http://127.0.0.1:9/", "--target", str(target)),  # nothing comes from anywhere else
    ]
    package = commands(contest, contest.teams[1], "127.0.0.1", package_hash(contest))["install"].split('"')[1]
    on_slip = package.replace("http://127.0.0.1:8080", url)
    forged = folder / NAME
    honest = forged.read_bytes()
    forged.write_bytes(honest + b"forged")
    refused = programs.start(*pip, on_slip)
    assert refused.wait() == 1
    assert "DO NOT MATCH THE HASHES" in refused.output
    assert not target.exists()
    forged.write_bytes(honest)
    installed = programs.start(*pip, on_slip)
    assert installed.wait() == 0, installed.output
    assert (target / "getstep" / "__init__.py").exists()
    assert (target / "getstep_engines" / "__init__.py").exists()


def test_the_next_free_port_is_used(make_contest: MakeContest) -> None:
    contest = load_contest(make_contest())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with open_page_listener("127.0.0.1", port) as listener:
            assert port < listener.getsockname()[1] < port + 20
            assert page_address(contest, listener) == f"http://127.0.0.1:{listener.getsockname()[1]}/"


def test_the_address_is_one_that_others_can_reach(make_contest: MakeContest) -> None:
    contest = load_contest(make_contest())
    with open_page_listener("0.0.0.0", 0) as listener:
        assert "0.0.0.0" not in page_address(contest, listener)


def test_the_page_is_told_which_teams_are_connected(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest()
    server = programs.serve(folder)
    bot = folder / "bot.py"
    bot.write_text("def get_step(board, is_black):\n    raise SystemExit\n")
    programs.play(server, bot, 2)
    expected = RunStatus(connected={2: 1}, address=("127.0.0.1", server.port))

    def is_told() -> bool:
        status = read_status(folder / "running")
        # the lag and the time to a team differ each time
        return status is not None and replace(status, lag_ms=0.0, round_trip_ms={}) == expected

    wait_until(is_told)
    server.signal(2)
    assert server.wait() == 130
    assert read_status(folder / "running") is None
