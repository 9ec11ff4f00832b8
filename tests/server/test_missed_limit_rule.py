"""The ladder's rule that a missed limit loses the whole round: by records alone, and while matches run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from getstep_server.config.event import EventTable, event_of
from getstep_server.events import MatchEnded, MatchStarted
from getstep_server.records.reasons import Reason
from getstep_server.records.record import RecordError
from getstep_server.reports.tables import result_line
from getstep_server.validation import validated
from tests.support.contests import make_contest
from tests.support.director import Stage
from tests.support.memory_peers import honest
from tests.support.tournament_host import DecidingHost, assert_it_can_be_made_again

LADDER: dict[str, Any] = {"game": "linkage", "format": "ladder", "settings": {"rounds": 2, "games": 2}}


@pytest.fixture
def host(tmp_path: Path) -> DecidingHost:
    """Four teams from the top, 1 to 4, two games each with their neighbours: matches 1 to 6."""
    host = DecidingHost(make_contest(tmp_path, 4, LADDER))
    assert [match.teams for match in host.issue_pairings()] == [(1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3)]
    return host


def miss(host: DecidingHost, number: int, team: int) -> None:
    """Let a team lose a match by a missed limit."""
    match = host.tournament.matches[number]
    (other,) = set(match.teams) - {team}
    host.play(match, strong=other, reason="missed_limit", attempt=host.tournament.attempts[number] + 1)


def outcomes(host: DecidingHost) -> dict[int, tuple[int | None, str]]:
    """Return the winner and the reason of each match."""
    found = {}
    for result in host.tournament.results:
        winner = None if result.winner is None else result.match.teams[result.winner]
        found[result.match.number] = (winner, result.reason)
    return found


def open_(host: DecidingHost) -> list[int]:
    return [match.number for match in host.tournament.open()]


def test_a_team_that_misses_a_limit_loses_the_round(host: DecidingHost) -> None:
    host.play(host.tournament.matches[3], strong=2)
    miss(host, 1, team=2)
    assert outcomes(host) == {
        1: (1, "missed_limit"),
        2: (1, Reason.ROUND_LOST),  # it had not begun
        3: (3, Reason.ROUND_LOST),  # it had won that
        4: (3, Reason.ROUND_LOST),
    }
    assert open_(host) == [5, 6]
    assert (host.tournament.done, host.tournament.total) == (4, 6)
    assert host.tournament.official_games == {(1, 1)}
    rows = host.rows()
    assert [(rows[team].played, rows[team].won, rows[team].points) for team in (1, 2, 3)] == [
        (2, 2, 100.0),
        (4, 0, 0.0),
        (2, 2, 100.0),
    ]
    assert_it_can_be_made_again(host)


def test_a_running_match_counts_as_lost_whatever_its_result(host: DecidingHost) -> None:
    miss(host, 1, team=2)
    running = host.tournament.matches[4]
    assert host.tournament.accepts_result(running)
    assert not host.tournament.is_open(running)
    host.play(running, strong=2)
    assert outcomes(host)[4] == (3, Reason.ROUND_LOST)
    assert not host.tournament.accepts_result(running)
    host.play(host.tournament.matches[3], strong=3)
    assert outcomes(host)[3] == (3, "finished")  # it lost that match without the rule
    assert_it_can_be_made_again(host)


def test_if_both_have_missed_a_limit_both_have_lost(host: DecidingHost) -> None:
    miss(host, 1, team=2)
    miss(host, 5, team=3)
    found = outcomes(host)
    assert [found[number] for number in (3, 4)] == [(None, Reason.ROUND_LOST)] * 2
    assert found[6] == (4, Reason.ROUND_LOST)
    rows = host.rows()
    assert [(rows[team].played, rows[team].won, rows[team].drawn) for team in (2, 3)] == [(4, 0, 0)] * 2
    (result,) = [result for result in host.tournament.results if result.match.number == 3]
    assert "both lose (round_lost: " in result_line(result, host.contest.team_name)
    new = host.issue_pairings()  # the round is over
    assert [match.teams for match in new[::2]] == [(1, 2), (2, 4), (4, 3)]
    assert_it_can_be_made_again(host)


def test_the_next_round_is_another(host: DecidingHost) -> None:
    miss(host, 1, team=2)
    host.play_all()
    second = [match for match in host.tournament.matches.values() if match.round == 2]
    assert second
    assert all(outcomes(host)[match.number][1] == "finished" for match in second)
    assert_it_can_be_made_again(host)


def test_decisions_of_the_host_precede_the_rule(host: DecidingHost) -> None:
    miss(host, 1, team=2)
    host.decide("adjudicate", match=3, winner=0)
    assert outcomes(host)[3] == (2, "adjudicated")
    host.decide("replay", match=1)  # and the rule has nothing to go by
    assert outcomes(host) == {3: (2, "adjudicated")}
    assert open_(host) == [1, 2, 4, 5, 6]
    host.play_all()
    assert_it_can_be_made_again(host)


def test_withdrawals_and_disqualifications_apply_to_a_lost_round(host: DecidingHost) -> None:
    miss(host, 1, team=2)
    host.decide("withdraw", team=3)
    assert outcomes(host) == {1: (1, "missed_limit"), 2: (1, Reason.ROUND_LOST)}
    host.decide("disqualify", team=1)
    assert outcomes(host) == {}
    host.decide("reinstate", team=1)
    host.play_all()
    assert_it_can_be_made_again(host)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"game": "linkage", "format": "ladder"}, "round"),
        ({"game": "linkage", "format": "ladder", "settings": {"missed_limit": "game"}}, "game"),
        ({"game": "chain_reaction", "format": "ladder"}, "game"),
        ({"game": "chain_reaction", "format": "ladder", "settings": {"missed_limit": "round"}}, "round"),
    ],
)
def test_the_events_with_the_rule(table: dict[str, Any], expected: str) -> None:
    assert event_of(1, validated(EventTable, table), 1, [1, 2]).format.options.missed_limit == expected


def test_a_round_continues_without_the_rule(tmp_path: Path) -> None:
    settings = {**LADDER["settings"], "missed_limit": "game"}
    host = DecidingHost(make_contest(tmp_path, 4, {**LADDER, "settings": settings}))
    host.issue_pairings()
    miss(host, 1, team=2)
    assert outcomes(host) == {1: (1, "missed_limit")}
    assert len(open_(host)) == 5


@pytest.mark.parametrize("settings", [None, [], "round"])
def test_settings_that_are_no_table_are_refused(host: DecidingHost, settings: Any) -> None:
    with pytest.raises(RecordError, match=r"^settings is .*, expected a valid dictionary$"):
        DecidingHost(host.contest, [{**host.records[0], "settings": settings}])


def test_a_setting_of_another_type_means_no_rule(host: DecidingHost) -> None:
    again = DecidingHost(host.contest, [{**host.records[0], "settings": {"missed_limit": ["round"]}}])
    miss(again, 1, team=2)
    assert len(open_(again)) == 5


async def test_no_match_begins_that_is_lost(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A team answers nothing in its first match, and has lost those that had not begun."""
    event = {**LADDER, "settings": {"rounds": 1, "games": 4}}
    stage = Stage(make_contest(tmp_path, 2, event=event))

    async def come() -> None:
        stage.come(1)
        stage.come(2, lambda peer, question: None if peer.start().match == 1 else honest(peer, question))

    await stage.play(during=come)
    assert [event.match.number for event in stage.of(MatchStarted)] == [1]
    assert [event.result.reason for event in stage.of(MatchEnded)] == ["missed_limit"]
    assert [(event.done, event.total) for event in stage.of(MatchEnded)] == [(4, 4)]
    assert [result.reason for result in stage.tournament.results] == ["missed_limit", *[Reason.ROUND_LOST] * 3]
