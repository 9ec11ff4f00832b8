"""The short cuts for the two messages of every turn give the results of the general codec, or leave it to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getstep.wire import (
    MAX_CLIENT_FRAME,
    MAX_DEPTH,
    MAX_ID,
    MAX_MS,
    GetStep,
    LocalProtocolError,
    Penalty,
    State,
    Step,
    _frames,
)
from tests.support.conversations import SAMPLES, ends, frame, framed
from tests.support.hostile_bodies import FORBIDDEN, answer, hostile, pack
from tests.support.quick import each

PACKERS: dict[str, Callable[[object], bytes]] = {
    "msgpack": msgpack.Packer().pack,
    "msgspec, as in the server": msgspec.msgpack.Encoder().encode,
}
packers = pytest.mark.parametrize("packer", PACKERS.values(), ids=PACKERS)


# --- answers --------------------------------------------------------------------------------------------------

MOVES = {
    "a square": [3, 5],
    "hop": [[4, 2], [4, 3]],
    "a long path": [[0, n] for n in range(6)],
    "linkage": ["R", [0, 0], [0, 1]],
    "negative": [-1, -32],
    "nothing": None,
    "no array": "pass",
    "a boolean": [True, 0],
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_usual_answers_take_the_short_cut(move: Any) -> None:
    server, client = ends(State.TURN)
    step = server.receive_step(client.send(Step(31, move)))
    assert repr(step) == repr(Step(31, move))  # True is not 1
    assert (server.state, server.question, server.mid_frame) == (State.MATCH, None, False)
    server.send(SAMPLES[Penalty])
    server.receive_data(frame(SAMPLES[Step]))
    with pytest.raises(Exception, match="out_of_turn"):
        server.next_event()  # it was answered


UNUSUAL = {
    "nothing": b"",
    "an empty frame": b"\0\0\0\0",
    "half a frame": framed(answer(b"\x01"))[:-1],
    "more behind the frame": framed(answer(b"\x01")) + b"\0",
    "two frames": framed(answer(b"\x01")) * 2,
    "bytes behind the move": framed(answer(b"\x01\x02")),
    "no move": framed(answer(b"")),
    "a shorter array": framed(answer(b"\x92\x01")),
    "a text cut short": framed(answer(b"\xa3ab")),
    "no UTF-8": framed(answer(b"\xa1\xff")),
    "another question": framed(answer(b"\x01").replace(b"\x1f", b"\x20")),
    "the id in more bytes": framed(answer(b"\x01").replace(b"\x1f", b"\xcc\x1f")),
    "another order": framed(pack({"id": 31, "type": "step", "move": 1})),
    "one more key": framed(b"\x84" + answer(b"\x01")[1:] + pack("key") + b"\x01"),
    "a map": framed(answer(b"\x81\xa1k\x01")),
    "an empty map": framed(answer(b"\x80")),
    "a large integer": framed(answer(b"\xcc\xff")),
    "a float": framed(answer(pack(1.5))),
    "a long text": framed(answer(pack("x" * 32))),
    "a long array": framed(answer(pack([0] * 16))),
    "many arrays": framed(answer(b"\x90" * MAX_DEPTH)),
    "deep arrays": framed(answer(b"\x91" * (MAX_DEPTH - 1) + b"\x90")),
    "a frame too long": framed(answer(pack("x" * MAX_CLIENT_FRAME))),
    **{name: framed(answer(move)) for name, move in FORBIDDEN.items()},
}


@each("data", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_bytes_are_left_to_the_general_codec(data: bytes) -> None:
    server, _ = ends(State.TURN)
    assert server.receive_step(data) is None
    assert (server.state, server.question, server.mid_frame) == (State.TURN, 31, False)


def test_hostile_bodies_are_left_to_the_general_codec() -> None:
    for _, body, code in hostile():
        server, _ = ends(State.TURN)
        assert server.receive_step(framed(body)) is None, code


def test_the_deepest_short_cut_is_as_deep_as_the_wire_allows() -> None:
    server, client = ends(State.TURN)
    move: Any = []
    for _ in range(MAX_DEPTH - 2):
        move = [move]
    assert server.receive_step(client.send(Step(31, move))) == Step(31, move)


def test_an_answer_behind_a_part_of_a_frame_is_no_answer() -> None:
    server, _ = ends(State.TURN)
    server.receive_data(b"\0")
    assert server.receive_step(frame(SAMPLES[Step])) is None
    assert server.mid_frame


@pytest.mark.parametrize("state", [state for state in State if state is not State.TURN])
def test_there_is_no_answer_without_an_open_question(state: State) -> None:
    server, _ = ends(State.TURN)
    server.question, server.state = None, state
    assert server.receive_step(frame(SAMPLES[Step])) is None


# --- questions ------------------------------------------------------------------------------------------------


BOARDS = {
    "hop": [[1, 0, 0, 0, 0, 0, 0, 2]] * 8,
    "negative": [[-8, 8], [0, -1]],
    "15 by 15": [[n % 5 for n in range(15)]] * 15,
    "16 by 16": [[n % 5 for n in range(16)]] * 16,
    "two-byte cells": [[127, 128], [-32, -33]],
    "uneven rows": [[1], [2, 3]],
    "looks even": [[1, 2], [3], [4]],
    "no rows": [],
    "empty rows": [[], []],
    "one row": [[1]],
    "tuples": ((1, 2), (3, 4)),
    "32-bit cells": [[2**31 - 1, -(2**31)]],
}


@packers
@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_questions_are_the_bytes_of_the_general_codec(
    board: Any, packer: Callable[[object], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_frames, "_pack_board", packer)
    question = GetStep(MAX_ID, 200, board, True, MAX_MS, [[0, 1], [0, 2]])
    server, _ = ends(State.MATCH)
    assert server.send(question) == framed(pack(question.to_fields()))
    assert (server.state, server.question) == (State.TURN, MAX_ID)


WRONG_BOARDS = {
    "no array": 7,
    "a text": "1",
    "rows of text": ["12", "34"],
    "a number among the rows": [[1], 2, [3], 4],
    "no rows": [1, 2],
    "a row in a row": [[1, [2]], [3, [4]]],
    "booleans": [[True, False]],
    "floats": [[1.0]],
    "nil": [[None]],
    "bytes": [b"12", b"34"],
    "maps": [{1: 2}],
    "sets of text": [{"1"}],
    "objects": [[object()]],
    "too many rows": [[1]] * 129,
    "a row too long": [[0] * 129],
    "a cell too large": [[0, 2**31]],
    "a cell too small": [[-(2**31) - 1, 0]],
}


@packers
@pytest.mark.parametrize("board", WRONG_BOARDS.values(), ids=WRONG_BOARDS)
def test_wrong_boards_are_refused(
    board: Any, packer: Callable[[object], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_frames, "_pack_board", packer)
    with pytest.raises(ValueError, match=r"^board "):
        GetStep(31, 1, board, True, 5000, None)


@pytest.mark.parametrize("move", [object(), 2**64, "\ud800", ["x" * 2000] * 9], ids=type)
def test_a_last_move_that_cannot_be_sent(move: Any) -> None:
    server, _ = ends(State.MATCH)
    with pytest.raises(LocalProtocolError, match=r"^(cannot be sent: |a frame of 18\d\d\d bytes)"):
        server.send(GetStep(31, 1, [[0]], True, 5000, move))
    assert (server.state, server.question) == (State.MATCH, None)


CELLS = st.integers(-40, 140) | st.integers(-(2**63), 2**64 - 1) | st.booleans() | st.none() | st.floats()
ROWS = st.lists(CELLS, max_size=17) | st.lists(st.integers(-32, 127), min_size=2, max_size=2) | CELLS


def is_board(value: list[Any]) -> bool:
    """Return True if ``value`` is rows of integers of 32 bits."""
    return all(
        type(row) is list and all(type(cell) is int and -(2**31) <= cell < 2**31 for cell in row) for row in value
    )


@given(st.lists(ROWS, max_size=17), st.sampled_from([*PACKERS.values()]))
@settings(max_examples=200)
def test_any_board(board: list[Any], packer: Callable[[object], bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_frames, "_pack_board", packer)
        if is_board(board):
            question = GetStep(31, 1, board, False, 0, None)
            assert ends(State.MATCH)[0].send(question) == framed(pack(question.to_fields()))
        else:
            with pytest.raises(ValueError, match=r"^board "):
                GetStep(31, 1, board, False, 0, None)


@pytest.mark.parametrize(
    "fields",
    [
        {"id": 0},
        {"id": True},
        {"id": MAX_ID + 1},
        {"move_number": 0},
        {"move_number": 1.0},
        {"is_black": 1},
        {"time_left_ms": -1},
        {"time_left_ms": MAX_MS + 1},
    ],
)
def test_wrong_fields_are_named(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(fields))} is "):
        replace(SAMPLES[GetStep], **fields)
