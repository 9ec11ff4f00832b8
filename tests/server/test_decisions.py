"""The host's decisions: what follows from them in a tournament, without a server."""

from __future__ import annotations

import io
from math import copysign, sqrt
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from getstep_server.records.decision import (
    Decision,
    decision_of,
    describe_decision,
    record_of_decision,
    validate_decision,
)
from getstep_server.records.match import Match
from getstep_server.records.reasons import DecisionKind, VoidReason
from getstep_server.records.record import RecordError, parse
from getstep_server.reports.tables import all_tables
from tests.support.contests import make_contest
from tests.support.tournament_host import (
    AT,
    KNOCKOUT,
    SWISS,
    WHY,
    DecidingHost,
    Host,
    assert_it_can_be_made_again,
    result_of,
    with_teams,
)


def refused(host: DecidingHost, kind: str, **about: Any) -> str:
    with pytest.raises(RecordError) as caught:
        host.decide(kind, **about)
    return str(caught.value)


def between(host: Host, one: int, other: int) -> list[Match]:
    return [match for match in host.tournament.matches.values() if set(match.teams) == {one, other}]


@pytest.fixture
def host(tmp_path: Path) -> DecidingHost:
    """Three teams that have played one of their two games against each other."""
    host = DecidingHost(make_contest(tmp_path, 3))
    host.issue_pairings()
    for match in host.tournament.open():
        if match.leg == 1:
            host.play(match)
    return host


# --- teams ----------------------------------------------------------------------------------------------------


def test_a_withdrawn_team_keeps_its_results(host: DecidingHost) -> None:
    host.decide("withdraw", team=1)
    assert {frozenset(match.teams) for match in host.tournament.open()} == {frozenset((2, 3))}
    assert (host.tournament.done, host.tournament.total) == (3, 4)
    assert host.issue_pairings() == []
    assert host.records[-1]["teams"] == [2, 3]
    host.play_all()
    rows = host.rows()
    assert (rows[1].status, rows[1].played, rows[1].points) == ("withdrawn", 2, 4)
    assert host.order() == [1, 2, 3]  # it stays where its points put it
    assert_it_can_be_made_again(host)


def test_the_results_of_a_disqualified_team_do_not_count(host: DecidingHost) -> None:
    host.decide("disqualify", team=1)
    assert (host.tournament.done, host.tournament.total) == (1, 2)
    host.play_all()
    rows = host.rows()
    assert (rows[1].status, rows[1].played, rows[1].points) == ("disqualified", 0, 0)
    assert (rows[2].played, rows[2].points) == (2, 4)
    assert host.order() == [2, 3, 1]
    assert {result.match.teams for result in host.tournament.results} == {(2, 3), (3, 2)}
    assert len(host.tournament.official_games) == 2
    assert_it_can_be_made_again(host)


@pytest.mark.parametrize("kind", ["withdraw", "disqualify"])
def test_a_reinstated_team_continues_where_it_was(host: DecidingHost, kind: str) -> None:
    before, open_ = host.order(), host.tournament.open()
    host.decide(kind, team=1)
    host.issue_pairings()
    host.decide("reinstate", team=1)
    assert host.tournament.open() == open_
    assert host.issue_pairings() == []
    assert host.records[-1]["teams"] == [2, 3, 1]  # as a team that comes late
    host.play_all()
    assert host.order() == before
    assert {row.played for row in host.rows().values()} == {4}
    assert {row.status for row in host.rows().values()} == {""}
    assert_it_can_be_made_again(host)


def test_a_match_of_two_withdrawn_teams_opens_again_when_both_are_reinstated(host: DecidingHost) -> None:
    host.decide("withdraw", team=1)
    host.decide("withdraw", team=2)
    host.issue_pairings()
    assert host.tournament.open() == []
    host.decide("reinstate", team=1)
    host.issue_pairings()
    assert {frozenset(match.teams) for match in host.tournament.open()} == {frozenset((1, 3))}
    host.decide("reinstate", team=2)
    host.issue_pairings()
    assert len(host.tournament.open()) == 3
    assert_it_can_be_made_again(host)


def test_a_removed_team_stays_withdrawn(host: DecidingHost) -> None:
    """A match that its opponent's return has opened again is cancelled with the next record."""
    host.decide("withdraw", team=1)
    host.issue_pairings()
    gone = DecidingHost(with_teams(host.contest, 1, 3), host.records)
    gone.issue_pairings()
    assert gone.tournament.open() == []
    gone.decide("reinstate", team=1)
    gone.issue_pairings()
    assert {frozenset(match.teams) for match in gone.tournament.open()} == {frozenset((1, 3))}
    assert gone.rows()[2].status == "withdrawn"
    assert_it_can_be_made_again(gone)


def test_a_team_that_is_reinstated_and_not_in_the_list(host: DecidingHost) -> None:
    host.decide("withdraw", team=1)
    host.issue_pairings()
    without = DecidingHost(with_teams(host.contest, 2, 3), host.records)
    without.decide("reinstate", team=1)
    without.issue_pairings()
    assert without.records[-1]["matches"] == []
    assert {frozenset(match.teams) for match in without.tournament.open()} == {frozenset((2, 3))}
    without.play_all()
    assert_it_can_be_made_again(without)


def test_one_event_of_several(tmp_path: Path) -> None:
    host = DecidingHost(make_contest(tmp_path, 3, {"game": "hop"}, {"game": "linkage"}))
    host.issue_pairings()
    host.decide("disqualify", team=3, event=2)
    assert [host.tournament.status(3, event) for event in (1, 2)] == ["", "disqualified"]
    assert {match.event for match in host.tournament.open() if 3 in match.teams} == {1}
    host.decide("withdraw", team=3, event=1)
    host.decide("reinstate", team=3)
    assert [host.tournament.status(3, event) for event in (1, 2)] == ["", ""]
    host.decide("withdraw", team=3)
    host.decide("reinstate", team=3, event=2)
    assert [host.tournament.status(3, event) for event in (1, 2)] == ["withdrawn", ""]
    host.play_all()
    assert_it_can_be_made_again(host)


def test_a_round_ends_with_the_last_match_that_was_cancelled(tmp_path: Path) -> None:
    host = DecidingHost(make_contest(tmp_path, 4, SWISS))
    one, other = host.issue_pairings()
    host.play(one)
    host.decide("withdraw", team=other.first)
    assert host.tournament.due == {1}
    new = host.issue_pairings()
    assert {match.round for match in new} == {2}
    assert all(other.first not in match.teams for match in new)


def test_the_winner_of_a_knockout_is_disqualified_and_the_others_move_up(tmp_path: Path) -> None:
    host = DecidingHost(make_contest(tmp_path, 4, KNOCKOUT))
    host.play_all()
    assert [(team, row.place) for team, row in host.rows().items()] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    host.decide("disqualify", team=1)
    host.play_all()
    assert [(team, row.place) for team, row in host.rows().items()] == [(2, 1), (3, 2), (4, 3), (1, None)]


def test_tables_show_the_status_of_a_team(tmp_path: Path) -> None:
    host = DecidingHost(make_contest(tmp_path, 3, {"game": "hop"}, {"game": "linkage"}))
    host.play_all()
    host.decide("disqualify", team=1)
    host.decide("withdraw", team=2, event=1)
    tables = host.tournament.tables()
    assert [(row.team, row.status) for row in tables.events[1]] == [(2, "withdrawn"), (3, ""), (1, "disqualified")]
    assert [(row.team, row.status) for row in tables.combined] == [(2, ""), (3, ""), (1, "disqualified")]
    console = Console(width=80, file=io.StringIO(), record=True)
    for table in all_tables(host.contest, tables, title="Test"):
        console.print(table)
    text = console.export_text()
    assert text.count("Team 1 (disqualified)") == 3
    assert text.count("Team 2 (withdrawn)") == 1
    assert "Order: points" in text


def test_a_bye_of_a_disqualified_team_is_worth_nothing(tmp_path: Path) -> None:
    host = DecidingHost(make_contest(tmp_path, 3, SWISS))
    host.play_all()
    host.decide("disqualify", team=2)
    assert (host.rows()[2].byes, host.rows()[2].points) == (0, 0)
    assert host.rows()[1].byes == 1


def test_pairings_may_not_name_a_withdrawn_team(host: DecidingHost) -> None:
    host.decide("withdraw", team=2)
    with pytest.raises(RecordError, match="team 2 takes part, expected none that is withdrawn by the host"):
        host.tournament.pairings(host.records[0])


# --- matches --------------------------------------------------------------------------------------------------


def test_the_host_sets_the_result_of_a_match(host: DecidingHost) -> None:
    played, other = between(host, 1, 2)
    assert host.tournament.played_result(played) is not None
    for match, winner in ((played, played.teams.index(2)), (other, None)):
        host.decide("adjudicate", match=match.number, winner=winner)
        result = host.tournament.played_result(match)
        assert result is not None
        assert (result.winner, result.reason, result.detail) == (winner, "adjudicated", WHY)
        assert (result.scores, result.turns, result.seconds) == (None, 0, 0)
        assert not host.tournament.is_open(match)
    rows = host.rows()
    assert (rows[2].won, rows[2].drawn, rows[2].points) == (2, 1, 5)
    assert (played.number, 1) not in host.tournament.official_games
    host.decide("adjudicate", match=other.number, winner=0)
    assert host.rows()[other.first].won > rows[other.first].won
    host.play_all()
    assert_it_can_be_made_again(host)


@pytest.mark.parametrize(("winner", "scores"), [(0, (170, 146)), (1, (0, 24)), (None, (5, 5)), (0, None)])
def test_the_host_says_by_how_much(tmp_path: Path, winner: int | None, scores: tuple[int, int] | None) -> None:
    host = DecidingHost(make_contest(tmp_path, 2, {"game": "pseudo_tonga", "settings": {"legs": 1}}))
    (match,) = host.issue_pairings()
    host.decide("adjudicate", match=match.number, winner=winner, scores=scores)
    rows = host.rows()
    worth = 0 if scores is None else copysign(sqrt(abs(scores[0] - scores[1])), scores[0] - scores[1])
    assert rows[match.first].points == pytest.approx(worth)
    assert rows[match.second].points == pytest.approx(-worth)
    assert rows[match.first].won == (winner == 0)
    assert_it_can_be_made_again(host)


@pytest.mark.parametrize(
    ("game", "winner", "scores", "expected"),
    [
        ("hop", 0, (1, 2), "more for the winner"),
        ("hop", 1, (2, 2), "more for the winner"),
        ("hop", None, (1, 2), "equal ones for a draw"),
        ("chain_reaction", 0, (-1, -2), "two whole numbers from 0 to 1000000"),
        ("pseudo_tonga", 0, (10**9, 0), "two whole numbers from 0 to 1000000"),
        ("pseudo_tonga", 0, (3, 2, 1), "two whole numbers"),
        ("pseudo_tonga", 0, (True, False), "two whole numbers"),
        ("pseudo_tonga", 0, (2.0, 1.0), "two whole numbers"),
        ("linkage", 0, (12, 11), "none: in linkage no difference"),
        ("longest_path", None, (0, 0), "none: in longest_path no difference"),
    ],
)
def test_scores_that_make_no_sense(
    tmp_path: Path, game: str, winner: int | None, scores: tuple[Any, ...], expected: str
) -> None:
    host = DecidingHost(make_contest(tmp_path, 2, {"game": game}))
    host.issue_pairings()
    message = refused(host, "adjudicate", match=1, winner=winner, scores=scores)
    assert message.startswith(f"scores {scores!r}, expected {expected}")


def test_a_match_is_played_again(host: DecidingHost) -> None:
    match = between(host, 1, 2)[0]
    host.decide("replay", match=match.number)
    assert host.tournament.is_open(match)
    assert host.rows()[1].played == 1
    host.play(match, strong=2, attempt=2)
    result = host.tournament.played_result(match)
    assert result is not None
    assert (result.attempt, match.teams[result.winner or 0]) == (2, 2)
    assert host.tournament.official_games >= {(match.number, 2)}
    assert (match.number, 1) not in host.tournament.official_games
    host.decide("adjudicate", match=match.number, winner=None)
    host.decide("replay", match=match.number)
    assert host.tournament.is_open(match)
    assert (host.tournament.replays[match.number], host.tournament.attempts[match.number]) == (2, 2)
    assert_it_can_be_made_again(host)


def test_an_attempt_that_was_called_off_does_not_count(host: DecidingHost) -> None:
    match = host.tournament.open()[0]
    host.decide("withdraw", team=match.first)
    host.play(match, reason=VoidReason.CALLED_OFF)
    assert (host.tournament.attempts[match.number], host.tournament.played_result(match)) == (1, None)
    assert host.tournament.recorded >= {(match.number, 1)}
    with pytest.raises(RecordError, match="was cancelled, expected no game of it"):
        host.play(match, attempt=2)


def test_a_match_that_was_cancelled_by_hand_can_be_played_again(host: DecidingHost) -> None:
    """Its team was not in teams.toml for a while."""
    Host(with_teams(host.contest, 2, 3), host.records).issue_pairings()
    back = DecidingHost(host.contest, host.records)
    back.issue_pairings()
    match = next(match for match in between(back, 1, 2) if match.leg == 2)
    assert not back.tournament.is_open(match)
    back.decide("replay", match=match.number)
    assert back.tournament.is_open(match)
    back.play_all()
    assert_it_can_be_made_again(back)


def test_an_adjudicated_knockout_continues_with_the_winner(tmp_path: Path) -> None:
    host = DecidingHost(make_contest(tmp_path, 4, KNOCKOUT))
    one, _ = host.issue_pairings()
    host.decide("adjudicate", match=one.number, winner=one.teams.index(max(one.teams)))
    host.play_some()
    final = next(match for match in host.issue_pairings() if match.pairing == 3)
    assert max(one.teams) in final.teams


# --- what makes no sense --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "about", "message"),
    [
        ("reinstate", {"team": 1}, "team 1 takes part, expected one that is out"),
        ("withdraw", {"team": 3}, "team 3 is withdrawn already"),
        ("withdraw", {"team": 3, "event": 1}, "team 3 is withdrawn already"),
        ("withdraw", {"team": 1, "event": 2}, "event 2, expected one of the 1 in contest.toml"),
        ("adjudicate", {"match": 7, "winner": 0}, "match 7, expected one of the 6 issued ones"),
        ("replay", {"match": 99}, "match 99, expected one of the 6 issued ones"),
    ],
)
def test_impossible_decisions(host: DecidingHost, kind: str, about: dict[str, Any], message: str) -> None:
    host.decide("withdraw", team=3)
    assert refused(host, kind, **about) == message
    assert len(host.tournament.decisions) == 1


def test_matches_of_a_disqualified_team_cannot_be_decided(host: DecidingHost) -> None:
    match = between(host, 2, 3)[0]
    host.decide("withdraw", team=3)
    expected = f"team 3 of match {match.number} is withdrawn, expected it to take part; reinstate it first"
    assert refused(host, "replay", match=match.number) == expected
    host.decide("adjudicate", match=match.number, winner=1)
    host.decide("disqualify", team=3)
    assert "is disqualified, expected it to take part" in refused(host, "adjudicate", match=match.number, winner=1)
    assert refused(host, "withdraw", team=3) == (
        "team 3 is disqualified, expected one that takes part; reinstate it first"
    )
    assert refused(host, "disqualify", team=3) == "team 3 is disqualified already"


def test_a_decision_before_the_contest(tmp_path: Path) -> None:
    host = DecidingHost(make_contest(tmp_path, 2))
    assert refused(host, "withdraw", team=1).startswith("no matches have been issued")


# --- records --------------------------------------------------------------------------------------------------


DECISIONS = [
    Decision(DecisionKind.WITHDRAW, "Grace", WHY, AT, team=3),
    Decision(DecisionKind.DISQUALIFY, "Grace", WHY, AT, team=0, event=1),
    Decision(DecisionKind.REINSTATE, "Grace", WHY, AT, team=3, event=2),
    Decision(DecisionKind.ADJUDICATE, "Grace", WHY, AT, match=1, winner=1),
    Decision(DecisionKind.ADJUDICATE, "Grace", WHY, AT, match=1),
    Decision(DecisionKind.ADJUDICATE, "Grace", WHY, AT, match=1, winner=1, scores=(2, 5)),
    Decision(DecisionKind.REPLAY, "Grace", WHY, AT, match=1),
]


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda decision: str(decision.kind))
def test_a_decision_is_what_its_record_says(host: DecidingHost, decision: Decision) -> None:
    fields = parse(record_of_decision(host.contest, decision).content())
    assert decision_of(fields) == decision
    assert validate_decision(fields).why == WHY
    assert fields["type"] == "decision"


def test_decisions_in_words(host: DecidingHost) -> None:
    match = next(match for match in host.tournament.matches.values() if match.teams == (1, 2))
    texts = [describe_decision(decision, host.contest, match) for decision in DECISIONS]
    assert texts == [
        "Team 3 has withdrawn",
        "team 0 is disqualified",
        "Team 3 is reinstated",
        "match 1 (Team 1 – Team 2) is won by Team 2",
        "match 1 (Team 1 – Team 2) is a draw",
        "match 1 (Team 1 – Team 2) is won by Team 2 with 5 to 2",
        "match 1 (Team 1 – Team 2) is played again",
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"decision": "pardon"},
            "decision is 'pardon', expected one of: withdraw, disqualify, reinstate, adjudicate",
        ),
        ({"decision": ["replay"]}, r"decision is \['replay'\], expected one of"),
        ({"why": ""}, "why is '', expected visible characters"),
        ({"why": "a\nb"}, r"why is 'a\\nb', expected visible characters"),
        ({"why": "x" * 501}, "why is 'x"),
        ({"by": None}, "by is None, expected a valid string"),
        ({"at": "yesterday"}, "at is 'yesterday', expected a time in UTC"),
        ({"team": True}, "team is True, expected a valid integer"),
        ({"event": 0}, "event is 0, expected greater than or equal to 1"),
        ({"match": 3}, "match is 3, expected nothing in a decision to withdraw"),
        ({"winner": None}, "winner is None, expected nothing in a decision to withdraw"),
    ],
)
def test_a_record_that_is_no_decision(host: DecidingHost, wrong: dict[str, Any], message: str) -> None:
    fields = parse(record_of_decision(host.contest, DECISIONS[0]).content())
    with pytest.raises(RecordError, match=message):
        validate_decision({**fields, **wrong})


@pytest.mark.parametrize("wrong", [{"team": []}, {"at": 5}, {"at": "never"}, {"decision": None}])
def test_a_record_that_cannot_be_read(host: DecidingHost, wrong: dict[str, Any]) -> None:
    fields = parse(record_of_decision(host.contest, DECISIONS[0]).content())
    with pytest.raises(RecordError):
        decision_of({**fields, **wrong})


def test_the_later_of_two_decisions_counts(host: DecidingHost) -> None:
    """Two decisions about one match: the later one counts."""
    match = between(host, 1, 3)[0]
    host.decide("adjudicate", match=match.number, winner=0)
    host.decide("adjudicate", match=match.number, winner=1)
    assert host.tournament.played_result(match) == replace(
        result_of(match, strong=match.second, reason="adjudicated"),
        detail=WHY,
        scores=None,
        turns=0,
        thought=(0.0, 0.0),
        started=1728138600.0,
        seconds=0.0,
    )
