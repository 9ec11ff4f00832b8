"""Contests with hostile programs: each tries something in each of its turns. None of it is the server's fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.programs.version import GETSTEP
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.records import games_of
from tests.support.submitted_programs import GET_STEP, add_program, needs_sandbox

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs

pytestmark = needs_sandbox

MOVE = "    return next((r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if not cell)\n"

SPY = (
    """\
import os

import getstep

SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/sbin", "/sandbox/program", "/proc/self", "/proc/thread-self")
WANTED = ("teams.toml", "contest.toml", "contest.db", "program.py", "environ")

def get_step(board, is_black):
    found = []
    for top, folders, files in os.walk("/") if sum(map(sum, board)) < 9 else ():  # it takes 50 ms
        if top.startswith((*SYSTEM, os.path.dirname(os.path.dirname(os.__file__)), f"/proc/{os.getpid()}")):
            folders.clear()
            continue
        if top.startswith(os.path.dirname(getstep.__file__)):  # the package has modules that are called program.py
            continue
        for name in set(files).intersection(WANTED):
            try:
                found.append((os.path.join(top, name), open(os.path.join(top, name), "rb").read(40)))
            except OSError:
                pass
    if found:
        raise RuntimeError(str(found))
"""
    + MOVE
)
"""Reads the opponent's program, tokens, and the environment of other processes, wherever they may be."""

PLAY_ON = {
    "a spy": SPY,
    "a name that is no text": (
        "import ctypes\nctypes.CDLL(None).prctl(15, b'\\xff) R 1 (', 0, 0, 0)\ndef get_step(board, is_black):\n"
        + MOVE
    ),
    "a fork bomb": (
        "import os\ndef get_step(board, is_black):\n    for _ in range(9):\n"
        "        try: os.fork()\n        except OSError: pass\n" + MOVE
    ),
}
"""They play by the rules besides."""

FAIL = {
    "an error of 100 kB": "raise Exception('\\x1b[2J<script>\\n\\u202e' + '\\ud800' * 100000)",
    "a move that cannot be sent": "return [10**400, float('nan'), {'a': [1] * 9999}]",
    "an answer of its own": "import os; os.write(4, b'{\"type\": [], \"error\": ' + b'[' * 60000 + b'\\n')",
}
"""They fail in their first turn."""


@pytest.mark.long
def test_hostile_programs_cost_nobody_else_a_turn_and_the_server_no_match(
    programs: Programs, make_contest: MakeContest
) -> None:
    sources = [*PLAY_ON.values(), *(f"def get_step(board, is_black):\n    {line}\n" for line in FAIL.values())]
    folder = make_contest(1 + len(sources), event={"game": "longest_path", "settings": {"legs": 1}})
    for team, source in enumerate([GET_STEP, *sources], 1):
        add_program(folder, team, GETSTEP, source)
    server = programs.serve_in_thread(folder)
    assert server.wait() == 0
    games = games_of(folder)
    assert len(games) == 21
    assert {game["attempt"] for game in games} == {1}  # none was void
    last_honest = 1 + len(PLAY_ON)
    for game in games:
        teams = [team["id"] for team in game["teams"]]
        faults = [
            (teams[turn["player"]], turn["fault"], turn.get("detail")) for turn in game["turns"] if "fault" in turn
        ]
        assert all(team > last_honest for team, _, _ in faults), faults
        assert (max(teams) > last_honest) == bool(faults)
        for _, fault, detail in faults:
            assert fault == "raised"
            assert detail
            assert detail.isprintable()
            assert len(detail) <= 1000
    with Store(folder / "contest.db", reading=True) as store:
        assert verify(load_contest(folder), store).played == 21
    assert not list((folder / "programs" / ".playing").glob("*/*"))
    sizes = {path.name: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 3_000_000, sizes
