"""Connections over real loopback sockets: logging in, being replaced, breaking the protocol, being cut off."""

from __future__ import annotations

import errno
import socket
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import msgpack
import pytest
import trio
from msgspec.structs import replace

from getstep.wire import (
    End,
    GetStep,
    Goodbye,
    Hello,
    Join,
    Raised,
    Resign,
    Start,
    Step,
    Welcome,
    sign,
    verify_server,
)
from getstep_server.config.contest import Contest
from getstep_server.events import MatchEnded, MatchStarted, ServerFault, TeamArrived, TeamLeft
from getstep_server.incident import Incident
from getstep_server.net import connection, wire_connection
from getstep_server.net import listener as listening
from getstep_server.net import registry as registry_module
from getstep_server.net.login_queue import LoginQueue
from getstep_server.net.registry import ConnectionRegistry
from getstep_server.net.seat import Seat, seats_of
from getstep_server.runtime.start import StartCondition
from tests.support.contests import make_contest, token_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Player, Recorder, connected, first_legal, running, seated


def frame(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


async def test_hello_names_the_contest_and_a_fresh_nonce(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server:
        nonces = set()
        for _ in range(3):
            async with connected(server.port) as player:
                hello = await player.expect(Hello)
                assert (hello.contest, hello.versions) == ("Test", [1])
                nonces.add(hello.nonce)
        assert len(nonces) == 3


async def test_welcome_lists_the_games(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, event={"game": "pseudo_tonga", "options": {"size": 6}}, time={"lag_ms": 250})
    async with running(contest) as server, connected(server.port) as player:
        welcome = await player.login(2)
        assert (welcome.team, welcome.name, welcome.lag_ms) == (2, "Team 2", 250)
        game = {"game": "pseudo_tonga", "options": {"size": 6}, "time_kind": "budget", "time_ms": 20000}
        assert welcome.games == [game]


CLIENT_NONCE = "f0e1d2c3b4a5968778695a4b3c2d1e0f"


@pytest.mark.parametrize("purpose", ["play", "check"])
async def test_welcome_proves_that_the_server_knows_the_token(tmp_path: Path, purpose: str) -> None:
    async with running(make_contest(tmp_path)) as server, connected(server.port) as player:
        hello = await player.join(2, purpose=purpose, nonce=CLIENT_NONCE)
        welcome = await player.expect(Welcome)
        assert verify_server(token_of(2), hello.nonce, CLIENT_NONCE, welcome.proof)
        assert not verify_server(token_of(1), hello.nonce, CLIENT_NONCE, welcome.proof)


async def test_a_client_that_asks_for_no_proof_gets_the_welcome_of_before(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server, connected(server.port) as player:
        assert "proof" not in (await player.login(2)).to_fields()


async def test_a_wrong_token_gets_no_proof(tmp_path: Path) -> None:
    """A server that proved itself to anybody would help a false server to do the same."""
    async with running(make_contest(tmp_path)) as server, connected(server.port) as player:
        await player.join(1, token="wrong-token", nonce=CLIENT_NONCE)
        assert (await player.expect(Goodbye)).reason == "bad_token"  # and no welcome before it


@pytest.mark.parametrize("signed_with", ["KQ3MX7FD29PT", "kq3m-x7fd-29pt"])
async def test_a_token_that_the_host_has_typed_in_another_form(tmp_path: Path, signed_with: str) -> None:
    """The SDK signs with the canonical form, other clients with what they are given."""
    contest = make_contest(tmp_path)
    contest.teams[2] = replace(contest.teams[2], token="KQ3MX7FD29PT")
    async with running(contest) as server, connected(server.port) as player:
        hello = await player.join(2, token=signed_with, nonce=CLIENT_NONCE)
        welcome = await player.expect(Welcome)
        assert verify_server(signed_with, hello.nonce, CLIENT_NONCE, welcome.proof)


@pytest.mark.parametrize(
    "dialled",
    [
        "127.0.0.1:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "127.0.0.1:7",
        "[::1]:1",
        "203.0.113.7:5",
        "[2001:DB8::7]:17777",
    ],
)
async def test_the_server_proves_that_it_is_at_the_dialled_address(tmp_path: Path, dialled: str) -> None:
    """It is its own, the end of a tunnel on the client's machine, or one that the host has named."""
    contest = make_contest(tmp_path, server={"addresses": ["203.0.113.7", "[2001:db8::7]:17777"]})
    async with running(contest) as server, connected(server.port) as player:
        text = dialled.format(port=server.port)
        hello = await player.join(2, nonce=CLIENT_NONCE, dialled=text)
        assert hello.dialled
        welcome = await player.expect(Welcome)
        assert verify_server(token_of(2), hello.nonce, CLIENT_NONCE, welcome.proof, text)
        assert not verify_server(token_of(2), hello.nonce, CLIENT_NONCE, welcome.proof)


@pytest.mark.parametrize("dialled", ["192.0.2.66:7777", "203.0.113.7:17778", "[2001:db8::7]:7777"])
@pytest.mark.parametrize("purpose", ["play", "check"])
async def test_a_login_for_another_computer_is_refused(tmp_path: Path, dialled: str, purpose: str) -> None:
    """It came through a relay: the computer at that address has passed on every byte."""
    contest = make_contest(tmp_path, server={"addresses": ["203.0.113.7:17777"]})
    async with running(contest) as server, seated(server.port, 1) as seat_holder:
        async with connected(server.port) as player:
            await player.join(1, purpose=purpose, nonce=CLIENT_NONCE, dialled=dialled)
            goodbye = await player.expect(Goodbye)
            assert (goodbye.reason, goodbye.retry_ms) == ("wrong_address", None)
            assert f'addresses = ["{dialled}"] under [server]' in goodbye.detail
            assert await player.next() is None
        assert (await server.recorder.wait_for(Incident)).code == "wrong_address"
        assert server.recorder.of(TeamLeft) == []
        async with seated(server.port, 2):
            await seat_holder.expect(Start)


@pytest.mark.parametrize("changed", [None, "127.0.0.1:{port}"])
async def test_a_relay_cannot_change_what_the_client_has_dialled(tmp_path: Path, changed: str | None) -> None:
    async with running(make_contest(tmp_path)) as server, connected(server.port) as player:
        hello = await player.expect(Hello)
        mac = sign(token_of(1), hello.nonce, "192.0.2.66:7777")
        dialled = changed and changed.format(port=server.port)
        await player.say(Join(1, 1, mac, "relay", "play", CLIENT_NONCE, dialled))
        assert (await player.expect(Goodbye)).reason == "bad_token"


async def test_welcome_and_start_name_the_increment(tmp_path: Path) -> None:
    event = {"game": "pseudo_tonga", "options": {"size": 6}, "budget_seconds": 60.0, "increment_seconds": 0.5}
    contest = make_contest(tmp_path, event=event)
    async with running(contest) as server, seated(server.port, 2), connected(server.port) as player:
        (game,) = (await player.login(1)).games
        times = {"time_kind": "budget", "time_ms": 60_000, "increment_ms": 500}
        assert game == {"game": "pseudo_tonga", "options": {"size": 6}, **times}
        start = await player.expect(Start)
        assert (start.time_kind, start.time_ms, start.increment_ms) == ("budget", 60_000, 500)


@pytest.mark.parametrize(
    ("login", "reason"),
    [
        ({"team": 1, "token": "wrong-token"}, "bad_token"),
        ({"team": 99, "token": "test-token-1"}, "unknown_team"),
        ({"team": 1, "version": 2}, "unsupported_version"),
    ],
)
async def test_a_refused_login_says_why_and_disturbs_nobody(
    tmp_path: Path, login: dict[str, Any], reason: str
) -> None:
    async with running(make_contest(tmp_path)) as server, seated(server.port, 1) as seat_holder:
        async with connected(server.port) as player:
            await player.join(**login)
            goodbye = await player.expect(Goodbye)
            assert (goodbye.reason, goodbye.retry_ms) == (reason, None)
            assert await player.next() is None
        incident = await server.recorder.wait_for(Incident)
        assert (incident.code, incident.address, incident.team) == (reason, "127.0.0.1", None)
        assert server.recorder.of(TeamLeft) == []
        async with seated(server.port, 2):
            await seat_holder.expect(Start)


async def test_a_check_takes_no_seat(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server, seated(server.port, 1) as seat_holder:
        async with connected(server.port) as player:
            await player.join(1, purpose="check")
            await player.expect(Welcome)
            assert (await player.expect(Goodbye)).reason == "checked"
        async with seated(server.port, 2):
            await seat_holder.expect(Start)
        assert server.recorder.of(Incident) == []


async def test_a_check_makes_no_address_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs its team nothing, so it earns no place before the connections of new addresses."""
    teams: list[int] = []
    monkeypatch.setattr(LoginQueue, "remember", lambda self, address, team, seats: teams.append(team))
    async with running(make_contest(tmp_path)) as server:
        async with connected(server.port) as player:
            await player.join(1, purpose="check")
            await player.until(Goodbye)
        async with seated(server.port, 2):
            assert teams == [2]


async def test_a_newer_login_takes_the_seat_during_a_match(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server:
        async with seated(server.port, 1) as one, seated(server.port, 2) as two:
            players = {True: one, False: two}
            black = players[(await one.expect(Start)).is_black]
            question = await black.until(GetStep)
            team = 1 if black is one else 2
            async with seated(server.port, team) as newer:
                assert (await black.until(Goodbye)).reason == "replaced"
                start = await newer.expect(Start)
                again = await newer.expect(GetStep)
                assert start.resumed
                assert (again.id, again.board) == (question.id, question.board)
                await newer.say(Step(again.id, first_legal(start, again)))
                other = two if black is one else one
                assert (await other.until(GetStep)).move_number == 2
        assert len(server.recorder.of(TeamArrived)) == 3


HOSTILE_FRAMES = {
    "empty_frame": frame(b""),
    "oversize_frame": struct.pack(">I", 5000),
    "bad_msgpack": frame(b"\xc1"),
    "too_deep": frame(b"\x81\xa4type" + b"\x91" * 20),
    "too_large": frame(b"\x81\xa4type\xdd\xff\xff\xff\xff"),
    "not_a_map": frame(b"\x90"),
    "bad_key": frame(b"\x81\x01\x02"),
    "duplicate_key": frame(b"\x82\xa1a\x01\xa1a\x01"),
    "unknown_type": frame(msgpack.packb({"type": "hello"})),
    "out_of_turn": frame(msgpack.packb({"type": "step", "id": 1, "move": None})),
    "out_of_order": frame(msgpack.packb({"type": "join", "version": 1, "team": 1, "mac": "0" * 64, "client": ""})),
}


@pytest.mark.parametrize("code", HOSTILE_FRAMES)
async def test_a_hostile_frame_out_of_turn_loses_the_match(tmp_path: Path, code: str) -> None:
    async with running(make_contest(tmp_path)) as server:
        async with seated(server.port, 1) as one, seated(server.port, 2) as two:
            start = await one.expect(Start)
            white, team = (two, 2) if start.is_black else (one, 1)
            await white.say_bytes(HOSTILE_FRAMES[code])
            goodbye = await white.until(Goodbye)
            assert (goodbye.reason, goodbye.retry_ms) == (code, 1000)
            assert await white.next() is None
            end = await (one if white is two else two).until(End)
            assert (end.result, end.reason) == ("win", "hostile")
        incident = await server.recorder.wait_for(Incident)
        assert (incident.code, incident.team) == (code, team)
        assert incident.first_bytes == HOSTILE_FRAMES[code][: connection.FIRST_BYTES].hex(" ")


async def test_two_answers_in_one_segment_lose(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server:
        async with seated(server.port, 1) as one, seated(server.port, 2) as two:
            start = await one.expect(Start)
            black = one if start.is_black else two
            question = await black.until(GetStep)
            step = msgpack.packb({"type": "step", "id": question.id, "move": first_legal(start, question)})
            await black.say_bytes(frame(step) * 2)
            assert (await black.until(Goodbye)).reason == "out_of_turn"
        ended = await server.recorder.wait_for(MatchEnded)
        assert ended.result.reason == "hostile"


async def test_a_drip_does_not_start_the_count_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "FRAME_SECONDS", 0.3)

    async def drip(player: Player) -> None:
        await player.say_bytes(struct.pack(">I", 4000))
        while True:
            await player.say_bytes(b"\x81")
            await trio.sleep(0.01)

    async with running(make_contest(tmp_path)) as server, seated(server.port, 1) as one:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(drip, one)
            incident = await server.recorder.wait_for(Incident)
            nursery.cancel_scope.cancel()
        assert (incident.code, incident.team) == ("slow_frame", 1)


async def test_a_slow_frame_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "FRAME_SECONDS", 0.2)
    async with running(make_contest(tmp_path)) as server, seated(server.port, 1) as one, seated(server.port, 2):
        await one.say_bytes(struct.pack(">I", 100) + b"\x81")
        assert (await one.until(Goodbye)).reason == "slow_frame"


async def test_a_client_that_does_not_join_is_disconnected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LOGIN_SECONDS", 2.0)
    async with running(make_contest(tmp_path)) as server, connected(server.port) as player:
        await player.expect(Hello)
        await player.say_bytes(b"\0\0")  # a drip is no login
        assert (await player.expect(Goodbye)).reason == "login_timeout"
        assert await player.next() is None


async def test_closing_inside_a_frame_is_recorded_and_costs_no_match(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server:
        async with seated(server.port, 1) as one, seated(server.port, 2) as two:
            start = await one.expect(Start)
            black = one if start.is_black else two
            question = await black.until(GetStep)
            await black.say_bytes(b"\0\0\0\x10abc")
            await black.close()
            assert (await server.recorder.wait_for(Incident)).code == "truncated_frame"
            await server.recorder.wait_for(TeamLeft)
            async with seated(server.port, 1 if start.is_black else 2) as back:
                assert (await back.until(GetStep)).id == question.id
        assert server.recorder.of(MatchEnded) == []


async def test_a_reset_ends_one_connection_only(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server:
        async with seated(server.port, 1) as one, seated(server.port, 2) as two:
            for _ in range(5):
                newcomer = await trio.open_tcp_stream("127.0.0.1", server.port)
                newcomer.socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, struct.pack("ii", 1, 0))
                newcomer.socket.close()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one.play)
                nursery.start_soon(two.play)
                await server.finished()
    assert [ended.result.reason for ended in server.recorder.of(MatchEnded)] == ["finished"] * 2
    assert server.recorder.of(ServerFault) == []


async def test_a_peer_that_never_reads_loses_its_connection_at_once(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        recorder = Recorder()
        contest = make_contest(tmp_path)
        registry = ConnectionRegistry(contest, {}, recorder)
        wire = wire_connection.WireConnection(registry, ours, "127.0.0.1")
        wire.seat = Seat(contest.teams[1], recorder)
        wire.seat.attach(wire)
        wire._encode = lambda message: b"x" * 1000  # type: ignore[method-assign]  # frames of a known size
        with trio.fail_after(PATIENCE_SECONDS):
            while not recorder.of(Incident):
                wire.send(Goodbye("x", "x", None))
        (incident,) = recorder.of(Incident)
        assert (incident.code, incident.team) == ("never_reads", 1)
        assert not wire.seat.connected


async def test_a_handler_that_raises_ends_one_connection_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = wire_connection.WireConnection._login

    def broken(self: wire_connection.WireConnection, join: Any) -> None:
        if join.client == "test player" and join.team == 2:
            raise ZeroDivisionError("injected")
        real(self, join)

    async with running(make_contest(tmp_path, teams=3)) as server, seated(server.port, 1) as one:
        monkeypatch.setattr(wire_connection.WireConnection, "_login", broken)
        async with connected(server.port) as player:
            await player.join(2)
            assert await player.next() is None
        fault = await server.recorder.wait_for(ServerFault)
        assert "injected" in fault.trace
        monkeypatch.undo()
        async with seated(server.port, 2), seated(server.port, 3):
            await server.recorder.wait_for(MatchStarted)
            await one.until(Start)


def limited(
    folder: Path, monkeypatch: pytest.MonkeyPatch, most: int, teams: int = 2, *, one_address: bool
) -> Contest:
    """Return a contest with so many connections before login, of one address or of all."""
    if one_address:
        return make_contest(folder, teams, quotas={"bot_connections_per_address": most})
    monkeypatch.setattr(registry_module, "MAX_CONNECTIONS", most)
    return make_contest(folder, teams)


@pytest.mark.parametrize("one_address", [True, False])
async def test_the_oldest_connection_without_a_seat_is_evicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_address: bool
) -> None:
    contest = limited(tmp_path, monkeypatch, 3, one_address=one_address)
    async with running(contest) as server, seated(server.port, 1) as team:
        async with connected(server.port) as first, connected(server.port) as second:
            await first.expect(Hello)
            await second.expect(Hello)
            async with connected(server.port) as third, connected(server.port) as fourth:
                await third.expect(Hello)
                await fourth.expect(Hello)
                goodbye = await first.expect(Goodbye)
                assert (goodbye.reason, goodbye.retry_ms) == ("too_many_connections", 5000)
                assert await first.next() is None
                async with seated(server.port, 2):  # a flood keeps no team out
                    assert (await second.expect(Goodbye)).reason == "too_many_connections"
                    await team.expect(Start)
                    assert server.recorder.of(TeamLeft) == []


@pytest.mark.parametrize("one_address", [True, False])
async def test_connections_of_teams_are_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_address: bool
) -> None:
    contest = limited(tmp_path, monkeypatch, 1, teams=4, one_address=one_address)
    async with running(contest) as server:
        async with seated(server.port, 1), seated(server.port, 2), seated(server.port, 3):
            async with connected(server.port) as idle:
                await idle.expect(Hello)
                async with seated(server.port, 4):
                    assert (await idle.expect(Goodbye)).reason == "too_many_connections"
                    await server.recorder.wait_for(TeamArrived, 4)
        assert len(server.recorder.of(TeamArrived)) == 4


async def test_a_delayed_refusal_is_evicted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(limited(tmp_path, monkeypatch, 1, one_address=True)) as server:
        for _ in range(3):
            async with connected(server.port) as wrong:
                await wrong.join(1, token="wrong")
        with trio.fail_after(PATIENCE_SECONDS):
            async with seated(server.port, 1):
                pass


async def test_a_full_file_table_is_as_good_as_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        """A listener that cannot take anybody in while ``connections`` are there."""

        def __init__(self, listener: socket.socket) -> None:
            self.listener, self.fileno = listener, listener.fileno

        def accept(self) -> Any:
            if len(registry.connections) >= 2:
                raise OSError(errno.EMFILE, "Too many open files")
            return self.listener.accept()

    contest, recorder = make_contest(tmp_path), Recorder()
    seats = {number: seats_of(team, recorder) for number, team in contest.teams.items()}
    registry = ConnectionRegistry(contest, seats, recorder)
    listener: Any = Full(listening.open_listener("127.0.0.1", 0))
    port = listener.listener.getsockname()[1]
    async with registry.poller.open(), trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, listener, wire_connection.WireConnection, registry, nursery)
        async with seated(port, 1), connected(port) as idle:
            await idle.expect(Hello)
            with trio.fail_after(PATIENCE_SECONDS):
                async with seated(port, 2):
                    assert (await idle.expect(Goodbye)).reason == "too_many_connections"
        nursery.cancel_scope.cancel()
    listener.listener.close()


async def test_raised_and_resign_over_the_wire(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server:
        async with seated(server.port, 1) as one, seated(server.port, 2) as two:
            start = await one.expect(Start)
            black, white = (one, two) if start.is_black else (two, one)
            question = await black.until(GetStep)
            await black.say(Raised(question.id, "ValueError: no idea\x1b[31m"))
            question = await white.until(GetStep)
            await white.say(Resign(question.id))
            end = await black.until(End)
            assert (end.result, end.reason) == ("win", "resigned")


async def test_the_end_of_a_contest_waits_for_disconnected_bots_a_limited_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_module, "SHUTDOWN_SECONDS", 0.1)
    async with running(make_contest(tmp_path, start={"absent_seconds": 0.1}), StartCondition(now=True)) as server:
        async with seated(server.port, 1):
            await server.recorder.wait_for(TeamArrived)
        await server.recorder.wait_for(MatchEnded, 2)
        with trio.fail_after(PATIENCE_SECONDS):
            await server.finished()


async def test_the_contest_ends_with_goodbye_and_no_connection(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path, teams=4), StartCondition()) as server:
        goodbyes: list[Any] = []

        async def play(team: int) -> None:
            async with seated(server.port, team) as player:
                goodbyes.append(await player.play())

        async with trio.open_nursery() as nursery:
            for team in server.contest.teams:
                nursery.start_soon(play, team)
        await server.finished()
        assert [goodbye.reason for goodbye in goodbyes] == ["contest_over"] * 4
        assert server.ending is not None
        assert len(server.recorder.of(MatchEnded)) == 12


async def test_a_bot_that_reconnects_after_the_end_gets_its_goodbye(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_module, "SHUTDOWN_SECONDS", 10 * PATIENCE_SECONDS)
    async with running(make_contest(tmp_path)) as server:
        async with seated(server.port, 1) as one, seated(server.port, 2) as two:
            for match in (1, 2):  # the first player resigns; in the last match the other one is away
                black = one if (await one.expect(Start)).is_black else two
                question = await black.until(GetStep)
                if match == 2:
                    await (one if black is two else two).close()
                    await server.recorder.wait_for(TeamLeft)
                await black.say(Resign(question.id))
                if match == 1:
                    await one.until(End)
            assert (await black.until(Goodbye)).reason == "contest_over"
            away = 2 if black is one else 1
        async with connected(server.port) as back:
            await back.login(away)
            goodbye = await back.expect(Goodbye)
            assert (goodbye.reason, goodbye.retry_ms) == ("contest_over", None)
        await server.finished()  # there is nobody left to wait for


# --- the deadlines, without waiting for them ----------------------------------------------------------------------


def unwatched(folder: Path) -> wire_connection.WireConnection:
    """Return a connection whose task does not run."""
    contest = make_contest(folder)
    registry = ConnectionRegistry(contest, {}, Recorder())
    with socket.socket() as sock:
        made = wire_connection.WireConnection(registry, sock, "127.0.0.1")
    made.seat = Seat(contest.teams[1], Recorder())
    return made


async def test_a_login_has_ten_seconds(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    began = trio.current_time()
    registry = ConnectionRegistry(make_contest(tmp_path), {}, Recorder())
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        ours, _ = listener.accept()
        ours.setblocking(False)
        async with registry.poller.open():
            await wire_connection.WireConnection(registry, ours, "127.0.0.1").run()
    assert 10.0 <= trio.current_time() - began < 13.0  # with the time for the goodbye


async def test_a_frame_has_five_seconds(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    seated_connection = unwatched(tmp_path)
    seated_connection._state = connection.State.SEATED
    await trio.sleep(1.0)
    now = trio.current_time()
    seated_connection._set_deadline(now, mid_frame=True)
    assert seated_connection._wait.deadline == now + 5.0
    seated_connection._set_deadline(now + 3.0, mid_frame=True)
    assert seated_connection._wait.deadline == now + 5.0  # from its first byte
    seated_connection._set_deadline(now + 4.0, mid_frame=False)
    assert seated_connection._wait.deadline == float("inf")


async def test_the_end_of_a_contest_waits_six_seconds(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    registry = ConnectionRegistry(make_contest(tmp_path), {}, Recorder())
    registry._awaiting_goodbye = Counter([1])
    began = trio.current_time()
    await registry.wait_closed()
    assert trio.current_time() - began == pytest.approx(6.0)
