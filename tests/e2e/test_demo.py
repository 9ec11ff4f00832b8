"""The demo, as a newcomer runs it: it plays, it ends, and it leaves nothing behind."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio

from getstep_engines import GAMES
from getstep_server import demo
from getstep_server.contest import load_contest
from getstep_server.director import ContestStopped
from getstep_server.events import Bus
from getstep_server.run import results_of
from tests.server.screens import OnTerminal

if TYPE_CHECKING:
    from .conftest import Program, Programs

DEMO = [sys.executable, "-m", "getstep_server", "demo", "--game", "hop"]
TABLE = r"^#  team +played +won +drawn +lost +points +diff(?: +direct)?(?: +lot)?\n"


def bots_of(port: str) -> list[str]:
    """The command lines of the bots that play on a port of this machine."""
    return [line for line in all_commands() if "getstep play" in line and f"--port {port}" in line]


def all_commands() -> list[str]:
    if not Path("/proc/self/cmdline").exists():
        listed = subprocess.run(["ps", "-axww", "-o", "command"], capture_output=True, text=True, check=True)
        return listed.stdout.splitlines()
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            commands.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return commands


def no_bots_on(port: str) -> bool:
    """Whether they are all gone, in a moment at the latest."""
    deadline = time.monotonic() + 5
    while bots_of(port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def start(programs: Programs, temporary: Path, *arguments: str) -> tuple[Program, str]:
    """The demo, once all its bots are there, and its port."""
    temporary.mkdir(exist_ok=True)
    program = programs.start("env", f"TMPDIR={temporary}", *DEMO, "--plain", *arguments)
    port = program.expect(r"^Listening on 127\.0\.0\.1, port (\d+)\.$")[1]
    program.expect(r"^The contest begins")
    return program, port


def test_the_demo(programs: Programs, tmp_path: Path) -> None:
    began = time.monotonic()
    program, port = start(programs, tmp_path / "tmp")
    assert len(bots_of(port)) == 6
    assert program.wait() == 0
    assert time.monotonic() - began < 30
    assert "getstep demo: Hop (NCTU Introduction to AI 2019): 6 teams\n  hop, round robin, " in program.output
    assert [int(n) for n in re.findall(r"^\[(\d+)/30\] ", program.output, re.MULTILINE)] == list(range(1, 31))
    table = re.split(TABLE, program.output, flags=re.MULTILINE)[1].splitlines()
    assert len(table) == 6
    assert {line.split()[3] for line in table} == {"10"}
    greedy = [line for line in table if "greedy_hop" in line]
    assert greedy == table[:3]  # whoever looks ahead by one move beats chance
    assert no_bots_on(port)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_demo_of_all_games(programs: Programs, tmp_path: Path) -> None:
    program = programs.start(*DEMO, "--plain", "--game", "all", "--teams", "2")
    assert program.wait(seconds=60) == 0
    for game in GAMES:
        assert re.search(rf"^  {game}\b.*, round robin, ", program.output, re.MULTILINE)
    assert len(re.findall(TABLE, program.output, re.MULTILINE)) == len(GAMES)
    assert program.output.count("Standings after 2 matches") == len(GAMES)
    for port in re.findall(r"^Listening on 127\.0\.0\.1, port (\d+)\.$", program.output, re.MULTILINE):
        assert no_bots_on(port)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_demo_that_is_stopped_leaves_nothing(programs: Programs, tmp_path: Path, number: signal.Signals) -> None:
    program, port = start(programs, tmp_path / "tmp", "--teams", "4", "--game", "longest_path")
    program.signal(number)
    assert program.wait(seconds=10) == 130
    assert no_bots_on(port)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert "Traceback" not in program.output
    assert "go on with" not in program.output  # there is nothing left to go on with
    assert ("That was the demo." in program.output) == (number is not signal.SIGHUP)


def test_a_demo_that_is_kept(programs: Programs, tmp_path: Path) -> None:
    program, _ = start(
        programs, tmp_path / "tmp", "--teams", "2", "--game", "pseudo_tonga", "--keep", str(tmp_path)
    )
    assert program.wait() == 0
    contest = load_contest(tmp_path / "pseudo_tonga")
    assert len(results_of(contest)) == 2
    for team in contest.teams:
        assert "The contest is over" in (contest.folder / f"bot-{team}.log").read_text(encoding="utf-8")


def test_a_bot_that_fails_ends_the_demo_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bot = tmp_path / "broken_bot.py"
    bot.write_text("raise RuntimeError('broken on purpose')\n")
    contest = demo.make_demo_contest(tmp_path / "hop", "hop", 2, 2019)
    monkeypatch.setattr(demo, "sample_bots", lambda game: [bot])
    stopped = pytest.RaisesExc(ContestStopped, match=r"(?s)^the bot of .* ended with code .*broken on purpose")
    with pytest.RaisesGroup(stopped, allow_unwrapped=True, flatten_subgroups=True):
        trio.run(demo.run_demo, contest, Bus())


@pytest.mark.parametrize("game", GAMES)
def test_every_game_has_bots_to_watch(game: str) -> None:
    bots = [bot.stem for bot in demo.sample_bots(game)]
    assert bots[:2] == ["random_bot", f"greedy_{game}"]


# --- on a terminal -------------------------------------------------------------------------------------------


def test_the_demo_on_a_terminal() -> None:
    with OnTerminal([*DEMO, "--teams", "3"]) as terminal:
        terminal.expect(r"^Listening on 127\.0\.0\.1")
        terminal.expect(r"^3 of 3 teams are here$")
        terminal.expect(r"^[1-6]/6 matches")
        terminal.expect(r"^playing: ")
        assert terminal.wait() == 0
        lines = terminal.screen.text.splitlines()
    assert [line.split()[0] for line in lines] == ["getstep", "hop,", "Starts", "Standings", "#", *"123"]
    assert max(map(len, lines)) <= 80
    assert terminal.screen.cursor_shown
    assert terminal.screen.unknown == []


def test_ctrl_c_on_a_terminal() -> None:
    with OnTerminal([*DEMO, "--teams", "4", "--game", "longest_path"]) as terminal:
        port = terminal.expect(r"^Listening on 127\.0\.0\.1, port (\d+)")[1]
        terminal.expect(r"^playing: \w")
        assert len(bots_of(port)) == 4
        terminal.interrupt()
        assert terminal.wait(seconds=10) == 130
        assert no_bots_on(port)
    assert "Standings after " in terminal.screen.text
    assert terminal.screen.text.endswith("Stopped. That was the demo.")
    assert "Traceback" not in terminal.raw
    assert terminal.screen.cursor_shown


def test_a_dumb_terminal_gets_plain_lines() -> None:
    with OnTerminal(["env", "TERM=dumb", *DEMO, "--teams", "2", "--game", "pseudo_tonga"]) as terminal:
        assert terminal.wait() == 0
    assert "[2/2] " in terminal.screen.text
    assert "\x1b" not in terminal.raw


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_crash_changes_nothing(programs: Programs, tmp_path: Path) -> None:
    crash = programs.start(*DEMO, "--crash", "--plain", "--keep", str(tmp_path))
    assert crash.wait(seconds=120) == 0, crash.output
    (done,) = re.findall(r"^\*\*\* The server gets SIGKILL after (\d+) matches", crash.output, re.MULTILINE)
    assert 15 <= int(done) < 30
    went_on = re.findall(r"^.* goes on after turn \d+\.$", crash.output, re.MULTILINE)
    assert f"In the middle of {len(went_on)} matches it went on where they had been." in crash.output
    one, other = crash.output.split("Standings after 30 matches\n")[1:]
    assert one.splitlines()[:7] == other.splitlines()[:7]
    assert "It is the table of the undisturbed tournament" in crash.output
    results = [results_of(load_contest(tmp_path / name)) for name in ("hop", "hop-crash")]
    scores = [{result.match.number: (result.scores, result.turns) for result in played} for played in results]
    assert scores[0] == scores[1]
    assert list((tmp_path / "hop-crash" / "running").iterdir()) == []
