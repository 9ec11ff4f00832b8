"""One end of a conversation, without a socket: it turns received bytes into messages, and messages into bytes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

from . import _frames
from ._errors import LocalProtocolError, RemoteProtocolError
from ._limits import MAX_CLIENT_FRAME, MAX_LOGIN_FRAME, MAX_SERVER_FRAME
from ._messages import (
    CLIENT_MESSAGES,
    SERVER_MESSAGES,
    GetStep,
    Join,
    LateAnswer,
    MalformedAnswer,
    Message,
    Notice,
    Step,
    Welcome,
)
from ._state import ANSWERS, LOGGED_IN, TRANSITIONS, State


class Role(Enum):
    """The end of the conversation: server or client."""

    SERVER = "server"
    CLIENT = "client"


class Sentinel(Enum):
    """The events of `Connection.next_event` that are not messages."""

    NEED_DATA = "need data"
    CLOSED = "closed"


NEED_DATA: Final = Sentinel.NEED_DATA
CLOSED: Final = Sentinel.CLOSED

Event: TypeAlias = "Message | MalformedAnswer | LateAnswer | Sentinel"

_TYPES = {
    Role.SERVER: {cls.type: cls for cls in SERVER_MESSAGES},
    Role.CLIENT: {cls.type: cls for cls in CLIENT_MESSAGES},
}
_MAX_FRAME = {Role.SERVER: MAX_SERVER_FRAME, Role.CLIENT: MAX_CLIENT_FRAME}
_MAX_FRAME_BEFORE_LOGIN = {Role.SERVER: MAX_SERVER_FRAME, Role.CLIENT: MAX_LOGIN_FRAME}
_MATCH, _TURN = State.MATCH, State.TURN  # in Python 3.11, looking up a member of an Enum takes longer than a call
_PEER = {Role.SERVER: Role.CLIENT, Role.CLIENT: Role.SERVER}


class Connection:
    """One end of one conversation.

    Pass received bytes to `receive_data`, then call `next_event` until it returns `NEED_DATA` or `CLOSED`. Send the
    bytes that `send` returns to the peer, complete and in order.

    Args:
        role: the end that this object is.
    """

    def __init__(self, role: Role) -> None:
        self.role = role
        self._is_server = role is Role.SERVER
        self.state = State.GREETING
        self.question: int | None = None
        """The id of the open question, in state TURN."""
        self.notices = False
        """True if the client knows `Notice`: it has said so in `join`."""
        self._unanswered: set[int] = set()  # closed without an answer; one late answer to each is allowed
        self._reader = _frames.FrameReader(_MAX_FRAME_BEFORE_LOGIN[_PEER[role]])
        self._received_types = _TYPES[_PEER[role]]
        self._sent_types = _TYPES[role]
        self._max_frame = _MAX_FRAME_BEFORE_LOGIN[role]
        self._eof = False
        self._step_head = b""
        """The body of the answer to the latest question, up to its move."""

    def save(self) -> dict[str, Any]:
        """Return the state of a conversation after the login as plain data, for `restore` in another process."""
        return {
            "state": self.state.name,
            "question": self.question,
            "notices": self.notices,
            "unanswered": sorted(self._unanswered),
            "received": self._reader.rest,
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on with a conversation that another process has saved."""
        self.state = State[saved["state"]]
        self.question = saved["question"]
        self.notices = saved["notices"]
        self._unanswered = set(saved["unanswered"])
        self._log_in()
        self._reader.rest = saved["received"]
        if self.question is not None:
            self._step_head = _frames.STEP_HEAD % _frames.pack(self.question)

    @property
    def mid_frame(self) -> bool:
        """True if received bytes are left over: after `NEED_DATA`, the first part of a frame."""
        return self._reader.partial

    def receive_data(self, data: bytes) -> None:
        """Add bytes from the peer; ``b""`` means that the peer has closed its side."""
        if not data:
            self._eof = True
        elif self.state not in (State.CLOSED, State.ERROR):
            self._reader.feed(data)

    def receive_step(self, data: bytes) -> Step | None:
        """Return the answer to the open question if ``data``, which the peer has sent, is that and nothing else.

        This is a short cut for the one message that a server receives in every move of a contest.

        Returns:
            None if ``data`` is anything unusual. Nothing has changed then: pass it to `receive_data`.
        """
        if self.question is None or self._reader.partial or len(data) > self._reader.max_frame:
            return None
        move = _frames.read_step(data, self._step_head)
        if move is _frames.NO_MOVE:
            return None
        step = Step(self.question, move)
        self.question, self.state = None, _MATCH
        return step

    def next_event(self) -> Event:
        """Return the next message, `MalformedAnswer` or `LateAnswer`; `NEED_DATA` or `CLOSED` if there is none.

        Raises:
            RemoteProtocolError: the peer broke the protocol. The state is then ERROR, and every further call
                raises again until a `Goodbye` has been sent.
        """
        if self.state is State.CLOSED:
            return CLOSED
        if self.state is State.ERROR:
            raise RemoteProtocolError("out_of_order", "the connection has already failed")
        try:
            return self._next_event()
        except RemoteProtocolError:
            self.state = State.ERROR
            raise

    def send(self, message: Message) -> bytes:
        """Return the bytes of ``message``, and change the state as if they were sent.

        During a match, a client may also answer a closed question, once: a late answer. The state does not change.

        Raises:
            LocalProtocolError: the state does not allow ``message``, or it cannot be encoded; nothing has changed.
        """
        if type(message) is GetStep and self.state is _MATCH and self._is_server:
            return self._ask(message)
        late = self._closed_question_of(message)
        following = self.state if late else self._check_allowed(message)
        data = _frames.encode(message.to_fields(), self._max_frame)
        if isinstance(message, Step):  # its move is a value from a bot, of any type
            _frames.check_decodable(data)
        if late:
            self._unanswered.remove(late)
        else:
            self._advance(message, following)
        return data

    # --- inside ---

    def _ask(self, question: GetStep) -> bytes:
        """Send a question where the state allows one; see `send`."""
        packed_id = _frames.pack(question.id)
        body = question.to_body(packed_id)
        if body is None:
            data = _frames.encode(question.to_fields(), self._max_frame)
        else:
            data = _frames.frame(body, self._max_frame)
        self._step_head = _frames.STEP_HEAD % packed_id
        self.question, self.state = question.id, _TURN
        return data

    def _next_event(self) -> Event:
        body = self._reader.next_body()
        if body is not None:
            return self._handle(_frames.decode(body))
        if not self._eof:
            return NEED_DATA
        if self._reader.partial:
            raise RemoteProtocolError("truncated_frame", "the connection closed inside a frame")
        self.state = State.CLOSED
        return CLOSED

    def _handle(self, fields: dict[str, Any]) -> Event:
        cls = self._message_class(fields.get("type"))
        following = TRANSITIONS[self.state].get(cls)
        if cls in ANSWERS and self.state in LOGGED_IN:  # before the order is checked: it may cross a penalty
            late = self._late_answer(fields.get("id"))
            if late is not None:
                return late
        if following is None:
            raise RemoteProtocolError("out_of_order", f"{cls.type} in state {self.state.name}")
        try:
            message = _build(cls, fields)
        except ValueError as error:
            if self.question is None or cls not in ANSWERS:
                raise RemoteProtocolError("bad_field", str(error)) from error
            # An honest mistake costs the turn, not the connection: the question counts as answered.
            malformed = MalformedAnswer(self.question, f"{cls.type}: {error}")
            self._close_question(answered=True)
            self.state = following
            return malformed
        self._advance(message, following)
        return message

    def _message_class(self, name: object) -> type[Message]:
        cls = self._received_types.get(name) if type(name) is str else None  # an array has no hash
        if cls is None:
            known = ", ".join(self._received_types)
            raise RemoteProtocolError("unknown_type", f"type is {ascii(name)[:80]}, expected one of {known}")
        return cls

    def _late_answer(self, question: object) -> LateAnswer | None:
        """Return a `LateAnswer` if the question is closed, None if it is the open question."""
        if question == self.question and type(question) is int:  # True and 1.0 are equal to 1
            return None
        if type(question) is int and question in self._unanswered:
            self._unanswered.remove(question)
            return LateAnswer(question)
        if self.question is None:
            raise RemoteProtocolError("out_of_turn", f"an answer to question {ascii(question)[:40]}, none is open")
        if type(question) is int:
            raise RemoteProtocolError("foreign_id", f"an answer to question {question}, open is {self.question}")
        return None

    def _closed_question_of(self, message: Message) -> int | None:
        """Return the closed question that ``message`` is a late answer to, None if it is not a late answer."""
        question = getattr(message, "id", None) if type(message) in ANSWERS else None
        if self.role is not Role.CLIENT or self.state not in (State.MATCH, State.TURN) or question == self.question:
            return None
        return question if question in self._unanswered else None

    def _check_allowed(self, message: Message) -> State:
        following = TRANSITIONS[self.state].get(type(message))
        if following is None or message.type not in self._sent_types:
            raise LocalProtocolError(f"{self.role.value} cannot send {message.type} in state {self.state.name}")
        if type(message) is Notice and not self.notices:
            raise LocalProtocolError("the client has not asked for notices")
        if type(message) in ANSWERS and getattr(message, "id", None) != self.question:
            raise LocalProtocolError(f"the open question is {self.question}, not that of {message!r:.80}")
        return following

    def _advance(self, message: Message, following: State) -> None:
        if type(message) in ANSWERS:
            self._close_question(answered=True)
        elif isinstance(message, GetStep):
            self.question = message.id
        elif isinstance(message, Join):
            self.notices = message.notices is True
        elif isinstance(message, Welcome):
            self._log_in()
        elif following is not State.TURN:
            self._close_question(answered=False)
        self.state = following

    def _log_in(self) -> None:
        self._max_frame = _MAX_FRAME[self.role]
        self._reader.max_frame = _MAX_FRAME[_PEER[self.role]]

    def _close_question(self, *, answered: bool) -> None:
        if self.question is not None and not answered:
            self._unanswered.add(self.question)
        self.question = None


def _build(cls: type[Message], fields: dict[str, Any]) -> Message:
    try:
        required = [*map(fields.__getitem__, cls.required)]
    except KeyError as error:
        raise ValueError(f"{error.args[0]} is missing") from None
    return cls(*required, **{name: fields[name] for name in cls.optional if name in fields})
