"""Pauses of a running contest: the director, the records, the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from getstep.wire import Notice
from getstep_server.events import MatchEnded, MatchStarted
from getstep_server.records.decision import Decision
from getstep_server.records.pause import Pause
from getstep_server.records.reasons import DecisionKind
from tests.support.contests import make_contest
from tests.support.director import SMALL, DecidedStage, Stage

PAUSE, RESUME = DecisionKind.PAUSE, DecisionKind.RESUME


def contest_of(folder: Path, teams: int = 4) -> Any:
    return make_contest(folder, teams=teams, **SMALL)


async def test_nothing_starts_and_nothing_ends_in_a_pause_of_the_contest(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage = DecidedStage(contest_of(tmp_path))

    async def host() -> None:
        await trio.sleep(10)
        stage.decide(PAUSE, at_once=True)
        await trio.sleep(5)
        stage.go(1)
        before = len(stage.of(MatchStarted)), len(stage.of(MatchEnded))
        await trio.sleep(100)
        assert (len(stage.of(MatchStarted)), len(stage.of(MatchEnded))) == before
        stage.come(1)
        stage.decide(RESUME)

    await stage.play(1, 2, 3, 4, seconds=dict.fromkeys((1, 2, 3, 4), 1.0), during=host)
    assert {event.result.reason for event in stage.of(MatchEnded)} == {"finished"}
    assert {event.result.faults for event in stage.of(MatchEnded)} == {(0, 0)}
    assert len(stage.of(MatchEnded)) == 12
    stage.check(tmp_path)
    told = [notice.kind for notice in stage.said(2, Notice)]
    assert told == ["paused", "resumed"]


async def test_a_paused_match_lets_the_others_go_on(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(contest_of(tmp_path))
    ended: list[int] = []

    async def host() -> None:
        await trio.sleep(0.5)
        stage.decide(PAUSE, match=1, at_once=True)
        await trio.sleep(2)
        stage.decide(PAUSE, match=6)
        await trio.sleep(60)
        ended.extend(event.result.match.number for event in stage.of(MatchEnded))
        stage.decide(RESUME, match=1)
        await trio.sleep(60)
        assert 6 not in [event.match.number for event in stage.of(MatchStarted)]
        stage.decide(RESUME, match=6)

    await stage.play(1, 2, 3, 4, seconds=dict.fromkeys((1, 2, 3, 4), 1.0), during=host)
    assert 1 not in ended
    assert 6 not in ended
    assert len(stage.of(MatchEnded)) == 12
    stage.check(tmp_path)


async def test_a_host_decides_a_match_in_its_pause(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(contest_of(tmp_path, 2))

    async def host() -> None:
        await trio.sleep(0.5)
        stage.decide(PAUSE, match=1, at_once=True)
        await trio.sleep(20)
        stage.decide(DecisionKind.ADJUDICATE, match=1, winner=0)

    await stage.play(1, 2, seconds={1: 1.0, 2: 1.0}, during=host)
    assert not stage.tournament.pauses
    stage.check(tmp_path)


async def test_nobody_is_missed_in_a_pause(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The patience with a team that has left begins anew after the pause."""
    stage = DecidedStage(contest_of(tmp_path, 3))

    async def host() -> None:
        await trio.sleep(0.5)
        stage.decide(PAUSE)
        await trio.sleep(2)
        idle = next(team for team in (1, 2, 3) if team not in stage.tournament.matches[stage.running()[0]].teams)
        stage.go(idle)
        await trio.sleep(100)
        stage.decide(RESUME)
        await trio.sleep(30)
        stage.come(idle)

    await stage.play(1, 2, 3, seconds={1: 1.0, 2: 1.0, 3: 1.0}, during=host)
    assert {event.result.reason for event in stage.of(MatchEnded)} == {"finished"}
    stage.check(tmp_path)


def test_what_cannot_be_paused_or_resumed(tmp_path: Path) -> None:

    stage = Stage(contest_of(tmp_path))
    tournament = stage.tournament
    fields = tournament.next_pairings(tournament.contest.events[0])
    assert fields is not None
    tournament.apply_pairings(fields)

    def objection(kind: DecisionKind, **about: Any) -> str | None:
        decision = Decision(kind, "Grace", "why", "2024-10-05T14:30:00.000Z", **about)
        problem = tournament.objection(decision)
        if problem is None:
            tournament.apply_decision(decision)
        return problem

    assert objection(RESUME) == "the contest is not paused, expected one that is; paused now: nothing"
    assert objection(PAUSE, match=13) == "match 13, expected one of the 12 issued ones"
    assert objection(PAUSE, event=2) == "event 2, expected one of the 1 in contest.toml"
    assert objection(PAUSE, match=3) is None
    assert objection(RESUME) == "the contest is not paused, expected one that is; paused now: match 3"
    assert (objection(PAUSE, match=3) or "").startswith("match 3 is paused already, expected one that is not")
    assert objection(PAUSE, match=3, at_once=True) is None
    assert objection(PAUSE, event=1) is None
    pauses, match = tournament.pauses, tournament.matches[3]
    assert pauses.of(match) == Pause("why", at_once=True)
    assert objection(RESUME, match=3) is None
    assert pauses.of(match) == Pause("why")
    assert objection(RESUME, event=1) is None
    assert pauses.of(match) is None
    assert not pauses
