"""The tournament: records in, pairings and tables out, without a server."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from getstep_server.config.event import Scoring
from getstep_server.records.reasons import DecisionKind, VoidReason
from getstep_server.records.record import RecordError
from getstep_server.tournament.tournament import Tournament
from tests.support.contests import make_contest
from tests.support.tournament_host import (
    KNOCKOUT,
    LADDER,
    SWISS,
    DecidingHost,
    Host,
    assert_it_can_be_made_again,
    result_of,
    with_teams,
)


@pytest.mark.parametrize("event", [SWISS, LADDER, KNOCKOUT], ids=lambda event: str(event["format"]))
@pytest.mark.parametrize("teams", [2, 5, 8])
def test_it_is_made_of_its_records(tmp_path: Path, event: dict[str, Any], teams: int) -> None:
    host = Host(make_contest(tmp_path, teams, event))
    host.play_all()
    assert host.tournament.total == host.tournament.done == len(host.tournament.matches) > 0
    assert sorted(host.tournament.matches) == list(range(1, host.tournament.total + 1))
    assert_it_can_be_made_again(host)


def test_events_have_their_own_numbers_and_matches_share_theirs(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 3, {"game": "hop"}, {"game": "linkage", "settings": {"legs": 1}}))
    matches = host.issue_pairings()
    assert [match.number for match in matches] == list(range(1, 10))
    assert [(match.event, match.game) for match in matches] == [(1, "hop")] * 6 + [(2, "linkage")] * 3
    assert sorted({match.pairing for match in matches if match.event == 2}) == [1, 2, 3]
    assert [fields["event"] for fields in host.records] == [1, 2]
    assert host.issue_pairings() == []


def test_byes_are_on_record_and_count(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 3, SWISS))
    host.play_all()
    byes = [entry for fields in host.records for entry in fields.get("matches", ()) if entry["second"] is None]
    assert {entry["number"] for entry in byes} == {None}
    assert sorted(entry["first"] for entry in byes) == [1, 2, 3]
    table = host.tournament.table(host.contest.events[0])
    assert [(row.team, row.played, row.byes, row.points) for row in table] == [
        (1, 2, 1, 6),
        (2, 2, 1, 4),
        (3, 2, 1, 2),
    ]


def test_a_round_comes_when_the_one_before_is_over(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 4, SWISS))
    one, other = host.issue_pairings()
    host.play(one)
    assert (host.tournament.due, host.issue_pairings()) == (set(), [])
    host.play(other)
    assert {match.round for match in host.issue_pairings()} == {2}


def test_a_knockout_is_paired_after_each_result(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 8, {**KNOCKOUT, "settings": {"best_of": 3}}))
    first = host.issue_pairings()
    assert len(first) == 4
    host.play(first[0])
    (second_leg,) = host.issue_pairings()
    assert (second_leg.pairing, second_leg.leg) == (first[0].pairing, 2)


def test_an_attempt_that_does_not_count(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 2))
    match, _ = host.issue_pairings()
    host.play(match, reason=VoidReason.SERVER_FAULT)
    assert (host.tournament.done, host.tournament.attempts[1]) == (0, 1)
    assert match in host.tournament.open()
    host.play(match, attempt=2)
    assert (host.tournament.done, host.tournament.attempts[1]) == (1, 2)
    assert host.tournament.recorded == {(1, 1), (1, 2)}
    assert_it_can_be_made_again(host)


def test_a_ladder_over_three_rounds_with_a_joining_and_a_leaving_team(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, 4, LADDER)
    host = Host(contest)
    for match in host.issue_pairings():
        host.play(match, strong=2)  # climbs past team 1
    host = Host(with_teams(contest, 1, 2, 3, 5), host.records)
    second = host.issue_pairings()
    assert host.records[-1]["teams"] == [1, 2, 3, 5]
    assert [set(match.teams) for match in second[::2]] == [{2, 1}, {1, 3}, {3, 5}]
    for match in second:
        host.play(match, strong=5)
    host.play_all()
    assert {match.round for match in host.tournament.matches.values()} == {1, 2, 3}
    places = {row.team: row.place for row in host.tournament.table(host.contest.events[0])}
    assert sorted(places) == [1, 2, 3, 4, 5]
    assert places[4] is None
    assert {places[team] for team in (1, 2, 3, 5)} == {1, 2, 3, 4}
    assert_it_can_be_made_again(host)


def test_open_matches_of_a_withdrawn_team_are_cancelled(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, 3)
    host = Host(contest)
    matches = host.issue_pairings()
    played = next(match for match in matches if 3 in match.teams)
    host.play(played)
    host = Host(with_teams(contest, 1, 2), host.records)
    assert host.issue_pairings() == []
    assert host.records[-1]["teams"] == [1, 2]
    assert host.records[-1]["matches"] == []
    assert {match.teams for match in host.tournament.open()} == {(1, 2), (2, 1)}
    assert (host.tournament.done, host.tournament.total) == (1, 3)
    assert {row.team for row in host.tournament.table(host.contest.events[0])} == {1, 2, 3}
    cancelled = next(match for match in matches if 3 in match.teams and match != played)
    with pytest.raises(RecordError, match=f"match {cancelled.number} was cancelled, expected no game of it"):
        host.tournament.apply_result(result_of(cancelled))
    back = Host(contest, host.records)
    assert back.issue_pairings() == []  # what was cancelled stays so
    assert_it_can_be_made_again(back)


@pytest.mark.parametrize("event", [SWISS, LADDER], ids=lambda event: str(event["format"]))
def test_what_a_format_sees_is_the_same_after_any_records(tmp_path: Path, event: dict[str, Any]) -> None:
    """A tournament that has been asked all the time makes only a part of it anew."""
    dice = random.Random(5)
    host = DecidingHost(make_contest(tmp_path, 5, event))
    scorings = [Scoring(), Scoring(win=3, draw=1, loss=0)]
    done = Counter[str]()
    for _ in range(150):
        kind = dice.choice([*["play"] * 6, "withdraw", "disqualify", "reinstate", "replay"])
        with contextlib.suppress(RecordError):  # not every decision is possible now
            if kind == "play" and host.tournament.open():
                match = dice.choice(list(host.tournament.open()))
                attempt = host.tournament.attempts[match.number] + 1
                host.play(match, strong=dice.choice(match.teams), attempt=attempt)
            elif kind == "replay":
                host.decide(DecisionKind.REPLAY, match=dice.randint(1, len(host.tournament.matches) or 1))
            elif kind != "play":
                host.decide(DecisionKind(kind), team=dice.randint(1, 5))
            done[kind] += 1
        host.issue_pairings()
        teams, scoring = dice.sample(range(1, 6), dice.choice([4, 5, 5])), dice.choice(scorings)
        again = Tournament(host.contest, host.records)
        assert host.tournament._state(1).history(scoring, teams) == again._state(1).history(scoring, teams)
    assert min(done[kind] for kind in ("play", "withdraw", "disqualify", "reinstate", "replay")) >= 2


def test_a_round_ends_when_the_last_that_was_open_is_cancelled(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, 6, SWISS)
    host = Host(contest)
    matches = host.issue_pairings()
    left = matches[0]
    for match in matches[1:]:
        host.play(match)
    gone = left.first
    host = Host(with_teams(contest, *(team for team in range(1, 7) if team != gone)), host.records)
    new = host.issue_pairings()
    assert {match.round for match in new} == {2}
    assert all(gone not in match.teams for match in new)
    assert_it_can_be_made_again(host)


def test_the_tables_of_several_events(tmp_path: Path) -> None:
    alone = Host(make_contest(tmp_path, 3)).tournament.tables()
    assert alone.combined == ()
    host = Host(make_contest(tmp_path, 3, {"game": "hop"}, {"game": "linkage", "teams": [2, 3]}))
    host.play_all()
    tables = host.tournament.tables()
    assert [row.team for row in tables.events[1]] == [1, 2, 3]
    assert [row.team for row in tables.events[2]] == [2, 3]
    assert [(row.team, row.total, row.shares) for row in tables.combined] == [
        (2, 150.0, {"1": 50.0, "2": 100.0}),
        (1, 100.0, {"1": 100.0}),
        (3, 0.0, {"1": 0.0, "2": 0.0}),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"event": {"game": "linkage"}}, r"event 1: game = 'linkage', expected 'hop' as in the recorded pairings"),
        ({"event": {"format": "swiss"}}, r"event 1: format = 'swiss', expected 'round_robin' as in the"),
        ({"contest": {"seed": 2}}, "seed = 2, expected 1 as in the recorded pairings"),
    ],
)
def test_settings_that_stay_once_pairings_are_issued(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    host = Host(make_contest(tmp_path, 3))
    host.issue_pairings()
    assert host.tournament.settings.incompatibility(host.contest) is None
    assert (host.tournament.settings.incompatibility(make_contest(tmp_path, 3, **change)) or "").startswith(message)


def test_an_event_that_was_begun_may_not_vanish(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 3, {"game": "hop"}, {"game": "linkage"}))
    host.play_all()
    fewer = make_contest(tmp_path, 3)
    expected = "1 events, expected 2 or more: matches of it are on record"
    assert host.tournament.settings.incompatibility(fewer) == expected


def test_an_event_may_be_added_and_more_legs_played(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 2, {"game": "hop"}))
    host.play_all()
    more = {"game": "hop", "settings": {"legs": 3}}
    host = Host(make_contest(tmp_path, 2, more, {"game": "linkage"}), host.records)
    assert host.tournament.settings.incompatibility(host.contest) is None
    assert [(match.event, match.leg) for match in host.issue_pairings()] == [(1, 3), (2, 1), (2, 2)]
    assert_it_can_be_made_again(host)


@pytest.mark.parametrize(
    "wrong",
    [{"format": "league"}, {"settings": {"legs": 0}}, {"scoring": {"win": -1}}, {"teams": None}, {"event": []}],
)
def test_an_invalid_record_of_pairings(tmp_path: Path, wrong: dict[str, Any]) -> None:
    host = Host(make_contest(tmp_path, 3))
    host.issue_pairings()
    fields = {**host.records[0], **wrong}
    with pytest.raises(RecordError, match="a record of pairings that cannot be read"):
        Tournament(host.contest).pairings(fields)


def test_records_that_do_not_follow(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 2))
    match, _ = host.issue_pairings()
    with pytest.raises(RecordError, match="match 1 is issued again, expected a new one"):
        host.tournament.apply(host.records[0])
    with pytest.raises(RecordError, match=r"match 1, .*, expected one that was issued"):
        host.tournament.apply_result(result_of(replace(match, first=match.second, second=match.first)))


def test_changes_of_contest_toml(tmp_path: Path) -> None:
    event: dict[str, Any] = {"game": "hop", "format": "gauntlet", "settings": {"challengers": [1, 2], "legs": 2}}
    host = Host(make_contest(tmp_path / "a", 4, event))
    host.play_all()
    assert Tournament(host.contest, host.records).settings.changes() == []
    event = {**event, "settings": {"challengers": [1, 2], "legs": 4}, "scoring": {"win": 3}}
    now = make_contest(tmp_path / "b", 4, event)
    assert list(map(str, Tournament(now, host.records).settings.changes())) == [
        "event 1 (hop), settings.legs: 2 -> 4",
        "event 1 (hop), scoring.win: 2 -> 3",
    ]


def test_prepared_pairings_are_applied_like_any_others(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, 4)
    event = contest.events[0]
    one, other, changed = Tournament(contest), Tournament(contest), Tournament(contest)
    fields = one.next_pairings(event)
    assert fields is not None
    one.apply(fields)
    other.prepare_pairings(fields)
    assert other.matches == {}
    other.apply(fields)
    assert other.matches == one.matches
    assert other.open() == one.open()
    changed.prepare_pairings(fields)
    changed.apply({**fields, "matches": fields["matches"][:1]})  # another record has come first
    assert len(changed.matches) == 1
