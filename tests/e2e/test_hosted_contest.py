"""A whole contest of programs in four languages and all conventions, and programs that use most of their time."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
import trio

from getstep.conventions import CONVENTIONS
from getstep_server.config.contest import load_contest
from getstep_server.programs import adding
from getstep_server.programs.version import GETSTEP, ProgramVersion
from getstep_server.records.record import parse
from getstep_server.runtime import hosted
from getstep_server.runtime.hosted import HostedPrograms
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.convention_programs import PROGRAMS as CONVENTION_PROGRAMS
from tests.support.folder_files import unnamed_in
from tests.support.hosted_programs import descendants, game_heads, kill, wait_for, wait_for_end
from tests.support.languages import SUFFIXES, TOOLS, example, need
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import free_port
from tests.support.submitted_programs import GET_STEP, add, add_program, needs_sandbox, trust_sandbox

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs

pytestmark = [needs_sandbox, pytest.mark.long]

PROGRAMS = {
    "longest_path": ["prodrive", "ugi"] * 2,
    "chain_reaction": ["csefest-console", "csefest-file"] * 2,
    "pseudo_tonga": ["topcoder"] * 4,
    "linkage": ["linkage"] * 4,
}
"""The conventions of the programs in Python, C++, Java and C#; a bot on the network plays each game, too."""

TEAMS = 5  # of a game

BOT = """\
import time
from pathlib import Path
from getstep_bots import random_bot

def get_step(board, is_black, turn):
    if turn.game == "linkage" and turn.move_number > 4 and not Path("open").exists():
        Path("asked").touch()
        while not Path("open").exists():
            time.sleep(0.01)
    return random_bot.get_step(board, is_black, turn)
"""
"""It waits in the middle of a match of linkage until the test lets it go on."""


def entrants() -> Iterator[tuple[int, str, str]]:
    """Yield each team with a program, its convention and its language."""
    for n, conventions in enumerate(PROGRAMS.values()):
        for place, (convention, language) in enumerate(zip(conventions, SUFFIXES, strict=True), start=1):
            yield n * TEAMS + place, convention, language


def add_programs(folder: Path) -> dict[int, ProgramVersion]:
    """Compile all programs in the sandbox, and return the version of each team."""
    trust_sandbox(folder)
    contest = load_contest(folder)

    def compiled(entrant: tuple[int, str, str]) -> ProgramVersion:
        team, convention, language = entrant
        file = example(convention, language)
        return add(contest, file.name, file.read_bytes(), convention=convention, team=team)

    with ThreadPoolExecutor(2) as pool:
        return {version.team: version for version in pool.map(compiled, entrants())}


def test_16_programs_and_4_bots_play_a_contest_whose_server_is_killed_twice(
    programs: Programs, make_contest: MakeContest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(*{tool for tools in TOOLS.values() for tool in tools})
    assert {convention for _, convention, _ in entrants()} == set(CONVENTIONS)
    events = [
        {"name": game, "game": game, "teams": [*range(first, first + TEAMS)], "settings": {"legs": 1}}
        for game, first in zip(PROGRAMS, range(1, 21, TEAMS), strict=True)
    ]
    folder = make_contest(20, *events, server={"port": free_port()}, start={"absent_seconds": PATIENCE_SECONDS})
    with (folder / "contest.toml").open("a") as file:
        file.write(f"[programs]\ncores = 2\nstartup_seconds = {PATIENCE_SECONDS}\n")
    monkeypatch.setattr(adding, "try_program", lambda *_: "not tried")  # `test_an_example_on_the_host` does that
    versions = add_programs(folder)
    assert len(versions) == 16
    (tmp_path / "bot.py").write_text(BOT)

    server = programs.serve(folder, "--now")
    bots = [programs.play(server, tmp_path / "bot.py", team) for team in range(TEAMS, 21, TEAMS)]
    wait_for(tmp_path / "asked")
    kill(server)  # in the middle of a match with a hosted program
    (tmp_path / "open").touch()
    server = programs.serve(folder, "--now")
    server.expect(r"^\[20/40\]")
    kill(server)
    server = programs.serve(folder, "--now")
    server.expect(r"^\[30/40\]")
    below = descendants(server.pid)
    assert server.wait() == 0
    wait_for_end(below)
    assert [bot.wait() for bot in bots] == [0] * 4

    heads = game_heads(folder)
    played = {head["match"]: head for head in heads if head["reason"] != "server_fault"}
    assert {head["reason"] for head in played.values()} == {"finished"}
    assert all(head["faults"] == [0, 0] for head in heads)
    for head in heads:
        for team, entry in zip(head["teams"], head["programs"], strict=True):
            version = versions.get(team["id"])
            if version is None:
                assert entry is None
            else:
                assert (entry["version"], entry["sha256"]) == (1, version.sha256)
                assert entry.get("id_line", "") == version.id_line
    resumed = {head["event"] for head in played.values() if head["resumed"]}
    assert list(PROGRAMS).index("linkage") + 1 in resumed
    with Store(folder / "contest.db", reading=True) as store:
        assert verify(load_contest(folder), store).played == len(played) == 40
    left = [*(folder / "programs" / ".playing").glob("*/*"), *(folder / "programs" / ".kept").iterdir()]
    assert not left
    assert unnamed_in(folder) == []


# --- programs that use most of their time --------------------------------------------------------------------

LIMIT_SECONDS = 10.0
SHARE = 0.8
SLOW_TURNS = 1  # of each player; the others are quick, so that the test is short

THINK = f"""\
import itertools, time
turns = itertools.count()

def think(turn=None):
    began = time.monotonic()
    if (next(turns) if turn is None else turn) < {SLOW_TURNS}:
        time.sleep({(SHARE - 0.05) * LIMIT_SECONDS})
        while time.monotonic() < began + {SHARE * LIMIT_SECONDS}:
            pass

"""
"""It takes its share by the clock that the judge has, too: however slow the machine is, a turn takes no longer.

It computes at the end only. Eight programs on two cores could not all compute for as long.
"""

SLOW = {
    "prodrive": THINK + CONVENTION_PROGRAMS["prodrive"].replace("    print(", "    think(); print(", 1),
    "csefest-console": THINK
    + CONVENTION_PROGRAMS["csefest-console"].replace("    cells =", "    think(); cells ="),
    "csefest-file": THINK
    + CONVENTION_PROGRAMS["csefest-file"].replace("        cells =", "        think(); cells ="),
    "topcoder": THINK
    + CONVENTION_PROGRAMS["topcoder"].replace("        return self.free", "        think(); return self.free"),
    "linkage": THINK
    + CONVENTION_PROGRAMS["linkage"].replace(
        "colour =", "think((24 - sum(map(int, player[1:]))) // 2); colour =", 1
    ),
    GETSTEP: THINK + GET_STEP.replace("    return", "    think()\n    return"),
}
PAIRS = 2 * [
    ("longest_path", "prodrive", GETSTEP),
    ("chain_reaction", "csefest-console", "csefest-file"),
    ("pseudo_tonga", "topcoder", GETSTEP),
    ("linkage", "linkage", "linkage"),
]
"""Eight matches of two programs each."""


def test_programs_that_use_four_fifths_of_their_limit_in_8_matches_at_once_miss_none(
    programs: Programs, make_contest: MakeContest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two seconds are left for the way of a move: starts, pipes, suspension, and a busy machine."""
    events = [
        {"name": f"event {n}", "game": game, "teams": [2 * n + 1, 2 * n + 2], "settings": {"legs": 1}}
        for n, (game, *_) in enumerate(PAIRS)
    ]
    folder = make_contest(16, *events, event={"move_seconds": LIMIT_SECONDS})
    with (folder / "contest.toml").open("a") as file:
        file.write(f"[programs]\ncores = 8\nstartup_seconds = {PATIENCE_SECONDS}\n")
    for team, convention in enumerate((convention for _, *pair in PAIRS for convention in pair), start=1):
        add_program(folder, team, convention, SLOW[convention])
    monkeypatch.setattr(hosted, "available_cores", lambda: [None] * 8)
    start_together(monkeypatch, len(PAIRS))

    server = programs.serve_in_thread(folder)
    assert server.wait() == 0
    with Store(folder / "contest.db", reading=True) as store:
        assert verify(load_contest(folder), store).played == len(PAIRS)
        games = [game for line in store.lines() if (game := parse(line))["type"] == "game"]
    assert [(game["reason"], game["faults"]) for game in games] == [("finished", [0, 0])] * len(PAIRS)
    begun = [datetime.fromisoformat(game["started"]).timestamp() for game in games]
    assert max(begun) < min(at + game["seconds"] for at, game in zip(begun, games, strict=True))
    times = [turn["ms"] / 1000 for game in games for turn in game["turns"] if "pass" not in turn]
    slow = [seconds for seconds in times if seconds >= SHARE * LIMIT_SECONDS]
    assert len(slow) >= sum(min(len(game["turns"]), 2 * SLOW_TURNS) for game in games)
    print(
        f"{len(times)} turns; of {LIMIT_SECONDS:g} s, the slow ones took {median(slow):.3f} s,"
        f" at most {max(slow):.3f} s"
    )


def start_together(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Let no match begin before the programs of ``count`` matches are ready."""
    playing, ready, all_ready = HostedPrograms.playing, itertools.count(1), trio.Event()

    @asynccontextmanager
    async def wait_for_all(self: HostedPrograms, *arguments: Any) -> AsyncIterator[Any]:
        async with playing(self, *arguments) as found:
            if next(ready) >= count:
                all_ready.set()
            await all_ready.wait()
            yield found

    monkeypatch.setattr(HostedPrograms, "playing", wait_for_all)
