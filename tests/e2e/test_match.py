"""The command match: real bots against each other, until it is told who is stronger."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.contest import load_contest
from getstep_server.run import results_of, tournament_of
from getstep_server.store import Store
from getstep_server.verify import verify
from tests.server.screens import OnTerminal

from .test_demo import bots_of, no_bots_on

if TYPE_CHECKING:
    from .conftest import Program, Programs

MATCH = [sys.executable, "-m", "getstep_server", "match", "--plain"]
QUICK = ("--game", "pseudo_tonga", "--option", "size=6")


def port_of(program: Program) -> str:
    return program.expect(r"^Listening on 127\.0\.0\.1, port (\d+)\.$")[1]


def last_score(program: Program) -> str:
    """The line with the score after the last pair."""
    return str(re.findall(r"^\d+ pairs?: .*$", program.output, re.MULTILINE)[-1])


def test_a_test_ends_with_its_verdict(programs: Programs, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    program = programs.start(*MATCH, "greedy", "random_bot", *QUICK, "--sprt", "--elo1", "300", "--keep", str(kept))
    port = port_of(program)
    assert program.wait() == 0
    found = re.search(r"^H1 after (\d+) pairs: greedy is stronger than random_bot \(", program.output, re.MULTILINE)
    assert found is not None
    pairs, score = int(found[1]), last_score(program)
    assert 4 <= pairs < 20
    assert score.startswith(f"{pairs} pairs: {2 * pairs} won, 0 drawn, 0 lost (100.0%), Elo +∞ [+")
    assert float(score.partition("LLR ")[2].partition(" ")[0]) > 2.94
    assert no_bots_on(port)
    contest = load_contest(kept)
    assert [team.name for team in contest.teams.values()] == ["greedy", "random_bot"]
    assert tournament_of(contest).done == 2 * pairs
    with Store(contest.database) as store:
        assert verify(contest, store).played == 2 * pairs
    show = programs.start(*MATCH[:-2], "show", str(kept), "1")
    assert show.wait() == 0
    again = programs.start(*MATCH, "greedy", "random_bot", "--keep", str(kept))
    assert again.wait() == 2
    assert again.output.endswith("contest.toml: there is a contest here already\n")


def test_bots_that_never_vary_are_warned_of(programs: Programs) -> None:
    program = programs.start(*MATCH, "greedy", "greedy", *QUICK, "--pairs", "3")
    assert program.wait() == 0
    assert "greedy – greedy (2): pseudo_tonga (size 6), match, " in program.output
    assert last_score(program).startswith("3 pairs: 0 won, 6 drawn, 0 lost (50.0%), Elo +0 [")
    assert "\n3 of 3 pairs played.\n! All 3 pairs are copies of 1 pair, move for move." in program.output


def test_pairs_at_a_time(programs: Programs, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    options = ("--at-once", "3", "--pairs", "9", "--keep", str(kept))
    program = programs.start(*MATCH, "greedy", "random_bot", *QUICK, *options)
    port = port_of(program)
    program.expect(r"^1 pair: ")
    assert len(bots_of(port)) == 12
    assert program.wait() == 0
    assert "\n9 of 9 pairs played.\n" in program.output
    assert "copies" not in program.output
    results = results_of(load_contest(kept))
    begun = [(result.started, 1) for result in results]
    ended = [(result.started + result.seconds, -1) for result in results]
    going_on = list(accumulate(step for _, step in sorted([*begun, *ended])))
    assert 2 < max(going_on) <= 6
    assert no_bots_on(port)


def test_ctrl_c_says_what_is_known_so_far(programs: Programs, tmp_path: Path) -> None:
    program = programs.start("env", f"TMPDIR={tmp_path}", *MATCH, "random_bot", "random_bot", *QUICK, "--sprt")
    port = port_of(program)
    program.expect(r"^2 pairs: ")
    program.signal(signal.SIGINT)
    assert program.wait(seconds=10) == 130
    pairs = int(last_score(program).split()[0])
    assert f"\nNot decided after {pairs} pairs: the LLR is still between its bounds.\n" in program.output
    assert program.output.endswith("Stopped.\n")
    assert "Traceback" not in program.output
    assert no_bots_on(port)
    assert list(tmp_path.iterdir()) == []


def test_a_bot_that_does_not_load_ends_it_with_what_it_printed(programs: Programs, tmp_path: Path) -> None:
    bot = tmp_path / "broken.py"
    bot.write_text("raise RuntimeError('broken on purpose')\n")
    program = programs.start(*MATCH, "greedy", str(bot))
    port = port_of(program)
    assert program.wait() == 1
    assert "getstep-server: the bot of broken ended with code 2:\n" in program.output
    assert "RuntimeError: broken on purpose\n" in program.output
    assert no_bots_on(port)


def test_a_bot_that_dies_in_mid_match_ends_it(programs: Programs, tmp_path: Path) -> None:
    bot = tmp_path / "dying.py"
    bot.write_text(
        "import os\n"
        "from getstep_bots import random_bot\n"
        "def get_step(board, is_black, turn):\n"
        "    if turn.match == 4 and turn.move_number > 3:\n"
        "        print('the end', flush=True)\n"
        "        os._exit(9)\n"
        "    return random_bot.get_step(board, is_black, turn)\n"
    )
    program = programs.start(*MATCH, str(bot), "greedy", *QUICK)
    assert program.wait() == 1
    assert "\n1 of 100 pairs played.\n" in program.output
    assert re.search(r"^getstep-server: the bot of dying ended with code 9:$", program.output, re.MULTILINE)
    assert "getstep-server: the end\n" in program.output


def test_a_bot_that_leaves_before_the_end_ends_it(programs: Programs, tmp_path: Path) -> None:
    """Else all that is left would be lost by forfeit, and be taken for a verdict."""
    bot = tmp_path / "leaving.py"
    bot.write_text("import os\ndef get_step(board, is_black):\n    os._exit(0)\n")
    program = programs.start(*MATCH, "greedy", str(bot), *QUICK, "--sprt")
    assert program.wait() == 1
    assert "\nNot decided after 0 pairs: " in program.output
    assert "getstep-server: the bot of leaving ended with code 0:\n" in program.output


def test_a_bot_that_leaves_after_its_last_move_has_done_its_part(programs: Programs, tmp_path: Path) -> None:
    """The server then waits for it, to tell it goodbye, longer than a bot's end may be early."""
    leaving, slow = tmp_path / "leaving.py", tmp_path / "slow.py"
    first_free = "    free = [(r, c) for r in range(6) for c in range(6) if not board[r][c]]\n"
    leaving.write_text(
        "import os, threading\n"
        "def get_step(board, is_black, turn):\n"
        f"{first_free}"
        "    if turn.match == 2 and is_black and len(free) == 2:\n"
        "        threading.Timer(0.2, os._exit, [0]).start()\n"
        "    return free[0]\n"
    )
    slow.write_text(
        "import time\n"
        "def get_step(board, is_black, turn):\n"
        f"{first_free}"
        "    time.sleep(1.0 if turn.match == 2 and len(free) == 1 else 0)\n"
        "    return free[0]\n"
    )
    program = programs.start(*MATCH, str(slow), str(leaving), *QUICK, "--pairs", "1")
    assert program.wait() == 0
    assert "\n1 of 1 pair played.\n" in program.output


def test_what_a_bot_prints_is_bounded(programs: Programs, tmp_path: Path) -> None:
    bot, kept = tmp_path / "loud.py", tmp_path / "kept"
    bot.write_text(
        "import sys\n"
        "def get_step(board, is_black, turn):\n"
        "    sys.stdout.write('x' * 10_000_000)\n"
        "    print('\\n\\x1b[31mwhat it is about', turn.match, flush=True)\n"
        "    raise ValueError('no idea')\n"
    )
    program = programs.start(*MATCH, str(bot), "random_bot", *QUICK, "--pairs", "1", "--keep", str(kept))
    assert program.wait() == 0
    log = (kept / "bot-1.log").read_bytes()
    assert 1 << 20 < len(log) < (1 << 20) + 100
    assert re.search(rb"\[\d{8} bytes that it printed here are not kept\]", log)
    assert b"what it is about 1" not in log
    assert "\\u001b[31mwhat it is about 2" in program.output
    assert max(map(len, program.output.splitlines())) < 250


def test_what_a_bot_has_started_ends_with_it(programs: Programs, tmp_path: Path) -> None:
    bot, pid = tmp_path / "parent.py", tmp_path / "pid"
    bot.write_text(
        "import subprocess, sys\n"
        "from getstep_bots.random_bot import get_step\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\n"
    )
    program = programs.start(*MATCH, str(bot), "random_bot", *QUICK, "--pairs", "1")
    assert program.wait() == 0
    deadline = time.monotonic() + 5
    while is_running(int(pid.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Whether a process is there, and is more than the entry of one that has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return state.stdout.strip()[:1] not in ("", "Z")


def test_a_bot_that_makes_faults_is_told_of(programs: Programs, tmp_path: Path) -> None:
    bot = tmp_path / "clueless.py"
    bot.write_text("def get_step(board, is_black):\n    raise ValueError('no idea')\n")
    program = programs.start(*MATCH, str(bot), "random_bot", *QUICK, "--pairs", "1")
    assert program.wait() == 0
    assert "! clueless made 2 faults (see rules.md). The end of what it printed:" in program.output
    assert "ValueError: no idea" in program.output


def test_on_a_terminal_the_score_is_shown_in_place() -> None:
    with OnTerminal([*MATCH[:-1], "greedy", "random_bot", *QUICK, "--pairs", "40"]) as terminal:
        terminal.expect(r"^at most 40 pairs$")
        terminal.expect(r"^playing: #\d+ (greedy|random_bot) – ")
        terminal.interrupt()
        assert terminal.wait(seconds=10) == 130
        lines = terminal.screen.text.splitlines()
    assert re.match(r"\d+ pairs?: \d+ won, ", lines[-3])
    assert re.match(r"\d+ of 40 pairs played\.$", lines[-2])
    assert lines[-1] == "Stopped."
    assert sum("won, " in line for line in lines) == 1  # the live view is gone
    assert terminal.screen.cursor_shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nobody greedy", "'nobody', expected a bot's file or one of the sample bots: greedy, "),
        ("greedy mcts --pairs 0", "--pairs = 0, expected at least 1\n"),
        ("greedy mcts --at-once 0", "--at-once 0, expected 1 to 8\n"),
        ("greedy mcts --elo1 3", "--elo1 3 without a test, expected --sprt as well\n"),
        ("greedy mcts --sprt --elo1 -3", "--elo1 = -3.0, expected more than elo0, which is 0.0\n"),
        ("greedy mcts --sprt --alpha 2", "--alpha = 2.0, expected less than 0.5\n"),
        ("greedy mcts --game go", "--game = 'go', expected one of: "),
        ("greedy mcts --option size", "--option 'size', expected a name and a whole number such as size=8\n"),
        ("greedy mcts --option size=8", "--option size = 8, expected an option of hop, which has none\n"),
        ("greedy mcts --move-seconds 0", "--move-seconds = 0.0, expected more than 0\n"),
    ],
)
def test_what_cannot_be_is_said(programs: Programs, arguments: str, message: str) -> None:
    program = programs.start(*MATCH, *arguments.split())
    assert program.wait() == 2
    assert program.output.startswith(f"getstep-server: {message}")
    assert program.output.count("\n") == 1
