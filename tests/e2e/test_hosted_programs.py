"""Contests with programs that the server runs itself, beside bots on the network."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.play.deadlines import StallMonitor
from getstep_server.programs.version import GETSTEP
from getstep_server.records.record import parse
from getstep_server.reports.report import as_html, load_report_data
from getstep_server.storage.contest_state import results_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.convention_programs import PROGRAMS
from tests.support.hosted_programs import (
    LOOP,
    RANDOM,
    game_heads,
    kill,
    limits_of_a_hung_program,
    turns_of,
    wait_for,
)
from tests.support.interrupted_contest import CRASH_SERVER, wait_until
from tests.support.patience import PATIENCE_SECONDS
from tests.support.records import games_of
from tests.support.submitted_programs import GET_STEP, add_program, needs_sandbox

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs

pytestmark = needs_sandbox


PRINTING = "import sys\nprint('getstep: say hello\\nready', file=sys.stderr)\n"
"""What a program does before its first move."""


def test_hosted_programs_and_a_bot_on_the_network(
    programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    folder = make_contest(3, event={"game": "longest_path", "settings": {"legs": 1}})
    versions = {
        1: add_program(folder, 1, "prodrive", PRINTING + PROGRAMS["prodrive"]),
        2: add_program(folder, 2, GETSTEP, GET_STEP),
    }
    (tmp_path / "bot.py").write_text(GET_STEP)
    server = programs.serve_in_thread(folder)
    refused = programs.play(server, tmp_path / "bot.py", 1)
    assert refused.wait() == 1
    assert "hosted_program: The host runs the program of team 1" in refused.output
    bot = programs.play(server, tmp_path / "bot.py", 3)
    assert server.wait() == 0
    assert bot.wait() == 0
    results = results_of(load_contest(folder))
    assert [(result.reason, result.faults) for result in results] == [("finished", (0, 0))] * 3
    for game in game_heads(folder):
        ids = [team["id"] for team in game["teams"]]
        expected = [{"version": 1, "sha256": versions[team].sha256} if team in versions else None for team in ids]
        assert game["programs"] == expected
    for game in games_of(folder):
        ids = [team["id"] for team in game["teams"]]
        noted = [turn.get("notes") for turn in game["turns"] if ids[turn["player"]] == 1]
        assert noted[:1] == [{"say": "hello", "output": "ready\n"}] * (1 in ids)
        assert not any(noted[1:])
    with Store(folder / "contest.db", reading=True) as store:
        assert verify(load_contest(folder), store).played == 3
    assert not list((folder / "programs" / ".playing").glob("*/*"))


GATED = """\
import time
from pathlib import Path
from getstep_engines import GAMES

def get_step(board, is_black):
    Path("asked").touch()
    while not Path("open").exists():
        time.sleep(0.01)
    return next((r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if not cell)
"""
"""A bot on the network that waits in its first turn until the test lets it go on."""


def hosted_processes(parent: int) -> list[int]:
    """Return the processes that play with hosted programs, of the server with this process id."""
    found = []
    for path in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            with contextlib.suppress(OSError):
                if b"hosted_process" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(child)
    return found


@pytest.mark.parametrize("judges", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_program_that_the_host_had_to_end_costs_its_opponent_three_limits(
    programs: Programs, make_contest: MakeContest, judges: int
) -> None:
    folder = make_contest(2, event={"move_seconds": 0.1, "settings": {"legs": 1}}, server={"judges": judges})
    add_program(folder, 1, GETSTEP, LOOP)
    add_program(folder, 2, GETSTEP, RANDOM)
    assert programs.serve_in_thread(folder).wait() == 0
    limits = limits_of_a_hung_program(folder)
    assert [turn["fault"] for turn in limits[:4]] == ["missed_limit"] * 3 + ["stalled"]
    assert {turn["fault"] for turn in limits[3:]} == {"stalled"}


def test_a_late_program_has_missed_its_limit_on_a_host_that_was_late_itself(
    programs: Programs, make_contest: MakeContest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge gives the host's own lateness back, and what the host says of a program it has ended comes then."""
    monkeypatch.setattr(StallMonitor, "stall_since", lambda *_: 1.5)
    folder = make_contest(2, event={"game": "longest_path", "move_seconds": 0.2, "settings": {"legs": 1}})
    add_program(folder, 1, GETSTEP, LOOP)
    add_program(folder, 2, GETSTEP, GET_STEP)
    assert programs.serve_in_thread(folder).wait() == 0
    assert [turn["fault"] for turn in limits_of_a_hung_program(folder) if "fault" in turn] == ["missed_limit"]


@pytest.mark.long
def test_hosted_programs_wait_for_nobody_and_one_that_does_not_start_costs_its_turns(
    programs: Programs, make_contest: MakeContest
) -> None:
    folder = make_contest(2, event={"game": "longest_path", "settings": {"legs": 1}})
    add_program(folder, 1, GETSTEP, "import sys\nprint('no opening book', file=sys.stderr)\nsys.exit(9)\n")
    add_program(folder, 2, GETSTEP, GET_STEP, id_line="Longest, Blaise, 1")
    with (folder / "contest.toml").open("a") as file:
        file.write('[programs]\nsandbox = "none"\n')
    server = programs.serve_in_thread(folder)
    assert server.wait() == 0
    (turns,) = turns_of(folder)
    faults = [turn for turn in turns if "fault" in turn]
    assert {(turn["player"], turn["fault"]) for turn in faults} == {(1, "raised")}
    detail = "program.py does not load: SystemExit: 9; it wrote to standard error: no opening book"
    assert faults[0]["detail"] == detail
    with Store(folder / "contest.db", reading=True) as store:
        page = as_html(load_report_data(load_contest(folder), store))
        assert verify(load_contest(folder), store).played == 1
    assert "1, 1 of them WITHOUT a sandbox" in page
    assert "Longest, Blaise, 1" in page


@pytest.mark.long
def test_a_process_that_dies_is_the_fault_of_the_server(programs: Programs, make_contest: MakeContest) -> None:
    """The match is void, and played again with the version that is in use by then."""
    folder = make_contest(2, event={"game": "longest_path", "settings": {"legs": 1}})
    add_program(folder, 1, GETSTEP, "def get_step(board, is_black):\n    while True: pass\n")
    add_program(folder, 2, GETSTEP, GET_STEP)
    server = programs.serve_in_thread(folder)
    until = time.monotonic() + PATIENCE_SECONDS
    while not (running := hosted_processes(os.getpid())):
        assert time.monotonic() < until, server.output
        time.sleep(0.01)
    add_program(folder, 1, GETSTEP, GET_STEP)
    os.kill(running[0], signal.SIGKILL)
    assert server.wait() == 0
    void, played = game_heads(folder)
    assert (void["attempt"], void["reason"]) == (1, "server_fault")
    assert (played["attempt"], played["reason"]) == (2, "finished")
    assert {program["version"] for program in played["programs"]} == {1, 2}
    with Store(folder / "contest.db", reading=True) as store:
        assert verify(load_contest(folder), store).void == 1


@pytest.mark.long
def test_a_round_of_a_ladder_is_played_by_the_versions_that_it_began_with(
    programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    ladder = {"game": "longest_path", "format": "ladder", "settings": {"rounds": 2, "games": 2}}
    folder = make_contest(2, ladder)
    add_program(folder, 1, GETSTEP, GET_STEP)
    (tmp_path / "bot.py").write_text(GATED)
    server = programs.serve_in_thread(folder)
    bot = programs.play(server, tmp_path / "bot.py", 2)
    wait_for(tmp_path / "asked")
    new = add_program(folder, 1, GETSTEP, f"{GET_STEP}# better\n")
    (tmp_path / "open").touch()
    assert server.wait() == 0
    assert bot.wait() == 0
    heads = game_heads(folder)
    used = [next(program["version"] for program in head["programs"] if program) for head in heads]
    assert list(zip([head["round"] for head in heads], used, strict=True)) == [(1, 1), (1, 1), (2, 2), (2, 2)]
    with Store(folder / "contest.db", reading=True) as store:
        rounds = [fields for fields in store.record_headers() if fields["type"] == "pairings"]
        assert verify(load_contest(folder), store).played == 4
    assert [[named["version"] for named in round_["programs"]] for round_ in rounds] == [[1], [2]]
    assert rounds[1]["programs"] == [{"team": 1, "version": 2, "sha256": new.sha256}]


SLOW = "time.sleep(0.01)"
SLOW_PROGRAMS = {
    "prodrive": "import time\n" + PROGRAMS["prodrive"].replace("    print(", f"    {SLOW}; print(", 1),
    "csefest-console": "import time\n"
    + PROGRAMS["csefest-console"].replace("    board = [", f"    {SLOW}; board = ["),
    "csefest-file": PROGRAMS["csefest-file"],
    "topcoder": PROGRAMS["topcoder"],
    GETSTEP: "import time\n" + GET_STEP.replace("    return", f"    {SLOW}\n    return"),
}


@pytest.mark.long
def test_a_server_that_is_killed_again_and_again(programs: Programs, make_contest: MakeContest) -> None:
    """All matches are played once, and no process outlives the server."""
    teams = {
        "longest_path": ["prodrive", GETSTEP],
        "chain_reaction": ["csefest-console", "csefest-file"],
        "pseudo_tonga": ["topcoder", GETSTEP],
    }
    conventions = [convention for pair in teams.values() for convention in pair]
    events = [
        {"name": game, "game": game, "teams": [2 * n + 1, 2 * n + 2], "settings": {"legs": 2}}
        for n, game in enumerate(teams)
    ]
    folder = make_contest(len(conventions), *events)
    with (folder / "contest.toml").open("a") as file:
        file.write("[programs]\ncores = 2\n")
    for team, convention in enumerate(conventions, start=1):
        add_program(folder, team, convention, SLOW_PROGRAMS[convention])
    chance = random.Random(2019)
    for killed in range(6):
        server = programs.serve(folder, "--now")
        server.expect("The contest starts")
        if killed == 0:  # in the middle of a match
            wait_until(lambda: any(one.stat().st_size > 2000 for one in folder.glob("running/*.journal")))
        else:  # at a random moment of a match, or of the start of its programs
            time.sleep(chance.uniform(0.0, 1.5))
        kill(server)
    server = programs.serve(folder, "--now")
    assert server.wait() == 0
    heads = game_heads(folder)
    played = [head for head in heads if head["reason"] == "finished"]
    assert sorted(head["match"] for head in played) == list(range(1, 7))
    assert {head["reason"] for head in heads} <= {"finished", "server_fault"}
    assert all(head["faults"] == [0, 0] for head in played)
    with Store(folder / "contest.db", reading=True) as store:
        assert verify(load_contest(folder), store).played == 6
    void = {head["event"] for head in heads if head["reason"] == "server_fault"}
    # A match without a turn begins anew, and one whose last turn is in the journal needs no program any more: the
    # board of these games is full.
    full = {1: 121, 3: 64}
    resumed = {
        head["event"] for head in played if any(n not in (0, full.get(head["event"])) for n in head["resumed"])
    }
    assert void | resumed, "no match was interrupted"
    assert 2 not in void, "programs of chain_reaction can begin on any board"
    assert not resumed & {1, 3}, "those of the other games cannot"


REMEMBERS = f"""\
import sys
if len(sys.argv) == 1:
    counts = open("input.txt").readline()[1:].strip()
    placed = 24 - sum(map(int, counts))
    memory = open("memory", "a+")
    memory.seek(0)
    turns = len(memory.read())
    memory.write("x")
    memory.close()
    if turns != placed // 2 and placed <= 12:
        sys.exit(f"{{turns}} turns in memory, and {{placed}} dominoes on the board")
{PROGRAMS["linkage"]}"""
"""A program of linkage that counts its turns in a file. No player is passed over in the first 12 turns."""


@pytest.mark.long
def test_a_program_that_is_started_in_each_turn_goes_on_with_its_files(
    programs: Programs, make_contest: MakeContest
) -> None:
    """The server is killed between the answer and the journal, and after the journal was written."""
    folder = make_contest(2, event={"game": "linkage", "settings": {"legs": 1}})
    for team in (1, 2):
        add_program(folder, team, "linkage", REMEMBERS)
    kept = folder / "programs" / ".kept"

    def die(point: str, count: int) -> None:
        server = programs.serve(folder, "--now", server=(CRASH_SERVER, point, str(count)))
        assert server.wait() == -signal.SIGKILL

    die("turn-decided", 3)
    shutil.rmtree(kept)
    die("turn-decided", 5)
    assert sorted(path.name for path in kept.iterdir()) == ["1-2-1-1", "1-2-2-1"]
    die("turn-written", 2)
    server = programs.serve(folder, "--now")
    assert server.wait() == 0
    with Store(folder / "contest.db", reading=True) as store:
        assert verify(load_contest(folder), store).played == 1
        void, played = [game for line in store.lines() if (game := parse(line))["type"] == "game"]
    assert (void["attempt"], void["reason"]) == (1, "server_fault")
    assert "the files that the program of Team 2 has left after its turn 1 are lost" in void["detail"]
    assert (played["attempt"], played["reason"], played["faults"]) == (2, "finished", [0, 0])
    assert played["resumed"] == [4, 6]
    assert not list(kept.iterdir())
