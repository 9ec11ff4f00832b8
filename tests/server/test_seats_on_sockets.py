"""Several bots of a team over real sockets."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import trio

from getstep.wire import GetStep, Goodbye, Start, Step
from getstep.wire.classic import FRAME
from getstep_server.events import (
    ContestStarted,
    MatchEnded,
    MatchStarted,
    TeamArrived,
    TeamLeft,
)
from getstep_server.incident import Incident
from getstep_server.net import registry
from getstep_server.records.record import parse
from getstep_server.runtime.start import StartCondition
from getstep_server.storage.contest_state import incidents_of
from getstep_server.storage.store import Store
from tests.support.contests import incidents_noted, make_contest, with_seats
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Player, connected, first_legal, running, seated


async def keep_playing(port: int, team: int) -> None:
    async with seated(port, team) as player:
        await player.play()


async def asked(player: Player) -> tuple[Start, GetStep]:
    """Return the match that begins for a player, and its first question there."""
    return await player.until(Start), await player.until(GetStep)


async def test_one_bot_of_each_team_is_enough_to_start(tmp_path: Path) -> None:
    async with running(with_seats(make_contest(tmp_path, 2), {1: 3})) as server:
        async with seated(server.port, 1):
            async with seated(server.port, 1):
                pass
            assert (await server.recorder.wait_for(TeamLeft)).here == 1
            async with seated(server.port, 2):
                await server.recorder.wait_for(ContestStarted)


async def test_a_team_without_any_bot_is_not_there(tmp_path: Path) -> None:
    async with running(with_seats(make_contest(tmp_path, 2), {1: 3})) as server:
        async with seated(server.port, 1), seated(server.port, 1):
            pass
        await server.recorder.wait_for(TeamLeft, 2)
        async with seated(server.port, 2):
            assert server.recorder.of(ContestStarted) == []
            async with seated(server.port, 1):
                await server.recorder.wait_for(ContestStarted)


async def test_a_hostile_act_loses_only_the_match_that_it_happened_in(tmp_path: Path) -> None:
    contest = with_seats(make_contest(tmp_path, 3), {1: 2})
    async with running(contest) as server, trio.open_nursery() as nursery:
        async with seated(server.port, 1) as good, seated(server.port, 1) as bad:
            for team in (2, 3):
                nursery.start_soon(keep_playing, server.port, team)
            start, question = await asked(good)
            other, _ = await asked(bad)
            assert start.match != other.match
            await bad.say_bytes(b"GET / HTTP/1.1")
            assert (await bad.until(Goodbye)).reason == "oversize_frame"
            count = 1
            while (lost := (await server.recorder.wait_for(MatchEnded, count)).result).match.number != other.match:
                count += 1
            assert lost.reason == "hostile"
            assert server.recorder.of(Incident)[0].match == other.match
            await good.say(Step(question.id, first_legal(start, question)))
            await good.until(GetStep)
            await good.close()
        nursery.cancel_scope.cancel()
    assert incidents_noted(tmp_path, start.match) == []
    with Store(contest.database) as store:
        (fields,) = [fields for fields in map(parse, store.lines()) if fields.get("match") == other.match]
    assert [incident["code"] for incident in fields["incidents"]] == ["oversize_frame"]


async def test_logins_are_counted_for_each_seat(tmp_path: Path) -> None:
    async with running(with_seats(make_contest(tmp_path, 3), {1: 2})) as server:
        for _ in range(40):
            await check(server.port, "checked")
        await check(server.port, "too_many_logins")
        incident = await server.recorder.wait_for(Incident)
        assert (incident.code, incident.team, incident.match) == ("too_many_logins", 1, None)


async def test_logins_without_end_are_the_teams_and_cost_it_no_match(tmp_path: Path) -> None:
    """Whose they are is known: the token was right."""
    async with running(make_contest(tmp_path)) as server:
        async with seated(server.port, 1) as one, seated(server.port, 2) as two:
            start = await one.expect(Start)
            for _ in range(19):
                await check(server.port, "checked")
            for _ in range(3):
                await check(server.port, "too_many_logins")
            black = one if start.is_black else two
            question = await black.until(GetStep)
            await black.say(Step(question.id, first_legal(start, question)))
            await (two if black is one else one).until(GetStep)
    assert {(row.incident.code, row.incident.team, row.count) for row in incidents_of(server.contest)} == {
        ("too_many_logins", 1, 3)
    }


async def check(port: int, reason: str) -> None:
    """Try a login of team 1, and see it end so."""
    async with connected(port) as player:
        await player.join(1, purpose="check")
        assert (await player.until(Goodbye)).reason == reason


@pytest.mark.parametrize("seats", [1, 2, 3])
async def test_resumed_matches_take_seats_first(tmp_path: Path, seats: int) -> None:
    contest = make_contest(tmp_path, 4, event={"game": "linkage"})
    left = set()
    async with running(with_seats(contest, {1: 3})) as server, trio.open_nursery() as nursery:
        async with seated(server.port, 1) as one, seated(server.port, 1) as two, seated(server.port, 1) as three:
            for team in (2, 3, 4):
                nursery.start_soon(keep_playing, server.port, team)
            for player in (one, two, three):
                start, question = await asked(player)
                await player.say(Step(question.id, first_legal(start, question)))
                await player.until(GetStep)
                left.add(start.match)
            nursery.cancel_scope.cancel()
    assert len(left) == 3
    async with (
        running(with_seats(contest, {1: seats}), StartCondition(now=True)) as server,
        trio.open_nursery() as nursery,
    ):
        for team in (*[1] * seats, 2, 3, 4):
            nursery.start_soon(keep_playing, server.port, team)
        await server.finished()
    playing: list[int] = []
    begun = []
    for event in server.recorder.events:
        if isinstance(event, MatchStarted) and 1 in event.match.teams:
            begun.append(event.match.number)
            playing.append(event.match.number)
            assert len(playing) <= seats
            assert (event.turns > 0) == (event.match.number in left)
        elif isinstance(event, MatchEnded) and event.result.match.number in playing:
            playing.remove(event.result.match.number)
    assert set(begun[:3]) == left
    assert len(begun) == 6
    assert {event.result.reason for event in server.recorder.of(MatchEnded)} == {"finished"}


async def test_every_bot_gets_goodbye(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SHUTDOWN_SECONDS", 10 * PATIENCE_SECONDS)
    contest = with_seats(make_contest(tmp_path, 2, event={"game": "linkage"}), {1: 2})
    async with running(contest) as server:
        async with seated(server.port, 1):
            pass
        await server.recorder.wait_for(TeamLeft)
        async with trio.open_nursery() as nursery:
            async with seated(server.port, 1) as second:
                nursery.start_soon(keep_playing, server.port, 1)
                await server.recorder.wait_for(TeamArrived, 3)
                await second.close()
                await server.recorder.wait_for(TeamLeft, 2)
            nursery.start_soon(keep_playing, server.port, 2)
        assert server.ending is None  # one bot has not received it
        async with connected(server.port) as back:
            await back.login(1)
            assert (await back.expect(Goodbye)).reason == "contest_over"
        await server.finished()


async def test_classic_bots_of_a_team_sit_at_several_seats(tmp_path: Path) -> None:
    contest = with_seats(make_contest(tmp_path, 3, server={"classic_port": 0}), {1: 2})
    async with running(contest) as server, trio.open_nursery() as nursery:
        assert server.classic_port is not None
        bots = [await trio.open_tcp_stream("127.0.0.1", server.classic_port) for _ in range(2)]
        for number, bot in enumerate(bots, start=1):
            await bot.send_all(struct.pack("<i", 1))
            assert (await server.recorder.wait_for(TeamArrived, number)).here == number
        for team in (2, 3):
            nursery.start_soon(keep_playing, server.port, team)
        ids = []
        for bot in bots:  # nobody answers: both are asked at the same time
            with trio.fail_after(PATIENCE_SECONDS):
                code, move_id = struct.unpack_from("<2i", await bot.receive_some(FRAME.size))
            assert code == 1
            ids.append(move_id)
        assert abs(ids[0] - ids[1]) == 1
        for bot, move_id in zip(bots, reversed(ids), strict=True):  # the other's: stale, and nothing worse
            await bot.send_all(struct.pack("<2i", 0, move_id))
        await bots[0].aclose()
        assert (await server.recorder.wait_for(TeamLeft)).here == 1
        assert server.recorder.of(Incident) == []
        await bots[1].aclose()
        nursery.cancel_scope.cancel()
