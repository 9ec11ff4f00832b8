"""A part of the server that raises ends one connection or replays one match, and nothing else: layer by layer."""

from __future__ import annotations

import contextlib
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep.referee import MatchState
from getstep.wire import Connection, End, GetStep, Goodbye, Role, Start, _frames
from getstep.wire.classic import ClassicReader
from getstep_engines.linkage import LinkageState
from getstep_server.errors import ContestStopped
from getstep_server.events import Bus, Event, MatchEnded, MovePlayed, ServerFault, TeamArrived, TeamLeft
from getstep_server.incident import Incident
from getstep_server.limits import MATCH_ATTEMPTS
from getstep_server.net import connection, wire_connection
from getstep_server.net.classic import ClassicConnection
from getstep_server.net.registry import ConnectionRegistry
from getstep_server.net.seat import Seat
from getstep_server.play import judge
from getstep_server.play.mailbox import MatchMailbox
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.records.record import Record
from getstep_server.runtime import director
from getstep_server.runtime.contest_log import ContestLog
from getstep_server.runtime.run import run_contest
from getstep_server.runtime.run_log import EventThrottle
from getstep_server.runtime.start import StartCondition
from getstep_server.storage.journal import Journal
from getstep_server.storage.store import Store
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Player, Running, connected, running, seated

SHORT = {"game": "linkage"}  # at most 24 turns


class Injected(Exception):  # noqa: N818 - a fault, by its own name
    """The failures that the tests inject into the server."""


def failing(
    real: Callable[..., Any], times: int, when: Callable[..., bool] = lambda *_: True
) -> Callable[..., Any]:
    """``real``, but the first ``times`` calls for which ``when`` holds raise."""
    left = times

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        if left and when(*args):
            left -= 1
            raise Injected
        return real(*args, **kwargs)

    return wrapped


def inject(patch: pytest.MonkeyPatch, owner: Any, name: str, times: int = 1, when: Any = lambda *_: True) -> None:
    """Make a function of the server raise."""
    patch.setattr(owner, name, failing(getattr(owner, name), times, when))


def called_from(name: str) -> bool:
    """Return True if a function of this name calls the injected one: the test's own client decodes messages too."""
    return sys._getframe(3).f_code.co_name == name


async def play(server: Running, team: int, goodbyes: list[Any] | None = None) -> None:
    """Play a team's matches honestly, and come back whenever the server closes without goodbye."""
    goodbye = None
    while goodbye is None:
        async with connected(server.port) as player:
            await player.join(team)
            goodbye = await player.play()
    if goodbyes is not None:
        goodbyes.append(goodbye)


async def play_all(server: Running) -> None:
    """Let every team play to the end of the contest."""
    goodbyes: list[Any] = []
    async with trio.open_nursery() as nursery:
        for team in server.contest.teams:
            nursery.start_soon(play, server, team, goodbyes)
    await server.finished()
    assert [goodbye.reason for goodbye in goodbyes] == ["contest_over"] * len(server.contest.teams)


def check_only_fault(server: Running, faults: int = 1) -> None:
    """Check that the contest ended by the rules of the game, with this many faults of the server on record."""
    recorder = server.recorder
    assert len(recorder.of(ServerFault)) == faults
    assert all("Injected" in fault.trace for fault in recorder.of(ServerFault))
    assert recorder.of(Incident) == []
    results = [ended.result for ended in recorder.of(MatchEnded)]
    pairs = len(server.contest.teams) * (len(server.contest.teams) - 1)
    assert sorted(result.match.number for result in results) == list(range(1, pairs + 1))
    assert {result.reason for result in results} == {"finished"}
    assert all(result.faults == (0, 0) for result in results)


# --- what ends one connection ---------------------------------------------------------------------------------

STEP = b"\xa4step"

BY_STEP: dict[str, tuple[Any, str, Callable[..., bool]]] = {
    "wire: the short cut": (_frames, "read_step", lambda data, _: STEP in data),
    "wire: cutting frames": (_frames.FrameReader, "next_body", lambda self: STEP in self.rest),
    "wire: decoding": (_frames, "decode", lambda body: STEP in body and called_from("_next_event")),
    "wire: the conversation": (
        Connection,
        "_handle",
        lambda self, fields: self.role is Role.SERVER and fields["type"] == "step",
    ),
    "session: receiving": (wire_connection.WireConnection, "_received", lambda self, data, at: STEP in data),
    "session: deadlines": (connection.ClientConnection, "_set_deadline", lambda self, *_: self.seat is not None),
    "seat: taking an answer": (Seat, "answer", lambda *_: True),
    "table: putting": (MatchMailbox, "put", lambda *_: True),
}


@pytest.mark.parametrize("layer", BY_STEP)
async def test_it_ends_the_connection_that_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    owner, name, when = BY_STEP[layer]
    if layer in ("wire: cutting frames", "wire: decoding", "wire: the conversation"):
        monkeypatch.setattr(_frames, "read_step", lambda *_: _frames.NO_MOVE)
    async with running(make_contest(tmp_path, teams=3, event=SHORT)) as server:
        inject(monkeypatch, owner, name, when=when)
        await play_all(server)
    assert [left.why for left in server.recorder.of(TeamLeft)].count("server fault") == 1
    assert len(server.recorder.of(TeamArrived)) == 4  # three teams, one of them twice
    check_only_fault(server)


BY_LOGIN = {
    "session: constructing": (wire_connection.WireConnection, "__init__"),
    "session: running": (connection.ClientConnection, "_live"),
    "session: greeting": (wire_connection.WireConnection, "_greet"),
    "session: encoding": (wire_connection.WireConnection, "_encode"),
    "session: admitting": (ConnectionRegistry, "over_limit"),
    "session: checking the login": (wire_connection.WireConnection, "_wrong_login"),
    "seat: attaching": (Seat, "attach"),
}


@pytest.mark.parametrize("layer", BY_LOGIN)
async def test_it_ends_the_connection_that_logs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    async with running(make_contest(tmp_path)) as server, seated(server.port, 1) as one:
        with monkeypatch.context() as patch:
            inject(patch, *BY_LOGIN[layer])
            async with connected(server.port) as unlucky:
                with contextlib.suppress(AssertionError):  # closed before it could join
                    await unlucky.join(2)
                while await unlucky.next() is not None:
                    pass
            fault = await server.recorder.wait_for(ServerFault)
            assert "Injected" in fault.trace
        async with seated(server.port, 2):
            await one.until(Start)
        assert [arrived.team for arrived in server.recorder.of(TeamArrived)] == [1, 2]
        assert all(left.team == 2 for left in server.recorder.of(TeamLeft))


async def test_a_hostile_act_that_cannot_be_handled_ends_that_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(make_contest(tmp_path)) as server, seated(server.port, 1) as one:
        inject(monkeypatch, Seat, "violation")
        async with seated(server.port, 2) as two:
            await two.until(Start)
            await two.say_bytes(struct.pack(">I", 0))
            while await two.next() is not None:
                pass
        await server.recorder.wait_for(ServerFault)
        async with seated(server.port, 2) as two:
            assert (await two.until(Start)).resumed
            question = await one.until(GetStep) if (await one.until(Start)).is_black else await two.until(GetStep)
            assert question.move_number == 1


# --- what replays one match -------------------------------------------------------------------------------------

BY_MATCH: dict[str, tuple[Any, ...]] = {
    "engine: playing a move": (LinkageState, "play"),
    "engine: the board": (LinkageState, "board"),
    "judge: sitting down": (judge, "seat_players"),
    "judge: a verdict": (judge, "answered"),
    "judge: a turn": (judge, "_turn"),
    "director: the result's words": (director, "end_message"),
    "seat: asking": (Seat, "ask"),
    "table: waiting": (MatchMailbox, "play"),
    "store: writing": (Store, "save", 1, lambda _, record, *__: record.match is not None),
    "store: writing pairings": (Store, "save", 1, lambda _, record, *__: record.match is None),
    "store: its thread": (Store, "_run_async"),
    "course: a move": (MatchState, "move"),
    "sheet: beginning": (Scoresheet, "begin"),
    "sheet: a turn": (Scoresheet, "write"),
    "sheet: the record": (Scoresheet, "record"),
    "journal: a line": (Journal, "append"),
}


@pytest.mark.parametrize("layer", BY_MATCH)
async def test_it_replays_the_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str) -> None:
    ends: list[End] = []
    real = Player.next

    async def noting(self: Player) -> Any:
        message = await real(self)
        if isinstance(message, End):
            ends.append(message)
        return message

    monkeypatch.setattr(Player, "next", noting)
    inject(monkeypatch, *BY_MATCH[layer])
    async with running(make_contest(tmp_path, teams=4, event=SHORT)) as server:
        await play_all(server)
    check_only_fault(server)
    assert len(server.recorder.of(TeamArrived)) == 4  # nobody lost its connection
    void = [end for end in ends if end.result == "void"]
    told_nothing = layer in (
        *("judge: sitting down", "sheet: beginning", "journal: a line"),
        *("store: writing pairings", "store: its thread"),  # it is done again before anybody sits down
    )
    assert len({end.match for end in void}) == (not told_nothing)
    assert {end.reason for end in void} <= {"server_fault"}


@pytest.mark.parametrize("kind", ["settings", "pairings", "game"])
async def test_a_match_that_always_fails_stops_the_contest_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    concerned = f'"type":"{kind}"'.encode()

    def concerns(_: Store, *records: Record, **__: Any) -> bool:
        return any(concerned in record.header for record in records)

    inject(monkeypatch, Store, "save", times=1000, when=concerns)
    contest, faults, bus = make_contest(tmp_path, event=SHORT), [], Bus()
    ports: list[int] = []

    def note(event: Any) -> None:
        if isinstance(event, ServerFault):
            faults.append(event)
        ports.append(getattr(event, "port", 0))

    bus.subscribe(note)

    async def join(team: int) -> None:
        while not any(ports):
            await trio.sleep(0.01)
        async with seated(max(ports), team) as player:
            await player.play()

    with (
        trio.fail_after(PATIENCE_SECONDS),
        pytest.RaisesGroup(ContestStopped, flatten_subgroups=True),
    ):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_contest, contest, bus, StartCondition())
            nursery.start_soon(join, 1)
            nursery.start_soon(join, 2)
    expected = ["match 1", "the record of void match 1"] if kind == "game" else [f"the record of {kind}"]
    assert [fault.where for fault in faults] == expected * MATCH_ATTEMPTS


# --- what ends nothing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [TeamArrived, MovePlayed, MatchEnded, Event])
async def test_a_consumer_that_raises_ends_nothing(tmp_path: Path, kind: Any) -> None:
    contest = make_contest(tmp_path, event=SHORT)
    calls: list[Event] = []

    def consumer(event: Event) -> None:
        calls.append(event)
        if isinstance(event, kind):
            raise Injected

    async with running(contest, consumers=[consumer]) as server:
        await play_all(server)
    check_only_fault(server)  # told once, however often it raises
    assert [type(event) for event in calls] == [type(event) for event in server.recorder.events]


async def test_a_consumer_that_fails_on_its_own_failure_is_reported_once() -> None:
    bus = Bus()
    received: list[Any] = []

    def broken(event: Event) -> None:
        raise Injected

    for consumer in (broken, received.append, failing(received.append, 100)):
        bus.subscribe(consumer)
    bus.publish(TeamLeft(1, "x"))
    assert [type(event) for event in received] == [TeamLeft, ServerFault, ServerFault]
    assert "broken" in received[1].where


BESIDE: dict[str, tuple[Any, str]] = {
    "the log": (ContestLog, "__call__"),
    "the counting of repeats": (EventThrottle, "__call__"),
    "the record of incidents": (Store, "_write_incidents"),
}


@pytest.mark.parametrize("layer", BESIDE)
async def test_a_failure_beside_the_matches_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    inject(monkeypatch, *BESIDE[layer])
    async with running(make_contest(tmp_path, event=SHORT)) as server:
        async with connected(server.port) as wrong:
            await wrong.join(1, token="wrong")
            await wrong.until(Goodbye)
        await play_all(server)
    (fault,) = server.recorder.of(ServerFault)
    assert "Injected" in fault.trace
    assert [incident.code for incident in server.recorder.of(Incident)] == ["bad_token"]
    assert [ended.result.reason for ended in server.recorder.of(MatchEnded)] == ["finished"] * 2
    assert len(server.recorder.of(TeamArrived)) == 2


# --- the classic wire ---------------------------------------------------------------------------------------------

CLASSIC: dict[str, tuple[Any, str]] = {
    "constructing": (ClassicConnection, "__init__"),
    "reading": (ClassicReader, "feed"),
    "cutting": (ClassicReader, "next_answer"),
    "logging in": (ClassicConnection, "_login"),
    "encoding": (ClassicConnection, "_encode"),
    "answering": (ClassicConnection, "_answered"),
    "parting": (ClassicConnection, "_linger"),
}


@pytest.mark.parametrize("layer", CLASSIC)
async def test_a_classic_connection_is_one_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    contest = make_contest(tmp_path, contest={"seed": 0}, server={"classic_port": 0})  # team 2 moves first
    async with running(contest, StartCondition(now=True)) as server:
        assert server.classic_port is not None
        async with seated(server.port, 1) as one:
            inject(monkeypatch, *CLASSIC[layer])
            with trio.fail_after(PATIENCE_SECONDS):
                stream = await trio.open_tcp_stream("127.0.0.1", server.classic_port)
                await stream.send_all(struct.pack("<i", 2))
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_answer_once, stream)
                    fault = await server.recorder.wait_for(ServerFault)
                    nursery.cancel_scope.cancel()
            assert "Injected" in fault.trace
            monkeypatch.undo()
            async with seated(server.port, 2) as two:
                starts = [await one.until(Start), await two.until(Start)]
                assert starts[0].match == starts[1].match
        assert all(left.team == 2 for left in server.recorder.of(TeamLeft)[:-2])


async def _answer_once(stream: trio.SocketStream) -> None:
    """Answer one question, if there is one before the server closes, and leave."""
    async with stream:
        data = b""
        while len(data) < 268 and (more := await stream.receive_some(268 - len(data))):
            data += more
        if len(data) == 268:
            (move_id,) = struct.unpack_from("<i", data, 4)
            await stream.send_all(struct.pack("<2i", 0, move_id))
