"""Practice with a debugger: no time counts, and a person may stop the bot as long as they like."""

from __future__ import annotations

import bdb
import contextlib
import io
import os
import pdb
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import getstep
from getstep import cli
from getstep._debugger import attached_debugger
from getstep.local_matches import series
from getstep.local_matches.screen import Screen
from getstep.local_matches.series import Plan, own_entrant
from getstep.programs.debuggers import under_debugger
from getstep.replay import read_replays
from getstep_engines import GAMES
from tests.support.patience import PATIENCE_SECONDS
from tests.support.terminal import OnTerminal

LEGAL = """
import os, sys, time
import getstep
from getstep_engines import GAMES

def legal(board, is_black, turn):
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))
"""

STOPS_AT_MOVE_1 = """
def get_step(board, is_black, turn):
    if turn.move_number == 1:
        breakpoint()
    return legal(board, is_black, turn)
"""

KEY_SECONDS = 5.0
"""After so long a key that was lost is pressed again."""

SMALL_LIMIT = 0.001
LONGER_SECONDS = 0.15  # than this limit and the time for the network that is added to it, 0.1 s


def first_legal(board: Any, is_black: bool, turn: getstep.Turn) -> Any:
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))


def write(folder: Path, source: str) -> Path:
    path = folder / "my_bot.py"
    path.write_text(f"{LEGAL}\n{source}", encoding="utf-8")
    return path


def practise(bot: Path, *more: str) -> OnTerminal:
    command = [sys.executable, "-m", "getstep", "practice", bot.name, "--game", "linkage", "--against", "random"]
    return OnTerminal([*command, "--debug", *more], cwd=bot.parent)


@pytest.mark.long
def test_pdb_in_the_terminal_costs_no_time(tmp_path: Path) -> None:
    with practise(write(tmp_path, STOPS_AT_MOVE_1), "--limit", str(SMALL_LIMIT)) as terminal:
        terminal.expect(r"^\(Pdb\)")
        terminal.type(f"import time; time.sleep({LONGER_SECONDS})\n")
        terminal.type("p 'asked for', turn.move_number\n")
        terminal.expect(r"^\('asked for', 1\)")
        terminal.type("c\n")
        assert terminal.wait() == 0
    said = terminal.screen.text
    assert "The clocks are stopped. my_bot.py runs here: breakpoint() opens pdb" in said
    assert "Game 1 of 1: " in said
    assert "Faults of my_bot.py" not in said
    assert "The time of the moves is not measured." in said


@pytest.mark.long
def test_ctrl_c_at_the_prompt_of_pdb_ends_with_the_report(tmp_path: Path) -> None:
    with practise(write(tmp_path, STOPS_AT_MOVE_1)) as terminal:
        terminal.expect(r"^\(Pdb\)")
        while terminal.process.poll() is None:
            terminal.interrupt()  # once more: a key is lost while the prompt sets the terminal
            with contextlib.suppress(subprocess.TimeoutExpired):
                terminal.process.wait(KEY_SECONDS)
        assert terminal.wait() == cli.STOPPED
    assert "my_bot.py against random, linkage: 0 won, 0 drawn, 0 lost (stopped)" in terminal.screen.text
    assert "Traceback" not in terminal.screen.text


def test_a_late_move_and_an_exception_while_debugged(tmp_path: Path) -> None:
    def slow_then_broken(board: Any, is_black: bool, turn: getstep.Turn) -> Any:
        assert threading.current_thread() is threading.main_thread()
        if turn.move_number == 1:
            threading.Event().wait(LONGER_SECONDS)
        if turn.move_number == 3:
            raise ValueError("no idea")
        return first_legal(board, is_black, turn)

    results = getstep.practice(
        slow_then_broken, "hop", first_legal, games=1, limit=SMALL_LIMIT, quiet=True, debug=True
    )
    assert [(turn.number, turn.code) for _, turn in results.faults] == [(3, "raised")]
    assert 'raise ValueError("no idea")' in str(results)
    assert [turn.seconds for turn in results.matches[0].turns if turn.kind != "pass"][:2] == [None, None]
    (replay,) = read_replays(results.save(tmp_path / "replay.html"))
    assert replay.turns[0].seconds is None


def test_the_command_q_of_pdb_ends_practice() -> None:
    def quits(board: Any, is_black: bool, turn: getstep.Turn) -> Any:
        if turn.move_number == 3:
            pdb.Pdb(stdin=io.StringIO("q\n"), stdout=io.StringIO()).set_trace()
        return first_legal(board, is_black, turn)

    before = sys.gettrace()
    try:
        results = getstep.practice(quits, "hop", first_legal, games=1, quiet=True, debug=True)
    finally:
        sys.settrace(before)
    assert results.stopped
    assert results.faults == []


def test_a_breakpoint_without_the_option_says_what_to_type(tmp_path: Path) -> None:
    report = str(getstep.practice(write(tmp_path, STOPS_AT_MOVE_1), "linkage", first_legal, games=1, quiet=True))
    assert re.search(r"get_step has left a debugger, at my_bot.py line 1[23]\.", report), (
        "3.13 stops a line earlier"
    )
    assert report.count("getstep practice --debug my_bot.py") == 1


# --- a debugger that is attached --------------------------------------------------------------------------------


class _Coverage:
    __module__ = "coverage.pytracer"

    def trace(self, *_: object) -> None:
        """Trace nothing."""


def test_an_attached_debugger_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "gettrace", lambda: bdb.Bdb().trace_dispatch)
        assert attached_debugger() == "bdb"
        patch.setattr(sys, "gettrace", lambda: _Coverage().trace)
        assert attached_debugger() == ""
        patch.setattr(sys, "gettrace", lambda: None)
        assert attached_debugger() == ""
        tools = SimpleNamespace(DEBUGGER_ID=0, get_tool={0: "my debugger"}.get)
        patch.setattr(sys, "monitoring", tools, raising=False)
        assert attached_debugger() == "my debugger"
        patch.setitem(sys.modules, "pydevd", SimpleNamespace())
        assert attached_debugger() == "pydevd"
        idle = SimpleNamespace(is_client_connected=lambda: False)
        patch.setitem(sys.modules, "debugpy", idle)
        assert attached_debugger() == "", "a notebook has it loaded"


def test_with_an_attached_debugger_the_clocks_are_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(series, "attached_debugger", lambda: "debugpy")
    results = getstep.practice(first_legal, "linkage", first_legal, games=1, limit=SMALL_LIMIT)
    assert not results.matches[0].clock
    assert "The clocks are stopped: a debugger is attached (debugpy)." in capsys.readouterr().out


def test_what_has_no_debugger_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["practice", "--debug", __file__, "--as", "linkage"]) == cli.USAGE
    assert "--debug is for a bot with get_step" in capsys.readouterr().err
    assert cli.main(["practice", "--debug", __file__, "--sprt"]) == cli.USAGE
    assert "--sprt needs the clocks" in capsys.readouterr().err


# --- programs in other languages --------------------------------------------------------------------------------


@pytest.mark.long
def test_practice_waits_for_a_program_that_a_person_starts_again_during_the_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getstep.local_server.server._LOGIN_SECONDS", 0.0)
    crashed = tmp_path / "crashed"
    crashes = f"""
def get_step(board, is_black, turn):
    if turn.move_number == 3 and not os.path.exists({str(crashed)!r}):
        open({str(crashed)!r}, "w").close()
        os._exit(3)
    if turn.move_number == 3: time.sleep({LONGER_SECONDS})
    return legal(board, is_black, turn)
getstep.play(get_step)
"""
    command = [sys.executable, str(write(tmp_path, crashes))]
    printed: list[str] = []
    people: list[threading.Thread] = []

    def person(text: str) -> None:
        given = dict(line.split()[1].split("=", 1) for line in text.splitlines() if line.startswith("  export "))
        code = 3
        while code == 3:
            done = subprocess.run(
                command, env={**os.environ, **given}, capture_output=True, text=True, timeout=PATIENCE_SECONDS
            )
            code = done.returncode
            printed.append(done.stdout + done.stderr)

    def say(text: str) -> None:
        assert shlex.join(under_debugger(command)[0]) in text
        people.append(threading.Thread(target=person, args=[text]))
        people[-1].start()

    bot, other = own_entrant(command, debug=True, say=say), own_entrant(first_legal, debug=False)
    plan = Plan(GAMES["linkage"], 2, SMALL_LIMIT)
    results = series.run(plan, bot, other, Screen(None, 2))
    people[0].join(PATIENCE_SECONDS)
    assert len(people) == 1, "the person is told once"
    assert results.faults == []
    assert len(results.matches) == 2
    assert len(printed) == 2
    assert "has taken" not in printed[1], "the clock of the SDK is stopped as well"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "java -cp x MyBot",
            "java -agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:5005 -cp",
        ),
        ("node bot.mjs", "node --inspect-brk bot.mjs"),
        ("mono Bot.exe", "mono --debug --debugger-agent=transport=dt_socket,server=y,suspend=y,address="),
        ("dotnet Bot.dll", "dotnet Bot.dll"),
        ("python3.12 bot.py", "python3.12 -m pdb bot.py"),
        ("./my_bot", {"linux": "gdb --args ./my_bot", "darwin": "lldb -- ./my_bot"}.get(sys.platform, "./my_bot")),
    ],
)
def test_the_command_for_a_debugger(command: str, expected: str) -> None:
    words, hint = under_debugger(command.split())
    assert " ".join(words).startswith(expected)
    assert hint
