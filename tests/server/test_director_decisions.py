"""The host decides while matches run: with players in memory and a clock that jumps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from getstep.wire import End, Start
from getstep_server.config.event import ContestEvent
from getstep_server.events import DecisionTaken, MatchCalledOff, MatchEnded, MatchStarted, ServerFault
from getstep_server.records.decision import Decision, record_of_decision
from getstep_server.records.pairings import record_of_pairings
from getstep_server.records.reasons import TEAM_KINDS, DecisionKind
from getstep_server.records.record import Record, parse
from getstep_server.records.result import Result
from getstep_server.runtime.recorder import Recorder
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from getstep_server.text import utc_time
from getstep_server.tournament.tournament import Tournament
from tests.support.contests import make_contest
from tests.support.director import SMALL, WHY, DecidedStage, MemoryStore, slow
from tests.support.servers import running, seated

pytestmark = pytest.mark.usefixtures("jumping_time")

ONE_LEG: dict[str, Any] = {"event": {**SMALL["event"], "settings": {"legs": 1}}}


def at(stage: DecidedStage, seconds: float, *decisions: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def decide() -> None:
        await trio.sleep(seconds)
        for decision in decisions:
            decision()

    return decide


async def test_a_withdrawn_team_stops_playing(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(make_contest(tmp_path, 3, **SMALL))
    await stage.play(
        1, 2, 3, seconds=slow(1, 2, 3), during=at(stage, 5.5, lambda: stage.decide("withdraw", team=3))
    )
    (off,) = stage.of(MatchCalledOff)
    assert 3 in off.match.teams
    (called,) = [at for at, event in stage.events if isinstance(event, MatchCalledOff)]
    assert 5.5 < called <= 7
    for team in off.match.teams:
        (end,) = [end for end in stage.said(team, End) if end.match == off.match.number]
        assert (end.result, end.reason, end.detail) == ("void", "called_off", WHY)
    assert len(stage.said(3, Start)) == 1
    assert {result.match.teams for result in stage.store.saved} == {(1, 2), (2, 1)}
    assert [event.done for event in stage.of(MatchEnded)] == [1, 2]
    assert {event.total for event in stage.of(MatchEnded)} == {2}
    (taken,) = stage.of(DecisionTaken)
    assert (taken.decision.team, taken.done, taken.total) == (3, 0, 2)
    (void,) = [parse(record.content()) for record in stage.store.chain if b"called_off" in record.header]
    assert 4 <= len(void["turns"]) == void["turns_played"] <= 8
    for player, thought in enumerate(void["thought_ms"]):
        assert round(sum(turn["ms"] for turn in void["turns"] if turn["player"] == player), 3) == thought > 0
    assert void["seconds"] > 5
    stage.check(tmp_path)


async def test_a_match_is_adjudicated_while_it_is_played(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(make_contest(tmp_path, 2, **ONE_LEG))
    decide = at(stage, 5.5, lambda: stage.decide("adjudicate", match=1, winner=1))
    await stage.play(1, 2, seconds=slow(1, 2), during=decide)
    first, second = stage.tournament.matches[1].teams
    for team, result in ((first, "loss"), (second, "win")):
        (end,) = stage.said(team, End)
        assert (end.result, end.reason, end.detail, end.scores) == (result, "adjudicated", WHY, None)
    assert (stage.attempts(1), stage.store.saved) == (["called_off"], [])
    assert trio.current_time() < 7
    stage.check(tmp_path)


async def test_a_match_is_played_again_from_its_beginning(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(make_contest(tmp_path, 2, **ONE_LEG))
    decide = at(stage, 5.5, lambda: stage.decide("replay", match=1))
    await stage.play(1, 2, seconds=slow(1, 2), during=decide)
    assert stage.attempts(1) == ["called_off", "finished"]
    assert [end.reason for end in stage.said(1, End)] == ["called_off", "finished"]
    assert [start.resumed for start in stage.said(1, Start)] == [False, False]
    assert trio.current_time() > 36 + 5
    stage.check(tmp_path)


async def test_a_match_that_is_over_is_played_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(make_contest(tmp_path, 2, **SMALL))
    decide = at(stage, 40, lambda: stage.decide("replay", match=1))  # the second one is being played
    await stage.play(1, 2, seconds=slow(1, 2), during=decide)
    assert (stage.attempts(1), stage.attempts(2)) == (["finished", "finished"], ["finished"])
    assert stage.of(MatchCalledOff) == []
    assert [event.result.attempt for event in stage.of(MatchEnded)] == [1, 1, 2]
    stage.check(tmp_path)


async def test_an_open_match_is_adjudicated(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(make_contest(tmp_path, 2, **SMALL))
    decide = at(stage, 5, lambda: stage.decide("adjudicate", match=2, winner=None))
    await stage.play(1, 2, seconds=slow(1, 2), during=decide)
    assert (stage.attempts(1), stage.attempts(2)) == (["finished"], [])
    assert len(stage.said(1, Start)) == 1
    stage.check(tmp_path)


async def test_a_reinstated_team_plays_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(make_contest(tmp_path, 3, **ONE_LEG))

    async def decide() -> None:
        await trio.sleep(5)
        stage.decide("disqualify", team=1)
        await trio.sleep(5)
        assert not [number for number in stage.running() if 1 in stage.tournament.matches[number].teams]
        stage.decide("reinstate", team=1)

    await stage.play(1, 2, 3, seconds=slow(1, 2, 3), during=decide)
    assert {row.played for row in stage.tournament.table(stage.tournament.contest.events[0])} == {2}
    stage.check(tmp_path)


async def test_a_team_reinstated_at_once_continues_its_match(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Nobody looked in between."""
    stage = DecidedStage(make_contest(tmp_path, 2, **ONE_LEG))
    both = (lambda: stage.decide("withdraw", team=1), lambda: stage.decide("reinstate", team=1))
    await stage.play(1, 2, seconds=slow(1, 2), during=at(stage, 5, *both))
    assert (stage.attempts(1), stage.of(MatchCalledOff)) == (["finished"], [])
    assert trio.current_time() < 37
    stage.check(tmp_path)


@pytest.mark.parametrize(
    ("kind", "about", "attempts"),
    [
        ("withdraw", {"team": 1}, ["called_off"]),
        ("adjudicate", {"match": 1, "winner": None}, ["called_off"]),
        ("replay", {"match": 1}, ["called_off", "finished"]),
        ("replay", {"match": 2}, ["finished"]),
    ],
)
async def test_a_result_on_stale_state(
    tmp_path: Path, autojump_clock: MockClock, kind: str, about: dict[str, Any], attempts: list[str]
) -> None:
    """The host has decided before it was stored, and the director did not know yet."""
    left = [1]

    async def before(result: Result) -> None:
        await trio.lowlevel.checkpoint()
        if result.match.number == 1 and left:
            left.pop()
            stage.decide(kind, **about)

    stage = DecidedStage(make_contest(tmp_path, 2, **SMALL), store=MemoryStore(before))
    await stage.play(1, 2)
    assert stage.attempts(1) == attempts
    stage.check(tmp_path)


async def test_pairings_on_stale_state(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A team has withdrawn while the next round was being paired."""
    swiss: dict[str, Any] = {"event": {**SMALL["event"], "format": "swiss", "settings": {"rounds": 2, "legs": 1}}}

    class Busy(MemoryStore):
        async def save(self, *records: Any, **more: Any) -> None:
            if records[0].match is None and len(self.chain) == 4:
                stage.decide("withdraw", team=4)
            await super().save(*records, **more)

    stage = DecidedStage(make_contest(tmp_path, 4, **swiss), store=Busy())
    await stage.play(1, 2, 3, 4)
    second = [match for match in stage.tournament.matches.values() if match.round == 2]
    assert len(second) == 1
    assert 4 not in second[0].teams
    stage.check(tmp_path)


async def test_a_result_that_comes_while_a_thread_pairs(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last result of a round is stored while a decision starts the pairing of the next one."""
    swiss: dict[str, Any] = {"event": {**SMALL["event"], "format": "swiss", "settings": {"rounds": 2, "legs": 1}}}
    stage = DecidedStage(make_contest(tmp_path, 4, **swiss))
    real, released = Recorder._next_pairings, trio.Event()

    async def slowly(recorder: Recorder, event: ContestEvent, present: Collection[int]) -> Record | None:
        record = await real(recorder, event, present)
        if stage.tournament.decisions and not released.is_set():
            while stage.tournament.open():
                await trio.sleep(1)
            released.set()
        return record

    monkeypatch.setattr(Recorder, "_next_pairings", slowly)

    async def decide() -> None:
        while len(stage.of(MatchStarted)) < 2:  # a thread pairs the first round while the clock jumps
            await trio.sleep(1)
        stage.decide("withdraw", team=4)

    await stage.play(1, 2, 3, 4, seconds=slow(1, 2, 3, 4), during=decide)
    assert released.is_set()
    assert {match.round for match in stage.tournament.matches.values()} == {1, 2}
    stage.check(tmp_path)


async def test_no_match_waits_for_a_withdrawn_team(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(make_contest(tmp_path, 3, **ONE_LEG))
    await stage.play(1, 2, during=at(stage, 5, lambda: stage.decide("withdraw", team=3)))
    assert trio.current_time() < 7
    assert len(stage.store.saved) == 1
    stage.check(tmp_path)


async def test_a_no_show_is_undone(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Its walkover was lost while it looked for its cable, and forfeits are final."""
    event = {**SMALL["event"], "settings": {"legs": 3}}
    stage = DecidedStage(make_contest(tmp_path, 3, event=event, start={"no_show": "final"}))

    async def decide() -> None:
        await trio.sleep(80)  # the others have played twice, and it has lost its matches in between
        lost = [number for number in stage.tournament.matches if stage.attempts(number) == ["never_arrived"]]
        assert lost
        stage.come(3)
        stage.decide("replay", match=lost[0])

    await stage.play(1, 2, seconds=slow(1, 2), during=decide)
    (again,) = [number for number in stage.tournament.matches if len(stage.attempts(number)) == 2]
    assert stage.attempts(again) == ["never_arrived", "finished"]
    stage.check(tmp_path)


FORMATS: dict[str, dict[str, Any]] = {
    "round_robin": {"settings": {"legs": 1}},
    "swiss": {"format": "swiss", "settings": {"rounds": 3, "legs": 1}},
    "knockout": {"format": "knockout", "settings": {"best_of": 3}},
    "ladder": {"format": "ladder", "settings": {"rounds": 2, "games": 2, "missed_limit": "round"}},
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("event", FORMATS.values(), ids=FORMATS)
async def test_any_decisions_while_matches_run(
    tmp_path: Path, autojump_clock: MockClock, event: dict[str, Any], seed: int
) -> None:
    """Whatever the host decides at whatever time: it ends, and what is on record fits."""
    dice = Random(seed)
    contest = make_contest(tmp_path, 5, event={**SMALL["event"], "budget_seconds": 6.0, **event})
    stage = DecidedStage(contest)

    def decide() -> None:
        known = Tournament(contest, [parse(record.header) for record in stage.store.chain])
        kind: Any = dice.choice([*TEAM_KINDS, "reinstate", "adjudicate", "replay"])
        about: dict[str, Any] = {"team": dice.choice(sorted(contest.teams))}
        if kind in ("adjudicate", "replay"):
            about = {"match": dice.randint(1, 1 + len(known.matches))}
            about |= {"winner": dice.choice([0, 1, None])} if kind == DecisionKind.ADJUDICATE else {}
        if known.objection(Decision(kind, "Grace", WHY, utc_time(1.7e9), **about)) is None:
            stage.decide(kind, **about)

    async def host() -> None:
        for _ in range(12):
            await trio.sleep(dice.uniform(0, 8))
            for _ in range(dice.choice([1, 1, 3])):
                decide()

    thinking = {team: dice.uniform(0.05, 0.4) for team in contest.teams}
    await stage.play(*contest.teams, seconds=thinking, during=host)
    stage.check(tmp_path)


async def test_the_start_does_not_wait_for_a_withdrawn_team(tmp_path: Path) -> None:
    """Over sockets: the host had stopped the server before the first match."""
    contest = make_contest(tmp_path, 3, **ONE_LEG)
    fields = Tournament(contest).next_pairings(contest.events[0])
    assert fields is not None
    with Store(contest.database) as store:
        await store.save(record_of_pairings(fields))
        await store.save(
            record_of_decision(contest, Decision(DecisionKind.WITHDRAW, "Grace", WHY, utc_time(1.7e9), team=3))
        )
    async with running(contest) as server, seated(server.port, 1) as one, seated(server.port, 2) as other:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.play)
            nursery.start_soon(other.play)
        await server.finished()
    assert [result.match.teams for result in tournament_of(contest).results] in ([(1, 2)], [(2, 1)])


async def test_an_impossible_decision_is_reported_and_ignored(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(make_contest(tmp_path, 2, **ONE_LEG))
    await stage.play(1, 2, seconds=slow(1, 2), during=at(stage, 5, lambda: stage.decide("replay", match=99)))
    (fault,) = stage.of(ServerFault)
    assert fault.where == "a record of another process"
    assert "match 99, expected one of the 1" in fault.trace
    assert stage.attempts(1) == ["finished"]
