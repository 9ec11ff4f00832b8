"""Teams that come late, while matches run: with players in memory and a clock that jumps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from getstep.wire import End, Start
from getstep_server.config.contest import Contest
from getstep_server.events import DecisionTaken
from getstep_server.limits import NO_SHOWS_UNTIL_FINAL
from getstep_server.records.decision import NO_SHOW_RULE
from getstep_server.records.game import validate_game
from getstep_server.records.match import Match
from getstep_server.records.record import parse
from getstep_server.reports.corrections import correction_facts
from tests.support.contests import make_contest
from tests.support.director import PATIENCE, SMALL, DecidedStage, slow

pytestmark = pytest.mark.usefixtures("jumping_time")

LEGS = 4
"""Two teams per match: when one is late, the others still play (36 s for each match) and the contest runs."""


def contest(folder: Path, teams: int = 3, legs: int = LEGS, **start: Any) -> Contest:
    event = {**SMALL["event"], "settings": {"legs": legs}}
    return make_contest(folder, teams, event=event, start={"absent_seconds": PATIENCE} | start)


def late(stage: DecidedStage) -> list[dict[str, Any]]:
    """Return the records of late arrivals."""
    heads = [parse(record.content()) for record in stage.store.chain if record.match is None]
    return [head for head in heads if head.get("decision") == "late_arrival"]


def final(stage: DecidedStage, team: int) -> list[str]:
    """Return the final reasons of a team's matches."""
    matches = [match for match in stage.tournament.matches.values() if team in match.teams]
    results = [stage.tournament.played_result(match) for match in matches]
    return [result.reason for result in results if result is not None]


async def test_a_late_team_plays_what_it_had_forfeited(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(contest(tmp_path))

    forfeited: list[int] = []

    async def come() -> None:
        await trio.sleep(PATIENCE + 40)
        assert set(final(stage, 3)) == {"never_arrived"}
        forfeited.extend(result.match.number for result in stage.store.saved if 3 in result.match.teams)
        stage.come(3)

    await stage.play(1, 2, seconds=slow(1, 2), during=come)
    assert final(stage, 3) == ["finished"] * 2 * LEGS
    stage.check(tmp_path)
    (record,) = late(stage)
    assert (record["team"], record["by"], record["why"]) == (3, NO_SHOW_RULE, "Team 3 has arrived")
    assert record["matches"] == sorted(forfeited)
    assert "match" not in record
    for number in forfeited:
        assert stage.attempts(number) == ["never_arrived", "finished"]
    (taken,) = stage.of(DecisionTaken)
    assert (taken.decision.team, taken.match) == (3, None)
    assert taken.total - taken.done >= len(forfeited) > 2
    for team in (1, 2):  # told of a walkover, then asked to play
        ends = [end for end in stage.said(team, End) if end.match in forfeited]
        reasons = [(end.result, end.reason) for end in ends]
        assert reasons[: len(ends) // 2] == [("win", "never_arrived")] * (len(ends) // 2)
        assert {start.match for start in stage.said(team, Start)} >= {end.match for end in ends}
    forfeit = next(record for record in stage.store.chain if b"never_arrived" in record.header)
    ((_, how), (_, what)) = correction_facts(stage.tournament, validate_game(parse(forfeit.content())))
    assert how.startswith(f"replayed by {NO_SHOW_RULE}, ")
    assert how.endswith(": Team 3 has arrived")
    assert what.startswith("attempt 2: ")


async def test_a_forfeit_is_final_if_the_host_says_so(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(contest(tmp_path, no_show="final"))

    async def come() -> None:
        await trio.sleep(PATIENCE + 40)
        stage.come(3)

    await stage.play(1, 2, seconds=slow(1, 2), during=come)
    assert set(final(stage, 3)) == {"never_arrived", "finished"}  # it plays what was still open
    assert final(stage, 3).count("never_arrived") > 2
    assert late(stage) == []
    stage.check(tmp_path)


async def test_a_team_that_never_arrives_has_lost(tmp_path: Path, autojump_clock: MockClock) -> None:
    """And nobody waits for it any longer than before."""
    stage = DecidedStage(contest(tmp_path, legs=2))
    await stage.play(1, 2, seconds=slow(1, 2))
    assert trio.current_time() == pytest.approx(2 * 36, abs=1)
    assert final(stage, 3) == ["never_arrived"] * 4
    stage.check(tmp_path)


async def test_two_missing_teams_arrive_in_turn(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Both have lost at first; then the other alone; then they play."""
    stage = DecidedStage(contest(tmp_path, teams=4, legs=4))

    def winner(match: Match) -> int | None:
        result = stage.tournament.played_result(match)
        assert result is not None
        return None if result.winner is None else match.teams[result.winner]

    async def come() -> None:
        between = [match for match in stage.tournament.matches.values() if set(match.teams) == {3, 4}]
        await trio.sleep(PATIENCE + 10)
        between = [match for match in stage.tournament.matches.values() if set(match.teams) == {3, 4}]
        assert {winner(match) for match in between} == {None}
        stage.come(3)
        await trio.sleep(10)
        assert {winner(match) for match in between} == {3}
        stage.come(4)

    await stage.play(1, 2, seconds=slow(1, 2), during=come)
    for team in (3, 4):
        assert set(final(stage, team)) == {"finished"}
    assert [record["team"] for record in late(stage)] == [3, 4]
    stage.check(tmp_path)


async def test_a_team_that_arrives_and_leaves_loses_in_the_end(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Its matches cannot be forfeited and reopened for ever: each time is records on the disk."""
    stage = DecidedStage(contest(tmp_path, legs=20, absent_seconds=5))

    async def come_and_go() -> None:
        while True:
            while not stage.tournament.missing_teams():
                await trio.sleep(1)
            stage.come(3)
            await trio.sleep(0.5)
            stage.go(3)

    await stage.play(1, 2, seconds=slow(1, 2), during=come_and_go)
    attempts = [stage.attempts(number).count("never_arrived") for number in stage.tournament.matches]
    assert max(attempts) == NO_SHOWS_UNTIL_FINAL
    stage.check(tmp_path)


async def test_a_team_that_is_out_reopens_nothing(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Neither its own matches, nor those against it."""
    stage = DecidedStage(contest(tmp_path, teams=4))

    async def come() -> None:
        await trio.sleep(PATIENCE + 10)
        stage.decide("withdraw", team=3)
        await trio.sleep(5)
        stage.come(3)
        stage.come(4)

    await stage.play(1, 2, seconds=slow(1, 2), during=come)
    assert set(final(stage, 3)) == {"never_arrived"}
    (record,) = late(stage)
    assert record["team"] == 4
    opponents = {team for number in record["matches"] for team in stage.tournament.matches[number].teams}
    assert opponents == {1, 2, 4}
    stage.check(tmp_path)


ROUNDS: dict[str, dict[str, Any]] = {
    "swiss": {"format": "swiss", "settings": {"rounds": 2, "legs": 4}},
    "ladder": {"format": "ladder", "settings": {"rounds": 2, "games": 4}},
    "knockout": {"format": "knockout", "settings": {"best_of": 5, "third_place": False}},
}


@pytest.mark.parametrize("event", ROUNDS.values(), ids=ROUNDS)
async def test_matches_of_the_current_round_are_played_after_all(
    tmp_path: Path, autojump_clock: MockClock, event: dict[str, Any]
) -> None:
    """While others still play in it (for three matches of 36 s at least), so that no later round rests on them."""
    stage = DecidedStage(make_contest(tmp_path, 4, event={**SMALL["event"], **event}))

    async def come() -> None:
        while not final(stage, 4):
            await trio.sleep(1)
        stage.come(4)

    await stage.play(1, 2, 3, seconds=slow(1, 2, 3), during=come)
    assert set(final(stage, 4)) == {"finished"}
    assert len(late(stage)) == 1
    stage.check(tmp_path)


@pytest.mark.parametrize("event", ROUNDS.values(), ids=ROUNDS)
async def test_a_forfeit_is_final_once_a_later_round_depends_on_it(
    tmp_path: Path, autojump_clock: MockClock, event: dict[str, Any]
) -> None:
    stage = DecidedStage(make_contest(tmp_path, 4, event={**SMALL["event"], **event}))

    async def come() -> None:
        while not any(match.round == 2 for match in stage.tournament.matches.values()):
            await trio.sleep(1)
        stage.come(4)

    await stage.play(1, 2, 3, seconds=slow(1, 2, 3), during=come)
    first = [match for match in stage.tournament.matches.values() if match.round == 1 and 4 in match.teams]
    assert first
    for match in first:
        assert stage.attempts(match.number) == ["never_arrived"]
    stage.check(tmp_path)


async def test_a_change_of_the_rule_is_on_record(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The host has made forfeits provisional between two runs: those of before stay final, later ones are not."""
    before = DecidedStage(contest(tmp_path, legs=2, no_show="final"))
    fields = before.tournament.next_pairings(before.tournament.contest.events[0])
    assert fields is not None
    before.tournament.apply_pairings(fields)
    stage = DecidedStage(contest(tmp_path, legs=2))
    stage.tournament.apply_pairings(fields)
    changed = stage.tournament.next_pairings(stage.tournament.contest.events[0])
    assert changed is not None
    assert (changed["no_show"], changed["matches"]) == ("provisional", [])
    assert [str(change) for change in stage.tournament.settings.changes()] == [
        'start.no_show: "final" -> "provisional"'
    ]
    stage.tournament.apply_pairings(changed)
    assert stage.tournament.next_pairings(stage.tournament.contest.events[0]) is None
