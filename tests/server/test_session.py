"""Connections over real loopback sockets: logging in, being replaced, breaking the protocol, being cut off."""

from __future__ import annotations

import errno
import socket
import struct
from pathlib import Path
from typing import Any

import msgpack
import pytest
import trio

from getstep.wire import End, GetStep, Goodbye, Hello, Raised, Resign, Start, Step, Welcome
from getstep_server import listening, session
from getstep_server.events import Incident, MatchEnded, MatchStarted, ServerFault, TeamArrived, TeamLeft
from getstep_server.run import StartWhen
from getstep_server.seats import Seat, seats_of
from tests.server.players import Player, Recorder, connected, first_legal, make_contest, running, seated


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


async def test_welcome_says_what_is_played(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, event={"game": "pseudo_tonga", "options": {"size": 6}}, time={"lag_ms": 250})
    async with running(contest) as server, connected(server.port) as player:
        welcome = await player.login(2)
        assert (welcome.team, welcome.name, welcome.lag_ms) == (2, "Team 2", 250)
        game = {"game": "pseudo_tonga", "options": {"size": 6}, "time_kind": "budget", "time_ms": 20000}
        assert welcome.games == [game]


@pytest.mark.parametrize(
    ("login", "reason"),
    [
        ({"team": 1, "token": "wrong-token"}, "bad_token"),
        ({"team": 99, "token": "token-of-team-1"}, "unknown_team"),
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


async def test_a_newer_login_takes_the_seat_in_the_middle_of_a_match(tmp_path: Path) -> None:
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
        assert incident.first_bytes == HOSTILE_FRAMES[code][: session.FIRST_BYTES].hex(" ")


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
    monkeypatch.setattr(session, "FRAME_SECONDS", 0.3)

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
    monkeypatch.setattr(session, "FRAME_SECONDS", 0.2)
    async with running(make_contest(tmp_path)) as server, seated(server.port, 1) as one, seated(server.port, 2):
        await one.say_bytes(struct.pack(">I", 100) + b"\x81")
        assert (await one.until(Goodbye)).reason == "slow_frame"


async def test_who_does_not_join_is_sent_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LOGIN_SECONDS", 0.2)
    async with running(make_contest(tmp_path)) as server, connected(server.port) as player:
        await player.expect(Hello)
        await player.say_bytes(b"\0\0")  # a drip is no login
        assert (await player.expect(Goodbye)).reason == "login_timeout"
        assert await player.next() is None


async def test_closing_in_the_middle_of_a_frame_is_recorded_and_costs_no_match(tmp_path: Path) -> None:
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
                stranger = await trio.open_tcp_stream("127.0.0.1", server.port)
                stranger.socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, struct.pack("ii", 1, 0))
                stranger.socket.close()
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
        house = session.House(contest, {}, recorder)
        link = session.WireLink(house, ours, "127.0.0.1")
        link.seat = Seat(contest.teams[1], recorder)
        link.seat.attach(link)
        link._encode = lambda message: b"x" * 1000  # type: ignore[method-assign]
        with trio.fail_after(10):
            while not recorder.of(Incident):
                link.send(Goodbye("x", "x", None))
        (incident,) = recorder.of(Incident)
        assert (incident.code, incident.team) == ("never_reads", 1)
        assert not link.seat.connected


async def test_a_handler_that_raises_ends_one_connection_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = session.WireLink._login

    def broken(self: session.WireLink, join: Any) -> None:
        if join.client == "test player" and join.team == 2:
            raise ZeroDivisionError("injected")
        real(self, join)

    async with running(make_contest(tmp_path, teams=3)) as server, seated(server.port, 1) as one:
        monkeypatch.setattr(session.WireLink, "_login", broken)
        async with connected(server.port) as player:
            await player.join(2)
            assert await player.next() is None
        fault = await server.recorder.wait_for(ServerFault)
        assert "injected" in fault.trace
        monkeypatch.undo()
        async with seated(server.port, 2), seated(server.port, 3):
            await server.recorder.wait_for(MatchStarted)
            await one.until(Start)


@pytest.mark.parametrize("limit", ["MAX_CONNECTIONS_PER_ADDRESS", "MAX_CONNECTIONS"])
async def test_of_too_many_connections_the_longest_without_a_seat_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(session, limit, 3)
    async with running(make_contest(tmp_path)) as server, seated(server.port, 1) as team:
        async with connected(server.port) as first, connected(server.port) as second:
            await first.expect(Hello)
            await second.expect(Hello)
            async with connected(server.port) as third:
                await third.expect(Hello)
                goodbye = await first.expect(Goodbye)
                assert (goodbye.reason, goodbye.retry_ms) == ("too_many_connections", 5000)
                assert await first.next() is None
                async with seated(server.port, 2):  # a flood keeps no team out
                    assert (await second.expect(Goodbye)).reason == "too_many_connections"
                    await team.expect(Start)
                    assert server.recorder.of(TeamLeft) == []


async def test_with_a_seat_in_every_connection_the_newest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "MAX_CONNECTIONS_PER_ADDRESS", 1)
    async with running(make_contest(tmp_path)) as server, seated(server.port, 1):
        async with connected(server.port) as newest:
            assert (await newest.expect(Goodbye)).reason == "too_many_connections"
            assert await newest.next() is None
        assert server.recorder.of(TeamLeft) == []


async def test_a_held_back_stranger_makes_room_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MAX_CONNECTIONS_PER_ADDRESS", 1)
    async with running(make_contest(tmp_path)) as server:
        for _ in range(3):
            async with connected(server.port) as wrong:
                await wrong.join(1, token="wrong")
        with trio.fail_after(2):
            async with seated(server.port, 1):
                pass


async def test_a_full_file_table_is_as_good_as_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        """A listener that cannot take anybody in while ``links`` are there."""

        def __init__(self, listener: socket.socket) -> None:
            self.listener, self.fileno = listener, listener.fileno

        def accept(self) -> Any:
            if len(house.links) >= 2:
                raise OSError(errno.EMFILE, "Too many open files")
            return self.listener.accept()

    contest, recorder = make_contest(tmp_path), Recorder()
    seats = {number: seats_of(team, recorder) for number, team in contest.teams.items()}
    house = session.House(contest, seats, recorder)
    listener: Any = Full(listening.open_listener("127.0.0.1", 0))
    port = listener.listener.getsockname()[1]
    async with house.switchboard.open(), trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, listener, session.WireLink, house, nursery)
        async with seated(port, 1), connected(port) as idle:
            await idle.expect(Hello)
            with trio.fail_after(5):
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


async def test_the_end_does_not_wait_for_ever_for_who_went_away(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path, start={"absent_seconds": 0.1}), StartWhen(now=True)) as server:
        async with seated(server.port, 1):
            await server.recorder.wait_for(TeamArrived)
        await server.recorder.wait_for(MatchEnded, 2)
        with trio.fail_after(10):
            await server.finished()


async def test_the_contest_ends_with_goodbye_and_nobody_left(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path, teams=4), StartWhen()) as server:
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


async def test_who_was_away_at_the_end_is_told_so_when_it_comes_back(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server:
        async with seated(server.port, 1) as one, seated(server.port, 2) as two:
            for match in (1, 2):  # whoever is asked first gives up; in the last match the other one is away
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
        with trio.fail_after(2):  # and then there is nobody left to wait for
            await server.finished()
