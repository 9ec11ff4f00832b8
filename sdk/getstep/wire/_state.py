"""The states of the conversation of protocol.md, and the transitions between them, as one table.

Both ends use the same table. A message moves the conversation from one state to the next. Each message type is
sent by one side only, so the table does not name the sender:

    GREETING --hello--> LOGIN --join--> DECIDING --welcome--> LOBBY
                                                              |  ^
                                                        start |  | end
                                                              v  |
                            +------- penalty -- TURN <-get_step- MATCH (penalty stays in MATCH)
                            |                    |                ^
                            +--------------------+-- step, raised, resign

``goodbye`` leads to CLOSED from every state. ``notice`` changes no state after the login. A message that is not in
the table is a protocol error, with one exception: the client may answer a question that the server has just closed.
The two ends are in different states while the bytes travel, and this is not an error of either. `Connection` keeps
the ids of closed questions and reports a `LateAnswer`, which does not change the state.
"""

from __future__ import annotations

from enum import Enum, auto

from ._messages import (
    End,
    GetStep,
    Goodbye,
    Hello,
    Join,
    Message,
    Notice,
    Penalty,
    Raised,
    Resign,
    Start,
    Step,
    Welcome,
)


class State(Enum):
    """The state of a conversation, the same for both ends except for messages that are on their way."""

    __hash__ = object.__hash__  # Enum's own hash is Python code, and each message needs a lookup

    GREETING = auto()
    """Connected; the server sends `hello`."""
    LOGIN = auto()
    """The client sends `join`."""
    DECIDING = auto()
    """The server sends `welcome` or `goodbye`."""
    LOBBY = auto()
    """Logged in, no match."""
    MATCH = auto()
    """In a match, no question open."""
    TURN = auto()
    """In a match, with an open question: the client answers."""
    CLOSED = auto()
    """After `goodbye`, or the peer has closed the connection."""
    ERROR = auto()
    """The peer broke the protocol. Nothing more is read, but the server may still send `goodbye`."""


TRANSITIONS: dict[State, dict[type[Message], State]] = {
    State.GREETING: {
        Hello: State.LOGIN,
        Goodbye: State.CLOSED,
    },
    State.LOGIN: {
        Join: State.DECIDING,
        Goodbye: State.CLOSED,
    },
    State.DECIDING: {
        Welcome: State.LOBBY,
        Goodbye: State.CLOSED,
    },
    State.LOBBY: {
        Start: State.MATCH,
        Notice: State.LOBBY,
        Goodbye: State.CLOSED,
    },
    State.MATCH: {
        GetStep: State.TURN,
        Penalty: State.MATCH,
        End: State.LOBBY,
        Notice: State.MATCH,
        Goodbye: State.CLOSED,
    },
    State.TURN: {
        Step: State.MATCH,
        Raised: State.MATCH,
        Resign: State.MATCH,
        Penalty: State.MATCH,
        End: State.LOBBY,
        Notice: State.TURN,
        Goodbye: State.CLOSED,
    },
    State.CLOSED: {},
    State.ERROR: {
        Goodbye: State.CLOSED,
    },
}

ANSWERS: tuple[type[Message], ...] = (Step, Raised, Resign)
"""The client's answers to a question; each names the question's id."""

LOGGED_IN = frozenset([State.LOBBY, State.MATCH, State.TURN])
"""The states in which an answer may be late. In earlier states it is out of order."""
