"""Every hostile case against a real server; and that the runner would notice if the server did not hold."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep.wire import Connection, Goodbye, Hello, Role
from getstep_engines import GAMES
from getstep_server import classic, session
from getstep_server._text import printable
from getstep_server._toml import ConfigError
from getstep_server.attack import (
    CASES,
    Address,
    Case,
    Credential,
    NotAsExpected,
    NotRun,
    Stage,
    Times,
    Who,
    loopback,
)
from getstep_server.attack._case import order
from getstep_server.attack._cases import CATALOGUE
from getstep_server.cli import run_command
from getstep_server.contest import Contest
from getstep_server.events import Incident, MatchEnded, MovePlayed, ServerFault
from getstep_server.run import StartWhen
from getstep_server.seats import Seat
from tests.sdk.conversations import rows
from tests.server.players import Recorder, Running, make_contest, running, token_of

QUICK = Times(login=2.0, frame=0.3, refusal=0.2)
TARGET: dict[str, Any] = {"server": {"classic_port": 0}, "start": {"absent_seconds": 3600}}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that waits as long as `QUICK` says."""
    monkeypatch.setattr(session, "LOGIN_SECONDS", QUICK.login)
    monkeypatch.setattr(session, "FRAME_SECONDS", QUICK.frame)
    monkeypatch.setattr(classic, "CLASSIC_REFUSAL_SECONDS", QUICK.refusal)


def target(folder: Path, case: Case, **tables: Any) -> Contest:
    """A contest made to be attacked; where a limit has to be missed, it is short."""
    seconds = 0.6 if case.title.startswith("a late answer") else 5.0
    return make_contest(folder, **TARGET, event={"move_seconds": seconds}, **tables)


def stage_at(server: Running, times: Times = QUICK) -> Stage:
    teams = [Credential(team, token_of(team)) for team in server.contest.teams]
    classic_port = None if server.classic_port is None else Address("127.0.0.1", server.classic_port)
    return Stage(Address("127.0.0.1", server.port), teams, classic_port, times)


# --- the catalogue --------------------------------------------------------------------------------------------


def test_there_are_many_cases_and_no_number_twice() -> None:
    numbers = [case.number for case in CATALOGUE]
    assert len(numbers) == len(CASES) >= 60
    assert numbers == sorted(numbers, key=order)


def test_every_hostile_code_is_expected_by_a_case() -> None:
    codes = {code.strip("`") for code, _ in rows("### Hostile codes")}
    expected = {case.expected.recorded for case in CATALOGUE}
    assert codes <= expected


def test_every_way_to_be_turned_away_is_expected_by_a_case() -> None:
    expected = {case.expected.goodbye for case in CATALOGUE} | {case.expected.recorded for case in CATALOGUE}
    table = {code.strip("`") for code, _, _, cost in rows("### Goodbye codes") if cost == "recorded"}
    assert table | {"login_timeout", "replaced"} <= expected


def test_everybody_sends_something() -> None:
    assert {case.who for case in CATALOGUE} == set(Who)


# --- each case against a server -------------------------------------------------------------------------------


AT_ONCE = 8
BATCHES = [CATALOGUE[first : first + AT_ONCE] for first in range(0, len(CATALOGUE), AT_ONCE)]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: f"{batch[0].number} to {batch[-1].number}")
async def test_cases(tmp_path: Path, batch: list[Case]) -> None:
    """Each against a server of its own; some at once, because most of it is waiting."""
    await at_once(batch, lambda case: run_case(tmp_path / case.number, case))


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


async def run_case(folder: Path, case: Case) -> None:
    folder.mkdir()
    async with (
        running(target(folder, case, teams=3), StartWhen(now=True)) as server,
        aclosing(stage_at(server)) as stage,
    ):
        await stage.run(case)
        await check_record(server.recorder, case)


async def check_record(recorder: Recorder, case: Case) -> None:
    """What the host has on record: what the case says, nothing else, and nothing that could repaint a terminal."""
    expected = case.expected
    with trio.fail_after(5):
        while expected.recorded is not None and expected.recorded not in codes(recorder):
            await trio.sleep(0.01)
    assert codes(recorder) <= {expected.recorded, expected.goodbye}
    assert recorder.of(ServerFault) == []
    texts = [value for event in recorder.events for value in vars_of(event) if isinstance(value, str)]
    assert texts == [printable(text) for text in texts]
    lost = [ended.result.reason for ended in recorder.of(MatchEnded)]
    assert lost == ["hostile"] * (case.who.plays and expected.match == "lost")


def codes(recorder: Recorder) -> set[str]:
    return {incident.code for incident in recorder.of(Incident)}


def vars_of(event: Any) -> list[Any]:
    if isinstance(event, MovePlayed):
        return list(event)
    return [getattr(event, field.name) for field in dataclasses.fields(event)]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("game", [game for game in GAMES if game != "hop"])
async def test_cases_in_another_game(tmp_path: Path, game: str) -> None:
    time = {"budget_seconds": 1.0} if game == "pseudo_tonga" else {"move_seconds": 1.0}

    async def run(case: Case) -> None:
        folder = tmp_path / case.number
        folder.mkdir()
        contest = make_contest(folder, event={"game": game, **time}, start={"absent_seconds": 3600})
        async with running(contest, StartWhen(now=True)) as server, aclosing(stage_at(server)) as stage:
            await stage.run(case)
            assert server.recorder.of(ServerFault) == []

    await at_once([CASES[number] for number in ("3.3", "6.20", "7.1", "7.8", "7.13", "7.17", "8.1")], run)


async def test_the_clocks_are_protocol_md_s(tmp_path: Path) -> None:
    """Without any limit changed."""
    times = Times(login=10.0, frame=5.0, linger=2.0, refusal=1.0, grace=1.0)

    async def run(case: Case) -> None:
        folder = tmp_path / case.number
        folder.mkdir()
        async with running(make_contest(folder, **TARGET), StartWhen(now=True)) as server:
            async with aclosing(stage_at(server, times)) as stage:
                await stage.run(case)

    await at_once([CASES[number] for number in ("1.8", "1.9", "3.33", "3.35", "10.1", "10.7")], run)


async def test_one_after_the_other(tmp_path: Path, quick: None) -> None:
    """Pairs of teams are used up, and their matches are told apart from each other's."""
    numbers = ["8.1", "8.2", "3.1", "6.1", "8.3", "5.13", "7.13", "11.1", "11.9", "11.2", "7.9"]
    async with (
        running(make_contest(tmp_path, teams=4, **TARGET), StartWhen(now=True)) as server,
        aclosing(stage_at(server)) as stage,
    ):
        for number in numbers:
            await stage.run(CASES[number])
        lost = [ended.result.reason for ended in server.recorder.of(MatchEnded)].count("hostile")
        assert lost == sum(CASES[number].expected.match == "lost" and CASES[number].who.plays for number in numbers)


async def test_who_stays_from_the_lobby_plays_with_nobody(tmp_path: Path, quick: None) -> None:
    """A match of the one who sent last with one of the next two would keep those from playing each other."""
    async with (
        running(make_contest(tmp_path, teams=4, **TARGET), StartWhen(now=True)) as server,
        aclosing(stage_at(server)) as stage,
    ):
        for number in ["5.3", "6.1"] * 4:  # each team is in the lobby once
            await stage.run(CASES[number])


async def test_what_was_not_answered_is_not_answered_again(tmp_path: Path, quick: None) -> None:
    """The last question of a match that somebody else's hostile act has ended: an answer to it is late, no more."""
    async with (
        running(make_contest(tmp_path, **TARGET), StartWhen(now=True)) as server,
        aclosing(stage_at(server)) as stage,
    ):
        await stage.run(CASES["8.1"])
        await stage.run(CASES["8.4"])


# --- what cannot be run ---------------------------------------------------------------------------------------


async def test_without_teams_only_strangers_are_put_in_place(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server:
        stage = Stage(Address("127.0.0.1", server.port))
        await stage.run(CASES["1.1"])
        for number, missing in [
            ("3.1", "credentials"),
            ("6.1", "credentials"),
            ("10.1", "classic"),
            ("11.1", "cred"),
        ]:
            with pytest.raises(NotRun, match=f"it takes .*{missing}"):
                await stage.run(CASES[number])


async def test_when_no_match_is_left_it_says_so(tmp_path: Path, quick: None) -> None:
    async with (
        running(make_contest(tmp_path, teams=2, **TARGET), StartWhen(now=True)) as server,
        aclosing(stage_at(server)) as stage,
    ):
        for number in ("8.1", "8.2"):
            await stage.run(CASES[number])
        with pytest.raises(NotRun, match="no match is left"):
            await stage.run(CASES["8.3"])
        with pytest.raises(NotRun, match="contest_over"):
            await stage.run(CASES["3.1"])


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
async def test_a_server_that_does_not_hold_is_noticed(serve: Serve) -> None:
    async with trio.open_nursery() as nursery:
        listener = (await nursery.start(trio.serve_tcp, guarded(serve), 0))[0]
        port = listener.socket.getsockname()[1]
        times = Times(login=0.2, frame=0.2, linger=0.1, grace=0.2)

        async def attack(case: Case) -> None:
            with pytest.raises(NotAsExpected):
                await Stage(Address("127.0.0.1", port), times=times).run(case)

        async with trio.open_nursery() as attacks:
            for case in CATALOGUE:
                if case.who is Who.STRANGER and case.expected.goodbye is not None:
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
        await Stage(Address("127.0.0.1", port)).run(CASES["1.1"])


def nothing(*_: Any, **__: Any) -> None:
    """Instead of a part of the server."""


def taken(*_: Any, **__: Any) -> bool:
    """Instead of a part of the server."""
    return False


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("number", "owner", "name", "instead"),
    [
        ("8.1", Seat, "breach", nothing),
        ("5.1", Seat, "attach", nothing),
        ("5.1", session.WireLink, "_wrong_login", nothing),
        ("9.7", session.House, "make_room", taken),
        ("1.8", session, "LOGIN_SECONDS", 30.0),
        ("1.9", session, "LOGIN_SECONDS", 0.1),
        ("3.33", session, "FRAME_SECONDS", 30.0),
        ("3.34", session, "FRAME_SECONDS", 0.1),
        ("10.1", classic, "CLASSIC_REFUSAL_SECONDS", 0.0),
        ("11.16", classic, "CLASSIC_STRAYS", 2**31),
    ],
)
async def test_a_part_that_does_not_hold_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str, owner: Any, name: str, instead: Any
) -> None:
    async with (
        running(make_contest(tmp_path, **TARGET), StartWhen(now=True)) as server,
        aclosing(stage_at(server, dataclasses.replace(QUICK, linger=0.1, grace=0.5))) as stage,
    ):
        monkeypatch.setattr(session, "LOGIN_SECONDS", 5.0 if number == "9.7" else QUICK.login)
        monkeypatch.setattr(owner, name, instead)
        with pytest.raises((NotAsExpected, NotRun)):
            await stage.run(CASES[number])


# --- the command ----------------------------------------------------------------------------------------------


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


def test_a_name_that_is_also_somewhere_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 7777)) for host in ("127.0.0.1", "192.168.1.20")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)
    with pytest.raises(ConfigError, match=r"is 192\.168\.1\.20"):
        loopback("contest.example:7777")


@pytest.mark.parametrize("text", ["127.0.0.1", ":7777", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:http"])
def test_what_is_no_address_is_refused(text: str) -> None:
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
    async with running(make_contest(tmp_path, **TARGET), StartWhen(now=True)) as server:
        where = f"127.0.0.1:{server.port}"
        teams = f"--team 1 --token {token_of(1)} --opponent 2 --opponent-token {token_of(2)}".split()

        async def attack(*arguments: str) -> tuple[int, str]:
            code = await trio.to_thread.run_sync(run_command, ["attack", where, *arguments])
            return code, capsys.readouterr().out

        code, text = await attack("--case", "2", "--case", "1.1")
        assert code == 0
        assert "only the cases of strangers are run" in text
        assert "10 cases ok, 0 not as expected, 0 not run" in text
        code, text = await attack("--case", "8.1", *teams)
        assert (code, server.recorder.of(MatchEnded)[0].result.reason) == (0, "hostile")
        code, text = await attack("--case", "6.1")
        assert code == 1
        assert "it takes the credentials of two teams" in text
        session_code = server.recorder.of(Incident)[-1].code
        assert session_code == "out_of_turn"


async def test_the_command_fails_if_something_is_not_as_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(make_contest(tmp_path)) as server:
        code = await trio.to_thread.run_sync(run_command, ["attack", f"127.0.0.1:{server.port}", "--case", "4.9"])
        assert code == 0
        monkeypatch.setattr(session.WireLink, "_breach", lambda self, code, detail: self._stop(code))
        code = await trio.to_thread.run_sync(run_command, ["attack", f"127.0.0.1:{server.port}", "--case", "4.9"])
        assert code == 1
        text = capsys.readouterr().out
        assert "NOT AS EXPECTED  a stranger: no team: closed, expected goodbye; heard hello" in text


async def test_with_few_matches_the_cases_that_lose_one_come_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(make_contest(tmp_path, **TARGET), StartWhen(now=True)) as server:
        teams = f"--team 1 --token {token_of(1)} --opponent 2 --opponent-token {token_of(2)}".split()
        arguments = ["attack", f"127.0.0.1:{server.port}", *teams, "--case", "8", "--case", "2.1", "--case", "6.1"]
        assert await trio.to_thread.run_sync(run_command, arguments) == 1  # five of group 8 are left out
        lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()[1:-1]]
        assert [number for number, *_ in lines[:4]] == ["2.1", "8.8", "6.1", "8.1"]
        assert [verdict for _, verdict, _ in lines] == ["ok"] * 5 + ["not"] * 5
