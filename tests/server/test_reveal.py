"""The freeze and the reveal as projections of records, without a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getstep_server.records.decision import Decision, describe_decision, freeze_by_rule
from getstep_server.records.match import Match
from getstep_server.records.reasons import DecisionKind
from getstep_server.tournament.reveal import Reveal
from getstep_server.tournament.tournament import Tournament
from tests.support.contests import make_contest
from tests.support.tournament_host import AT, KNOCKOUT, LADDER, SWISS, DecidingHost, assert_it_can_be_made_again

EVENTS: dict[str, list[dict[str, Any]]] = {
    "round_robin": [{"game": "hop", "settings": {"legs": 1}}],
    "gauntlet": [{"game": "hop", "format": "gauntlet", "settings": {"challengers": [1, 2], "legs": 1}}],
    "swiss": [SWISS],
    "knockout": [KNOCKOUT],
    "knockout of three": [{**KNOCKOUT, "settings": {"best_of": 3}}],
    "ladder": [{**LADDER, "settings": {**LADDER["settings"], "games": 4, "missed_limit": "round"}}],
    "match": [{"game": "hop", "format": "match", "settings": {"pairs": 3, "at_once": 2}}],
    "arena": [{"game": "hop", "format": "arena", "settings": {"matches": 6}}],
    "two events": [{"game": "linkage", "settings": {"legs": 1}}, {**KNOCKOUT, "name": "cup"}],
}


class FreezingHost(DecidingHost):
    """A host whose contest is frozen at some time."""

    def frozen(self) -> Tournament:
        """Return the state at the freeze."""
        place = next(place for place, fields in enumerate(self.records) if fields.get("decision") == "freeze")
        return Tournament(self.contest, self.records[:place])

    def final(self) -> Tournament:
        return Tournament(self.contest, self.records)


def play_one(host: FreezingHost, match: Match, data: st.DataObject) -> None:
    reason = data.draw(st.sampled_from(["finished", "finished", "missed_limit"]))
    attempt = host.tournament.attempts[match.number] + 1
    host.play(match, strong=data.draw(st.sampled_from(match.teams)), reason=reason, attempt=attempt)


def decide_something(host: FreezingHost, data: st.DataObject) -> None:
    matches = list(host.tournament.matches.values())
    match = data.draw(st.sampled_from(matches))
    decisions: list[dict[str, Any]] = [
        {"kind": "withdraw", "team": match.first},
        {"kind": "disqualify", "team": match.second},
        {"kind": "reinstate", "team": match.first},
        {"kind": "adjudicate", "match": match.number, "winner": 0},
        {"kind": "replay", "match": match.number},
    ]
    decision = data.draw(st.sampled_from(decisions))
    kind = DecisionKind(decision.pop("kind"))
    if host.tournament.objection(Decision(kind, "Grace", "why", AT, **decision)) is None:
        host.decide(kind, **decision)


@settings(max_examples=15)
@given(data=st.data())
@pytest.mark.parametrize("events", EVENTS.values(), ids=EVENTS)
def test_the_last_step_gives_the_final_tables(events: list[dict[str, Any]], data: st.DataObject) -> None:
    host = FreezingHost(make_contest(Path(), data.draw(st.integers(3, 6), "teams"), *events))
    host.issue_pairings()
    freeze_after = data.draw(st.integers(0, 8), "results before the freeze")
    done, is_frozen = 0, False
    for _ in range(data.draw(st.integers(0, 24), "steps")):
        if done >= freeze_after and not is_frozen:
            host.decide(DecisionKind.FREEZE)
            is_frozen = True
        open_ = host.tournament.open()
        if data.draw(st.integers(0, 9)) > 0 and open_:
            play_one(host, data.draw(st.sampled_from(open_)), data)
            done += 1
        else:
            decide_something(host, data)
        host.issue_pairings()
    if not is_frozen:
        host.decide(DecisionKind.FREEZE)
    assert_it_can_be_made_again(host)
    final, reveal = host.final(), Reveal(host.frozen(), host.final())
    hidden = set(reveal.hidden)
    steps = 0
    while (team := reveal.next_team()) is not None:
        lower = [row.team for row in reversed(reveal.rows)]
        assert not any(reveal.hidden_by_team[other] for other in lower[: lower.index(team)])
        before = set(reveal.hidden)
        match = reveal.step()
        assert match is not None
        assert before - set(reveal.hidden) == {match.number}
        assert team in match.teams
        assert_it_tells_nothing(reveal)
        steps += 1
    assert steps == len(hidden)
    assert reveal.hidden == {}
    assert set(reveal.revealed) == hidden
    assert reveal.tournament.tables() == final.tables()
    assert reveal.tournament.matches == final.matches
    assert {r.match.number: r for r in reveal.tournament.results} == {r.match.number: r for r in final.results}


def assert_it_tells_nothing(reveal: Reveal) -> None:
    """Check that no hidden match has its new result in the tournament that is shown."""
    for number in reveal.hidden:
        if number in reveal.tournament.matches:
            shown = reveal.tournament.played_result(reveal.tournament.matches[number])
            assert shown == reveal._frozen.played_result(reveal._final.matches[number])


@pytest.fixture
def knockout(tmp_path: Path) -> FreezingHost:
    """A cup of four teams that is frozen before the semifinals end."""
    host = FreezingHost(make_contest(tmp_path, 4, KNOCKOUT))
    host.issue_pairings()
    host.decide(DecisionKind.FREEZE)
    host.play_all()
    return host


def test_a_final_is_shown_after_the_semifinals(knockout: FreezingHost) -> None:
    final = knockout.final()
    reveal = Reveal(knockout.frozen(), final)
    assert [len(reveal.hidden), len(reveal.tournament.matches)] == [len(final.matches), 2]
    reveal.step()
    assert len(reveal.tournament.matches) == 2
    reveal.step()
    assert len(reveal.tournament.matches) == len(final.matches)
    assert len(reveal.hidden) == len(final.matches) - 2


def test_an_interrupted_reveal_goes_on_where_it_was(knockout: FreezingHost) -> None:
    reveal = Reveal(knockout.frozen(), knockout.final())
    reveal.step()
    again = Reveal(knockout.frozen(), knockout.final(), reveal.revealed)
    assert (again.hidden, again.revealed) == (reveal.hidden, reveal.revealed)
    assert again.tournament.tables() == reveal.tournament.tables()
    assert again.step() == reveal.step()


def test_all_of_a_team_and_all_at_once(knockout: FreezingHost) -> None:
    reveal = Reveal(knockout.frozen(), knockout.final())
    team = reveal.next_team()
    assert [team in match.teams for match in reveal.step_team()] == [True]
    assert len(reveal.finish()) == 3 - 0 - (4 - len(knockout.final().matches))
    assert (reveal.finish(), reveal.step(), reveal.step_team(), reveal.next_team()) == ([], None, [], None)
    assert reveal.tournament.tables() == knockout.final().tables()


def test_an_unfrozen_contest_hides_nothing(tmp_path: Path) -> None:
    host = FreezingHost(make_contest(tmp_path, 3))
    host.play_all()
    assert Reveal(host.final(), host.final()).hidden == {}


def test_a_result_of_before_the_freeze_is_shown_until_its_new_one_is_revealed(tmp_path: Path) -> None:
    host = FreezingHost(make_contest(tmp_path, 2))
    host.play_all()
    host.decide(DecisionKind.FREEZE)
    host.decide(DecisionKind.ADJUDICATE, match=1, winner=1)
    reveal = Reveal(host.frozen(), host.final())
    match = host.tournament.matches[1]
    assert reveal.tournament.played_result(match) == host.frozen().played_result(match)
    assert reveal.step() == match
    assert reveal.tournament.played_result(match) == host.final().played_result(match)


# --- the decision ----------------------------------------------------------------------------------------------


def test_a_contest_is_frozen_and_revealed_once_each(tmp_path: Path) -> None:
    host = FreezingHost(make_contest(tmp_path, 3))
    freeze = freeze_by_rule(30, AT)
    assert (
        host.tournament.objection(freeze)
        == "no matches have been issued, expected pairings before the first decision"
    )
    host.issue_pairings()
    assert host.tournament.objection(freeze) is None
    assert (freeze.made_by_rule, freeze.is_about(host.tournament.matches[1])) == (True, False)
    assert describe_decision(freeze, host.contest) == "results are hidden from the page"
    with pytest.raises(Exception, match="no results are hidden"):
        host.decide(DecisionKind.REVEAL)
    host.decide(DecisionKind.FREEZE)
    assert host.final().frozen_at == len(host.records)
    with pytest.raises(Exception, match="results are hidden already"):
        host.decide(DecisionKind.FREEZE)
    assert len(host.tournament.open()) == 6  # it changes no match
    host.decide(DecisionKind.REVEAL)
    assert host.final().frozen_at is None
    host.decide(DecisionKind.FREEZE)  # the host may hide the rest again
    assert host.final().frozen_at == len(host.records)
