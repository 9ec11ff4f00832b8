"""One table: what a player answers, and the turn that goes on record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from getstep import referee
from getstep.referee import MatchState
from getstep.referee.answers import answered
from getstep.wire import MAX_TEXT, MalformedAnswer, Raised, Resign, Step
from getstep_engines import GAMES, TimeControl

TIMING = {"ms": 12.5, "timed": "kernel"}


def hop() -> MatchState:
    return MatchState(GAMES["hop"], {}, TimeControl("move", 5.0), 0.1)


def legal(state: MatchState) -> Any:
    return next(iter(state.state.legal_moves()))


@pytest.mark.parametrize(
    ("decide", "expected"),
    [
        (
            lambda state: answered(state, Step(1, [[0, 0], [7, 7]]), TIMING),
            {"player": 0, "fault": "illegal_move", "ms": 12.5, "timed": "kernel"},
        ),
        (
            lambda state: answered(state, Raised(1, ""), TIMING),
            {"player": 0, "fault": "raised", "detail": "no reason given", "ms": 12.5, "timed": "kernel"},
        ),
        (
            lambda state: answered(state, MalformedAnswer(1, "no move"), TIMING),
            {"player": 0, "fault": "malformed_answer", "detail": "no move", "ms": 12.5, "timed": "kernel"},
        ),
        (
            lambda state: answered(state, Resign(1), TIMING),
            {"player": 0, "end": "resigned", "detail": "Black resigned", "ms": 12.5, "timed": "kernel"},
        ),
        (
            lambda state: referee.missed(state, 5.0, {"ms": 5000.0, "waited_ms": 5100.0}),
            {
                "player": 0,
                "fault": "missed_limit",
                "detail": "no answer within 5 s",
                "ms": 5000.0,
                "waited_ms": 5100.0,
                "away": False,
            },
        ),
        (
            lambda state: referee.missed(state, 5.0, {"ms": 5000.0}, away=True, heard=True),
            {
                "player": 0,
                "fault": "missed_limit",
                "detail": "no answer within 5 s, and no connection",
                "ms": 5000.0,
                "away": True,
            },
        ),
        (
            referee.stalled,
            {"player": 0, "fault": "stalled", "detail": "nothing heard since 3 missed limits", "ms": 0.0},
        ),
        (
            lambda state: referee.violated(state, 1, "flooding", "too many frames"),
            {
                "player": 1,
                "end": "hostile",
                "detail": "White broke the protocol (flooding): too many frames",
                "ms": 0.0,
            },
        ),
    ],
)
def test_an_answer_becomes_a_turn_on_record(
    decide: Callable[[MatchState], referee.Turn], expected: dict[str, Any]
) -> None:
    state = hop()
    turn = decide(state)
    if "detail" not in expected:
        assert turn.pop("detail")
    assert turn == expected
    assert (state.outcome is None) == ("fault" in turn)
    assert state.faults == [int("fault" in turn), 0]


def test_a_move_is_played_as_it_was_answered() -> None:
    state = hop()
    move = legal(state)
    assert referee.moved(state, move, TIMING) == {"player": 0, "move": move, **TIMING}
    assert (state.state.to_move, state.clocks.thought_ms) == (1, [12.5, 0.0])


def test_a_player_is_heard_only_after_a_limit_that_it_missed_in_silence() -> None:
    state = hop()
    first = referee.missed(state, 5.0, {"ms": 5000.0}, heard=True)
    referee.moved(state, legal(state), TIMING)
    second = referee.missed(state, 5.0, {"ms": 5000.0}, heard=True)
    assert ("heard" in first, second["heard"], state.silences[0]) == (False, True, 1)


def test_the_third_limit_away_loses() -> None:
    state = hop()
    turns = []
    for _ in range(3):
        turns.append(referee.missed(state, 5.0, {"ms": 5000.0}, away=True))
        if state.outcome is None:
            referee.moved(state, legal(state), TIMING)
    assert [turn.get("fault", turn.get("end")) for turn in turns] == ["missed_limit", "missed_limit", "absent"]
    assert state.outcome is not None
    assert state.outcome.winner == 1


def test_long_texts_are_cut() -> None:
    state = hop()
    turn = referee.raised(state, "x" * 2 * MAX_TEXT, TIMING)
    assert len(turn["detail"]) == len(referee.penalty_text(state, turn)) == MAX_TEXT
