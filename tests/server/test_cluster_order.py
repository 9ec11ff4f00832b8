"""The messages between the host and a worker of a cluster: bounded, and refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from getstep_engines import GAMES
from getstep_server.cluster.order import (
    MatchOrder,
    MatchProgress,
    MatchReport,
    ProgramSettings,
    ProgramSpec,
    ReportedResult,
    SandboxRow,
    WorkerProof,
    check_lines,
    decode_order,
    decode_progress,
    decode_proof,
    decode_report,
    encode,
)
from getstep_server.cluster.order import OrderError as Wrong
from getstep_server.records.game import ProgramEntry, game_header, match_state_of
from getstep_server.records.match import Match
from tests.support.contests import make_contest

SPEC = ProgramSpec(number=1, convention="getstep", command=("python", "bot.py"), language="Python", files="a" * 64)
SPEC_FIELDS = {"number": 1, "convention": "getstep", "command": ["python"], "language": "Python", "files": "a" * 64}
PLAYED = ReportedResult(
    winner=0,
    reason="finished",
    turns=2,
    seconds=1.5,
)
PROOF = WorkerProof(
    host="lab-1",
    cores=2,
    software="getstep-server 1",
    python="3.11.2",
    platform="Linux",
    calibration_ms=50.0,
    sandbox=(SandboxRow(probe="read_users", held=True),),
)
MOVE = [[r, c] for r, c in next(iter(GAMES["hop"].start().legal_moves()))]
TURN = json.dumps({"player": 0, "move": MOVE, "ms": 1.0, "timed": "kernel"})


@pytest.fixture
def order(tmp_path: Path) -> MatchOrder:
    contest = make_contest(tmp_path)
    match = Match(1, 1, 1, 1, 1, 2, "hop")
    entry = ProgramEntry(version=1, sha256="b" * 64)
    head = game_header(contest, match, 1, 1.7e9, [entry, entry])
    return MatchOrder(head=head, programs=(SPEC, SPEC), settings=ProgramSettings(), deadline_seconds=60)


def changed(message: Any, **fields: Any) -> bytes:
    return json.dumps({**json.loads(encode(message)), **fields}).encode()


def test_messages_travel_unchanged(order: MatchOrder) -> None:
    played = MatchReport(played=PLAYED, lines=[TURN])
    progress = MatchProgress(start=0, lines=[TURN])
    assert decode_order(encode(order)) == order
    assert decode_report(encode(played)) == played
    assert decode_progress(encode(progress)) == progress
    assert decode_proof(encode(PROOF)) == PROOF


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"head": {}}, "head"),
        ({"programs": []}, "programs"),
        ({"programs": [json.loads(encode(PROOF))] * 2}, "programs"),
        ({"programs": [{**SPEC_FIELDS, "convention": "none"}] * 2}, "convention"),
        ({"programs": [{**SPEC_FIELDS, "command": []}] * 2}, "command"),
        ({"programs": [{**SPEC_FIELDS, "files": "../secret"}] * 2}, "files"),
        ({"settings": {"sandbox": "perhaps"}}, "sandbox"),
        ({"settings": {"startup_seconds": 1e9}}, "startup_seconds"),
        ({"deadline_seconds": 0}, "deadline_seconds"),
        ({"deadline_seconds": 86_401}, "deadline_seconds"),
    ],
)
def test_an_order_that_is_wrong_is_refused_with_its_place(
    order: MatchOrder, fields: dict[str, Any], place: str
) -> None:
    with pytest.raises(Wrong, match=place):
        decode_order(changed(order, **fields))


def test_an_order_for_a_game_that_is_not_installed_is_refused(order: MatchOrder) -> None:
    with pytest.raises(Wrong, match="no_such_game"):
        decode_order(changed(order, head={**order.head, "game": "no_such_game"}))
    with pytest.raises(Wrong, match="options"):
        decode_order(changed(order, head={**order.head, "options": {"no_such_option": 1}}))


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"[" * 60_000, b'{"deadline_seconds":1e999}'])
def test_what_is_no_message_is_refused(data: bytes) -> None:
    for decode in (decode_order, decode_report, decode_progress, decode_proof):
        with pytest.raises(Wrong):
            decode(data)


def test_an_order_has_a_bounded_length(order: MatchOrder) -> None:
    with pytest.raises(Wrong, match="65536"):
        decode_order(encode(order) + b" " * 65_536)
    with pytest.raises(Wrong, match="65536"):
        decode_proof(encode(PROOF) + b" " * 65_536)


def test_a_report_has_a_bounded_length() -> None:
    report = encode(MatchReport(failure="no memory"))
    with pytest.raises(Wrong, match="16777216"):
        decode_report(report + b" " * (16 << 20))


def test_a_part_of_the_turns_has_a_bounded_length() -> None:
    progress = encode(MatchProgress(start=0, lines=[TURN]))
    with pytest.raises(Wrong, match="262144"):
        decode_progress(progress + b" " * 262_144)


def test_a_turn_has_a_bounded_length() -> None:
    with pytest.raises(Wrong, match="32768"):
        decode_report(changed(MatchReport(played=PLAYED), lines=["{" + " " * 32_768]))


@pytest.mark.parametrize(
    "fields",
    [
        {"played": None},
        {"failure": "as well"},
        {"missing": ["a" * 64]},
        {"played": {}},
        {"incidents": [{}]},
    ],
)
def test_a_report_says_one_thing(fields: dict[str, Any]) -> None:
    with pytest.raises(Wrong):
        decode_report(changed(MatchReport(played=PLAYED), **fields))


def test_a_worker_is_protected_if_every_probe_was_stopped() -> None:
    row = {"probe": "read_users", "held": False, "detail": "read it"}
    assert decode_proof(encode(PROOF)).is_protected
    assert not decode_proof(changed(PROOF, sandbox=[row])).is_protected
    assert not decode_proof(changed(PROOF, sandbox=[])).is_protected
    assert not decode_proof(changed(PROOF, sandbox_problem="no bubblewrap")).is_protected


def test_turns_of_the_game_are_applied(order: MatchOrder) -> None:
    state = match_state_of(order.head)
    assert list(check_lines(state, [TURN])) == [json.loads(TURN)]
    assert state.turns == 1


@pytest.mark.parametrize(
    "line", ["[]", "5", "{", '{"player":0}', TURN.replace("[", "", 1), TURN.replace('"player": 0', '"player": 1')]
)
def test_a_line_that_is_no_turn_of_the_game_is_refused(order: MatchOrder, line: str) -> None:
    with pytest.raises(Wrong):
        list(check_lines(match_state_of(order.head), [line]))


def test_a_turn_that_contradicts_the_clocks_is_refused(order: MatchOrder) -> None:
    """Otherwise the verification of the contest would find it, when nobody can play the match again."""
    with pytest.raises(Wrong, match="expected at most"):
        list(check_lines(match_state_of(order.head), [TURN.replace("1.0", "1e9")]))


def test_a_turn_after_the_end_is_refused(order: MatchOrder) -> None:
    end = '{"player":0,"end":"resigned","detail":"","ms":1.0,"timed":"kernel"}'
    with pytest.raises(Wrong, match="over"):
        list(check_lines(match_state_of(order.head), [end, TURN]))
