"""Notes of a move: what is kept, what is dropped, and that the move counts whatever they are."""

from __future__ import annotations

import json
import threading
from array import array
from fractions import Fraction
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import getstep
from getstep import notes
from getstep.bot_process.serve import serve
from getstep.local_matches.results import _replay
from getstep.turn import Callback, CallResult, answer_to
from getstep.wire import (
    CLOSED,
    MAX_CLIENT_FRAME,
    MAX_DRAWINGS,
    MAX_SAY,
    MAX_TAGS,
    NOTE_COLORS,
    NOTES_BYTES,
    MalformedAnswer,
    Raised,
    RemoteProtocolError,
    Resign,
    Step,
    checked_notes,
    encode,
)
from getstep_engines import GAMES
from getstep_engines.look import PALETTE
from tests.support.conversations import framed, hearer
from tests.support.fake_server import OVER, FakeServer, Session, ask, end, play, start

BOARD = [[0] * 8 for _ in range(8)]
TURN = getstep.Turn("hop", 1, 1, "the other", None, 1000)
DRAWING: list[Any] = ["mark", [2, 3], "7", None]
NOTES = {"say": "one\ntwo", "estimate": 0.25, "draw": [DRAWING], "tags": ["opening"]}
FULL = {"say": "x" * MAX_SAY, "draw": [["mark", [2, 3], "12345678", "orange"]] * MAX_DRAWINGS, "tags": ["end"]}


@pytest.fixture(autouse=True)
def nobody_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "_told", set())
    monkeypatch.setattr(notes.Collector.__init__, "__defaults__", (notes._told,))


def noting(board: Any = None, is_black: bool = True) -> Any:
    getstep.say("one")
    getstep.say("two")
    getstep.estimate(-1)
    getstep.estimate(0.25)
    getstep.draw((2, 3), label=7)
    getstep.tag("opening")
    getstep.tag("opening")
    return [(2, 2), (2, 3)]


def called(function: Any, board: Any = BOARD) -> CallResult:
    return Callback(function).call(board, True, TURN)


# --- the calls ---------------------------------------------------------------------------------------------------


def test_the_calls_make_the_notes_of_the_move() -> None:
    call = called(noting)
    assert (call.notes, call.move, list(call.dropped)) == (NOTES, [[2, 2], [2, 3]], [])
    assert answer_to(3, call) == Step(3, [[2, 2], [2, 3]], NOTES)
    assert called(lambda board, is_black: (2, 2)).notes is None


def test_an_exception_keeps_the_notes_before_it() -> None:
    def get_step(board: Any, is_black: bool) -> Any:
        noting()
        raise ValueError("no move")

    assert answer_to(3, called(get_step)) == Raised(3, "ValueError: no move", NOTES)


class Bad:
    """Neither a text, nor a number, nor a list."""

    def __str__(self) -> str:
        raise ValueError

    __repr__ = __str__


WRONG: dict[str, list[tuple[Any, ...]]] = {
    "say": [(Bad(),), ("x" * 1_000_000,), ("é" * 1001,), ("\U0001f3b2" * 501,)],
    "estimate": [(value,) for value in (float("nan"), float("inf"), 1.001, -2, True, "0.5", None, [1], Bad())],
    "draw": [
        *(((8, 0),), ((0, 8),), ((-1, 0),), ((1.5, 0),), ("ab",), (None,), ([],), (Bad(),), ([(0, 0)] * 65,)),
        *(((0, 0), "123456789"), ((0, 0), Bad()), ((0, 0), None, "pink"), ((0, 0), None, 1)),
        *(((0, 0), 1, None, "circle"), ([(0, 0)] * 17, 1, None, "arrow"), ((0, 0), 1, None, "domino")),
    ],
    "tag": [(word,) for word in ("two words", "", "x" * 25, "a\nb", "a\x07b", 7, None, Bad())],
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_dropped_and_said_once(name: str) -> None:
    def get_step(board: Any, is_black: bool) -> Any:
        for arguments in WRONG[name] * 2:
            getattr(getstep, name)(*arguments)
        return (2, 2)

    call = called(get_step)
    assert (call.move, call.notes) == ([2, 2], None)
    kinds = [line.partition(":")[0] for line in call.dropped]
    assert kinds
    assert len(kinds) == len(set(kinds)) <= 6
    assert all(line.startswith(f"getstep.{name} has dropped ") for line in call.dropped)
    assert all(len(line) < 400 and line.isprintable() for line in call.dropped)
    assert not called(get_step).dropped


def test_ten_thousand_notes_of_a_move_are_bounded() -> None:
    def get_step(board: Any, is_black: bool) -> Any:
        for number in range(10_000):
            getstep.say(f"\x1b[31m<b>{number}")
            getstep.draw([(0, 0), (7, 7)], label=number / 7, color="purple", shape="region")
            getstep.tag(f"tag-{number}")
        return (2, 2)

    call = called(get_step)
    assert call.notes is not None
    assert call.notes == checked_notes(call.notes)
    assert len(call.notes["say"]) <= MAX_SAY
    assert (len(call.notes["draw"]), len(call.notes["tags"])) == (MAX_DRAWINGS, MAX_TAGS)
    assert len(msgpack.packb(call.notes)) <= NOTES_BYTES
    assert len(call.dropped) == 3


def test_the_notes_of_a_move_have_at_most_3584_bytes() -> None:
    half = [(row, column) for row in range(8) for column in range(4)]

    def get_step(board: Any, is_black: bool) -> Any:
        getstep.say("é" * MAX_SAY)
        for _ in range(MAX_DRAWINGS):
            getstep.draw(half, shape="region")
        return (2, 2)

    call = called(get_step)
    assert call.notes is not None
    assert 0 < len(call.notes["draw"]) < MAX_DRAWINGS
    assert 3_400 < len(msgpack.packb(call.notes)) <= 3_584  # protocol.md; without the limit 6,500


def test_any_thread_may_note_while_a_move_is_computed(capsys: pytest.CaptureFixture[str]) -> None:
    after = threading.Event()
    late: list[threading.Thread] = []

    def note_late() -> None:
        after.wait()
        getstep.tag("late")
        getstep.tag("later")

    def get_step(board: Any, is_black: bool) -> Any:
        threads = [threading.Thread(target=getstep.tag, args=(f"t{number}",)) for number in range(MAX_TAGS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        late.append(threading.Thread(target=note_late))
        late[0].start()
        return (2, 2)

    call = called(get_step)
    assert call.notes is not None
    assert sorted(call.notes["tags"]) == [f"t{number}" for number in range(MAX_TAGS)]
    after.set()
    late[0].join()
    assert capsys.readouterr().err.count("getstep.tag was dropped: no move is computed now.") == 1
    assert "late" not in str(call.notes)


class Number:
    """An integer as numpy has them."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_squares_in_any_list_and_numbers_of_any_kind() -> None:
    collector = notes.Collector(BOARD)
    row, column = Number(2), Number(3)
    for squares in ((2, 3), [2, 3], (row, column), [(row, column)], iter([(2, 3)]), array("i", [2, 3])):
        collector.draw(squares, label=7.0)
    collector.estimate(Fraction(1, 4))
    assert collector.take() == {"estimate": 0.25, "draw": [DRAWING] * 6}
    assert msgpack.packb(collector.take())


def test_the_lines_of_programs() -> None:
    collector = notes.Collector(BOARD)
    lines = ["say one", "say two", "estimate 0.25", "draw mark - 7 2,3", "tag opening"]
    assert all(collector.from_line(f"getstep: {line}\n") for line in lines)
    assert collector.take() == NOTES
    wrong = [
        "estimate high",
        "draw",
        "draw mark - -",
        "draw mark - - 2",
        "draw mark - - 2,3,4",
        "tag",
        "shout x",
        "",
    ]
    assert all(collector.from_line(f"getstep: {line}") for line in wrong)
    assert collector.take() == NOTES
    assert collector.dropped
    assert not collector.from_line("getstep is a contest")


def test_what_was_printed_is_kept_from_its_end() -> None:
    collector = notes.Collector(BOARD)
    collector.print("x" * 5000)
    collector.print("é" * 999 + "\ud800")
    output = (collector.take() or {})["output"]
    assert output.endswith("é\\ud800")
    assert 1990 < len(output.encode()) <= 2000


def test_the_colours_are_those_of_the_boards() -> None:
    assert tuple(PALETTE) == NOTE_COLORS


# --- on the wire -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer", [CallResult("m" * 1900, None, "", 1), CallResult(None, "é" * 500, "", 1), CallResult(1, None, "", 1)]
)
def test_the_move_goes_and_notes_only_if_the_frame_has_room(answer: CallResult) -> None:
    answer = CallResult(answer.move, answer.error, "", 1, notes=FULL | {"output": "y" * 2000})
    assert "output" not in (answer_to(3, answer).notes or {})
    sent = answer_to(3, answer, output=True)
    frame = encode(sent.to_fields(), MAX_CLIENT_FRAME)
    assert len(frame) > MAX_CLIENT_FRAME - 700
    assert sent.notes is not None
    assert len(msgpack.packb(sent.notes)) <= NOTES_BYTES
    assert (getattr(sent, "move", None), getattr(sent, "error", None)) == (answer.move, answer.error)
    listener = hearer(Step)
    listener.question = 3
    listener.receive_data(frame)
    assert listener.next_event() == sent


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=12,
)
ALMOST = st.fixed_dictionaries(
    {},
    optional={
        "say": ANYTHING | st.text(max_size=1100),
        "estimate": ANYTHING | st.floats(-1.1, 1.1),
        "draw": st.lists(st.just(DRAWING) | st.lists(ANYTHING, min_size=4, max_size=4) | ANYTHING, max_size=70),
        "tags": st.lists(st.text(max_size=26) | ANYTHING, max_size=12),
        "output": ANYTHING,
        "later": ANYTHING,
    },
)


@settings(max_examples=60, deadline=None)
@given(ANYTHING | ALMOST, st.sampled_from([Step(31, [2, 3]), Raised(31, "no move"), Resign(31)]))
def test_whatever_notes_are_the_answer_counts(value: Any, answer: Step | Raised | Resign) -> None:
    listener = hearer(Step)
    listener.question = 31
    listener.receive_data(framed(msgpack.packb(answer.to_fields() | {"notes": value})))
    try:
        event = listener.next_event()
    except RemoteProtocolError as error:
        refused = error.code
    else:
        refused = ""
    if refused:  # by a rule for frames, which holds for every key
        assert refused in ("too_deep", "too_large", "oversize_frame")
        return
    assert not isinstance(event, MalformedAnswer)
    assert isinstance(event, type(answer))
    kept = event.notes or {}
    assert event == type(answer)(**{**vars(answer), "notes": kept or None})
    assert kept == checked_notes(kept)
    assert json.loads(json.dumps(kept, allow_nan=False)) == kept
    for key in kept:
        assert isinstance(value, dict)
        assert kept[key] == value[key] or all(item in value[key] for item in kept[key])


def test_wrong_parts_are_left_out_and_the_rest_is_kept() -> None:
    drawings: list[Any] = [
        *(["mark", [2], None, None], ["mark", [0, 128], None, None], ["mark", [-1, 0], None, None]),
        *(["mark", [0, True], None, None], ["mark", [0, 1.0], None, None], ["mark", [], None, None]),
        *(["arrow", [0, 0], None, None], ["domino", [0] * 6, None, None], ["mark", [0] * 128, "", None]),
        *(["mark", [0, 0], "123456789", None], ["mark", [0, 0], 1, None], ["mark", [0, 0], None, "pink"]),
        *(["ring", [0, 0], None, None], [["mark"], [0, 0], None, None], ["mark", [0, 0], None, ["red"]], "mark"),
    ]
    largest: list[Any] = ["region", [127] * 128, "12345678", "grey"]
    value = {
        "say": "x" * 1001,
        "estimate": float("nan"),
        "output": 7,
        "later": 1,
        "draw": [*drawings, largest],
        "tags": ["a b", "ok", "\x85", "", "x" * 25, None],
    }
    assert checked_notes(value) == {"draw": [largest], "tags": ["ok"]}
    assert checked_notes(FULL | {"draw": FULL["draw"] * 2}) == FULL  # type: ignore[operator]  # a list


def test_the_client_sends_them_and_tells_of_dropped_ones(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[Any] = []

    def get_step(board: Any, is_black: bool) -> Any:
        getstep.draw((99, 0))
        return noting()

    def script(session: Session) -> None:
        session.let_in(start(), ask(31, board=BOARD))
        heard.append(session.hear())
        session.say(ask(32, board=BOARD))
        heard.append(session.hear())
        session.say(end(), OVER)
        assert session.hear() is CLOSED

    with FakeServer(script) as server:
        play(get_step, server)
    assert [message.notes for message in heard] == [NOTES, NOTES]
    assert capsys.readouterr().err.count("getstep.draw has dropped squares off the board: (99, 0)") == 1


# --- at home ------------------------------------------------------------------------------------------------------


def test_a_bot_behind_a_pipe_replies_with_them() -> None:
    replies: list[dict[str, Any]] = []
    question = {"id": 5, "board": BOARD, "is_black": True, "seconds": 60, "turn": vars(TURN)}
    serve(Callback(noting), [question], replies.append)
    assert json.loads(json.dumps(replies))[0]["notes"] == NOTES


def first_legal(board: Any, is_black: bool, turn: getstep.Turn) -> Any:
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))


def test_practice_keeps_them_with_the_turns(capsys: pytest.CaptureFixture[str]) -> None:
    def get_step(board: Any, is_black: bool, turn: getstep.Turn) -> Any:
        noting()
        getstep.draw((99, 0))
        if turn.move_number > 2:
            raise ValueError
        return first_legal(board, is_black, turn)

    results = getstep.practice(get_step, "linkage", against=first_legal, games=1)
    turns = _replay(results.matches[0]).turns
    assert [turn.notes for turn in turns] == [NOTES, None, NOTES]
    assert turns[-1].kind == "fault"
    assert capsys.readouterr().out.count("get_step: getstep.draw has dropped squares off the board") == 1
