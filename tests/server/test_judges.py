"""Matches that judge processes judge: for the teams and in the records all is as with one judge."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep.wire import End, GetStep, Goodbye, Penalty, Start, Step
from getstep_server.children import keeping
from getstep_server.config.contest import Contest
from getstep_server.errors import UsageError
from getstep_server.events import (
    JudgeEnded,
    MatchCalledOff,
    MatchEnded,
    MatchStarted,
    ServerFault,
    TeamArrived,
    TeamLeft,
    TurnFaulted,
)
from getstep_server.incident import Incident
from getstep_server.judges import process as judges_process
from getstep_server.judges.messages import Back, Returned, ReturnMatch
from getstep_server.play.judge import play_match
from getstep_server.records.decision import Decision, record_of_decision
from getstep_server.records.reasons import DecisionKind
from getstep_server.records.record import parse
from getstep_server.runtime import judges as judges_venue
from getstep_server.runtime.judges import check_judges
from getstep_server.storage.contest_state import incidents_of
from getstep_server.storage.journal import segments
from getstep_server.storage.recovery import Inheritance, inherit
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from getstep_server.text import utc_time
from tests.support.contests import make_contest
from tests.support.judge_processes import JudgeHere, judges_here
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Player, Running, connected, first_legal, running, seated

SHORT: dict[str, Any] = {"game": "pseudo_tonga", "options": {"size": 6}}


def contest_of(folder: Path, teams: int = 2, judges: int = 2, **event: Any) -> Contest:
    """Return a contest with the shortest game: 36 moves, with any players."""
    return make_contest(folder, teams, server={"judges": judges}, event={**SHORT, **event})


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> list[JudgeHere]:
    """The judge processes, which run in this process."""
    monkeypatch.setattr(keeping, "FIRST_PAUSE_SECONDS", 0.0)
    return judges_here(monkeypatch)


async def keep_playing(port: int, team: int) -> None:
    """Play to the end, on a new connection after each goodbye that asks for one."""
    goodbye: Goodbye | None = Goodbye("", "", 0)
    while goodbye is not None and goodbye.retry_ms is not None:
        async with seated(port, team) as player:
            goodbye = await player.play()


async def asked(player: Player) -> tuple[Start, GetStep]:
    """Return the match that begins for a player, and its first question there."""
    return await player.until(Start), await player.until(GetStep)


async def step(player: Player, start: Start, question: GetStep) -> None:
    await player.say(Step(question.id, first_legal(start, question)))


def games(contest: Contest) -> list[dict[str, Any]]:
    """Return the games' records of a contest that `verify` accepts."""
    with Store(contest.database, reading=True) as store:
        verify(contest, store)
        return [game for line in store.lines() if (game := parse(line))["type"] == "game"]


async def decide(contest: Contest, kind: DecisionKind, match: int) -> None:
    with Store(contest.database) as store:
        decision = Decision(kind, "Grace", "the lights went out", utc_time(1.7e9), match=match)
        await store.save(record_of_decision(contest, decision))


async def test_a_contest_has_the_same_results_with_two_judges(tmp_path: Path, here: list[JudgeHere]) -> None:
    played = []
    for judges in (1, 2):
        folder = tmp_path / str(judges)
        folder.mkdir()
        contest = contest_of(folder, 4, judges)
        async with running(contest) as server, trio.open_nursery() as nursery:
            for team in contest.teams:
                nursery.start_soon(keep_playing, server.port, team)
            await server.finished()
        assert server.recorder.of(ServerFault) == []
        assert segments(contest.running) == []
        played.append(
            {
                game["match"]: [game["winner"], game["scores"], [turn.get("move") for turn in game["turns"]]]
                for game in games(contest)
            }
        )
    assert played[0] == played[1]
    assert len(played[1]) == 12
    assert len(here) == 2


async def test_a_team_comes_back_in_mid_match(tmp_path: Path) -> None:
    contest = contest_of(tmp_path, settings={"legs": 1})
    async with running(contest) as server, trio.open_nursery() as nursery:
        nursery.start_soon(keep_playing, server.port, 2)
        async with seated(server.port, 1) as player:
            start, question = await asked(player)
            await step(player, start, question)
            question = await player.until(GetStep)
        assert (await server.recorder.wait_for(TeamLeft)).team == 1
        async with seated(server.port, 1) as player:
            start, again = await asked(player)
            assert start.resumed
            assert (again.id, again.board) == (question.id, question.board)
            assert again.time_left_ms < question.time_left_ms
            await step(player, start, again)
            await player.play(start=start)
        await server.finished()
    arrived = [event for event in server.recorder.of(TeamArrived) if event.team == 1]
    assert [event.again for event in arrived] == [False, True]
    assert [event.result.turns for event in server.recorder.of(MatchEnded)] == [36]


async def test_a_newer_connection_takes_the_seat(tmp_path: Path) -> None:
    async with running(contest_of(tmp_path)) as server, seated(server.port, 2):
        async with seated(server.port, 1) as old:
            _, question = await asked(old)
            async with seated(server.port, 1) as new:
                assert (await old.until(Goodbye)).reason == "replaced"
                _, again = await asked(new)
                assert again.id == question.id


async def test_a_hostile_act_loses_the_match_and_is_recorded_once(tmp_path: Path) -> None:
    contest = contest_of(tmp_path)
    async with running(contest) as server, seated(server.port, 2) as other:
        async with seated(server.port, 1) as bad:
            await asked(bad)
            await bad.say_bytes(b"GET / HTTP/1.1")
            assert (await bad.until(Goodbye)).reason == "oversize_frame"
        result = (await server.recorder.wait_for(MatchEnded)).result
        assert (result.reason, result.winner) == ("hostile", 1 if result.match.first == 1 else 0)
        assert (await other.until(End)).result == "win"
    (incident,) = server.recorder.of(Incident)
    assert (incident.code, incident.team, incident.match) == ("oversize_frame", 1, result.match.number)
    (game,) = games(contest)
    assert [(row["code"], row["count"]) for row in game["incidents"]] == [("oversize_frame", 1)]
    assert [row.count for row in incidents_of(contest)] == [1]


async def test_what_the_server_refuses_is_recorded_in_the_match(tmp_path: Path) -> None:
    """A second bot of the team breaks the protocol after its login: the server notices that, not the judge."""
    contest = contest_of(tmp_path, settings={"legs": 1})
    async with running(contest) as server, trio.open_nursery() as nursery:
        async with seated(server.port, 1) as good:
            nursery.start_soon(keep_playing, server.port, 2)
            start, question = await asked(good)
            match = server.recorder.of(MatchStarted)[0].match
            server.recorder.events.clear()
            server.bus.publish(Incident("too_many_logins", "again and again", "::1", 1, ""))
            await step(good, start, question)
            await good.play(start=start)
        await server.finished()
    (game,) = games(contest)
    assert game["match"] == match.number
    assert [(row["code"], row["count"]) for row in game["incidents"]] == [("too_many_logins", 1)]
    assert game["incidents"][0]["after_turn"] < 2  # which team has the first turn, the draw decides


async def test_a_missed_limit_is_a_fault(tmp_path: Path) -> None:
    contest = contest_of(tmp_path, move_seconds=0.01, settings={"legs": 1})
    async with running(contest) as server, seated(server.port, 2), seated(server.port, 1) as silent:
        await asked(silent)
        assert (await silent.until(Penalty)).reason == "missed_limit"
        assert (await server.recorder.wait_for(TurnFaulted)).code == "missed_limit"


async def test_a_match_that_the_host_calls_off_begins_anew(tmp_path: Path) -> None:
    contest = contest_of(tmp_path, settings={"legs": 1})
    async with running(contest) as server, trio.open_nursery() as nursery:
        nursery.start_soon(keep_playing, server.port, 2)
        async with seated(server.port, 1) as player:
            start, question = await asked(player)
            await step(player, start, question)
            await player.until(GetStep)
            await decide(contest, DecisionKind.REPLAY, start.match)
            assert (await player.until(End)).reason == "called_off"
            await server.recorder.wait_for(MatchCalledOff)
            await player.play()
        await server.finished()
    void, game = games(contest)
    assert (void["reason"], void["turns_played"], len(void["turns"])) == ("called_off", 2, 2)
    assert (game["attempt"], game["turns_played"]) == (2, 36)
    assert segments(contest.running) == []


async def test_a_judge_that_does_not_return_a_match_is_killed(
    tmp_path: Path, here: list[JudgeHere], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judges_venue, "ANSWER_SECONDS", 0.0)
    real = judges_process.JudgeProcess._do

    def deaf(self: Any, message: Any, nursery: Any) -> None:
        if not isinstance(message, ReturnMatch):
            real(self, message, nursery)

    monkeypatch.setattr(judges_process.JudgeProcess, "_do", deaf)
    contest = contest_of(tmp_path, settings={"legs": 1})
    async with running(contest) as server, trio.open_nursery() as nursery:
        nursery.start_soon(keep_playing, server.port, 2)
        async with seated(server.port, 1) as player:
            start, question = await asked(player)
            await step(player, start, question)
            await player.until(GetStep)
            await decide(contest, DecisionKind.REPLAY, start.match)
            goodbye = await player.until(Goodbye)
            assert (goodbye.reason, goodbye.retry_ms) == ("shutting_down", judges_venue.RETRY_MS)
        await server.recorder.wait_for(JudgeEnded)
        nursery.start_soon(keep_playing, server.port, 1)
        await server.finished()
    void, game = games(contest)
    assert (void["reason"], void["turns_played"]) == ("called_off", 2)
    assert game["turns_played"] == 36


async def test_a_match_is_played_again_if_its_judge_process_dies(tmp_path: Path, here: list[JudgeHere]) -> None:
    contest = contest_of(tmp_path, settings={"legs": 1})
    async with running(contest) as server, trio.open_nursery() as nursery:
        nursery.start_soon(keep_playing, server.port, 2)
        async with seated(server.port, 1) as player:
            start, question = await asked(player)
            for _ in range(3):
                await step(player, start, question)
                question = await player.until(GetStep)
            for judge in here[:]:
                judge.kill()
            assert (await player.until(Goodbye)).reason == "shutting_down"
        await server.recorder.wait_for(JudgeEnded, 2)
        nursery.start_soon(keep_playing, server.port, 1)
        await server.finished()
    void, game = games(contest)
    assert (void["reason"], void["winner"], void["turns_played"]) == ("server_fault", None, 6)
    assert (game["turns_played"], game["attempt"]) == (36, 2)
    assert segments(contest.running) == []


async def test_a_match_is_played_again_if_its_judge_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, failures = play_match, [1]

    async def fail_once(*arguments: Any) -> Any:
        if failures:
            failures.pop()
            raise ZeroDivisionError("a bug")
        return await real(*arguments)

    monkeypatch.setattr(judges_process, "play_match", fail_once)
    contest = contest_of(tmp_path, settings={"legs": 1})
    async with running(contest) as server, trio.open_nursery() as nursery:
        for team in contest.teams:
            nursery.start_soon(keep_playing, server.port, team)
        await server.finished()
    (fault,) = server.recorder.of(ServerFault)
    assert "ZeroDivisionError: a bug" in fault.trace
    assert [game["reason"] == "server_fault" for game in games(contest)] == [True, False]


async def test_without_any_judge_process_the_server_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(*_: object, **__: object) -> None:
        await trio.lowlevel.checkpoint()
        raise OSError("no more processes")

    monkeypatch.setattr(judges_venue, "start", start)
    monkeypatch.setattr(keeping, "FIRST_PAUSE_SECONDS", 3600.0)
    contest = contest_of(tmp_path)
    async with running(contest) as server, trio.open_nursery() as nursery:
        for team in contest.teams:
            nursery.start_soon(keep_playing, server.port, team)
        await server.finished()
    assert len(server.recorder.of(JudgeEnded)) == 2
    assert len(games(contest)) == 2


async def test_a_judge_process_that_has_ended_gets_no_further_match(
    tmp_path: Path, here: list[JudgeHere], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the dead processes left behind takes long to read."""
    monkeypatch.setattr(keeping, "FIRST_PAUSE_SECONDS", 3600.0)
    go_on, noticed = threading.Event(), threading.Semaphore(0)

    def slow_inherit(folder: Path, writer: int) -> Inheritance:
        noticed.release()
        assert go_on.wait(PATIENCE_SECONDS)
        return inherit(folder, writer)

    monkeypatch.setattr(judges_venue, "inherit", slow_inherit)
    contest = contest_of(tmp_path)
    try:
        async with running(contest) as server, trio.open_nursery() as nursery:
            with trio.fail_after(PATIENCE_SECONDS):
                while len(here) < 2:
                    await trio.sleep(0.01)
            for judge in here:
                judge.kill()
                await trio.to_thread.run_sync(noticed.acquire, True, PATIENCE_SECONDS)
            for team in contest.teams:
                nursery.start_soon(keep_playing, server.port, team)
            await server.recorder.wait_for(MatchEnded, 2)
            go_on.set()
            await server.finished()
    finally:
        go_on.set()
    assert [game["turns_played"] for game in games(contest)] == [36, 36]


async def play_some(server: Running, contest: Contest) -> None:
    """Play three turns of each player."""
    async with seated(server.port, 1) as one, seated(server.port, 2) as two:
        players = {1: (one, await one.until(Start)), 2: (two, await two.until(Start))}
        match = server.recorder.of(MatchStarted)[0].match
        for team in match.teams * 3:
            player, start = players[team]
            await step(player, start, await player.until(GetStep))


async def test_a_contest_goes_on_with_another_number_of_judges(tmp_path: Path) -> None:
    for judges in (2, 1, 3):
        contest = contest_of(tmp_path, judges=judges, settings={"legs": 1})
        async with running(contest) as server:
            await play_some(server, contest)
            await server.recorder.wait_for(MatchStarted)
    contest = contest_of(tmp_path, judges=2, settings={"legs": 1})
    async with running(contest) as server, trio.open_nursery() as nursery:
        for team in contest.teams:
            nursery.start_soon(keep_playing, server.port, team)
        await server.finished()
    (game,) = games(contest)
    assert len(game["resumed"]) == 3
    assert game["resumed"][0] >= 5  # the last answer may not have been read
    assert game["turns_played"] == 36
    assert segments(contest.running) == []


async def test_a_connection_that_comes_when_the_match_is_over_is_served_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It logs in between the return of the match and the server's notice of that."""
    contest = contest_of(tmp_path, settings={"legs": 1})
    held: list[tuple[Any, Any]] = []
    taken: list[str] = []
    real_lend, real_take = judges_venue.JudgeHandle.bring, judges_venue.JudgeHandle._take
    real_bring, real_judge = judges_process.JudgeProcess._bring, judges_process.JudgeProcess._judge

    def too_late(self: Any, seat: Any, connection: Any) -> None:
        self._channel.send(ReturnMatch(seat.match))  # the judge does this first
        real_lend(self, seat, connection)

    def hold(self: Any, order: Any, nursery: Any) -> None:
        if order.match in self._matches:
            held.append((order, nursery))
        else:
            real_bring(self, order, nursery)

    async def bring_after(self: Any, number: int, match: Any) -> None:
        await real_judge(self, number, match)
        while held:
            real_bring(self, *held.pop())

    def take(self: Any, message: Any) -> None:
        if isinstance(message, Returned | Back):
            taken.append(type(message).__name__)
        real_take(self, message)

    monkeypatch.setattr(judges_venue.JudgeHandle, "bring", too_late)
    monkeypatch.setattr(judges_venue.JudgeHandle, "_take", take)
    monkeypatch.setattr(judges_process.JudgeProcess, "_bring", hold)
    monkeypatch.setattr(judges_process.JudgeProcess, "_judge", bring_after)
    async with running(contest) as server, seated(server.port, 2), seated(server.port, 1) as old:
        start, _ = await asked(old)
        async with connected(server.port) as new:
            await new.login(1)
            # To the server the judge has failed: it gives a stopped match back without a result.
            assert (await old.until(Goodbye)).reason == "replaced"
            again = await new.until(Start)
            assert again.match == start.match
            assert taken == ["Returned", "Back"]


def test_a_system_that_cannot_pass_sockets_on_has_one_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(socket, "SCM_RIGHTS")
    check_judges(contest_of(tmp_path, judges=1))
    with pytest.raises(UsageError, match=r"set judges = 1 in contest\.toml"):
        check_judges(contest_of(tmp_path, judges=2))
