"""The reaction of each end to wrong bytes, wrong messages and wrong moments: the code, and the next state.

The bodies are in hostile.py. Each is fed whole, byte by byte, and with more behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

import msgpack
import pytest
from msgpack import fallback

from getstep.wire import (
    ANSWERS,
    CLOSED,
    HEADER_BYTES,
    MAX_CLIENT_FRAME,
    MAX_ID,
    MAX_LOGIN_FRAME,
    MAX_SERVER_FRAME,
    NEED_DATA,
    SERVER_MESSAGES,
    TRANSITIONS,
    Connection,
    End,
    Event,
    GetStep,
    Goodbye,
    Join,
    LateAnswer,
    LocalProtocolError,
    MalformedAnswer,
    Message,
    Penalty,
    Raised,
    RemoteProtocolError,
    Resign,
    Role,
    State,
    Step,
    _frames,
)
from tests.support.conversations import SAMPLES, ends, frame, framed, hearer
from tests.support.hostile_bodies import HONEST, answer, hostile, keyed, pack
from tests.support.quick import each

Feed: TypeAlias = Callable[[Connection, bytes], Event]


def whole(listener: Connection, data: bytes) -> Event:
    listener.receive_data(data)
    return listener.next_event()


def byte_by_byte(listener: Connection, data: bytes) -> Event:
    """Return the first event, which may come before the last byte."""
    for byte in data:
        if (event := whole(listener, bytes([byte]))) is not NEED_DATA:
            return event
        assert listener.mid_frame
    return NEED_DATA


def with_more_behind(listener: Connection, data: bytes) -> Event:
    return whole(listener, data + frame(SAMPLES[Step]) * 2 + b"\x00")


def by_short_cut(listener: Connection, data: bytes) -> Event:
    """Receive as the server does."""
    step = listener.receive_step(data) if listener.role is Role.SERVER else None
    return whole(listener, data) if step is None else step


ALL_FEEDS = [whole, byte_by_byte, with_more_behind, by_short_cut]
FEEDS = each("feed", ALL_FEEDS)
ROLES = each("role", Role)
MAX_FRAME = {Role.SERVER: MAX_CLIENT_FRAME, Role.CLIENT: MAX_SERVER_FRAME}  # that this role receives


def listening(role: Role) -> Connection:
    """Return a server that waits for the answer to question 31, or its client during a match."""
    return ends(State.TURN)[0] if role is Role.SERVER else ends(State.MATCH)[1]


def fails(listener: Connection, feed: Feed, data: bytes, code: str) -> str:
    """Check that ``data`` earns ``code`` and ends the conversation; the error's detail."""
    with pytest.raises(RemoteProtocolError, match=f"^{code}: ") as caught:
        feed(listener, data)
    assert (caught.value.code, listener.state) == (code, State.ERROR)
    assert str(caught.value) == f"{code}: {caught.value.detail}"
    with pytest.raises(RemoteProtocolError):
        whole(listener, frame(SAMPLES[Step]))
    return caught.value.detail


# --- frames ----------------------------------------------------------------------------------------------


def padded(message: Message, key: str, size: int) -> dict[str, Any]:
    """Return the fields of a message with so much under ``key`` that its body is ``size`` bytes long."""
    lines = ["x" * 497] * ((size - 600) // 500)  # 500 bytes each
    rest = "x" * 300
    short = size - len(pack(message.to_fields() | {key: [*lines, rest]}))
    return message.to_fields() | {key: [*lines, rest + "x" * short]}


@ROLES
@FEEDS
def test_longest_frame(role: Role, feed: Feed) -> None:
    message = SAMPLES[Step if role is Role.SERVER else GetStep]
    body = pack(padded(message, "later", MAX_FRAME[role]))
    assert len(body) == MAX_FRAME[role]
    assert feed(listening(role), framed(body)) == message


@ROLES
@FEEDS
@each("beyond", [1, 2**16, 2**31, 2**32 - 1])
def test_oversize_frame_by_its_header_alone(role: Role, feed: Feed, beyond: int) -> None:
    length = min(MAX_FRAME[role] + beyond, 2**32 - 1)
    detail = fails(listening(role), feed, length.to_bytes(HEADER_BYTES, "big"), "oversize_frame")
    assert detail == f"a frame of {length} bytes, expected at most {MAX_FRAME[role]}"


@ROLES
@FEEDS
def test_empty_frame(role: Role, feed: Feed) -> None:
    fails(listening(role), feed, b"\x00\x00\x00\x00", "empty_frame")


@ROLES
def test_header_is_awaited(role: Role) -> None:
    listener = listening(role)
    assert not listener.mid_frame
    assert byte_by_byte(listener, b"\xff\xff\xff") is NEED_DATA


@pytest.mark.parametrize("cls", SAMPLES, ids=lambda cls: cls.type)
def test_end_of_file_at_every_byte(cls: type[Message]) -> None:
    data = frame(SAMPLES[cls])
    for length in range(1, len(data)):
        listener = hearer(cls)
        assert whole(listener, data[:length]) is NEED_DATA
        fails(listener, whole, b"", "truncated_frame")


@ROLES
@pytest.mark.parametrize("state", [state for state in State if state is not State.ERROR])
def test_end_of_file_between_frames(role: Role, state: State) -> None:
    listener = ends(state)[list(Role).index(role)]
    assert whole(listener, b"") is CLOSED
    assert listener.state is State.CLOSED
    assert whole(listener, frame(SAMPLES[Step])) is CLOSED
    assert not listener.mid_frame


def test_end_of_file_behind_frames() -> None:
    """Messages that arrived before the end are read first."""
    server, _ = ends(State.TURN)
    server.receive_data(frame(SAMPLES[Step]) + b"\x00\x00")
    server.receive_data(b"")
    assert server.next_event() == SAMPLES[Step]
    fails(server, lambda listener, _: listener.next_event(), b"", "truncated_frame")


# --- bodies ----------------------------------------------------------------------------------------------

HOSTILE = {name: (body, code) for name, body, code in hostile()}


@each(("body", "code"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_body(body: bytes, code: str) -> None:
    for role, feed in product(Role, ALL_FEEDS):
        fails(listening(role), feed, framed(body), code)


STRUCTURAL = {name: (body, code) for name, (body, code) in HOSTILE.items() if code != "unknown_type"}


@each(("body", "code"), STRUCTURAL.values(), ids=STRUCTURAL)
def test_hostile_body_without_the_c_extension(body: bytes, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """msgpack has a decoder in Python for systems without a wheel."""
    monkeypatch.setattr(msgpack, "unpackb", fallback.unpackb)
    fails(listening(Role.SERVER), whole, framed(body), code)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (answer(b"\x00") + b"\x00", "bytes after the end of the map"),
        (answer(b"\xa1\xff"), "a string that is not UTF-8: invalid start byte"),
        (answer(b"\xc4\x00"), "type byte 0xc4: bin and ext are not used here"),
        (answer(b"\x91" * 8 + b"\x00"), "more than 8 containers inside each other"),
        (answer(b"\xdd\xff\xff\xff\xff"), "an array that claims a length of 4294967295, expected at most 128"),
        (answer(b"\xde\x00\x21"), "a map that claims a length of 33, expected at most 32"),
        (answer(b"\xda\x07\xd1"), "a string that claims a length of 2001, expected at most 2000"),
        (keyed(b"\x07"), "a key 7, expected a string"),
        (keyed(b"\xa2id"), "the key 'id' twice"),
        (b"\x90", "a list, expected a map"),
        (b"\xc0", "a NoneType, expected a map"),
    ],
)
def test_details_name_the_error(body: bytes, detail: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        whole(listening(Role.SERVER), framed(body))
    assert caught.value.detail == detail


@each(("body", "code"), HOSTILE.values(), ids=HOSTILE)
def test_server_says_why(body: bytes, code: str) -> None:
    server, client = ends(State.TURN)
    goodbye = Goodbye(reason=code, detail=fails(server, whole, framed(body), code), retry_ms=1000)
    assert whole(client, server.send(goodbye)) == goodbye
    assert server.state is State.CLOSED
    assert server.next_event() is CLOSED


@ROLES
@each("body", [answer(move) for move in HONEST.values()], ids=HONEST)
def test_honest_body(role: Role, body: bytes) -> None:
    move = msgpack.unpackb(body)["move"]
    if role is Role.SERVER:
        assert whole(listening(role), framed(body)) == Step(id=31, move=move)
    else:  # it may go there, and the client may send it
        _, client = ends(State.TURN)
        assert msgpack.unpackb(client.send(Step(id=31, move=move))[HEADER_BYTES:])["move"] == move


@pytest.mark.parametrize(
    "move", [None, True, 1.5, math.inf, -0.0, "R", "", [], {}, -(2**63), 2**64 - 1, [None, [{"": []}]]]
)
def test_any_move_is_an_answer(move: Any) -> None:
    server, client = ends(State.TURN)
    assert whole(server, client.send(Step(id=31, move=move))) == Step(id=31, move=move)


def test_not_a_number_is_an_answer() -> None:
    server, client = ends(State.TURN)
    event = whole(server, client.send(Step(id=31, move=[math.nan])))
    assert isinstance(event, Step)
    assert math.isnan(event.move[0])


@pytest.mark.parametrize(
    "encoded",
    [
        b"\x1f",
        b"\xcc\x1f",
        b"\xcd\x00\x1f",
        b"\xce\x00\x00\x00\x1f",
        b"\xcf" + b"\x00" * 7 + b"\x1f",
        b"\xd0\x1f",
        b"\xd1\x00\x1f",
        b"\xd2\x00\x00\x00\x1f",
        b"\xd3" + b"\x00" * 7 + b"\x1f",
    ],
)
def test_any_encoding_of_an_int(encoded: bytes) -> None:
    body = b"\xde\x00\x02\xd9\x04type\xda\x00\x06resign\xdb\x00\x00\x00\x02id" + encoded
    assert whole(listening(Role.SERVER), framed(body)) == Resign(id=31)


# --- messages ----------------------------------------------------------------------------------------------

ALIVE = [state for state in State if state not in (State.CLOSED, State.ERROR)]


@each("state", ALIVE)
@each("cls", SAMPLES)
def test_message_of_the_wrong_side(cls: type[Message], state: State) -> None:
    server, client = ends(state)
    fails(server if cls in SERVER_MESSAGES else client, whole, frame(SAMPLES[cls]), "unknown_type")


@each("state", ALIVE)
@each("cls", SAMPLES)
def test_message_at_the_wrong_moment(cls: type[Message], state: State) -> None:
    server, client = ends(state)
    listener = client if cls in SERVER_MESSAGES else server
    if cls in TRANSITIONS[state]:
        assert whole(listener, frame(SAMPLES[cls])) == SAMPLES[cls]
        assert listener.state is TRANSITIONS[state][cls]
    else:
        unasked = cls in ANSWERS and state in (State.LOBBY, State.MATCH)
        fails(listener, whole, frame(SAMPLES[cls]), "out_of_turn" if unasked else "out_of_order")


def test_wrong_moment_before_wrong_field() -> None:
    fails(ends(State.LOBBY)[0], whole, framed(pack({"type": "join"})), "out_of_order")


@pytest.mark.parametrize("cls", [Penalty, End, Goodbye], ids=lambda cls: cls.type)
def test_malformed_news_while_a_question_is_open(cls: type[Message]) -> None:
    """Only an answer can be malformed and no worse."""
    fails(ends(State.TURN)[1], whole, framed(pack(SAMPLES[cls].to_fields() | {"reason": None})), "bad_field")


def test_second_join() -> None:
    server, client = ends(State.LOGIN)
    assert whole(server, client.send(SAMPLES[Join]) + frame(SAMPLES[Join])) == SAMPLES[Join]
    fails(server, lambda listener, _: listener.next_event(), b"", "out_of_order")


# --- answers ---------------------------------------------------------------------------------------------

MALFORMED: dict[str, dict[str, Any]] = {
    "step without a move": {"type": "step", "id": 31},
    "step without an id": {"type": "step", "move": 0},
    "id nil": {"type": "step", "id": None, "move": 0},
    "id boolean": {"type": "step", "id": True, "move": 0},
    "id float": {"type": "step", "id": 31.0, "move": 0},
    "id text": {"type": "step", "id": "31", "move": 0},
    "id array": {"type": "step", "id": [31], "move": 0},
    "raised without an error": {"type": "raised", "id": 31},
    "raised without anything": {"type": "raised"},
    "error nil": {"type": "raised", "id": 31, "error": None},
    "error too long": {"type": "raised", "id": 31, "error": "x" * 501},
    "resign without an id": {"type": "resign"},
    "resign with id false": {"type": "resign", "id": False},
}
FOREIGN = [30, 32, 0, -1, 1, MAX_ID, MAX_ID + 1, 2**64 - 1, -(2**63)]


def said(fields: dict[str, Any]) -> bytes:
    return framed(pack(fields))


@FEEDS
@each("fields", MALFORMED.values(), ids=MALFORMED)
def test_malformed_answer(feed: Feed, fields: dict[str, Any]) -> None:
    server, client = ends(State.TURN)
    event = feed(server, said(fields))
    assert isinstance(event, MalformedAnswer)
    assert event.id == 31
    assert event.detail.startswith(f"{fields['type']}: ")
    assert (server.state, server.question) == (State.MATCH, None)
    penalty = Penalty(id=31, reason="malformed_answer", detail=event.detail)
    assert whole(client, server.send(penalty)) == penalty


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED)
def test_malformed_answer_answers(fields: dict[str, Any]) -> None:
    """It was an answer, so that a better one comes too late, and is not a late one."""
    server, _ = ends(State.TURN)
    assert isinstance(whole(server, said(fields)), MalformedAnswer)
    fails(server, whole, frame(SAMPLES[Step]), "out_of_turn")


@each("state", [state for state in ALIVE if state is not State.TURN])
@each("fields", MALFORMED.values(), ids=MALFORMED)
def test_malformed_answer_without_a_question(state: State, fields: dict[str, Any]) -> None:
    code, data = "out_of_turn" if state in (State.LOBBY, State.MATCH) else "out_of_order", said(fields)
    if code == "out_of_order" and len(data) > HEADER_BYTES + MAX_LOGIN_FRAME:
        code = "oversize_frame"
    fails(ends(state)[0], whole, data, code)


@FEEDS
@each("question", FOREIGN)
@each("kind", ["step", "raised", "resign"])
def test_foreign_id(feed: Feed, question: int, kind: str) -> None:
    fields = {"type": kind, "id": question, "move": 0, "error": ""}
    detail = fails(ends(State.TURN)[0], feed, said(fields), "foreign_id")
    assert detail == f"an answer to question {question}, open is 31"


@pytest.mark.parametrize("second", [Step, Raised, Resign])
def test_two_answers_in_one_segment(second: type[Message]) -> None:
    server, _ = ends(State.TURN)
    assert whole(server, frame(SAMPLES[Step]) + frame(SAMPLES[second])) == SAMPLES[Step]
    assert server.mid_frame
    fails(server, lambda listener, _: listener.next_event(), b"", "out_of_turn")


def ask(server: Connection, question: int) -> None:
    server.send(GetStep(id=question, move_number=1, board=[[0]], is_black=True, time_left_ms=5000, last_move=None))


def test_late_answer_while_another_question_is_open() -> None:
    server, _ = ends(State.TURN)
    server.send(SAMPLES[Penalty])
    ask(server, 33)
    assert whole(server, frame(SAMPLES[Resign])) == LateAnswer(31)
    assert (server.state, server.question) == (State.TURN, 33)
    assert whole(server, frame(Step(id=33, move=0))) == Step(id=33, move=0)
    ask(server, 34)
    fails(server, whole, frame(SAMPLES[Resign]), "foreign_id")


def test_a_client_may_answer_late_and_only_once() -> None:
    server, client = ends(State.TURN)
    whole(client, server.send(SAMPLES[Penalty]))
    late = client.send(Step(id=31, move=0))
    assert (client.state, client.question) == (State.MATCH, None)
    assert whole(server, late) == LateAnswer(31)
    with pytest.raises(LocalProtocolError):
        client.send(Step(id=31, move=0))


def test_a_client_may_answer_late_while_another_question_is_open() -> None:
    _, client = ends(State.TURN)
    for message in (SAMPLES[Penalty], GetStep(33, 1, [[0]], True, 5000, None)):
        whole(client, frame(message))
    client.send(Raised(id=31, error="late"))
    assert (client.state, client.question) == (State.TURN, 33)
    client.send(Step(id=33, move=0))


def test_a_client_does_not_answer_a_match_that_is_over() -> None:
    _, client = ends(State.TURN)
    whole(client, frame(SAMPLES[End]))
    with pytest.raises(LocalProtocolError):
        client.send(Step(id=31, move=0))


def test_late_answers_to_several_questions() -> None:
    server, _ = ends(State.TURN)
    for question in (40, 41, 42):
        server.send(SAMPLES[Penalty])
        ask(server, question)
    server.send(SAMPLES[End])
    for question in (41, 31, 42, 40):
        assert whole(server, said({"type": "step", "id": question})) == LateAnswer(question)
        assert server.state is State.LOBBY
    fails(server, whole, said({"type": "step", "id": 41, "move": 0}), "out_of_turn")


@pytest.mark.parametrize("question", [True, 1.0, "1", None, [1]])
def test_late_answer_has_an_int_for_its_id(question: Any) -> None:
    server, _ = ends(State.MATCH)
    ask(server, 1)
    server.send(SAMPLES[Penalty])
    fails(server, whole, said({"type": "resign", "id": question}), "out_of_turn")


def test_answered_question_has_no_late_answer() -> None:
    server, client = ends(State.TURN)
    answered = client.send(SAMPLES[Step])
    assert whole(server, answered) == SAMPLES[Step]
    server.send(SAMPLES[Penalty])
    fails(server, whole, answered, "out_of_turn")


# --- what one's own program may not send -----------------------------------------------------------------


class Thing:
    """A value that msgpack does not know."""


def endless() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


UNSENDABLE = {
    "bytes": b"R",
    "no bytes": b"",
    "timestamp": msgpack.Timestamp(1),
    "set": {(3, 4)},
    "object": Thing(),
    "circle": endless(),
    "huge int": 2**64,
    "surrogate": "\ud800",
    "int key": {1: 2},
    "nil key": [{None: 2}],
    "too deep": [[[[[[[[]]]]]]]],
    "long array": [0] * 129,
    "long map": {str(number): 0 for number in range(33)},
    "long text": "x" * 2001,
    "long frame": ["x" * 2000] * 3,
}


@pytest.mark.parametrize("move", UNSENDABLE.values(), ids=UNSENDABLE)
def test_move_that_the_wire_cannot_carry(move: Any) -> None:
    _, client = ends(State.TURN)
    with pytest.raises(
        LocalProtocolError, match=r"^(cannot be sent: |a frame of 6\d\d\d bytes, expected at most 4096)"
    ):
        client.send(Step(id=31, move=move))
    assert (client.state, client.question) == (State.TURN, 31)
    assert client.send(SAMPLES[Raised]) == frame(SAMPLES[Raised])  # nothing of the move is left behind


@pytest.mark.parametrize("error", [TypeError, ValueError, OverflowError, RecursionError])
def test_whatever_msgpack_raises(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fields: object) -> bytes:
        raise error("so")

    server, _ = ends(State.MATCH)
    monkeypatch.setattr(_frames, "pack", fail)
    with pytest.raises(LocalProtocolError, match=r"^cannot be sent: so$"):
        server.send(SAMPLES[Penalty])
    assert (server.state, server.question) == (State.MATCH, None)


@pytest.mark.parametrize(
    ("cls", "key", "most"), [(Step, "move", MAX_CLIENT_FRAME), (GetStep, "last_move", MAX_SERVER_FRAME)]
)
def test_longest_frame_that_may_be_sent(cls: type[Message], key: str, most: int) -> None:
    """Exactly as long as the peer accepts, and not a byte longer."""
    server, client = ends(State.TURN if cls is Step else State.MATCH)
    speaker, listener = (client, server) if cls is Step else (server, client)
    fits, beyond = (
        replace(SAMPLES[cls], **{key: padded(SAMPLES[cls], key, size)[key]}) for size in (most, most + 1)
    )
    before = speaker.state, speaker.question
    with pytest.raises(LocalProtocolError, match=f"^a frame of {most + 1} bytes, expected at most {most}$"):
        speaker.send(beyond)
    assert (speaker.state, speaker.question) == before
    assert whole(listener, speaker.send(fits)) == fits
