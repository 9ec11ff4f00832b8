"""The conversation as a machine: any state with any message, from either side, and both ends at once."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from getstep.wire import (
    ANSWERS,
    CLIENT_MESSAGES,
    CLOSED,
    HEADER_BYTES,
    MAX_ID,
    MAX_MS,
    MAX_NAME,
    MAX_TEAM,
    MAX_TEXT,
    NEED_DATA,
    SERVER_MESSAGES,
    TRANSITIONS,
    Connection,
    End,
    GetStep,
    Goodbye,
    Hello,
    Join,
    LateAnswer,
    LocalProtocolError,
    MalformedAnswer,
    Message,
    Notice,
    Penalty,
    Raised,
    RemoteProtocolError,
    Resign,
    Role,
    Start,
    State,
    Step,
    Welcome,
    decode,
)
from tests.support.conversations import SAMPLES, ends, frame
from tests.support.quick import each

PICTURE = """
    GREETING  S hello     LOGIN
    GREETING  S goodbye   CLOSED
    LOGIN     C join      DECIDING
    LOGIN     S goodbye   CLOSED
    DECIDING  S welcome   LOBBY
    DECIDING  S goodbye   CLOSED
    LOBBY     S start     MATCH
    LOBBY     S notice    LOBBY
    LOBBY     S goodbye   CLOSED
    MATCH     S get_step  TURN
    MATCH     S penalty   MATCH
    MATCH     S end       LOBBY
    MATCH     S notice    MATCH
    MATCH     S goodbye   CLOSED
    TURN      C step      MATCH
    TURN      C raised    MATCH
    TURN      C resign    MATCH
    TURN      S penalty   MATCH
    TURN      S end       LOBBY
    TURN      S notice    TURN
    TURN      S goodbye   CLOSED
    ERROR     S goodbye   CLOSED
"""
"""The picture of protocol.md, a line for each arrow."""

ARROWS = {
    (State[begin], speaker, kind): State[to]
    for begin, speaker, kind, to in map(str.split, PICTURE.strip().split("\n"))
}
SIDES = {Role.SERVER: ("S", SERVER_MESSAGES), Role.CLIENT: ("C", CLIENT_MESSAGES)}
PEER = {Role.SERVER: Role.CLIENT, Role.CLIENT: Role.SERVER}
TYPES = list(SAMPLES)


def arrow(state: State, role: Role, cls: type[Message]) -> State | None:
    """Return the next state when that side sends that message."""
    return ARROWS.get((state, SIDES[role][0], cls.type))


def about(cls: type[Message], question: int) -> Message:
    """Return a message of that type, about that question if it is about one."""
    fields = vars(SAMPLES[cls])
    return cls(**{name: question if name == "id" else fields[name] for name in cls.names})


def snapshot(end: Connection) -> tuple[State, int | None]:
    return end.state, end.question


def test_table_is_the_picture() -> None:
    table = {
        (state, "S" if cls in SERVER_MESSAGES else "C", cls.type): following
        for state, allowed in TRANSITIONS.items()
        for cls, following in allowed.items()
    }
    assert table == ARROWS
    assert set(TRANSITIONS) == set(State)


# --- one end ---------------------------------------------------------------------------------------------


@each("role", Role)
@each("state", State)
@each("cls", TYPES)
def test_any_state_says_anything(role: Role, state: State, cls: type[Message]) -> None:
    end = ends(state)[list(Role).index(role)]
    before = snapshot(end)
    following = arrow(state, role, cls)
    if following is None:
        with pytest.raises(
            LocalProtocolError, match=f"^{role.value} cannot send {cls.type} in state {state.name}$"
        ):
            end.send(SAMPLES[cls])
        assert snapshot(end) == before
    else:
        assert end.send(SAMPLES[cls]) == frame(SAMPLES[cls])
        assert end.state is following
        asked = SAMPLES[cls].to_fields()["id"] if cls is GetStep else None
        assert end.question == (before[1] if cls is Notice else asked)


@pytest.mark.parametrize("message", [Step(id=30, move=0), Raised(id=32, error=""), Resign(id=1)])
def test_only_the_open_question_is_answered(message: Message) -> None:
    _, client = ends(State.TURN)
    with pytest.raises(LocalProtocolError, match=r"^the open question is 31, not that of "):
        client.send(message)
    assert snapshot(client) == (State.TURN, 31)


@pytest.mark.parametrize("notices", [None, False])
def test_no_notice_to_a_client_that_has_not_asked_for_it(notices: bool | None) -> None:
    server, client = Connection(Role.SERVER), Connection(Role.CLIENT)
    join = Join(**{**vars(SAMPLES[Join]), "notices": notices})
    for message in (SAMPLES[Hello], join, SAMPLES[Welcome]):
        speaker, listener = (client, server) if type(message) is Join else (server, client)
        listener.receive_data(speaker.send(message))
        listener.next_event()
    with pytest.raises(LocalProtocolError, match=r"^the client has not asked for notices$"):
        server.send(SAMPLES[Notice])


def test_consent_to_notices_travels_with_a_saved_conversation() -> None:
    server, _ = ends(State.LOBBY)
    copy = Connection(Role.SERVER)
    copy.restore(server.save())
    assert copy.send(SAMPLES[Notice]) == frame(SAMPLES[Notice])


def test_long_answer_is_shown_in_short() -> None:
    _, client = ends(State.TURN)
    with pytest.raises(LocalProtocolError) as caught:
        client.send(Step(id=32, move="x" * 1000))
    assert len(str(caught.value)) < 200


def test_nothing_is_kept_after_an_error() -> None:
    """Nobody takes it out again, so it would fill the memory."""
    for end in ends(State.ERROR):
        for _ in range(1000):
            end.receive_data(b"x" * 1000)
        assert len(end._reader.rest) <= HEADER_BYTES


def test_nothing_is_kept_after_goodbye() -> None:
    for end in ends(State.CLOSED):
        end.receive_data(b"x" * 1000)
        assert not end.mid_frame


def test_frames_are_taken_out_of_the_rest() -> None:
    server, _ = ends(State.TURN)
    server.receive_data(frame(SAMPLES[Step]))
    assert server.mid_frame
    server.next_event()
    assert not server.mid_frame


class OneEnd(RuleBasedStateMachine):
    """One end whose peer says anything, allowed or not, and whose own program tries to."""

    @initialize(role=st.sampled_from(Role), state=st.sampled_from(list(State)))
    def begin(self, role: Role, state: State) -> None:
        self.role = role
        self.end = ends(state)[list(Role).index(role)]
        self.state, self.question = snapshot(self.end)
        self.unanswered: set[int] = set()
        self.last_id = 100

    def message(self, cls: type[Message], number: int) -> Message:
        """With an id that is fresh, or open, or closed, or never was one."""
        if cls is GetStep:
            self.last_id += 1
            number = self.last_id
        elif cls in ANSWERS:
            number = [self.question or 5, *sorted(self.unanswered), 6][number % (len(self.unanswered) + 2)]
        return about(cls, number)

    def move(self, message: Message, following: State) -> None:
        if type(message) is Notice:
            return
        if self.question and following is not State.TURN and type(message) not in ANSWERS:
            self.unanswered.add(self.question)
        self.question = message.id if isinstance(message, GetStep) else None
        self.state = following

    @rule(cls=st.sampled_from(TYPES), number=st.integers(1, 9))
    def say(self, cls: type[Message], number: int) -> None:
        message = self.message(cls, number)
        following = arrow(self.state, self.role, cls)
        if self.is_late(message):
            assert decode(self.end.send(message)[HEADER_BYTES:]) == message.to_fields()
            self.unanswered.remove(message.to_fields()["id"])
        elif following is None or (cls in ANSWERS and message.to_fields()["id"] != self.question):
            with pytest.raises(LocalProtocolError):
                self.end.send(message)
        else:
            assert decode(self.end.send(message)[HEADER_BYTES:]) == message.to_fields()
            self.move(message, following)

    @rule(cls=st.sampled_from(TYPES), number=st.integers(1, 9))
    def hear(self, cls: type[Message], number: int) -> None:
        message = self.message(cls, number)
        self.end.receive_data(frame(message))
        if self.state is State.CLOSED:
            assert self.end.next_event() is CLOSED
        elif (code := self.offence(message)) is not None:
            with pytest.raises(RemoteProtocolError, match=f"^{code}: "):
                self.end.next_event()
            self.state = State.ERROR
        elif message.to_fields().get("id") in self.unanswered and cls in ANSWERS:
            self.unanswered.remove(message.to_fields()["id"])
            assert self.end.next_event() == LateAnswer(message.to_fields()["id"])
        else:
            assert self.end.next_event() == message
            self.move(message, ARROWS[self.state, SIDES[PEER[self.role]][0], cls.type])

    def is_late(self, message: Message) -> bool:
        """Return True if this end answers a closed question, in a match that continues."""
        if type(message) not in ANSWERS or self.role is Role.SERVER or self.state not in (State.MATCH, State.TURN):
            return False
        question = message.to_fields()["id"]
        return question != self.question and question in self.unanswered

    def offence(self, message: Message) -> str | None:
        if self.state is State.ERROR:
            return "out_of_order"
        if type(message) not in SIDES[PEER[self.role]][1]:
            return "unknown_type"
        if isinstance(message, (Step, Raised, Resign)):
            if message.id in self.unanswered:
                return None
            if self.question is None:
                return "out_of_turn" if self.state in (State.LOBBY, State.MATCH) else "out_of_order"
            return None if message.id == self.question else "foreign_id"
        return None if arrow(self.state, PEER[self.role], type(message)) else "out_of_order"

    @rule(allowed=st.integers(0, 9), number=st.integers(1, 9))
    def go_on(self, allowed: int, number: int) -> None:
        """So that not every conversation breaks off at once."""
        kinds = [kind for begin, _, kind in ARROWS if begin is self.state and kind != "goodbye"]
        if not kinds:
            return
        cls = next(cls for cls in TYPES if cls.type == kinds[allowed % len(kinds)])
        if cls in SIDES[self.role][1]:
            self.say(cls, number if cls not in ANSWERS else 0)
        else:
            self.hear(cls, number if cls not in ANSWERS else 0)

    @invariant()
    def end_is_where_it_should_be(self) -> None:
        assert self.end.state is self.state
        if self.state is State.ERROR:
            with pytest.raises(RemoteProtocolError):
                self.end.next_event()
            return
        assert self.end.question == self.question
        assert self.end.next_event() is (CLOSED if self.state is State.CLOSED else NEED_DATA)


# --- both ends -------------------------------------------------------------------------------------------


class BothEnds(RuleBasedStateMachine):
    """Two ends that keep to the rules, with any number of bytes on their way in both directions."""

    def __init__(self) -> None:
        super().__init__()
        server, client = ends(State.GREETING)
        self.ends = {Role.SERVER: server, Role.CLIENT: client}
        self.flying = {role: bytearray() for role in Role}  # towards that role
        self.expected: dict[Role, deque[Message]] = {role: deque() for role in Role}
        self.late: set[int] = set()
        self.asked = self.said = 0

    def message(self, role: Role, cls: type[Message]) -> Message:
        question = self.ends[role].question
        if cls is GetStep:
            self.asked += 1
            question = self.asked
        return about(cls, question or 1)

    @rule(role=st.sampled_from(Role), choice=st.integers(0, 9))
    def say(self, role: Role, choice: int) -> None:
        """Whatever is allowed, goodbye only after a while."""
        end = self.ends[role]
        allowed = [cls for cls in SIDES[role][1] if arrow(end.state, role, cls)]
        if self.said < 25:
            allowed = [cls for cls in allowed if cls is not Goodbye]
        if not allowed:
            return
        message = self.message(role, allowed[choice % len(allowed)])
        if role is Role.SERVER and end.question and not isinstance(message, GetStep):
            self.late.add(end.question)
        self.flying[PEER[role]] += end.send(message)
        self.expected[PEER[role]].append(message)
        self.said += 1

    @rule(role=st.sampled_from(Role), count=st.integers(1, 400))
    def deliver(self, role: Role, count: int) -> None:
        arrived = bytes(self.flying[role][:count])
        del self.flying[role][:count]
        if arrived:
            self.ends[role].receive_data(arrived)
        while (event := self.ends[role].next_event()) not in (NEED_DATA, CLOSED):
            message = self.expected[role].popleft()
            if isinstance(event, LateAnswer):
                assert isinstance(message, ANSWERS)
                assert event.id == message.to_fields()["id"]
                self.late.remove(event.id)
            else:
                assert event == message

    @rule()
    def deliver_all(self) -> None:
        for role in Role:
            self.deliver(role, len(self.flying[role]))

    @rule(role=st.sampled_from(Role), cls=st.sampled_from(TYPES))
    def try_wrong_message(self, role: Role, cls: type[Message]) -> None:
        end = self.ends[role]
        before = snapshot(end)
        if arrow(end.state, role, cls) is None:
            with pytest.raises(LocalProtocolError):
                end.send(SAMPLES[cls])
        assert snapshot(end) == before

    @invariant()
    def neither_broke_the_protocol(self) -> None:
        assert State.ERROR not in (end.state for end in self.ends.values())

    @invariant()
    def ends_agree_when_nothing_is_on_its_way(self) -> None:
        server, client = self.ends.values()
        if server.state is State.CLOSED or client.state is State.CLOSED:
            return
        if not any(self.flying.values()):
            assert not any(self.expected.values())
            assert snapshot(server) == snapshot(client)


OneEnd.TestCase.settings = settings(max_examples=150, stateful_step_count=25)
BothEnds.TestCase.settings = settings(max_examples=80, stateful_step_count=60)
TestOneEnd = OneEnd.TestCase
TestBothEnds = BothEnds.TestCase


# --- every message there and back ------------------------------------------------------------------------

IDS = st.integers(1, MAX_ID)
TIMES = st.integers(0, MAX_MS)
NAMES = st.text(max_size=MAX_NAME)
TEXTS = st.text(max_size=MAX_TEXT)
LIMITS: dict[str, Any] = {"time_kind": st.sampled_from(["move", "budget"]), "time_ms": st.integers(1, MAX_MS)}
OPTIONS = st.dictionaries(st.text(max_size=9), st.integers(-MAX_ID, MAX_ID), max_size=4)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | TEXTS
SQUARES = st.lists(st.integers(0, 15), min_size=2, max_size=2)
MOVES = (
    SCALARS
    | SQUARES
    | st.lists(SQUARES, max_size=100)
    | st.dictionaries(NAMES, st.lists(SCALARS, max_size=2), max_size=2)
)
BOARDS = st.lists(st.lists(st.integers(-9, 9), max_size=16), max_size=16)
GAME = st.fixed_dictionaries({"game": NAMES, "options": OPTIONS, **LIMITS}, optional={"increment_ms": TIMES})
GAMES = st.lists(GAME, max_size=5)
SCORES = st.none() | st.lists(SCALARS | st.lists(st.integers(0, 9), max_size=9), min_size=2, max_size=2)


def hexadecimal(digits: int) -> st.SearchStrategy[str]:
    return st.text("0123456789abcdef", min_size=digits, max_size=digits)


FIELDS: dict[type[Message], dict[str, Any]] = {
    Hello: {"versions": st.lists(IDS, max_size=5), "nonce": hexadecimal(32), "contest": NAMES, "server": NAMES},
    Welcome: {"team": st.integers(0, MAX_TEAM), "name": NAMES, "lag_ms": TIMES, "games": GAMES},
    Start: {
        "match": IDS,
        "game": NAMES,
        "options": OPTIONS,
        "is_black": st.booleans(),
        "opponent": NAMES,
        **LIMITS,
        "lag_ms": TIMES,
        "resumed": st.booleans(),
        "increment_ms": st.none() | TIMES,
    },
    GetStep: {
        "id": IDS,
        "move_number": IDS,
        "board": BOARDS,
        "is_black": st.booleans(),
        "time_left_ms": TIMES,
        "last_move": MOVES,
    },
    Penalty: {"id": IDS, "reason": NAMES, "detail": TEXTS},
    End: {
        "match": IDS,
        "result": st.sampled_from(["win", "draw", "loss", "void"]),
        "reason": NAMES,
        "detail": TEXTS,
        "scores": SCORES,
    },
    Notice: {"kind": NAMES, "match": st.none() | IDS, "text": TEXTS},
    Goodbye: {"reason": NAMES, "detail": TEXTS, "retry_ms": st.none() | TIMES},
    Join: {
        "version": IDS,
        "team": st.integers(0, MAX_TEAM),
        "mac": hexadecimal(64),
        "client": NAMES,
        "purpose": st.sampled_from(["play", "check"]),
    },
    Step: {"id": st.just(31), "move": MOVES},
    Raised: {"id": st.just(31), "error": TEXTS},
    Resign: {"id": st.just(31)},
}


@pytest.mark.parametrize("event", [*SAMPLES.values(), LateAnswer(31), MalformedAnswer(31, "step: ...")])
def test_messages_do_not_change(event: Message | LateAnswer | MalformedAnswer) -> None:
    with pytest.raises(FrozenInstanceError):
        event.id = 32  # type: ignore[misc,union-attr]  # frozen, and one of them has no id


def test_malformed_answers_are_distinguished_by_their_question() -> None:
    assert MalformedAnswer(31, "step: move is missing") == MalformedAnswer(31, "resign: id is missing")
    assert MalformedAnswer(31, "") != MalformedAnswer(32, "")


def test_message_without_a_check() -> None:
    with pytest.raises(NotImplementedError):
        Message()


@pytest.mark.parametrize(
    ("cls", "name", "value", "text"),
    [
        (Join, "version", 0, "version is 0, expected a whole number from 1 to 2147483647"),
        (Join, "team", True, "team is True, expected a whole number from 0 to 2147483647"),
        (Join, "client", "x" * 100, f"client is '{'x' * 76}..., expected text of at most 64 characters"),
        (Join, "client", "x" * 79, f"client is '{'x' * 76}..., expected text of at most 64 characters"),
        (Join, "client", "x" * 78, f"client is '{'x' * 78}', expected text of at most 64 characters"),
        (Join, "mac", "F0", "mac is 'F0', expected 64 lower-case hexadecimal digits"),
        (Join, "purpose", "look", "purpose is 'look', expected one of play, check"),
        (Raised, "error", b"\xff", "error is b'\\xff', expected text of at most 500 characters"),
        (GetStep, "board", [[0], ["é"]], "board has the row ['\\xe9'], expected whole numbers"),
        (GetStep, "board", [[0], 7], "board is 7, expected an array of at most 128 elements"),
        (GetStep, "is_black", 1, "is_black is 1, expected true or false"),
        (
            Start,
            "options",
            {"size": None},
            "'size' is None, expected a whole number from -2147483647 to 2147483647",
        ),
        (Welcome, "games", [[]], "games is [], expected a map"),
        (End, "scores", [1], "scores is [1], expected one for each player"),
    ],
)
def test_error_shows_the_value_and_what_was_expected(cls: type[Message], name: str, value: Any, text: str) -> None:
    keys = {**SAMPLES[cls].to_fields(), name: value}
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        cls(**{key: keys[key] for key in cls.names if key in keys})


@pytest.mark.parametrize("cls", TYPES, ids=lambda cls: cls.type)
@given(data=st.data())
@settings(max_examples=40)
def test_there_and_back(cls: type[Message], data: st.DataObject) -> None:
    message = data.draw(st.builds(cls, **FIELDS[cls]))
    server, client = ends(next(state for state in TRANSITIONS if cls in TRANSITIONS[state]))
    speaker, listener = (server, client) if cls in SERVER_MESSAGES else (client, server)
    listener.receive_data(speaker.send(message))
    received = listener.next_event()
    assert received == message
    assert repr(received) == repr(message)  # 1 is not True, nor 1.0
    assert snapshot(speaker) == snapshot(listener)
    assert listener.next_event() is (CLOSED if cls is Goodbye else NEED_DATA)


@pytest.mark.parametrize("answered", [False, True])
def test_a_saved_conversation_goes_on_elsewhere(answered: bool) -> None:
    """In another process, say: in the middle of a frame, of a turn, and with a closed question."""
    server, client = ends(State.MATCH)
    question = SAMPLES[GetStep]
    assert isinstance(question, GetStep)
    for message in (replace(question, id=7), Penalty(7, "missed_limit", "late"), replace(question, id=8)):
        client.receive_data(server.send(message))
        client.next_event()
    late, answer = client.send(Step(7, 1)), client.send(Step(8, 2))
    if answered:
        server.receive_data(late + answer)
        assert [type(server.next_event()) for _ in range(2)] == [LateAnswer, Step]
        answer = b""
    else:
        server.receive_data(late[:5])
        assert server.next_event() is NEED_DATA
        answer = late[5:] + answer
    elsewhere = Connection(Role.SERVER)
    elsewhere.restore(server.save())
    if answered:
        assert elsewhere.question is None
        client.receive_data(elsewhere.send(End(1, "win", "end", "", None)))
        assert type(client.next_event()) is End
    else:
        elsewhere.receive_data(answer)
        assert [type(elsewhere.next_event()) for _ in range(2)] == [LateAnswer, Step]
