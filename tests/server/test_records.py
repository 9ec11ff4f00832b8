"""Each kind of record is one class: what is written from it reads back the same, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from getstep_server.config.contest import Contest
from getstep_server.records.decision import Decision, decision_of, record_of_decision, validate_decision
from getstep_server.records.game import (
    GameHead,
    GameHeader,
    MatchLog,
    game_header,
    record_of_game,
    result_of,
    validate_game,
)
from getstep_server.records.match import Match
from getstep_server.records.pairings import pairings_in, record_of_pairings, validate_pairings
from getstep_server.records.reasons import FREEZE_KINDS, TEAM_KINDS, DecisionKind
from getstep_server.records.record import Record, RecordError, plain, read
from getstep_server.records.settings import validate_settings
from getstep_server.tournament.settings_record import record_of_settings
from getstep_server.tournament.tournament import Tournament
from getstep_server.validation import Model
from tests.support import tournament_host
from tests.support.contests import make_contest
from tests.support.records import compact

AT = "2024-10-05T14:30:00.000Z"
ABOUT: dict[DecisionKind, dict[str, Any]] = {
    **{kind: {"team": 1} for kind in TEAM_KINDS},
    **{kind: {"match": 1} for kind in (DecisionKind.ADJUDICATE, DecisionKind.REPLAY)},
    **{kind: {} for kind in FREEZE_KINDS},
    DecisionKind.PAUSE: {"match": 1, "at_once": True},
    DecisionKind.RESUME: {"event": 1},
    DecisionKind.JOIN: {"team": 1, "name": "Ada", "seats": 2},
    DecisionKind.RENAME: {"team": 1, "name": "Grace"},
    DecisionKind.TOKEN: {"team": 1},
    DecisionKind.SEATS: {"team": 1, "seats": 3},
    DecisionKind.TAKE_OVER: {"fence": 2},
    DecisionKind.STRICT: {},
    DecisionKind.NOT_STRICT: {},
    DecisionKind.INVITE: {"invitations": (1, 2), "uses": 3, "until": "2026-12-01T18:00:00.000Z"},
    DecisionKind.REVOKE: {"invitations": (1, 2)},
    DecisionKind.ARCHIVE: {"through": 9, "games": 4, "kept": "1" * 64, "sha256": "2" * 64},
    DecisionKind.ADJUDICATE: {"match": 1, "winner": 0, "scores": (3, 1)},
    DecisionKind.LATE_ARRIVAL: {"team": 1, "matches": (1, 2)},
    DecisionKind.PUBLISH: {"team": 1, "event": 1, "version": 2, "sha256": "0" * 64},
}
RULES = {DecisionKind.LATE_ARRIVAL: "the no-show rule", DecisionKind.PUBLISH: "the publication rule"}


@pytest.fixture
def contest(tmp_path: Path) -> Contest:
    return make_contest(tmp_path, event={"budget_seconds": 6.0, "increment_seconds": 0.5})


def first_match(contest: Contest) -> Match:
    tournament = Tournament(contest)
    (match, *_) = tournament.apply_pairings(tournament.next_pairings(contest.events[0]) or {})
    return match


def fields_of(record: Record) -> dict[str, Any]:
    """Return the fields of a record as they are read back."""
    fields: dict[str, Any] = json.loads(record.content())
    return fields


def assert_written_from(model: Model, record: Record) -> None:
    assert compact(plain(model)) == record.content()


def test_settings(contest: Contest) -> None:
    record = record_of_settings(Tournament(contest).settings.due() or {})
    assert_written_from(validate_settings(fields_of(record)), record)


def test_pairings(contest: Contest) -> None:
    record = record_of_pairings(Tournament(contest).next_pairings(contest.events[0]) or {})
    assert_written_from(validate_pairings(fields_of(record)), record)
    with pytest.raises(RecordError, match=r"^matches\.0\.leg is True, expected a valid integer$"):
        pairings_in({**record.fields, "matches": [{**record.fields["matches"][0], "leg": True}]})


def test_a_game(contest: Contest) -> None:
    match = first_match(contest)
    result = tournament_host.result_of(match)
    incident = {"team": match.first, "code": "x", "detail": "", "address": "a", "after_turn": 0, "count": 1}
    header = game_header(contest, match, 1, 1.7e9)
    record = record_of_game(header, result, MatchLog([b'{"player":0,"pass":true}'], [1], [incident]))
    assert_written_from(validate_game(fields_of(record)), record)
    assert compact(plain(read(GameHeader, header))) == compact(header)
    assert compact(plain(read(GameHead, record.fields))) == record.header
    assert result_of(record.fields) == result_of(fields_of(record))
    assert (result_of(record.fields).match, result_of(record.fields).winner) == (match, result.winner)


def test_the_header_of_another_version_keeps_what_this_version_knows(contest: Contest) -> None:
    match = first_match(contest)
    header = {**game_header(contest, match, 1, 1.7e9), "software": "getstep-server 0.0.1", "mood": "sunny"}
    fields = fields_of(record_of_game(header, tournament_host.result_of(match)))
    assert fields["software"] == "getstep-server 0.0.1"
    assert "mood" not in fields


@pytest.mark.parametrize("kind", DecisionKind)
def test_a_decision(contest: Contest, kind: DecisionKind) -> None:
    decision = Decision(kind, RULES.get(kind, "Grace"), "so it was agreed", AT, **ABOUT[kind])
    record = record_of_decision(contest, decision)
    assert_written_from(validate_decision(fields_of(record)), record)
    assert decision_of(fields_of(record)) == decision


def test_a_decision_that_could_not_be_read_is_not_written(contest: Contest) -> None:
    with pytest.raises(RecordError, match=r"^why is '', expected visible characters"):
        record_of_decision(contest, Decision(DecisionKind.REPLAY, "Grace", "", AT, match=1))
