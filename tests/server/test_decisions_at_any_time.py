"""Any decisions of the host at any time, in every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getstep_server.config.contest import Contest
from getstep_server.formats import FORMATS
from getstep_server.records.match import Match
from getstep_server.records.reasons import DecisionKind
from getstep_server.records.record import RecordError
from tests.support.contests import make_contest
from tests.support.quick import quick
from tests.support.tournament_host import KNOCKOUT, LADDER, SWISS, DecidingHost, Host, assert_it_can_be_made_again

EVENTS: dict[str, dict[str, Any]] = {
    "round_robin": {"game": "hop", "settings": {"legs": 1}},
    "gauntlet": {"game": "hop", "format": "gauntlet", "settings": {"challengers": [1, 2], "legs": 1}},
    "swiss": SWISS,
    "knockout": KNOCKOUT,
    "knockout of three": {**KNOCKOUT, "settings": {"best_of": 3}},
    "ladder": LADDER,
    "ladder of linkage": {**LADDER, "settings": {**LADDER["settings"], "games": 4, "missed_limit": "round"}},
    "match": {"game": "hop", "format": "match", "settings": {"pairs": 3, "at_once": 2}},
    "best": {"game": "hop", "format": "best", "settings": {"pairs": 2}},
    "arena": {"game": "hop", "format": "arena", "settings": {"matches": 6}},
}

MOST_STEPS = 200


def test_every_format_is_there() -> None:
    assert {event.get("format", "round_robin") for event in EVENTS.values()} == FORMATS.keys()


def _decide_anything(host: DecidingHost, data: st.DataObject) -> None:
    """Make or try one decision: an impossible one is refused and changes nothing."""
    kind = data.draw(st.sampled_from(["withdraw", "disqualify", "reinstate", "reinstate", "adjudicate", "replay"]))
    if kind in ("adjudicate", "replay"):
        about: dict[str, Any] = {"match": data.draw(st.integers(1, max(host.tournament.matches, default=1)))}
        about |= {"winner": data.draw(st.sampled_from([0, 1, None]))} if kind == DecisionKind.ADJUDICATE else {}
    else:
        about = {"team": data.draw(st.sampled_from(sorted(host.contest.teams)))}
    before = host.tournament.tables()
    try:
        host.decide(kind, **about)
    except RecordError:
        assert host.tournament.tables() == before


def _check_open(host: DecidingHost) -> None:
    tournament, event = host.tournament, host.contest.events[0]
    legs = [(match.pairing, match.leg) for match in tournament.matches.values()]
    assert len(legs) == len(set(legs))
    for match in tournament.open():
        assert not any(tournament.status(team, event.number) for team in match.teams)
    assert 0 <= tournament.done <= tournament.total == tournament.done + len(tournament.open())
    assert sorted(host.order()) == sorted(host.contest.teams)
    assert host.tournament.done == len(host.tournament.results)


@settings(max_examples=60)
@given(data=st.data())
@pytest.mark.parametrize("name", quick(EVENTS, ["swiss", "knockout of three", "ladder of linkage"]))
def test_any_decisions_at_any_time(name: str, data: st.DataObject) -> None:
    contest: Contest = make_contest(Path(), data.draw(st.integers(2, 7), "teams"), EVENTS[name])
    host = DecidingHost(contest)
    for _ in range(data.draw(st.integers(0, 25), "steps")):
        host.issue_pairings()
        _check_open(host)
        open_ = host.tournament.open()
        if data.draw(st.booleans()) and open_:
            matches = [match for match in host.tournament.matches.values() if host.tournament.accepts_result(match)]
            match = matches[data.draw(st.integers(0, len(matches) - 1))]
            reason = data.draw(st.sampled_from(["finished", "missed_limit"]))
            strong = data.draw(st.sampled_from(match.teams))
            host.play(match, strong=strong, reason=reason, attempt=_next(host, match))
        else:
            _decide_anything(host, data)
    for _ in range(MOST_STEPS):
        if not host.issue_pairings() and not host.tournament.open():
            break
        host.play_some()
        _check_open(host)
    else:
        raise AssertionError("it does not end")
    assert_it_can_be_made_again(host)


def _next(host: Host, match: Match) -> int:
    return host.tournament.attempts[match.number] + 1
