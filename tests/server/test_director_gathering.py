"""Matches that wait until all teams are here: of a resumed contest, and of a new round of a ladder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from getstep_server.config.contest import Contest
from getstep_server.events import ContestStarted, MatchEnded, MatchStarted, Waiting
from getstep_server.records.match import Match
from getstep_server.runtime.presence import PATIENCES, Gathering, resume_patience
from tests.support.contests import make_contest
from tests.support.director import PATIENCE, SMALL, DecidedStage, MemoryStore, Stage, numbers, slow
from tests.support.servers import round_robin

pytestmark = pytest.mark.usefixtures("jumping_time")

RESUMED = resume_patience(PATIENCE)
SOON = RESUMED - PATIENCE
LONG = (PATIENCES + 2) * PATIENCE
"""Longer than a round of a ladder waits. Each second takes 1 ms of real time, in which the server's tasks wake."""
LADDER: dict[str, Any] = {**SMALL["event"], "format": "ladder", "settings": {"rounds": 3, "games": 2}}


async def resumed(folder: Path) -> DecidedStage:
    """Return a stage of three teams, with one of their six matches on record."""
    contest = make_contest(folder, 3, start={"absent_seconds": PATIENCE}, **SMALL)
    before = Stage(contest)
    await before.play(1, 2, 3)
    chain, store = before.store.chain, MemoryStore()
    first = next(place for place, record in enumerate(chain, start=1) if record.match is not None)
    store.chain += chain[:first]
    return DecidedStage(contest, store=store, records=store.chain)


def reasons(stage: Stage, team: int) -> list[str]:
    return [result.reason for result in stage.store.saved if team in result.match.teams]


# --- a contest that is resumed ---------------------------------------------------------------------------------


async def test_a_resumed_contest_waits_for_all_its_teams(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = await resumed(tmp_path)
    began = trio.current_time()

    async def come() -> None:
        await trio.sleep(SOON)
        assert stage.of(MatchStarted) == stage.of(ContestStarted) == stage.store.saved == []
        assert stage.of(Waiting) == [Waiting((3,), gathering=True, seconds=round(RESUMED))]
        stage.come(3)

    await stage.play(1, 2, during=come, gather=True)
    assert [result.reason for result in stage.store.saved] == ["finished"] * 5
    assert stage.of(ContestStarted) == [ContestStarted(1, 6)]
    assert trio.current_time() - began >= SOON
    stage.check(tmp_path)


async def test_a_resumed_contest_goes_on_without_a_team_that_never_comes_back(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """It still has the time of a no-show then, and the others play on."""
    stage = await resumed(tmp_path)
    began = trio.current_time()
    await stage.play(1, 2, gather=True)
    assert set(reasons(stage, 3)) == {"never_arrived"}
    assert trio.current_time() - began == pytest.approx(RESUMED + PATIENCE)
    stage.check(tmp_path)


def test_clients_have_a_minute_to_come_back() -> None:
    assert resume_patience(0.01) == 60
    assert resume_patience(60) == 600


async def test_the_enter_key_starts_without_missing_teams(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A team that is missing then still has the time of a no-show."""
    stage = await resumed(tmp_path)
    began = trio.current_time()

    async def enter() -> None:
        await trio.sleep(SOON)
        stage.enter()

    await stage.play(1, 2, during=enter, gather=True)
    assert set(reasons(stage, 3)) == {"never_arrived"}
    assert trio.current_time() - began == pytest.approx(SOON + PATIENCE)
    stage.check(tmp_path)


async def test_a_round_does_not_wait_for_a_withdrawn_team(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = await resumed(tmp_path)

    async def withdraw() -> None:
        await trio.sleep(SOON)
        assert stage.of(MatchStarted) == []
        stage.decide("withdraw", team=3)

    await stage.play(1, 2, during=withdraw, gather=True)
    assert {result.match.teams for result in stage.store.saved} <= {(1, 2), (2, 1)}
    stage.check(tmp_path)


async def test_a_finished_contest_does_not_wait_for_teams(tmp_path: Path, autojump_clock: MockClock) -> None:
    contest = make_contest(tmp_path, 3, **SMALL)
    whole = Stage(contest)
    await whole.play(1, 2, 3)
    again, began = Stage(contest, results=whole.store.saved), trio.current_time()
    await again.play(gather=True)
    assert trio.current_time() == began
    assert again.of(Waiting) == []


# --- a new round of a ladder -----------------------------------------------------------------------------------


def ladder(folder: Path, *others: dict[str, Any]) -> Contest:
    return make_contest(folder, 3, LADDER, *others, start={"absent_seconds": PATIENCE})


async def until_round_2(stage: Stage) -> None:
    while not any(match.round == 2 for match in stage.tournament.matches.values()):
        await trio.sleep(1)


def left_after_round_1(stage: Stage, team: int) -> Any:
    """Make ``team`` leave once the other two play the last match of the round."""

    async def leave() -> None:
        while reasons(stage, team) != ["finished"] * 2:
            await trio.sleep(1)
        stage.go(team)

    return leave


async def test_a_new_round_waits_for_its_teams(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(ladder(tmp_path))
    top = stage.tournament.contest.events[0].teams[0]

    async def leave_and_come() -> None:
        await left_after_round_1(stage, top)()
        await until_round_2(stage)
        await trio.sleep(5 * PATIENCE)
        assert {event.match.round for event in stage.of(MatchStarted)} == {1}
        assert stage.of(Waiting)[-1].teams == (top,)
        stage.come(top)

    await stage.play(1, 2, 3, seconds=slow(1, 2, 3), during=leave_and_come)
    assert {result.reason for result in stage.store.saved} == {"finished"}
    assert len(stage.store.saved) == 12
    stage.check(tmp_path)


async def test_a_round_does_not_wait_for_ever(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Nobody may be at the keyboard. And the round after that does not wait for the same team again."""
    stage = DecidedStage(ladder(tmp_path))
    top = stage.tournament.contest.events[0].teams[0]
    given: list[float] = []

    async def leave() -> None:
        await left_after_round_1(stage, top)()
        await until_round_2(stage)
        given.append(trio.current_time())

    await stage.play(1, 2, 3, during=leave, seconds=slow(1, 2, 3))
    ends = [(at - given[0], event.result) for at, event in stage.events if isinstance(event, MatchEnded)]
    forfeits = [(at, result.match.round) for at, result in ends if result.reason == "never_arrived"]
    second, third = (min(at for at, round_ in forfeits if round_ == number) for number in (2, 3))
    assert second == pytest.approx((PATIENCES + 1) * PATIENCE, abs=40)  # its opponent may be playing, 36 s
    assert third - second < 3 * PATIENCE  # two matches of 36 s, and the time of a no-show
    stage.check(tmp_path)


async def test_the_enter_key_begins_a_round(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(ladder(tmp_path))
    top = stage.tournament.contest.events[0].teams[0]
    entered: list[float] = []

    async def leave_and_enter() -> None:
        stage.enter()  # nothing waits: it does not count
        await left_after_round_1(stage, top)()
        await until_round_2(stage)
        await trio.sleep(PATIENCE)
        assert {event.match.round for event in stage.of(MatchStarted)} == {1}
        stage.enter()
        entered.append(trio.current_time())

    await stage.play(1, 2, 3, during=leave_and_enter, seconds=slow(1, 2, 3))
    second = min(at for at, event in stage.events if isinstance(event, MatchStarted) and event.match.round == 2)
    assert second == pytest.approx(entered[0])
    stage.check(tmp_path)


async def test_other_events_continue_while_a_round_waits(tmp_path: Path, autojump_clock: MockClock) -> None:
    other = {**SMALL["event"], "name": "other", "settings": {"legs": 10}}
    stage = Stage(ladder(tmp_path, other))
    top = stage.tournament.contest.event(1).teams[0]

    async def leave() -> None:
        await left_after_round_1(stage, top)()
        await until_round_2(stage)
        await trio.sleep(PATIENCES * PATIENCE / 2)
        assert {event.match.round for event in stage.of(MatchStarted) if event.match.event == 1} == {1}

    await stage.play(1, 2, 3, during=leave, seconds=slow(1, 2, 3))
    waited = [
        event
        for _, event in stage.events
        if isinstance(event, MatchStarted) and event.match.event == 2 and top not in event.match.teams
    ]
    assert len(waited) == 10
    assert stage.tournament.open() == []


async def test_a_match_that_waits_is_cancelled(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(ladder(tmp_path))
    top = stage.tournament.contest.events[0].teams[0]

    async def leave() -> None:
        await left_after_round_1(stage, top)()
        await until_round_2(stage)
        stage.decide("withdraw", team=top)

    began = trio.current_time()
    await stage.play(1, 2, 3, during=leave, seconds=slow(1, 2, 3))
    assert trio.current_time() - began < PATIENCES * PATIENCE
    assert "never_arrived" not in reasons(stage, top)
    stage.check(tmp_path)


# --- automatic -------------------------------------------------------------------------------------------------


def matches() -> list[Match]:
    return round_robin([1, 2, 3], "hop")


def test_a_team_that_was_back_is_waited_for_again() -> None:
    gathering, all_ = Gathering(), matches()
    gathering.add(all_, until=10.0)
    assert gathering.release({1, 2}, 9.9) == []
    assert numbers(gathering.release({1, 2}, 10.0)) == numbers(all_)
    gathering.add(all_, until=20.0)
    assert numbers(gathering.release({1, 2}, 10.1)) == numbers(all_)
    assert gathering.release({1, 2, 3}, 11.0) == []
    gathering.add(all_, until=30.0)
    assert gathering.release({1, 2}, 12.0) == []
    assert (gathering.teams, gathering.ends) == ({1, 2, 3}, 30.0)


def test_the_key_counts_only_while_matches_wait() -> None:
    gathering = Gathering()
    gathering.enter()
    gathering.add(matches())
    assert gathering.release(set(), 0.0) == []
    gathering.enter()
    assert len(gathering.release(set(), 0.0)) == 6
    assert not gathering
