"""Every hostile case again and again while honest matches run: they must not notice, and nothing must remain of it.

GETSTEP_SOAK_SECONDS=600 makes it last longer than the usual quarter of a minute.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import time
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from getstep_conformance.attack import CASES
from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import results_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripts import SCRIPTS

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Program, Programs, Server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and connects from 127.0.0.0/8")

HONEST = 64
HOSTILE = 48
HOSTILE_GROUP = 4
HOSTILE_ROUNDS = 50
THINK_SECONDS = 0.03
MATCH_SECONDS = 12.0
"""The approximate seconds of a match at that pace: hop takes up to 400 turns."""

SOAK_SECONDS = float(os.environ.get("GETSTEP_SOAK_SECONDS", MATCH_SECONDS))
MATCHES = ceil(SOAK_SECONDS / MATCH_SECONDS)
GROWTH_KB = 10 * 1024
FEW_FILES = 48
PATIENCE = PATIENCE_SECONDS + 5 * SOAK_SECONDS
HOSTILE_LIMIT = {"move_seconds": 6.0}
"""The limit of hostile teams, whose cases wait for missed limits. Honest teams must not miss theirs."""

LOGINS_FOR_EVER = """\
from getstep_server.cli.main import main
from getstep_server.net import connection

connection.LOGIN_SECONDS = 1e6
main()
"""
"""A server that waits for logins for ever."""

BOTS = SCRIPTS / "soak_bots.py"
ATTACKERS = SCRIPTS / "soak_attackers.py"


def events() -> list[dict[str, Any]]:
    """Return the events.

    Honest teams play in pairs, ``MATCHES`` times, and hostile teams in groups of four, again and again.
    """
    groups: list[tuple[range, int, dict[str, Any]]]
    groups = [(range(team, team + 2), MATCHES, {}) for team in range(1, HONEST, 2)]
    hostile = range(HONEST + 1, HONEST + HOSTILE, HOSTILE_GROUP)
    groups += [(range(team, team + HOSTILE_GROUP), 2 * HOSTILE_ROUNDS, HOSTILE_LIMIT) for team in hostile]
    return [
        {"name": str(number), "teams": list(teams), "settings": {"legs": legs}, **limit}
        for number, (teams, legs, limit) in enumerate(groups, start=1)
    ]


def start_server(programs: Programs, folder: Path) -> Server:
    return programs.serve(folder, "--now")


def start_bots(programs: Programs, server: Server, log: Path, think_seconds: float) -> Program:
    where = ["127.0.0.1", str(server.port), str(log)]
    bots = programs.start(sys.executable, str(BOTS), *where, str(HONEST), str(MATCHES), str(think_seconds))
    bots.expect("^all here$")
    return bots


def memory_kb(server: Server) -> int:
    """Resident memory of the server's process."""
    status = Path(f"/proc/{server._process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def contest_folder(make_contest: MakeContest) -> Path:
    teams = [*[{}] * HONEST, *[{"classic": True}] * HOSTILE]
    return make_contest(teams, *events(), server={"classic_port": 0}, start={"absent_seconds": 3600})


def undisturbed(programs: Programs, make_contest: MakeContest, log: Path) -> Any:
    """Return the moves that the bots record when nobody attacks."""
    folder = contest_folder(make_contest)
    server = start_server(programs, folder)
    bots = start_bots(programs, server, log, 0.0)
    bots.expect("^all done$", seconds=PATIENCE)
    server.signal(signal.SIGINT)
    assert server.wait() == 130
    folder.rename(folder.with_name("undisturbed"))
    return json.loads(log.read_text())


@pytest.mark.long
def test_honest_matches_do_not_notice(programs: Programs, make_contest: MakeContest, tmp_path: Path) -> None:
    expected = undisturbed(programs, make_contest, tmp_path / "undisturbed.json")

    folder = contest_folder(make_contest)
    server = start_server(programs, folder)
    bots = start_bots(programs, server, tmp_path / "attacked.json", THINK_SECONDS)
    before = memory_kb(server)
    where = ["127.0.0.1", str(server.port), str(server.classic_port)]
    attackers = programs.start(sys.executable, str(ATTACKERS), *where, str(HONEST + 1), str(HOSTILE))
    bots.expect("^all done$", seconds=PATIENCE)
    attackers.expect("^all cases ran", seconds=PATIENCE)
    report = stop(attackers)
    after = settled_memory_kb(server, before + GROWTH_KB)

    print(f"{sum(report['ran'].values())} attacks; memory {before} kB before, {after} kB after")

    attacked = json.loads((tmp_path / "attacked.json").read_text())
    assert attacked == expected
    check_honest(attacked)
    assert not report["wrong"], "\n".join(report["wrong"])
    assert set(report["ran"]) == set(CASES)
    assert after < before + GROWTH_KB
    server.signal(signal.SIGINT)
    assert server.wait() == 130
    assert "server error in" not in server.output
    honest = [result for result in results_of(load_contest(folder)) if max(result.match.teams) <= HONEST]
    assert len(honest) == MATCHES * HONEST // 2
    assert {(result.reason, result.faults) for result in honest} == {("finished", (0, 0))}


def stop(attackers: Program) -> Any:
    """Stop the attack; its own report."""
    attackers.signal(signal.SIGTERM)
    attackers.wait()
    return json.loads(attackers.output.splitlines()[-1])


def settled_memory_kb(server: Server, enough: int) -> int:
    """Return the server's memory once the last connection of the attack is closed, or after some seconds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (now := memory_kb(server)) >= enough and time.monotonic() < deadline:
        time.sleep(0.5)
    return now


def check_honest(log: Any) -> None:
    """Check that each match had only questions and one end: no penalty, and no second start."""
    assert len(log) == HONEST
    for matches in log.values():
        assert len(matches) == MATCHES
        for lines in matches.values():
            told = [line[0] for line in lines if isinstance(line[0], str)]
            assert told == ["end"]
            assert len(lines) > 2


@pytest.mark.long
def test_a_server_without_file_descriptors_still_takes_teams_in(
    programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    folder = make_contest(2, event={"game": "linkage"})
    command = f'ulimit -n {FEW_FILES}; exec {sys.executable} -c "$0" run {folder} --plain'
    server = programs.start("sh", "-c", command, LOGINS_FOR_EVER)
    port = int(server.expect(r"^Listening on \S+, port (\d+)")[1])
    with contextlib.ExitStack() as silent:
        for _ in range(2 * FEW_FILES):
            silent.enter_context(socket.create_connection(("127.0.0.1", port)))
        where = ["127.0.0.1", str(port), str(tmp_path / "log.json")]
        bots = programs.start(sys.executable, str(BOTS), *where, "2", "2", "0")
        bots.expect("^all here$")  # though the silent connections stay
        bots.expect("^all done$")
    assert server.wait() == 0
