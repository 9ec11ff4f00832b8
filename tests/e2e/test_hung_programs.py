"""A bot that never returns is started again, in every language: the match goes on, and the contest."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from getstep.languages import LANGUAGES
from getstep.wire import CLOSED, Raised, Step
from tests.support.contests import MakeContest
from tests.support.fake_server import OVER, TEAM, TOKEN, FakeServer, Session, ask, end, start
from tests.support.hanging import GAME, HANG, SOURCES, build, play
from tests.support.languages import need
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import Programs

NEWS = {
    name: f"{function} has not returned, {{}} after its limit of {{}} (match 1, move {{}} of {{}})."
    f" The client starts your {what} again; the contest goes on."
    for name, function, what in (
        ("python", "get_step", "program"),
        ("cpp", "GetStep", "program"),
        ("java", "getStep", "program"),
        ("csharp", "GetStep", "program"),
        ("javascript", "getStep", "function"),
    )
}

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=SOURCES)
def bot(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """A language, and the command of its bot, built once."""
    return request.param, build(request.param, tmp_path_factory.mktemp("hung"))


def run(
    command: list[str], server: FakeServer, folder: Path, *words: str, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a bot to its end in a folder. Its login is in the environment."""
    where = {"GETSTEP_HOST": "127.0.0.1", "GETSTEP_PORT": str(server.port), "GETSTEP_TIME_SCALE": "0.01"}
    who = {"GETSTEP_TEAM": str(TEAM), "GETSTEP_TOKEN": TOKEN, "GETSTEP_LOGIN_FILE": str(folder / "none")}
    environ = {**os.environ, **where, **who, **more}
    return subprocess.run(
        [*command, *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
    )


def test_of_twenty_matches_nineteen_are_played(
    bot: tuple[str, list[str]],
    programs: Programs,
    make_contest: MakeContest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 12 s by default: a client in JavaScript gives no sign of life when it has started its function again
    monkeypatch.setattr("getstep_server.runtime.presence.RECOVERY_SECONDS", 3.0)
    name, command = bot
    seconds = 4 if name in ("java", "csharp") else 2  # their machines take a second to start, if others are busy
    contest = make_contest(2, event={**GAME, "move_seconds": seconds, "settings": {"legs": 20}})
    results, bots = play(programs, contest, {1: command, 2: command}, hang=[1], restart_after="0.3")
    assert {result.reason for result in results[1:]} == {"finished"}
    assert [sum(result.faults) for result in results[1:]] == [0] * 19
    assert sum(results[0].faults) <= 1  # none if a busy server gives time back, and the bot is there again in it
    move = 1 + (results[0].match.second == 1)
    assert NEWS[name].format("0.3 s", f"{seconds} s", move, "pseudo_tonga") in bots[1].output
    assert "has not returned" not in bots[2].output


def test_a_server_that_has_proved_itself_stays_known(bot: tuple[str, list[str]], tmp_path: Path) -> None:
    """Else a false server could end a bot that hangs: it refuses the login, which a new client obeys."""
    name, command = bot

    def hangs(session: Session) -> None:
        (tmp_path / HANG).touch()
        session.let_in(start(1, time_ms=50), ask(1, move_number=3, time_left_ms=50))
        event = session.hear()
        if name == "javascript":
            assert isinstance(event, Raised)

    def hangs_again(session: Session) -> None:
        (tmp_path / HANG).touch()
        session.let_in(start(1, time_ms=50, resumed=True), ask(2, move_number=3, time_left_ms=50))
        event = session.hear()
        assert isinstance(event, Raised) if name == "javascript" else event is CLOSED

    def refuses(session: Session) -> None:
        session.greet()
        session.say(OVER)
        assert session.hear() is CLOSED

    def goes_on(session: Session) -> None:
        # A bot that a busy machine started too slowly was taken for hung before it saw the file.
        (tmp_path / HANG).unlink(missing_ok=True)
        # A limit of minutes, of which GETSTEP_TIME_SCALE leaves seconds: a busy machine answers in it.
        session.let_in(start(1, time_ms=10**6, resumed=True), ask(3, time_left_ms=10**6))
        assert isinstance(session.hear(), Step)
        session.say(end(1), OVER)
        assert session.hear() is CLOSED

    with FakeServer(hangs, hangs_again, refuses, goes_on) as server:
        ran = run(command, server, tmp_path, GETSTEP_RESTART_AFTER="0.2")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "Thank you for playing."), ran.stderr
    assert ran.stderr.count(NEWS[name].format("0.2 s", "50 ms", 3, "hop")) == 2
    if name != "javascript":
        assert " has hung 2 times in a row without an answer in between; the client connects in 2 s." in ran.stderr


@pytest.mark.parametrize("after", ["0", "60"])
def test_after_goodbye_a_hung_bot_ends(after: str, bot: tuple[str, list[str]], tmp_path: Path) -> None:
    """Zero means that the function is never started again."""
    command = bot[1]
    said = []
    (tmp_path / HANG).touch()

    def hangs(session: Session) -> None:
        session.let_in(start(1, time_ms=50), ask(1, move_number=3, time_left_ms=50))
        time.sleep(0.3)
        session.say(end(1), OVER)
        said.append(time.monotonic())
        assert session.hear() is CLOSED

    with FakeServer(hangs) as server:
        ran = run(command, server, tmp_path, "--restart-after", after)
    assert time.monotonic() - said[0] < 2 + PATIENCE_SECONDS / 10
    assert ran.returncode == 0
    assert "is still running; the program ends without it" in ran.stderr
    assert "has not returned" not in ran.stderr


def hangs_on(session: Session) -> None:
    """Ask the question at which the bots hang, and wait for the end of the program."""
    session.let_in(start(1, time_ms=50), ask(1, move_number=3, time_left_ms=50))
    assert session.hear() is CLOSED


def login_at(server: FakeServer) -> list[str]:
    return ["--host", "127.0.0.1", "--port", str(server.port), "--team", str(TEAM), "--token", TOKEN]


def test_after_ctrl_c_a_hung_bot_ends(bot: tuple[str, list[str]], programs: Programs, tmp_path: Path) -> None:
    (tmp_path / HANG).touch()
    with FakeServer(hangs_on) as server:
        program = programs.start(*bot[1], *login_at(server), "--restart-after", "60", cwd=tmp_path)
        program.expect("and is still running")
        program.signal(signal.SIGINT)
        began = time.monotonic()
        assert program.wait() in (130, -signal.SIGINT)  # Mono ends a program before it can choose its code
    assert time.monotonic() - began < 2 + PATIENCE_SECONDS / 10


def test_a_function_in_a_debugger_is_left_alone(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("node")
    for file, content in LANGUAGES["javascript"].sdk_files():
        (tmp_path / file).write_bytes(content)
    (tmp_path / "hung.mjs").write_text(SOURCES["javascript"], encoding="utf-8")
    (tmp_path / HANG).touch()
    monkeypatch.setenv("NODE_OPTIONS", "--inspect=0")
    with FakeServer(hangs_on) as server:
        program = programs.start(
            "node", str(tmp_path / "hung.mjs"), *login_at(server), "--restart-after", "0.05", cwd=tmp_path
        )
        program.expect("your bot is stalled")  # long after the restart would have been
        program.signal(signal.SIGINT)
        assert program.wait() == 130
    assert "has not returned" not in program.output


def test_a_bot_in_javascript_logs_in_when_its_thread_has_loaded(tmp_path: Path) -> None:
    """Else the clock of its first question runs while Node starts a thread and loads the file in it."""
    need("node")
    for file, content in LANGUAGES["javascript"].sdk_files():
        (tmp_path / file).write_bytes(content)
    source = tmp_path / "slow.mjs"
    slow = "if (!isMainThread) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);"
    source.write_text(f'import {{ isMainThread }} from "node:worker_threads";\n{slow}\n{SOURCES["javascript"]}')
    took = []

    def asks(session: Session) -> None:
        session.let_in(start(1), ask(1))
        began = time.monotonic()
        assert isinstance(session.hear(), Step)
        took.append(time.monotonic() - began)
        session.say(end(1), OVER)
        assert session.hear() is CLOSED

    with FakeServer(asks) as server:
        assert run(["node", str(source)], server, tmp_path).returncode == 0
    assert took[0] < 0.6
