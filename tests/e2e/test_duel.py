"""The command duel: real bots against each other, until the test has a verdict."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from getstep_server.bot_runner import processes
from getstep_server.cli.main import run_command
from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import results_of, tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.convention_programs import PROGRAMS
from tests.support.model_endpoint import plays_last, serving
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import all_commands, bots_of, no_bots_on
from tests.support.terminal import OnTerminal

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs

MATCH = [sys.executable, "-m", "getstep_server", "duel", "--plain"]
QUICK = ("--game", "pseudo_tonga", "--option", "size=6")
PORT = r"^Listening on 127\.0\.0\.1, port (\d+)\.$"


class Duel(NamedTuple):
    """A duel that was played in this process: its exit code, and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def duel(capsys: pytest.CaptureFixture[str]) -> Callable[..., Duel]:
    """Plays a duel whose command needs neither a terminal nor a signal. Its bots are processes."""
    return lambda *words: Duel(run_command(["duel", "--plain", *map(str, words)]), *capsys.readouterr())


def port_of(program: Program) -> str:
    return program.expect(PORT)[1]


def last_score(output: str) -> str:
    """Return the line with the score after the last pair."""
    return str(re.findall(r"^\d+ pairs?: .*$", output, re.MULTILINE)[-1])


@pytest.mark.long
def test_a_test_ends_with_its_verdict(programs: Programs, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    program = programs.start(*MATCH, "greedy", "random_bot", *QUICK, "--sprt", "--elo1", "300", "--keep", str(kept))
    port = port_of(program)
    assert program.wait() == 0
    found = re.search(r"^H1 after (\d+) pairs: greedy is stronger than random_bot \(", program.output, re.MULTILINE)
    assert found is not None
    pairs, score = int(found[1]), last_score(program.output)
    assert 4 <= pairs < 20
    assert score.startswith(f"{pairs} pairs: {2 * pairs} won, 0 drawn, 0 lost (100.0%), Elo +∞ [+")
    assert f"greedy as the second player (White): {pairs} won, 0 drawn, 0 lost" in program.output
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
    assert "contest.toml: there is a contest here already" in again.output


@pytest.mark.long  # three processes of bots
def test_the_best_of_three_is_found_and_its_contest_verifies(duel: Callable[..., Duel], tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    code, out, _ = duel("random_bot", "greedy", "random_bot", *QUICK, "--best", "--elo1", "300", "--keep", kept)
    assert code == 0
    found = re.search(r"^greedy is the best of 3 after (\d+) rounds\.", out, re.MULTILINE)
    assert found is not None
    assert f"{found[1]} rounds, " in out
    for name in ("random_bot", r"random_bot \(2\)"):
        elo = r"Elo -\S+ \[-\S+, -\S+\] against greedy in \d+ pairs"
        text = rf"^{name} was eliminated after {found[1]} rounds: {elo}\.$"
        assert re.search(text, out, re.MULTILINE), out
    contest = load_contest(kept)
    with Store(contest.database) as store:
        assert verify(contest, store).played == tournament_of(contest).done


@pytest.mark.long  # 6 s of waiting; tests of the judge hold increments as well
def test_an_increment_lasts_where_the_budget_alone_would_not(programs: Programs, tmp_path: Path) -> None:
    bot, kept = tmp_path / "slow.py", tmp_path / "kept"
    bot.write_text(
        "import time\n"
        "from getstep_bots import random_bot\n"
        "def get_step(board, is_black, turn):\n"
        "    if turn.match == 1 and turn.move_number in (3, 4):\n"  # its second turn, as first or second player
        "        time.sleep(6)\n"
        "    return random_bot.get_step(board, is_black, turn)\n"
    )
    times = ("--budget-seconds", "5", "--increment-seconds", "60")
    program = programs.start(*MATCH, str(bot), "random_bot", *QUICK, *times, "--pairs", "1", "--keep", str(kept))
    assert program.wait() == 0
    assert "match, 5 s a game + 60 s a move and 100 ms for lag\n" in program.output
    contest = load_contest(kept)
    with Store(contest.database) as store:
        assert verify(contest, store).played == 2
    results = results_of(contest)
    assert [result.faults for result in results] == [(0, 0), (0, 0)]
    assert max(results[0].thought) > 5.1  # the server leaves out what it was late itself
    show = programs.start(*MATCH[:-2], "show", str(kept), "1")
    assert show.wait() == 0
    assert re.search(r"^limit +5 s a game \+ 60 s a move, and 100 ms for lag$", show.output, re.MULTILINE)


def test_bots_that_never_vary_are_warned_of(duel: Callable[..., Duel]) -> None:
    ran = duel("greedy", "greedy", *QUICK, "--pairs", "3")
    assert ran.code == 0
    assert "greedy – greedy (2): Pseudo-Tonga (size 6), match, " in ran.out
    assert last_score(ran.out).startswith("3 pairs: 3 won, 0 drawn, 3 lost (50.0%), Elo +0 [")
    assert "\n3 of 3 pairs played.\n! All 3 pairs are copies of 1 pair, move for move." in ran.out


SURE = """
import getstep
from getstep_engines import GAMES

def get_step(board, is_black, turn):
    getstep.estimate(1 if is_black else -1)
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))
"""


@pytest.mark.long  # two duels; quick tests hold the rule, and its place in the records
def test_the_estimates_of_both_bots_end_matches_or_are_checked(duel: Callable[..., Duel], tmp_path: Path) -> None:
    bot, kept = tmp_path / "sure.py", tmp_path / "kept"
    bot.write_text(SURE, encoding="utf-8")
    rule = ("--pairs", "1", "--resign", "0.95", "--agree", "3")
    code, out, _ = duel(bot, bot, *QUICK, *rule, "--keep", kept)
    assert code == 0
    assert "The estimates of both bots ended 2 of 2 matches." in out
    contest = load_contest(kept)
    assert [(result.reason, result.turns) for result in tournament_of(contest).results] == [("agreed", 6)] * 2
    with Store(contest.database) as store:
        assert verify(contest, store).played == 2
    code, out, _ = duel(bot, bot, *QUICK, *rule, "--play-on")
    assert code == 0
    assert "Estimates would have ended 2 of 2 games, and saved 83% of the turns." in out
    assert re.search(r"^As won: 2, wrong in [02] \(", out, re.MULTILINE)


@pytest.mark.long  # 1 s of playing; quick tests hold the options
def test_a_language_model_plays_against_a_bot(duel: Callable[..., Duel], tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with serving(plays_last) as server:
        model = ("--as-a", "llm", "--url", server.url, "--game", "longest_path", "--pairs", "1", "--keep", kept)
        code, out, _ = duel("tiny1.2", "greedy", *model)
    assert code == 0
    assert "tiny1.2 as the first player" in out
    assert "faults" not in out
    assert {question["model"] for question in server.asked} == {"tiny1.2"}
    contest = load_contest(kept)
    assert [team.name for team in contest.teams.values()] == ["tiny1.2", "greedy"]
    with Store(contest.database) as store:
        assert verify(contest, store).played == 2


@pytest.mark.long  # 1 s of playing; quick tests hold the arguments, and that programs play over the network
def test_programs_by_their_conventions(duel: Callable[..., Duel], tmp_path: Path) -> None:
    """Two conventions of one game; each match has processes of its own."""
    folders = {name: tmp_path / name for name in ("csefest-console", "csefest-file")}
    for name, home in folders.items():
        home.mkdir()
        (home / f"{name}.py").write_text(PROGRAMS[name], encoding="utf-8")
    one, other = (home / f"{name}.py" for name, home in folders.items())
    kept = tmp_path / "kept"
    ran = duel(one, other, "--as", "csefest-console", "--as-b", "csefest-file", "--pairs", "1", "--keep", kept)
    assert ran.code == 0, ran.err
    assert "csefest-console – csefest-file: Chain Reaction, match, " in ran.out
    assert [result.faults for result in results_of(load_contest(kept))] == [(0, 0)] * 2


@pytest.mark.long  # 1 s of playing; a quick test holds the end of such a process
def test_nothing_plays_on_after_a_duel_was_killed(programs: Programs, tmp_path: Path) -> None:
    """A program of csefest-file has no sign of the end, and polls its file forever."""
    homes = [tmp_path / "one", tmp_path / "other"]
    for home in homes:
        home.mkdir()
        (home / "polls.py").write_text(PROGRAMS["csefest-file"], encoding="utf-8")
    files = [str(home / "polls.py") for home in homes]
    program = programs.start(*MATCH, *files, "--as", "csefest-file", "--pairs", "500")
    port = port_of(program)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not all(any(f"{file} R" in line or f"{file} G" in line for line in all_commands()) for file in files):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    program.signal(signal.SIGKILL)
    assert no_bots_on(port)
    while any(str(tmp_path) in line for line in all_commands()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.long
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


def test_ctrl_c_prints_the_current_score(programs: Programs, tmp_path: Path) -> None:
    program = programs.start("env", f"TMPDIR={tmp_path}", *MATCH, "random_bot", "random_bot", *QUICK, "--sprt")
    port = port_of(program)
    program.expect(r"^2 pairs: ")
    program.signal(signal.SIGINT)
    assert program.wait() == 130
    pairs = int(last_score(program.output).split()[0])
    assert f"\nNot decided after {pairs} pairs: the LLR is still between its bounds.\n" in program.output
    assert program.output.endswith("Stopped.\n")
    assert "Traceback" not in program.output
    assert no_bots_on(port)
    assert list(tmp_path.iterdir()) == []


def test_a_bot_that_does_not_load_ends_it_with_what_it_printed(duel: Callable[..., Duel], tmp_path: Path) -> None:
    bot = tmp_path / "broken.py"
    bot.write_text("raise RuntimeError('broken on purpose')\n")
    ran = duel("greedy", bot)
    assert ran.code == 1
    assert "getstep-server: the bot of broken exited with code 2:\n" in ran.err
    assert "RuntimeError: broken on purpose\n" in ran.err
    assert no_bots_on(re.findall(PORT, ran.out, re.MULTILINE)[0])


def test_a_bot_that_dies_during_a_match_ends_the_duel(duel: Callable[..., Duel], tmp_path: Path) -> None:
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
    ran = duel(bot, "greedy", *QUICK)
    assert ran.code == 1
    assert "\n1 of 100 pairs played.\n" in ran.out
    assert re.search(r"^getstep-server: the bot of dying exited with code 9:$", ran.err, re.MULTILINE)
    assert "getstep-server: the end\n" in ran.err


def test_a_bot_that_leaves_before_the_end_ends_it(
    duel: Callable[..., Duel], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else all that is left would be lost by forfeit, and be taken for a verdict."""
    monkeypatch.setattr(processes, "BOT_EXIT_SECONDS", 0.1)
    bot = tmp_path / "leaving.py"
    bot.write_text("import os\ndef get_step(board, is_black):\n    os._exit(0)\n")
    ran = duel("greedy", bot, *QUICK, "--sprt")
    assert ran.code == 1
    assert "\nNot decided after 0 pairs: " in ran.out
    assert "getstep-server: the bot of leaving exited with code 0:\n" in ran.err


@pytest.mark.long  # 6 s of waiting, each longer than the other on purpose
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


def test_the_output_of_a_bot_is_bounded(duel: Callable[..., Duel], tmp_path: Path) -> None:
    bot, kept = tmp_path / "loud.py", tmp_path / "kept"
    bot.write_text(
        "import sys\n"
        "def get_step(board, is_black, turn):\n"
        "    sys.stdout.write('x' * 10_000_000)\n"
        "    print('\\n\\x1b[31mwhat it is about', turn.match, flush=True)\n"
        "    raise ValueError('no idea')\n"
    )
    ran = duel(bot, "random_bot", *QUICK, "--pairs", "1", "--keep", kept)
    assert ran.code == 0
    log = (kept / "bot-1.log").read_bytes()
    assert 1 << 20 < len(log) < (1 << 20) + 100
    assert re.search(rb"\[\d{8} bytes of output were dropped here\]", log)
    assert b"what it is about 1" not in log
    assert "\\u001b[31mwhat it is about 2" in ran.out
    assert max(map(len, ran.out.splitlines())) < 250


@pytest.mark.parametrize("by_itself", [False, True], ids=["a file", "a command"])
def test_processes_of_a_bot_end_with_it(duel: Callable[..., Duel], tmp_path: Path, by_itself: bool) -> None:
    """A bot in any language may connect by itself; here it is one in Python."""
    bot, pid = tmp_path / "parent.py", tmp_path / "pid"
    bot.write_text(
        "import getstep, subprocess, sys\n"
        "from getstep_bots.random_bot import get_step\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\n"
        "if __name__ == '__main__': getstep.play(get_step)\n"
    )
    ran = duel(f"{sys.executable} {bot}" if by_itself else bot, "random_bot", *QUICK, "--pairs", "1")
    assert ran.code == 0, ran.err
    assert "parent – random_bot: Pseudo-Tonga" in ran.out
    assert last_score(ran.out).startswith("1 pair: ")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while is_running(int(pid.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Return True if a process exists, and is more than the entry of one that has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return state.stdout.strip()[:1] not in ("", "Z")


def test_faults_of_a_bot_are_reported(duel: Callable[..., Duel], tmp_path: Path) -> None:
    bot = tmp_path / "clueless.py"
    bot.write_text("def get_step(board, is_black):\n    raise ValueError('no idea')\n")
    ran = duel(bot, "random_bot", *QUICK, "--pairs", "1")
    assert ran.code == 0
    assert "! clueless made 2 faults (see rules.md). The end of what it printed:" in ran.out
    assert "ValueError: no idea" in ran.out


def test_on_a_terminal_the_score_is_shown_in_place() -> None:
    with OnTerminal([*MATCH[:-1], "greedy", "random_bot", *QUICK, "--pairs", "40"]) as terminal:
        terminal.expect(r"^at most 40 pairs$")
        terminal.expect(r"^playing: #\d+ (greedy|random_bot) – ")
        terminal.interrupt()
        assert terminal.wait() == 130
        lines = terminal.screen.text.splitlines()
    scores = [n for n, line in enumerate(lines) if re.match(r"\d+ pairs?: \d+ won, ", line)]
    assert len(scores) == 1  # the live view is gone
    # With a finished match, the score of each side follows.
    assert any(re.match(r"\d+ of 40 pairs played\.$", line) for line in lines[scores[0] + 1 :])
    assert lines[-1] == "Stopped."
    assert terminal.screen.cursor_shown


HELD_BOT = """\
import time
from pathlib import Path
from getstep_bots.random_bot import get_step as move

def get_step(board, is_black, turn):
    while turn.move_number > 4 and not Path({gate!r}).exists():
        time.sleep(0.01)
    return move(board, is_black, turn)
"""


@pytest.mark.long
def test_a_duel_is_watched_on_a_terminal(tmp_path: Path) -> None:
    """The two matches of a pair are shown in order, and the first screen is as before."""
    bot, gate = tmp_path / "held.py", tmp_path / "gate"
    bot.write_text(HELD_BOT.format(gate=str(gate)))
    limit = ("--move-seconds", str(round(2 * PATIENCE_SECONDS)))
    with OnTerminal([*MATCH[:-1], str(bot), "random_bot", *QUICK, *limit, "--watch", "100"]) as terminal:
        held = r"#1 Pseudo-Tonga, turn (4|5)$"
        terminal.expect(held)
        terminal.resize(60, 8)
        terminal.expect(r"^\(no room for the board: \d+ more lines needed\)$")
        terminal.resize(80, 24)
        terminal.expect(rf"(?s)\A(?!.*no room).*{held}")
        gate.touch()
        terminal.expect(r"#2 Pseudo-Tonga, turn \d+$")
        assert terminal.wait() == 0
    lines = [line.partition(":")[0] for line in terminal.screen.text.splitlines()]
    sides = ["held as the first player (Black)", "held as the second player (White)"]
    assert lines == ["held – random_bot", "1 pair", "1 of 1 pair played.", *sides]  # the live view is gone
    assert terminal.screen.cursor_shown
    assert terminal.screen.unknown == []


def test_the_speed_of_watching_has_bounds(duel: Callable[..., Duel]) -> None:
    ran = duel("greedy", "random_bot", "--watch", "5")
    assert (ran.code, ran.err) == (2, "getstep-server: --watch 5, expected 100 to 60000 milliseconds a turn\n")
