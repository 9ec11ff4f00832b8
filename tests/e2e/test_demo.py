"""The demo, as a newcomer runs it: it plays, it ends, and it leaves nothing behind."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio

from getstep_engines import GAMES
from getstep_server.bot_runner.processes import Bot
from getstep_server.cli._with_bots import run_with_bots
from getstep_server.cli.run import FIRST_GAME, MOST_TEAMS, demo_contest
from getstep_server.config.contest import load_contest
from getstep_server.errors import ContestStopped
from getstep_server.events import Bus
from getstep_server.storage.contest_state import results_of, tournament_of
from tests.support.processes import bots_of, no_bots_on
from tests.support.quick import quick
from tests.support.terminal import OnTerminal

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs

DEMO = [sys.executable, "-m", "getstep_server", "demo", "--game", "hop"]
TABLE = r"^#  team +played +won +drawn +lost +points +diff(?: +DE)?(?: +lot)?\n"


def start(programs: Programs, temporary: Path, *arguments: str) -> tuple[Program, str]:
    """Return the demo, once all its bots are there, and its port."""
    temporary.mkdir(exist_ok=True)
    program = programs.start("env", f"TMPDIR={temporary}", *DEMO, "--plain", *arguments)
    port = program.expect(r"^Listening on 127\.0\.0\.1, port (\d+)\.$")[1]
    program.expect(r"^The contest starts")
    return program, port


def test_the_demo(programs: Programs, tmp_path: Path) -> None:
    program, port = start(programs, tmp_path / "tmp", "--teams", "4")
    assert len(bots_of(port)) == 4
    assert program.wait() == 0
    assert "getstep demo: Hop (NCTU Introduction to AI 2019): 4 teams\n  Hop, round robin, " in program.output
    assert [int(n) for n in re.findall(r"^\[(\d+)/12\] ", program.output, re.MULTILINE)] == list(range(1, 13))
    *table, order = re.split(TABLE, program.output, flags=re.MULTILINE)[1].splitlines()
    assert (len(table), order.partition(":")[0]) == (4, "Order")
    assert {line.rpartition(")")[2].split()[0] for line in table} == {"6"}
    assert "(greedy)" in table[0]
    assert "(random)" in table[-1]  # a bot that looks one move ahead beats chance
    assert no_bots_on(port)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.long
def test_the_demo_of_all_games_is_one_contest(programs: Programs, tmp_path: Path) -> None:
    program, port = start(programs, tmp_path / "tmp", "--game", "all", "--teams", "2", "--keep", str(tmp_path))
    assert len(bots_of(port)) == 2
    assert program.wait() == 0
    matches = 2 * len(GAMES)
    assert f"Standings after {matches} matches" in program.output
    *events, combined = re.split(r"^(?:\d\. [\w -]+|All events)\n", program.output, flags=re.MULTILINE)[1:]
    assert len(events) == len(GAMES)
    assert [line.split()[1:3] for line in combined.splitlines()[1:3]] == [
        ["Ada", "(greedy)"],
        ["Blaise", "(random)"],
    ]
    contest = load_contest(tmp_path / "demo")
    assert contest.events[0].game.name == FIRST_GAME
    assert tournament_of(contest).done == matches
    first = min(results_of(contest), key=lambda result: result.started)
    assert first.match.game == FIRST_GAME
    assert no_bots_on(port)


@pytest.mark.parametrize(
    "number", quick([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], [signal.SIGHUP]), ids=lambda number: number.name
)
def test_a_demo_that_is_stopped_leaves_nothing(programs: Programs, tmp_path: Path, number: signal.Signals) -> None:
    program, port = start(programs, tmp_path / "tmp", "--teams", "2", "--game", "longest_path")
    program.signal(number)
    assert program.wait() == 130
    assert no_bots_on(port)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert "Traceback" not in program.output
    assert "resume with" not in program.output  # no contest is left
    assert ("Start the demo again with: " in program.output) == (number is not signal.SIGHUP)


def test_a_demo_that_is_kept(programs: Programs, tmp_path: Path) -> None:
    program, _ = start(
        programs, tmp_path / "tmp", "--teams", "2", "--game", "pseudo_tonga", "--keep", str(tmp_path)
    )
    assert program.wait() == 0
    contest = load_contest(tmp_path / "demo")
    assert len(results_of(contest)) == 2
    for team in contest.teams:
        assert "The contest is over" in (contest.folder / f"bot-{team}.log").read_text(encoding="utf-8")


def test_a_bot_that_fails_ends_the_demo_and_says_why(tmp_path: Path) -> None:
    bot = tmp_path / "broken_bot.py"
    bot.write_text("raise RuntimeError('broken on purpose')\n")
    contest, bots = demo_contest(tmp_path / "contest", ["hop"], 2, 2019)
    stopped = pytest.RaisesExc(ContestStopped, match=r"(?s)^the bot of .* exited with code .*broken on purpose")
    with pytest.RaisesGroup(stopped, allow_unwrapped=True, flatten_subgroups=True):
        trio.run(run_with_bots, contest, Bus(), {**bots, 1: Bot(bot)})


@pytest.mark.parametrize("teams", [2, 3, 11, MOST_TEAMS])
def test_each_bot_hesitates_more_than_the_one_before(tmp_path: Path, teams: int) -> None:
    contest, bots = demo_contest(tmp_path / "contest", ["hop"], teams, 2019)
    assert list(bots) == list(contest.teams)
    assert len({team.name.split()[0] for team in contest.teams.values()}) == teams
    doubts = [float(bot.environment["DOUBT"]) for bot in bots.values()]
    assert doubts == sorted(set(doubts))
    assert (doubts[0], doubts[-1], bots[1].file.stem) == (0, 1, "greedy")


# --- on a terminal -------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_demo_on_a_terminal() -> None:
    with OnTerminal([*DEMO, "--teams", "3"]) as terminal:
        terminal.expect(r"^Listening on 127\.0\.0\.1")
        terminal.expect(r"^     0  1 .*  #\d Hop, turn \d+$")
        terminal.expect(r"^3 of 3 teams connected$")
        terminal.expect(r"^[1-6]/6 matches")
        terminal.expect(r"^playing: ")
        assert terminal.wait() == 0
        lines = terminal.screen.text.splitlines()
    expected = ["getstep", "Hop,", "Starts", "Standings", "#", *"123", "Order:"]
    assert [line.split()[0] for line in lines] == expected
    assert max(map(len, lines)) <= 80
    assert terminal.screen.cursor_shown
    assert terminal.screen.unknown == []


def test_ctrl_c_on_a_terminal() -> None:
    with OnTerminal([*DEMO, "--teams", "4", "--game", "longest_path"]) as terminal:
        port = terminal.expect(r"^Listening on 127\.0\.0\.1, port (\d+)")[1]
        terminal.expect(r"^playing: #\d")
        assert len(bots_of(port)) == 4
        terminal.interrupt()
        assert terminal.wait() == 130
        assert no_bots_on(port)
    assert "Standings after " in terminal.screen.text
    assert terminal.screen.text.endswith("Stopped. Start the demo again with: getstep-server demo")
    assert "Traceback" not in terminal.raw
    assert terminal.screen.cursor_shown


def test_a_dumb_terminal_gets_plain_lines() -> None:
    with OnTerminal(["env", "TERM=dumb", *DEMO, "--teams", "2", "--game", "pseudo_tonga"]) as terminal:
        assert terminal.wait() == 0
    assert "[2/2] " in terminal.screen.text
    assert "\x1b" not in terminal.raw


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.long
def test_a_crash_changes_nothing(programs: Programs, tmp_path: Path) -> None:
    crash = programs.start(*DEMO, "--crash", "--plain", "--keep", str(tmp_path))
    assert crash.wait() == 0, crash.output
    (done,) = re.findall(r"^\*\*\* The server gets SIGKILL after (\d+) matches", crash.output, re.MULTILINE)
    assert 15 <= int(done) < 30
    went_on = re.findall(r"^.* resumes after turn \d+\.$", crash.output, re.MULTILINE)
    assert re.search(rf"The server resumed {len(went_on)} match(es)? in progress\.", crash.output)
    one, other = crash.output.split("Standings after 30 matches\n")[1:]
    assert one.splitlines()[:7] == other.splitlines()[:7]
    assert "The matches and the table are the same as without the crash." in crash.output
    results = [results_of(load_contest(tmp_path / name)) for name in ("demo", "crash")]
    scores = [{result.match.number: (result.scores, result.turns) for result in played} for played in results]
    assert scores[0] == scores[1]
    assert list((tmp_path / "crash" / "running").iterdir()) == []
