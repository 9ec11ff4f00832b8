"""A conversation without its socket: bytes in, messages out, and the other way round."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, TypeAlias

from . import _frames
from ._errors import LocalProtocolError, RemoteProtocolError
from ._limits import MAX_CLIENT_FRAME, MAX_SERVER_FRAME
from ._messages import CLIENT_MESSAGES, SERVER_MESSAGES, GetStep, LateAnswer, MalformedAnswer, Message, Step
from ._state import ANSWERS, LOGGED_IN, TRANSITIONS, State


class Role(Enum):
    """Which end of the conversation this is."""

    SERVER = "server"
    CLIENT = "client"


class Sentinel(Enum):
    """What `Connection.next_event` returns when there is no message."""

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
_PEER = {Role.SERVER: Role.CLIENT, Role.CLIENT: Role.SERVER}


class Connection:
    """One end of one conversation.

    Feed what arrives to `receive_data`, then take events with `next_event` until it says `NEED_DATA` or
    `CLOSED`. What `send` returns has to reach the peer whole and in order.

    Args:
        role: which end this is.
    """

    def __init__(self, role: Role) -> None:
        self.role = role
        self.state = State.GREETING
        self.question: int | None = None
        """The id of the open question, in state TURN."""
        self._unanswered: set[int] = set()  # closed before an answer came; one late answer each is no offence
        self._reader = _frames.FrameReader(_MAX_FRAME[_PEER[role]])
        self._types = _TYPES[_PEER[role]]
        self._says = _TYPES[role]
        self._max_frame = _MAX_FRAME[role]
        self._eof = False

    @property
    def mid_frame(self) -> bool:
        """Whether bytes have arrived that no event was made of: after `NEED_DATA`, the beginning of a frame."""
        return self._reader.partial

    def receive_data(self, data: bytes) -> None:
        """Take in bytes from the peer; ``b""`` says that it has closed its side."""
        if not data:
            self._eof = True
        elif self.state not in (State.CLOSED, State.ERROR):
            self._reader.feed(data)

    def next_event(self) -> Event:
        """The next message, `MalformedAnswer` or `LateAnswer`; `NEED_DATA` or `CLOSED` when there is none.

        Raises:
            RemoteProtocolError: the peer broke the protocol; the state is ERROR from then on, and every
                further call raises again until a `Goodbye` has been sent.
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
        """The bytes that say ``message``; the conversation moves on as if they were sent.

        Raises:
            LocalProtocolError: this end may not say that now, or it cannot be encoded; nothing has moved.
        """
        following = self._may_say(message)
        data = _frames.encode(message.to_fields(), self._max_frame)
        if isinstance(message, Step):  # its move is whatever a callback returned
            _frames.proofread(data)
        self._advance(message, following)
        return data

    # --- inside ---

    def _next_event(self) -> Event:
        body = self._reader.next_body()
        if body is not None:
            return self._received(_frames.decode(body))
        if not self._eof:
            return NEED_DATA
        if self._reader.partial:
            raise RemoteProtocolError("truncated_frame", "the connection closed in the middle of a frame")
        self.state = State.CLOSED
        return CLOSED

    def _received(self, fields: dict[str, Any]) -> Event:
        cls = self._class_of(fields.get("type"))
        following = TRANSITIONS[self.state].get(cls)
        if cls in ANSWERS and self.state in LOGGED_IN:
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
            malformed = MalformedAnswer(self.question, f"{cls.type}: {error}")
            self._close_question(answered=True)
            self.state = following
            return malformed
        self._advance(message, following)
        return message

    def _class_of(self, name: object) -> type[Message]:
        cls = self._types.get(name) if type(name) is str else None
        if cls is None:
            known = ", ".join(self._types)
            raise RemoteProtocolError("unknown_type", f"type is {ascii(name)[:80]}, expected one of {known}")
        return cls

    def _late_answer(self, question: object) -> LateAnswer | None:
        """None for an answer to the open question, `LateAnswer` for one whose question is closed."""
        if question == self.question and type(question) is int:
            return None
        if type(question) is int and question in self._unanswered:
            self._unanswered.remove(question)
            return LateAnswer(question)
        if self.question is None:
            raise RemoteProtocolError("out_of_turn", f"an answer to question {ascii(question)[:40]}, none is open")
        if type(question) is int:
            raise RemoteProtocolError("foreign_id", f"an answer to question {question}, open is {self.question}")
        return None

    def _may_say(self, message: Message) -> State:
        following = TRANSITIONS[self.state].get(type(message))
        if following is None or message.type not in self._says:
            raise LocalProtocolError(f"{self.role.value} cannot say {message.type} in state {self.state.name}")
        if type(message) in ANSWERS and getattr(message, "id", None) != self.question:
            raise LocalProtocolError(f"the open question is {self.question}, not that of {message!r:.80}")
        return following

    def _advance(self, message: Message, following: State) -> None:
        if type(message) in ANSWERS:
            self._close_question(answered=True)
        elif isinstance(message, GetStep):
            self.question = message.id
        elif following is not State.TURN:
            self._close_question(answered=False)
        self.state = following

    def _close_question(self, *, answered: bool) -> None:
        if self.question is not None and not answered:
            self._unanswered.add(self.question)
        self.question = None


def _build(cls: type[Message], fields: dict[str, Any]) -> Message:
    try:
        return cls(*map(fields.__getitem__, (*cls.required, *filter(fields.__contains__, cls.optional))))
    except KeyError as error:
        raise ValueError(f"{error.args[0]} is missing") from None
