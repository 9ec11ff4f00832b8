"""Programs that teams submit on the page, and ``getstep submit``: what comes in, waits, and is answered."""

from __future__ import annotations

import io
import json
import re
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from getstep import cli
from getstep.wire import prove_server
from getstep_server import limits
from getstep_server.config.contest import Contest, load_contest
from getstep_server.programs.store import ProgramStore
from getstep_server.web import submissions
from getstep_server.web.app import App
from getstep_server.web.http import HostCheck, HttpServer, Request, Response, Upload
from getstep_server.web.submissions import SentProgram, Submissions
from tests.old_contests.contests import unpack
from tests.support.archives import zipped
from tests.support.patience import PATIENCE_SECONDS
from tests.support.site import STORED, TOKENS, Browser, following
from tests.support.submitted_programs import contest_of, needs_sandbox

WORKER = """
import sys, json
count = int(sys.stdin.buffer.readline())
data = sys.stdin.buffer.read(count)
say = lambda state, text: print(json.dumps({"state": state, "text": text}), flush=True)
exec(data.decode())
"""
"""Stands for the process that builds a program: it runs what was submitted."""


def work(_: object, submission: SentProgram) -> list[str]:
    return [sys.executable, "-c", WORKER, submission.name]


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """The pages of a contest that takes programs. Nothing works on them until a test lets it."""
    folder = tmp_path / "finished"
    unpack(STORED, folder)
    with (folder / "contest.toml").open("a") as file:
        file.write("\n[programs]\nsubmissions = true\n")
    async with trio.open_nursery() as nursery:
        app = (await following(folder, nursery)).app
        app.own.submissions = Submissions(lambda: app.feed.contest, work)
        yield app
        nursery.cancel_scope.cancel()


@pytest.fixture
async def browser(app: App) -> Browser:
    browser = Browser(app)
    assert (await browser.log_in(1, TOKENS[1])).status == 200
    return browser


async def send(browser: Browser, app: App, data: bytes = b"say('stored', 'version 1')", **query: str) -> Response:
    headers = {"host": "192.0.2.7:8080", "cookie": browser.cookie}
    request = Request("POST", "/own/program", {"name": "bot.py", **query}, headers, data, "192.0.2.8")
    limit = app.own.body_limit(request)
    answer = limit if isinstance(limit, Response) else await app(request)
    assert isinstance(answer, Response)
    return answer


async def result(browser: Browser) -> dict[str, Any]:
    """Return the state of the latest submission once it has one."""
    with trio.fail_after(PATIENCE_SECONDS):
        while True:
            latest: dict[str, Any] = (await browser.json("/own/program.json"))["latest"]
            if latest["state"] not in ("waiting", "working"):
                return latest
            await trio.sleep(0.01)


# --- what comes in ----------------------------------------------------------------------------------------------


async def test_a_program_waits_is_tried_and_is_stored(app: App, browser: Browser) -> None:
    assert (await browser.json("/own/program.json"))["latest"] is None
    assert (await send(browser, app, b"say('working', 'compiled'); say('stored', 'version 1')")).status == 202
    latest = (await browser.json("/own/program.json"))["latest"]
    assert (latest["state"], latest["text"], latest["name"]) == ("waiting", [""], "bot.py")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(app.own.submissions.run)
        latest = await result(browser)
        nursery.cancel_scope.cancel()
    assert (latest["state"], latest["text"]) == ("stored", ["version 1"])
    assert (latest["lines"], latest["said"]) == (["compiled"], 1)


async def test_a_team_has_one_at_a_time_and_others_have_theirs(app: App, browser: Browser) -> None:
    other = Browser(app)
    await other.log_in(2, TOKENS[2])
    assert (await send(browser, app)).status == 202
    refused = await send(browser, app)
    assert (refused.status, b"not tried yet" in refused.body) == (409, True)
    assert (await send(other, app)).status == 202
    assert (await other.json("/own/program.json"))["latest"]["text"] == ["1 before it"]


async def test_a_team_submits_so_many_in_a_day(app: App, browser: Browser) -> None:
    other = Browser(app)
    await other.log_in(2, TOKENS[2])
    for _ in range(50):
        assert (await send(browser, app)).status == 202
        app.own.submissions._latest.clear()  # it was tried
        app.own.submissions._jobs.waiting.clear()
    refused = await send(browser, app)
    assert (refused.status, b"try again in 24 h" in refused.body) == (429, True)
    assert 86_300 < int(dict(refused.headers)["Retry-After"]) <= 86_400
    assert (await send(other, app)).status == 202


@pytest.mark.parametrize(
    ("query", "data"),
    [
        ({"name": ""}, b"x"),
        ({"name": "x" * 201}, b"x"),
        ({"as": "x" * 51}, b"x"),
        ({"entry": "x" * 201}, b"x"),
        ({"entry": "a\0.py"}, b"x"),
        ({"name": "a\0.py"}, b"x"),
        ({"as": "\0"}, b"x"),
        ({"as": "<b>x</b>"}, b"x"),
        ({"as": "--help"}, b"x"),
        ({}, b""),
    ],
)
async def test_a_wrong_request_is_refused(app: App, browser: Browser, query: dict[str, str], data: bytes) -> None:
    assert (await send(browser, app, data, **query)).status == 400


async def test_without_a_login_or_from_another_site_nothing_is_read(app: App, browser: Browser) -> None:
    def head(**headers: str) -> Request:
        return Request("POST", "/own/program", {"name": "a.py"}, {"host": "x", **headers}, b"", "192.0.2.8")

    for headers in ({}, {"cookie": browser.cookie, "origin": "http://evil.example"}):
        limit = app.own.body_limit(head(**headers))
        assert isinstance(limit, Response)
        assert limit.status == 401
    assert app.own.body_limit(head(cookie=browser.cookie)) == Upload(10_000_000, team=1)
    assert app.own.body_limit(Request("POST", "/own/login", {}, {}, b"", "192.0.2.8")) == 4096


async def test_a_contest_takes_programs_only_if_its_host_says_so(app: App, browser: Browser) -> None:
    contest = app.feed.contest
    (contest.folder / "contest.toml").write_text(
        (contest.folder / "contest.toml").read_text().replace("submissions = true", "submissions = false")
    )
    app.own.submissions = Submissions(lambda: load_contest(contest.folder))
    refused = await send(browser, app)
    assert (refused.status, b"submissions = true" in refused.body) == (403, True)
    assert (await browser.json("/own/program.json"))["open"] is False


async def test_so_many_wait_and_so_much_memory(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = app.own.submissions
    request = Request("POST", "/own/program", {"name": "a"}, {}, b"x" * 1_000_000, "192.0.2.8")
    for team in range(64):
        assert queue.take(team, request).status == 202
    assert queue.take(64, request).status == 503
    queue = Submissions(lambda: app.feed.contest)
    request = Request("POST", "/own/program", {"name": "a"}, {}, b"x" * 10_000_000, "192.0.2.8")
    for team in range(11):
        assert queue.take(team, request).status == 202
    assert queue.take(11, request).status == 503


# --- the work ---------------------------------------------------------------------------------------------------


async def worked(app: App, browser: Browser, program: str) -> dict[str, Any]:
    assert (await send(browser, app, program.encode())).status == 202
    async with trio.open_nursery() as nursery:
        nursery.start_soon(app.own.submissions.run)
        latest = await result(browser)
        nursery.cancel_scope.cancel()
    return latest


async def test_a_refusal_is_passed_on(app: App, browser: Browser) -> None:
    latest = await worked(app, browser, "say('refused', 'line 3: expected ;')")
    assert (latest["state"], latest["text"]) == ("refused", ["line 3: expected ;"])


@pytest.mark.parametrize(
    "program", ["sys.exit(3)", "pass", "print('x' * 100_000)", "import os; os.kill(os.getpid(), 9)"]
)
async def test_a_worker_that_fails_is_not_the_teams_fault(app: App, browser: Browser, program: str) -> None:
    latest = await worked(app, browser, program)
    assert (latest["state"], "not your fault" in latest["text"][0]) == ("failed", True)


async def test_the_lines_are_bounded(app: App, browser: Browser) -> None:
    latest = await worked(app, browser, "for n in range(300): say('working', str(n))\nsay('stored', '1')")
    assert (len(latest["lines"]), latest["lines"][-1], latest["said"]) == (200, "299", 300)


async def test_a_worker_that_does_not_end_is_ended(
    app: App, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limits.SUBMISSION_SECONDS == 900
    # Not a clock that jumps: it would jump while the process starts, too.
    monkeypatch.setattr(submissions, "SUBMISSION_SECONDS", 0.1)
    latest = await worked(app, browser, "import time; time.sleep(1000)")
    assert latest["state"] == "refused"
    assert "was ended" in latest["text"][0]


async def test_a_worker_that_writes_a_line_without_end_has_failed(app: App, browser: Browser) -> None:
    endless = "import time; sys.stdout.write('x' * 70_000); sys.stdout.flush(); time.sleep(1000)"
    assert (await worked(app, browser, endless))["state"] == "failed"


async def test_the_next_one_is_worked_on_after_a_failure(app: App, browser: Browser) -> None:
    await worked(app, browser, "sys.exit(3)")
    assert (await worked(app, browser, "say('stored', 'version 2')"))["text"] == ["version 2"]


# --- the command ------------------------------------------------------------------------------------------------


@pytest.fixture
async def port(app: App) -> AsyncIterator[int]:
    """The port of the page, with a worker."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(HttpServer(app, HostCheck(), app.own.body_limit).serve, listener)
        nursery.start_soon(app.own.submissions.run)
        yield listener.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


Submit = Callable[..., Any]


@pytest.fixture
def submit(port: int, tmp_path: Path) -> Submit:
    async def run(program: Path, *more: str, token: str = TOKENS[1]) -> int:
        arguments = ["submit", str(program), "--host", "127.0.0.1", "--port", str(port), "--team", "1"]
        return await trio.to_thread.run_sync(cli.main, [*arguments, "--token", token, *more])

    return run


async def test_the_command_sends_a_file(submit: Submit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bot = tmp_path / "my_bot.py"
    bot.write_text("say('working', sys.argv[1]); say('stored', 'version 1')")
    assert await submit(bot) == 0
    out = capsys.readouterr().out
    assert "  my_bot.py\n" in out
    assert out.endswith("Stored: version 1\n")


async def test_the_command_names_the_convention_and_the_entry(
    submit: Submit, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are arguments of the process that builds the program."""
    commands: list[list[str]] = []

    def command(contest: Contest, submission: SentProgram) -> list[str]:
        commands.append(submissions._command(contest, submission))
        return [sys.executable, "-c", WORKER]

    monkeypatch.setattr(app.own.submissions, "_command", command)
    bot = tmp_path / "my_bot.py"
    bot.write_text("say('stored', 'version 1')")
    for more in (["--as", "linkage", "--entry", "src/bot.cpp"], []):
        assert await submit(bot, *more) == 0
    assert [one[-3:] for one in commands] == [["my_bot.py", "linkage", "src/bot.cpp"], ["my_bot.py", "", ""]]


async def test_the_command_sends_a_folder_without_what_tools_make(
    submit: Submit, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken: list[bytes] = []

    def take(team: int, request: Request) -> Response:
        taken.append(request.body)
        return Response(b"{}", "application/json", 403)

    monkeypatch.setattr(app.own.submissions, "take", take)
    folder = tmp_path / "bot"
    for name in ("main.py", "lib/part.py", ".git/HEAD", "__pycache__/x.pyc", "a.pyc", ".DS_Store"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    assert await submit(folder) == 1
    assert sorted(zipfile.ZipFile(io.BytesIO(taken[0])).namelist()) == ["lib/part.py", "main.py"]


async def test_the_command_shows_a_refusal(
    submit: Submit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = tmp_path / "my_bot.py"
    bot.write_text("say('refused', 'line 3:\\n  expected ;\\x1b[2J')")
    assert await submit(bot) == 1
    assert "line 3:\n  expected ;\\u001b[2J" in capsys.readouterr().err


@pytest.mark.parametrize("token", ["aaaa-bbbb-cccc", "t9pt-4qc2-gndf"])
async def test_a_wrong_token_is_named(
    submit: Submit, token: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = tmp_path / "my_bot.py"
    bot.write_text("pass")
    assert await submit(bot, token=token) == 1
    assert "The id or the token is wrong" in capsys.readouterr().err


async def test_a_page_that_does_not_know_the_token_gets_no_program(
    submit: Submit, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another computer may pretend to be the page, and accept any login."""
    bot = tmp_path / "my_bot.py"
    bot.write_text("say('stored', 'version 1')")
    monkeypatch.setattr("getstep_server.web.own.prove_server", lambda *_: prove_server("other", "0", "0"))
    assert await submit(bot) == 1
    assert "does not prove that it knows your token" in capsys.readouterr().err
    assert app.own.submissions.objection(1) is None, "nothing was taken"


@pytest.mark.parametrize("content", [b"", b"x" * 10_000_001])
async def test_a_file_that_cannot_be_sent_is_named(
    submit: Submit, tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = tmp_path / "my_bot.py"
    bot.write_bytes(content)
    assert await submit(bot) == 2
    assert "my_bot.py is" in capsys.readouterr().err


def test_a_page_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bot = tmp_path / "my_bot.py"
    bot.write_text("pass")
    login = ["--host", "127.0.0.1", "--port", "1", "--team", "1", "--token", TOKENS[1]]
    assert cli.main(["submit", str(bot), *login]) == 1
    said = capsys.readouterr().err
    assert "http://127.0.0.1:1 cannot be reached: Connection refused." in said
    assert "--web-port is the port of that page" in said


def test_a_page_that_ends_during_the_command_is_no_wrong_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = tmp_path / "my_bot.py"
    bot.write_text("pass")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_once() -> None:
            connection = server.accept()[0]
            server.close()  # before the answer, so that the next connection is refused
            with connection:
                connection.recv(4096)
                connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"nonce":"0"}')

        port = server.getsockname()[1]
        answering = threading.Thread(target=answer_once, daemon=True)
        answering.start()
        login = ["--host", "127.0.0.1", "--port", str(port), "--team", "1", "--token", TOKENS[1]]
        assert cli.main(["submit", str(bot), *login]) == 1
        answering.join(PATIENCE_SECONDS)
    said = capsys.readouterr().err
    assert "The server has stopped, or cannot be reached any more: Connection refused. It has not said that" in said
    assert "submit it again when the server runs" in said
    assert "--port" not in said


def test_a_port_that_is_not_the_pages_is_named_without_what_it_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = tmp_path / "my_bot.py"
    bot.write_text("pass")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            connection = server.accept()[0]
            with connection:
                connection.sendall(b"\0\x9b\x86\xa4type\xa5hello\r\n")
                connection.recv(4096)

        answering = threading.Thread(target=greet, daemon=True)
        answering.start()
        port = server.getsockname()[1]
        login = ["--host", "127.0.0.1", "--port", str(port), "--team", "1", "--token", TOKENS[1]]
        assert cli.main(["submit", str(bot), *login]) == 1
        answering.join(PATIENCE_SECONDS)
    said = capsys.readouterr().err
    assert f"127.0.0.1:{port} is not a web page; bots use another port" in said
    assert "hello" not in said


# --- long bodies ------------------------------------------------------------------------------------------------


async def test_a_team_sends_one_program_at_a_time(app: App, browser: Browser, port: int) -> None:
    def head(length: int) -> bytes:
        fields = f"Host: localhost\r\nCookie: {browser.cookie}\r\nContent-Length: {length}\r\n"
        return f"POST /own/program?name=a.py HTTP/1.1\r\n{fields}\r\n".encode()

    async with await trio.open_tcp_stream("127.0.0.1", port) as slow:
        await slow.send_all(head(100_000) + b"x" * 50_000)
        await wait_all_tasks_blocked(0.05)
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(head(100_000))
            with trio.fail_after(PATIENCE_SECONDS):
                assert (await stream.receive_some()).startswith(b"HTTP/1.1 409")
    await wait_all_tasks_blocked(0.05)
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(head(3) + b"bad")
        with trio.fail_after(PATIENCE_SECONDS):
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 202")


async def test_a_program_has_at_most_10_mb(app: App, browser: Browser, port: int) -> None:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        fields = f"Host: localhost\r\nCookie: {browser.cookie}\r\nContent-Length: 10000001\r\n"
        await stream.send_all(f"POST /own/program?name=a.py HTTP/1.1\r\n{fields}\r\n".encode())
        with trio.fail_after(PATIENCE_SECONDS):
            try:
                for _ in range(101):
                    await stream.send_all(b"x" * 100_000)
            except trio.BrokenResourceError:
                pass
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 413")


# --- the process that builds ------------------------------------------------------------------------------------


def run_process(folder: Path, team: int, name: str, data: bytes) -> list[dict[str, str]]:
    """Return what the real process prints."""
    command = [sys.executable, "-m", "getstep_server.programs.submission", str(folder), str(team), name, "", ""]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"%d\n" % len(data) + data)
        process.stdin.flush()
        lines = process.stdout.readlines()  # the input stays open: the process would end with it
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("name", "data", "state", "says"),
    [
        ("bot.py", b"print(1)", "refused", "get_step"),
        ("bot.zip", b"PK\x03\x04", "refused", "zip"),
    ],
)
def test_the_process_names_what_is_wrong(tmp_path: Path, name: str, data: bytes, state: str, says: str) -> None:
    unpack(STORED, tmp_path / "finished")
    *_, last = run_process(tmp_path / "finished", 1, name, data)
    assert (last["state"], says in last["text"]) == (state, True), last


@needs_sandbox
def test_what_is_built_runs_only_when_nothing_else_does(tmp_path: Path) -> None:
    contest_of(tmp_path, "linkage")
    build = "cut -d' ' -f41 /proc/self/stat; exit 1"  # the policy, for SCHED_IDLE 5
    settings = f'run = "./bot"\nbuild = "{build}"\nconvention = "linkage"\n'
    *_, last = run_process(tmp_path, 1, "bot.zip", zipped({"program.toml": settings.encode()}))
    assert last["text"].split("\n")[1:] == ["  5"], last


def test_the_process_does_not_blame_the_team_for_the_host(tmp_path: Path) -> None:
    *_, last = run_process(tmp_path / "nothing", 1, "bot.py", b"def get_step(board, is_black): ...")
    assert (last["state"], "nothing" in last["text"]) == ("failed", False), last


@needs_sandbox
@pytest.mark.long  # it plays two games in the sandbox for each game of the contest
def test_the_process_stores_a_program_that_plays(tmp_path: Path) -> None:
    unpack(STORED, tmp_path / "finished")
    settings = (tmp_path / "finished" / "contest.toml").read_text(encoding="utf-8")
    settings = re.sub("(move|budget)_seconds = .*", rf"\1_seconds = {PATIENCE_SECONDS}", settings)
    (tmp_path / "finished" / "contest.toml").write_text(settings, encoding="utf-8")
    assert cli.main(["new", str(tmp_path / "my_bot.py"), "--game", "all"]) == 0
    folder = io.BytesIO()
    with zipfile.ZipFile(folder, "w") as archive:
        for path in tmp_path.glob("my_bot*.py"):
            archive.write(path, path.name)
    steps = run_process(tmp_path / "finished", 1, "my_bot.zip", folder.getvalue())
    assert steps[-1]["state"] == "stored", steps
    current = ProgramStore(tmp_path / "finished").current(1)
    assert current is not None
    assert (current.number, current.added_by, current.convention) == (1, "the team", "getstep")
