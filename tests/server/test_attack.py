"""Every hostile case against a real server, and proof that the runner notices a server that reacts otherwise."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import struct
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep.wire import Connection, GetStep, Goodbye, Hello, Role
from getstep_conformance.attack import (
    CASES,
    Address,
    Case,
    CaseRunner,
    NotAsExpected,
    NotRun,
    SenderKind,
    Times,
)
from getstep_conformance.attack._case import sort_key
from getstep_conformance.attack._cases import CATALOGUE
from getstep_engines import GAMES
from getstep_server.cli.attack import loopback
from getstep_server.cli.main import run_command
from getstep_server.config.contest import Contest
from getstep_server.errors import ConfigError
from getstep_server.events import MatchEnded, MovePlayed, ServerFault
from getstep_server.incident import Incident
from getstep_server.net import classic, connection, registry, wire_connection
from getstep_server.net.seat import Seat
from getstep_server.runtime.start import StartCondition
from getstep_server.text import escape_control_chars
from tests.support.attack import QUICK, TARGET, runner_at
from tests.support.contests import make_contest, token_of
from tests.support.conversations import rows
from tests.support.golden import assert_golden
from tests.support.judge_processes import judges_here
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Recorder, running


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with the time limits of `QUICK`."""
    monkeypatch.setattr(connection, "LOGIN_SECONDS", QUICK.login)
    monkeypatch.setattr(connection, "FRAME_SECONDS", QUICK.frame)
    monkeypatch.setattr(classic, "CLASSIC_REFUSAL_SECONDS", QUICK.refusal)


def target(folder: Path, case: Case, judges: int = 1, **tables: Any) -> Contest:
    """Return a contest for a case; its time limit is short if the case has to miss one."""
    seconds = 3.0 if case.title.startswith("a late answer") else 5.0
    server = {**TARGET["server"], "judges": judges}
    return make_contest(folder, **{**TARGET, "server": server}, event={"move_seconds": seconds}, **tables)


# --- the catalogue --------------------------------------------------------------------------------------------


def test_there_are_many_cases_and_no_number_twice() -> None:
    numbers = [case.number for case in CATALOGUE]
    assert len(numbers) == len(CASES) >= 60
    assert numbers == sorted(numbers, key=sort_key)


def test_every_hostile_code_is_expected_by_a_case() -> None:
    codes = {code.strip("`") for code, _ in rows("### Hostile codes")}
    expected = {case.expected.recorded for case in CATALOGUE}
    assert codes <= expected


def test_every_recorded_goodbye_is_expected_by_a_case() -> None:
    expected = {case.expected.goodbye for case in CATALOGUE} | {case.expected.recorded for case in CATALOGUE}
    table = {code.strip("`") for code, _, _, cost in rows("### Goodbye codes") if cost == "recorded"}
    table -= {"hosted_program"}  # takes a program of the host's machine: tests/e2e/test_hosted_programs.py
    assert table | {"login_timeout", "replaced"} <= expected


def test_every_kind_of_sender_has_a_case() -> None:
    assert {case.sender for case in CATALOGUE} == set(SenderKind)


# --- each case against a server -------------------------------------------------------------------------------


AT_ONCE = 8
WAITING = {"1.8", "1.9", "3.33", "3.34", "3.35", "7.17", "7.18", "9.11", "10.7", "11.20", "12.36"}
"""Cases that let a time limit of some seconds expire. They wait together."""

PROMPT = [case for case in CATALOGUE if case.number not in WAITING]
BATCHES = [
    [CASES[number] for number in sorted(WAITING, key=sort_key)],
    *(PROMPT[first : first + AT_ONCE] for first in range(0, len(PROMPT), AT_ONCE)),
]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: f"{batch[0].number} to {batch[-1].number}")
async def test_cases(tmp_path: Path, batch: list[Case]) -> None:
    """Run each case against its own server; several at once, because most of the time is waiting."""
    await at_once(batch, lambda case: run_case(tmp_path / case.number, case))


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: f"{batch[0].number} to {batch[-1].number}")
async def test_cases_with_judge_processes(
    tmp_path: Path, batch: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client cannot tell how many judges there are."""
    judges_here(monkeypatch)
    await at_once(batch, lambda case: run_case(tmp_path / case.number, case, judges=2))


async def at_once(cases: list[Case], run: Callable[[Case], Awaitable[None]]) -> None:
    """Run all, and fail with all that failed."""
    failures = []

    async def note_failure(case: Case) -> None:
        try:
            await run(case)
        except Exception as error:
            error.add_note(f"in case {case.number}, {case.title}")
            failures.append(error)

    async with trio.open_nursery() as nursery:
        for case in cases:
            nursery.start_soon(note_failure, case)
    if failures:
        raise ExceptionGroup("cases that failed", failures)


async def run_case(folder: Path, case: Case, judges: int = 1) -> None:
    folder.mkdir()
    async with (
        running(target(folder, case, judges, teams=3), StartCondition(now=True)) as server,
        aclosing(runner_at(server)) as runner,
    ):
        await runner.run(case)
        await check_record(server.recorder, case)


async def check_record(recorder: Recorder, case: Case) -> None:
    """Check the incidents on record: those that the case expects and no others, without control characters."""
    expected = case.expected
    with trio.fail_after(PATIENCE_SECONDS):
        while expected.recorded is not None and expected.recorded not in codes(recorder):
            await trio.sleep(0.01)
    assert codes(recorder) <= {expected.recorded, expected.goodbye}
    assert recorder.of(ServerFault) == []
    texts = [value for event in recorder.events for value in vars_of(event) if isinstance(value, str)]
    assert texts == [escape_control_chars(text) for text in texts]
    lost = [ended.result.reason for ended in recorder.of(MatchEnded)]
    assert lost == ["hostile"] * (case.sender.needs_match and expected.match == "lost")


def codes(recorder: Recorder) -> set[str]:
    return {incident.code for incident in recorder.of(Incident)}


def vars_of(event: Any) -> list[Any]:
    if isinstance(event, MovePlayed):
        return list(event)
    return [getattr(event, name) for name in getattr(event, "__struct_fields__", event.__slots__)]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("game", [game for game in GAMES if game != "hop"])
async def test_cases_in_another_game(tmp_path: Path, game: str) -> None:
    time = {"budget_seconds": 1.0} if game == "pseudo_tonga" else {"move_seconds": 1.0}

    async def run(case: Case) -> None:
        folder = tmp_path / case.number
        folder.mkdir()
        contest = make_contest(folder, event={"game": game, **time}, start={"absent_seconds": 3600})
        async with running(contest, StartCondition(now=True)) as server, aclosing(runner_at(server)) as runner:
            await runner.run(case)
            assert server.recorder.of(ServerFault) == []

    await at_once([CASES[number] for number in ("3.3", "6.20", "7.1", "7.8", "7.13", "7.17", "8.1")], run)


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(["10.1"], id="a refusal"),
        pytest.param(["1.8", "1.9", "3.33", "3.35", "10.7"], id="logins and frames", marks=pytest.mark.long),
    ],
)
async def test_the_clocks_are_protocol_md_s(tmp_path: Path, numbers: list[str]) -> None:
    """Without any limit changed. `test_connection` holds those of logins and frames on a mock clock."""
    patient = {"grace": PATIENCE_SECONDS, "prompt": PATIENCE_SECONDS}
    times = Times(login=10.0, frame=5.0, linger=2.0, refusal=1.0, **patient)

    async def run(case: Case) -> None:
        folder = tmp_path / case.number
        folder.mkdir()
        async with running(make_contest(folder, **TARGET), StartCondition(now=True)) as server:
            async with aclosing(runner_at(server, times)) as runner:
                await runner.run(case)

    await at_once([CASES[number] for number in numbers], run)


async def test_several_cases_in_order(tmp_path: Path, quick: None) -> None:
    """Pairs of teams are used up, and their matches are not mixed up."""
    numbers = ["8.1", "8.2", "3.1", "6.1", "8.3", "5.13", "7.13", "11.1", "11.9", "11.2", "7.9"]
    async with (
        running(make_contest(tmp_path, teams=4, **TARGET), StartCondition(now=True)) as server,
        aclosing(runner_at(server)) as runner,
    ):
        for number in numbers:
            await runner.run(CASES[number])
        lost = [ended.result.reason for ended in server.recorder.of(MatchEnded)].count("hostile")
        assert lost == sum(
            CASES[number].expected.match == "lost" and CASES[number].sender.needs_match for number in numbers
        )


async def test_a_team_left_in_the_lobby_plays_with_no_other(tmp_path: Path, quick: None) -> None:
    """A match of the previous sender with one of the next two teams would keep these from playing each other."""
    async with (
        running(make_contest(tmp_path, teams=4, **TARGET), StartCondition(now=True)) as server,
        aclosing(runner_at(server)) as runner,
    ):
        for number in ["5.3", "6.1"] * 4:  # each team is in the lobby once
            await runner.run(CASES[number])


async def test_an_unanswered_question_is_answered_late_and_no_more(tmp_path: Path, quick: None) -> None:
    """An answer to the last question of a match that the opponent's violation has ended is just late."""
    async with (
        running(make_contest(tmp_path, **TARGET), StartCondition(now=True)) as server,
        aclosing(runner_at(server)) as runner,
    ):
        await runner.run(CASES["8.1"])
        await runner.run(CASES["8.4"])


async def test_a_server_that_passes_on_notes_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = GetStep.to_fields
    monkeypatch.setattr(GetStep, "to_body", lambda *_: None)
    monkeypatch.setattr(GetStep, "to_fields", lambda self: {**fields(self), "notes": {"say": "I win"}})
    async with (
        running(make_contest(tmp_path, **TARGET), StartCondition(now=True)) as server,
        aclosing(runner_at(server)) as runner,
    ):
        with pytest.raises(NotAsExpected, match="the opponent received the notes, in get_step"):
            await runner.run(CASES["12.1"])


# --- what cannot be run ---------------------------------------------------------------------------------------


async def test_without_teams_only_cases_before_login_can_run(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server:
        runner = CaseRunner(Address("127.0.0.1", server.port))
        await runner.run(CASES["1.1"])
        for number, missing in [
            ("3.1", "credentials"),
            ("6.1", "credentials"),
            ("10.1", "classic"),
            ("11.1", "cred"),
        ]:
            with pytest.raises(NotRun, match=f"needs .*{missing}"):
                await runner.run(CASES[number])


async def test_when_no_match_is_left_it_says_so(tmp_path: Path, quick: None) -> None:
    async with (
        running(make_contest(tmp_path, teams=2, **TARGET), StartCondition(now=True)) as server,
        aclosing(runner_at(server)) as runner,
    ):
        for number in ("8.1", "8.2"):
            await runner.run(CASES[number])
        with pytest.raises(NotRun, match="no match is left"):
            await runner.run(CASES["8.3"])
        # Before its welcome or after it, as far as the server has come in saying goodbye
        with pytest.raises((NotRun, NotAsExpected), match="contest_over"):
            await runner.run(CASES["3.1"])


# --- servers that do not hold ---------------------------------------------------------------------------------

HELLO = Connection(Role.SERVER).send(Hello([1], "0" * 32, "fake", "fake"))
Serve = Callable[[trio.SocketStream], Awaitable[Any]]


async def says_nothing(stream: trio.SocketStream) -> None:
    await trio.sleep_forever()


async def greets_only(stream: trio.SocketStream) -> None:
    await stream.send_all(HELLO)
    await trio.sleep_forever()


async def greets_and_closes(stream: trio.SocketStream) -> None:
    await stream.send_all(HELLO)
    await stream.aclose()


async def takes_all_for_one_thing(stream: trio.SocketStream) -> None:
    wire = Connection(Role.SERVER)
    await stream.send_all(wire.send(Hello([1], "0" * 32, "fake", "fake")))
    await stream.receive_some(1)
    await stream.send_all(wire.send(Goodbye("flood", "", None)))
    await stream.send_eof()
    async for _ in stream:
        pass


async def speaks_another_protocol(stream: trio.SocketStream) -> None:
    await stream.send_all(struct.pack(">I", 1 << 20))
    await trio.sleep_forever()


@pytest.mark.parametrize(
    "serve", [says_nothing, greets_only, greets_and_closes, takes_all_for_one_thing, speaks_another_protocol]
)
async def test_a_server_that_breaks_the_protocol_is_noticed(serve: Serve) -> None:
    async with trio.open_nursery() as nursery:
        listener = (await nursery.start(trio.serve_tcp, guarded(serve), 0))[0]
        port = listener.socket.getsockname()[1]
        times = Times(login=0.2, frame=0.2, linger=0.1, grace=0.2, prompt=0.2)

        async def attack(case: Case) -> None:
            with pytest.raises(NotAsExpected):
                await CaseRunner(Address("127.0.0.1", port), times=times).run(case)

        async with trio.open_nursery() as attacks:
            for case in CATALOGUE:
                if case.sender is SenderKind.UNAUTHENTICATED and case.expected.goodbye is not None:
                    attacks.start_soon(attack, case)
        nursery.cancel_scope.cancel()


def guarded(serve: Serve) -> Serve:
    async def handler(stream: trio.SocketStream) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            await serve(stream)

    return handler


async def test_a_server_that_is_not_there_is_noticed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NotAsExpected, match="refused"):
        await CaseRunner(Address("127.0.0.1", port)).run(CASES["1.1"])


def nothing(*_: Any, **__: Any) -> None:
    """Do nothing, in place of a part of the server."""


def taken(*_: Any, **__: Any) -> bool:
    """Do nothing, in place of a part of the server."""
    return False


TOO_LATE = 30.0
"""A time limit in seconds that no case waits for."""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("number", "owner", "name", "instead"),
    [
        ("8.1", Seat, "violation", nothing),
        ("5.1", Seat, "attach", nothing),
        ("5.1", wire_connection.WireConnection, "_wrong_login", nothing),
        ("9.7", registry.ConnectionRegistry, "evict_oldest", taken),
        ("1.8", connection, "LOGIN_SECONDS", TOO_LATE),
        ("1.9", connection, "LOGIN_SECONDS", 0.1),
        ("3.33", connection, "FRAME_SECONDS", TOO_LATE),
        ("3.34", connection, "FRAME_SECONDS", 0.1),
        ("10.1", classic, "CLASSIC_REFUSAL_SECONDS", 0.0),
        ("11.16", classic, "MAX_STALE_ANSWERS", 2**31),
    ],
)
async def test_a_protection_that_is_missing_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str, owner: Any, name: str, instead: Any
) -> None:
    times = dataclasses.replace(QUICK, linger=0.1, grace=0.5)
    if instead == TOO_LATE:
        times = dataclasses.replace(times, login=0.1, frame=0.1)
    async with (
        running(make_contest(tmp_path, **TARGET), StartCondition(now=True)) as server,
        aclosing(runner_at(server, times)) as runner,
    ):
        monkeypatch.setattr(connection, "LOGIN_SECONDS", 5.0 if number == "9.7" else QUICK.login)
        monkeypatch.setattr(owner, name, instead)
        with pytest.raises((NotAsExpected, NotRun)):
            await runner.run(CASES[number])


# --- the command ----------------------------------------------------------------------------------------------


def test_the_list_and_the_help_are_as_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run_command(["attack", "--list"]) == 0
    assert_golden("attack-list", capsys.readouterr().out)
    with pytest.raises(SystemExit):
        run_command(["attack", "--help"])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    usage, rest = text.split("\n\n", maxsplit=1)
    assert_golden("help-attack", f"{' '.join(usage.split())}\n\n{rest}")


def test_other_commands_do_not_load_the_cases() -> None:
    program = """
import sys
from getstep_server.cli.main import run_command
for words in ("--help", "run --help", "standings --help"):
    try:
        run_command(words.split())
    except SystemExit:
        assert not [name for name in sys.modules if name.startswith("getstep_conformance")], words
    else:
        raise AssertionError(words)
"""
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)


def test_list_shows_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["attack", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(CASES)
    assert "goodbye oversize_frame" in lines[2]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7777", Address("127.0.0.1", 7777)),
        ("127.9.9.9:1", Address("127.9.9.9", 1)),
        ("[::1]:7777", Address("::1", 7777)),
        ("localhost:65535", Address("127.0.0.1", 65535)),
    ],
)
def test_loopback_addresses(text: str, address: Address) -> None:
    assert loopback(text) == address


@pytest.mark.parametrize(
    "text",
    ["10.0.0.1:7777", "0.0.0.0:7777", "[::]:7777", "[fe80::1]:7777", "8.8.8.8:53", "[::ffff:8.8.8.8]:53"],
)
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected a loopback address"):
        loopback(text)


def test_a_name_with_another_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 7777)) for host in ("127.0.0.1", "192.168.1.20")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)
    with pytest.raises(ConfigError, match=r"is 192\.168\.1\.20"):
        loopback("contest.example:7777")


@pytest.mark.parametrize("text", ["127.0.0.1", ":7777", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:http"])
def test_invalid_addresses_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected HOST:PORT"):
        loopback(text)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["10.0.0.1:7777"],
        ["127.0.0.1:7777", "--classic", "10.0.0.1:8888"],
        ["127.0.0.1:7777", "--case", "99.1"],
        ["127.0.0.1:7777", "--team", "1"],
        [*["127.0.0.1:7777", "--team", "1", "--token", "x", "--opponent", "1", "--opponent-token", "y"]],
    ],
)
def test_a_wrong_command(arguments: list[str]) -> None:
    assert run_command(["attack", *arguments]) == 2


async def test_the_command_runs_the_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(make_contest(tmp_path, **TARGET), StartCondition(now=True)) as server:
        where = f"127.0.0.1:{server.port}"
        teams = f"--team 1 --token {token_of(1)} --opponent 2 --opponent-token {token_of(2)}".split()

        async def attack(*arguments: str) -> tuple[int, str]:
            code = await trio.to_thread.run_sync(run_command, ["attack", where, *arguments])
            return code, capsys.readouterr().out

        code, text = await attack("--case", "2", "--case", "1.1")
        assert code == 0
        assert "only cases without a login are run" in text
        assert "10 cases ok, 0 not as expected, 0 not run" in text
        code, text = await attack("--case", "8.1", *teams)
        assert (code, server.recorder.of(MatchEnded)[0].result.reason) == (0, "hostile")
        code, text = await attack("--case", "6.1")
        assert code == 1
        assert "needs the credentials of two teams" in text
        session_code = server.recorder.of(Incident)[-1].code
        assert session_code == "out_of_turn"


async def test_the_command_fails_if_something_is_not_as_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(make_contest(tmp_path)) as server:
        code = await trio.to_thread.run_sync(run_command, ["attack", f"127.0.0.1:{server.port}", "--case", "4.9"])
        assert code == 0
        monkeypatch.setattr(connection.ClientConnection, "_violation", lambda self, code, detail: self._stop(code))
        code = await trio.to_thread.run_sync(run_command, ["attack", f"127.0.0.1:{server.port}", "--case", "4.9"])
        assert code == 1
        text = capsys.readouterr().out
        assert (
            "NOT AS EXPECTED  an unauthenticated connection: no team: closed, expected goodbye; received hello"
            in text
        )


async def test_with_few_matches_the_cases_that_lose_one_come_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(make_contest(tmp_path, **TARGET), StartCondition(now=True)) as server:
        teams = f"--team 1 --token {token_of(1)} --opponent 2 --opponent-token {token_of(2)}".split()
        arguments = ["attack", f"127.0.0.1:{server.port}", *teams, "--case", "8", "--case", "2.1", "--case", "6.1"]
        assert await trio.to_thread.run_sync(run_command, arguments) == 1  # five of group 8 are left out
        lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()[1:-1]]
        assert [number for number, *_ in lines[:4]] == ["2.1", "8.8", "6.1", "8.1"]
        assert [verdict for _, verdict, _ in lines] == ["ok"] * 5 + ["not"] * 5
