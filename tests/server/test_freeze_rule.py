"""The freeze rule: when the results of a contest are hidden, with a made-up clock."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep_server.config.contest import Contest
from getstep_server.events import Bus, ContestStarted, MatchCalledOff, MatchEnded, MatchStarted
from getstep_server.records.match import Match
from getstep_server.records.reasons import DecisionKind
from getstep_server.runtime import freeze_rule
from getstep_server.runtime.freeze_rule import FreezeRule
from getstep_server.tournament.combined import Tables
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.tournament_host import DecidingHost, result_of

FREEZE: dict[str, Any] = {"page": {"freeze_minutes": 5}}


class Run:
    """A run whose matches take a minute each, one after the other."""

    def __init__(self, contest: Contest) -> None:
        self.host = DecidingHost(contest)
        self.host.issue_pairings()
        self.now = 1000.0
        self.bus = Bus()
        self.frozen: list[float] = []
        self.rule = FreezeRule(contest, self.host.tournament, self.bus, self._freeze, lambda: self.now)
        self.bus.publish(ContestStarted(0, self.host.tournament.total, 0))

    async def _freeze(self, minutes: float) -> None:
        self.frozen.append(minutes)
        self.host.decide(DecisionKind.FREEZE)

    def play(self, count: int, minutes: float = 1.0) -> None:
        for match in self.host.tournament.open()[:count]:
            self._start(match)
            self.now += 60 * minutes
            self.host.play(match)
            tournament = self.host.tournament
            ended = MatchEnded(result_of(match), tournament.done, tournament.total, lambda: Tables({}))
            self.bus.publish(ended)
            self.host.issue_pairings()

    def _start(self, match: Match) -> None:
        self.bus.publish(MatchStarted(match, 0, lambda: 9, {}, lambda _: []))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Four teams, twelve matches."""
    return Run(make_contest(tmp_path, 4, **FREEZE))


def test_it_is_due_shortly_before_the_expected_end(run: Run) -> None:
    assert not run.rule.is_due()  # nothing is known
    run.play(6)
    assert not run.rule.is_due()  # 6 minutes are left
    run.play(1)
    assert run.rule.is_due()


def test_a_short_contest_is_not_hidden_from_its_beginning(run: Run) -> None:
    run.play(5, minutes=0.1)
    assert not run.rule.is_due()  # half a minute is left, but less than half was played
    run.play(1, minutes=0.1)
    assert run.rule.is_due()


def test_an_aborted_match_says_nothing_of_the_pace(run: Run) -> None:
    run.play(6)
    match = run.host.tournament.open()[0]
    run._start(match)
    run.bus.publish(MatchCalledOff(match, "the host"))
    assert not run.rule.is_due()


def test_rounds_that_will_be_paired_count(tmp_path: Path) -> None:
    swiss: dict[str, Any] = {"game": "hop", "format": "swiss", "settings": {"rounds": 6, "legs": 1}}
    run = Run(make_contest(tmp_path, 8, swiss, **FREEZE))
    run.play(4)
    assert run.host.tournament.total == 8  # the second round is all that is known: 4 minutes
    assert not run.rule.is_due()
    for _ in range(16):
        run.play(1)
    assert run.rule.is_due()


def test_an_arena_says_when_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arena: dict[str, Any] = {"game": "hop", "format": "arena", "settings": {"until": "2030-01-01 12:00"}}
    run = Run(make_contest(tmp_path, 4, arena, **FREEZE))
    end = time.mktime((2030, 1, 1, 12, 0, 0, 0, 0, -1))
    for left, due in ((301, False), (299, True)):
        monkeypatch.setattr(time, "time", lambda left=left: end - left)
        assert run.rule.is_due() is due


def test_an_arena_without_an_end_is_not_frozen(tmp_path: Path) -> None:
    run = Run(make_contest(tmp_path, 4, {"game": "hop", "format": "arena"}, **FREEZE))
    run.play(2)
    assert not run.rule.is_due()


def test_nothing_is_frozen_without_the_setting(tmp_path: Path) -> None:
    run = Run(make_contest(tmp_path, 4))
    run.play(11)
    assert not run.rule.is_due()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks come at once."""
    monkeypatch.setattr(freeze_rule, "CHECK_SECONDS", 0.001)


async def test_it_freezes_once(run: Run, quick: None) -> None:
    run.play(7)
    with trio.fail_after(PATIENCE_SECONDS):
        await run.rule.run()
        assert run.frozen == [5]
        run.host.decide(DecisionKind.REVEAL)
        await run.rule.run()  # a later run: the host has shown the results
    assert run.frozen == [5]


async def test_it_waits_until_the_end_is_near(run: Run, quick: None) -> None:
    checked = 0

    def is_due() -> bool:
        nonlocal checked
        checked += 1
        return FreezeRule.is_due(run.rule)

    run.rule.is_due = is_due  # type: ignore[method-assign]  # counts the checks
    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run.rule.run)
            while checked < 3:
                await trio.sleep(0)
            assert run.frozen == []
            run.play(7)
    assert run.frozen == [5]
