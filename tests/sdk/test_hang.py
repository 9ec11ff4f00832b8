"""A get_step that does not return: the program is started again, and ends after the last goodbye and Ctrl-C."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import getstep
from getstep import SetupError, _program
from getstep._debugger import attached_debugger
from getstep._watchdog import Watchdog
from getstep.client import restart
from getstep.client.arguments import of_this_program
from getstep.client.match import restart_text, stalled_text
from getstep.client.restart import Handover, command_of_this_program, find_restart_after, take_handover
from getstep.client.settings import Address, Login
from getstep.wire import CLOSED, Raised, Step
from tests.support.fake_server import OVER, TEAM, TOKEN, WIRE_MOVE, FakeServer, Session, ask, end, start
from tests.support.patience import PATIENCE_SECONDS

posix = pytest.mark.skipif(sys.platform == "win32", reason="replaces a process, and sends POSIX signals")

BOT = """\
import os
import sys
import time
from pathlib import Path

import getstep

here = Path(__file__).parent
os.chdir("/")


def get_step(board, is_black):
    mark = here / "hung"
    if mark.exists():
        return [(0, 2), (0, 1)]
    mark.touch()
    print("thinking")
    HANG


if __name__ == "__main__":
    print("results:", getstep.play(get_step))
"""

HANGS = {
    "a loop": "while True: board = board",
    "a loop that catches everything": """
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass
    """,
}


class Bot:
    """A bot in a process of its own, started in its folder by ``python my_bot.py --host ... --team ...``."""

    def __init__(self, folder: Path, hang: str, *words: str, **variables: str) -> None:
        code = textwrap.indent(textwrap.dedent(hang).strip(), "    ").lstrip()
        (folder / "my_bot.py").write_text(BOT.replace("HANG", code), encoding="utf-8")
        self._folder, self._words, self._variables = folder, words, variables

    def run(self, server: FakeServer, during: Callable[[subprocess.Popen[str]], object] = lambda _: None) -> str:
        """Play on the server, and return what was printed; ``code`` is the exit code."""
        where = ["--host", "127.0.0.1", "--port", str(server.port), "--team", str(TEAM), "--token", TOKEN]
        process = subprocess.Popen(
            [sys.executable, "my_bot.py", *where, *self._words],
            cwd=self._folder,
            env={**os.environ, "GETSTEP_TIME_SCALE": "0.01", **self._variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with process:
            killer = threading.Timer(PATIENCE_SECONDS, process.kill)
            killer.start()
            during(process)
            assert process.stdout is not None
            printed = process.stdout.read()
            killer.cancel()
        self.code = process.returncode
        return printed


def hangs_once(session: Session) -> None:
    session.let_in(start(), ask(31, move_number=12, time_left_ms=100))
    assert session.hear() is CLOSED


def answers(session: Session) -> None:
    session.let_in(start(resumed=True), ask(32))
    assert session.hear() == Step(id=32, move=WIRE_MOVE)
    session.say(end(), OVER)
    assert session.hear() is CLOSED


@posix
def test_a_hung_program_is_started_again_and_plays_on(tmp_path: Path) -> None:
    bot = Bot(tmp_path, HANGS["a loop"], "--restart-after", "0.2")
    with FakeServer(hangs_once, answers) as server:
        printed = bot.run(server)
    said = "get_step has not returned, 0.2 s after its limit of 0.1 s (match 12, move 12 of hop)."
    assert (
        f"{said} The client starts your program again; the contest goes on.\nIt was at my_bot.py line 18" in printed
    )
    assert printed.count("Connecting to") == 2
    assert "results: [Result(match=12" in printed
    assert TOKEN not in printed
    assert bot.code == 0


@posix
@pytest.mark.long
@pytest.mark.parametrize("hang", HANGS.values(), ids=HANGS)
def test_a_hung_program_ends_soon_after_the_last_goodbye(hang: str, tmp_path: Path) -> None:
    gone_after: list[float] = []

    def over(session: Session) -> None:
        session.let_in(start(), ask(31))
        while not (tmp_path / "hung").exists():
            time.sleep(0.01)
        session.say(end(), OVER)
        said = time.monotonic()
        assert session.hear() is CLOSED
        gone_after.append(time.monotonic() - said)

    bot = Bot(tmp_path, hang)
    with FakeServer(over) as server:
        printed = bot.run(server)
    assert gone_after[0] < 2 + PATIENCE_SECONDS / 60  # the rest is for a busy machine
    assert "Match 12: lost (finished)" in printed
    assert "Thank you for playing." in printed
    assert ("results: [Result(match=12" in printed) is (hang == HANGS["a loop"])  # get_step has caught the other
    assert bot.code == 0


@posix
@pytest.mark.long
def test_ctrl_c_ends_a_program_that_catches_it(tmp_path: Path) -> None:
    thinking = threading.Event()

    def asks(session: Session) -> None:
        session.let_in(start(), ask(31))
        while not (tmp_path / "hung").exists():
            time.sleep(0.01)
        thinking.set()
        assert session.hear() is CLOSED

    def press(process: subprocess.Popen[str]) -> None:
        assert thinking.wait(PATIENCE_SECONDS)
        process.send_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    bot = Bot(tmp_path, HANGS["a loop that catches everything"])
    with FakeServer(asks) as server:
        assert bot.run(server, press).endswith("Stopped.\n")
    assert bot.code == 130


def test_a_program_that_hangs_each_time_waits_longer_before_it_connects() -> None:
    address, login = Address("judge", 7777), Login(TEAM, TOKEN)
    pauses = [Handover(address, login, hangs, proved=True, located=True).pause for hangs in (1, 2, 3, 4, 7, 8, 99)]
    assert pauses == [0, 2, 4, 8, 60, 60, 60]


def test_what_is_handed_over_is_taken_once() -> None:
    handed = Handover(Address("::1", 7000), Login(TEAM, TOKEN), 3, proved=True, located=False)
    environment = {"GETSTEP_RESTARTED": handed.to_json()}
    assert take_handover(environment) == handed
    assert environment == {}
    assert take_handover(environment) is None
    assert take_handover({"GETSTEP_RESTARTED": "1"}) is None


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "1e9", True and [1]])
def test_a_time_to_restart_that_is_none(value: Any) -> None:
    with pytest.raises(SetupError, match=r"The restart-after is .*, expected a number of seconds from 0 to 86400"):
        find_restart_after(value)


def test_where_the_time_to_restart_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GETSTEP_RESTART_AFTER", raising=False)
    assert find_restart_after() == 10
    monkeypatch.setenv("GETSTEP_RESTART_AFTER", "0")
    assert find_restart_after() == 0
    assert find_restart_after("2.5") == 2.5


def test_a_notebook_and_a_copy_of_a_program_are_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "__file__", "my_bot.py", raising=False)
    monkeypatch.setattr(sys, "argv", ["my_bot.py", "--team", "7"])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-X", "dev", "my_bot.py", "--team", "7"])
    assert command_of_this_program() == [sys.executable, "-X", "dev", "my_bot.py", "--team", "7"]
    with monkeypatch.context() as idle:  # its shell has the bot's file, and another command line
        idle.setattr(sys, "orig_argv", ["python", "-c", "import idlelib.run"])
        idle.setattr(main, "__spec__", None)
        assert command_of_this_program() is None
    with monkeypatch.context() as forked:
        forked.setattr(_program, "PID", -1)
        assert command_of_this_program() is None
    with monkeypatch.context() as notebook:
        notebook.delattr(main, "__file__")
        assert command_of_this_program() is None
        assert of_this_program().team is None


def test_a_debugged_bot_is_not_started_again() -> None:
    seen: list[str] = []
    thread = threading.get_ident()

    def get_step() -> None:
        asking = threading.Thread(target=lambda: seen.append(attached_debugger(thread)))  # as the watchdog does
        asking.start()
        asking.join()

    before = sys.gettrace()
    sys.settrace(lambda *_: lambda *_: None)
    try:
        get_step()
    finally:
        sys.settrace(before)
    assert seen == ["tests"]


def test_a_program_on_windows_is_started_again_as_often_as_it_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its exit code says that it hangs, and how often in a row; another one is that of the whole program."""
    script = tmp_path / "bot.py"
    script.write_text(
        "import json, os, sys\n"
        "host, port, tls, team, token, hangs, *_, supervised = json.loads(os.environ['GETSTEP_RESTARTED'])\n"
        "assert supervised\n"
        "sys.exit(240 + hangs + 1 if hangs < 3 else 7)\n"
    )
    monkeypatch.setattr(restart, "end_call", lambda _: None)
    handed = Handover(Address("judge", 7777), Login(TEAM, TOKEN), 1, proved=True, located=True)
    environment = {**os.environ, "GETSTEP_RESTARTED": handed.to_json()}
    assert restart.supervise([sys.executable, str(script)], environment, handed) == 7


def test_a_thread_in_a_loop_is_ended() -> None:
    looping, ended = threading.Event(), threading.Event()

    def loop() -> None:
        try:
            while True:
                looping.set()
        except SystemExit:
            ended.set()

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    assert looping.wait(PATIENCE_SECONDS)
    restart.end_call(thread)
    assert ended.wait(PATIENCE_SECONDS)


def test_a_process_that_was_stopped_is_given_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-Z and fg the call ends in an instant, and is not late."""
    now, slept, woken = [100.0], list[float](), threading.Event()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += 60 if len(slept) == 1 else seconds
        if len(slept) == 3:
            woken.set()
            ended.wait(PATIENCE_SECONDS)

    ended, late = threading.Event(), list[object]()
    monkeypatch.setattr("getstep._watchdog.time.perf_counter", lambda: now[0])
    monkeypatch.setattr("getstep._watchdog.time.sleep", sleep)
    with Watchdog().watch((10.0, late.append), meanwhile=lambda: None):
        assert woken.wait(PATIENCE_SECONDS)
    ended.set()
    assert late == []


def test_a_warning_of_a_stalled_bot_says_when_it_is_started_again() -> None:
    question = ask(31, time_left_ms=1000)
    assert "\nIn 7.5 s the client starts" in stalled_text(12, question, 3500, "bot.py line 3", 11_000)
    assert "\nStop it with Ctrl-C" in stalled_text(12, question, 3500, "bot.py line 3", math.inf)
    assert restart_text(3, "hop", ask(31, move_number=12, time_left_ms=1000), 10, "bot.py line 3") == (
        "get_step has not returned, 10 s after its limit of 1 s (match 3, move 12 of hop)."
        " The client starts your program again; the contest goes on.\nIt was at bot.py line 3"
    )


# --- the command line of a bot's own file ------------------------------------------------------------------------


def test_the_options_of_a_bots_own_file() -> None:
    own = of_this_program(["--host", "judge", "--port=7000", "--team", "5", "--token", TOKEN, "--depth", "3", "-v"])
    assert (own.host, own.port, own.team, own.token, own.quiet, own.friendly) == (
        *("judge", "7000", "5", TOKEN),
        *(False, False),
    )
    assert of_this_program(["--tea", "5"]).team is None  # perhaps the bot's own option
    assert of_this_program(["--friendly", "--quiet"]).friendly
    with pytest.raises(SetupError, match=r'^unknown argument "--quiet=1"; --help lists all$'):
        of_this_program(["--quiet=1"])


def test_the_command_line_comes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "my_bot.py", raising=False)

    def asks(session: Session) -> None:
        session.let_in(start(), ask(31))
        assert session.hear() == Raised(id=31, error="ValueError: no move")
        session.say(end(), OVER)
        assert session.hear() is CLOSED

    def get_step(board: Any, is_black: bool) -> Any:
        raise ValueError("no move")

    with FakeServer(asks) as server:
        monkeypatch.setattr(sys, "argv", ["my_bot.py", "--port", str(server.port), "--token", TOKEN])
        [result] = getstep.play(get_step, TEAM, token_file="no_file", host="127.0.0.1", port=9)
    assert result.match == 12


def test_help_of_a_bots_own_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["my_bot.py"])
    with pytest.raises(SystemExit) as left:
        of_this_program(["--help"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("usage: my_bot.py [-h] [--host HOST]")
