"""The conversation of protocol.md as one table.

Both ends walk the same table. A message moves the conversation from one state to the next, and since every
message belongs to one side only, the table need not say who sends it:

    GREETING --hello--> LOGIN --join--> DECIDING --welcome--> LOBBY
                                                              |  ^
                                                        start |  | end
                                                              v  |
                            +------- penalty -- TURN <-get_step- MATCH (penalty stays in MATCH)
                            |                    |                ^
                            +--------------------+-- step, raised, resign

``goodbye`` leads to CLOSED from everywhere. What is not in the table is a protocol error, with one
exception that time makes necessary: the client may answer a question that the server has just closed. The
two ends are in different states for the time the bytes travel, and nobody did wrong. `Connection` knows the
closed questions by their ids and reports a `LateAnswer`, which moves nothing.
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
    Penalty,
    Raised,
    Resign,
    Start,
    Step,
    Welcome,
)


class State(Enum):
    """Where a conversation stands."""

    __hash__ = object.__hash__  # Enum's own is written in Python, and every message looks its state up

    GREETING = auto()
    """Connected; the server has not said hello yet."""
    LOGIN = auto()
    """The client has to join."""
    DECIDING = auto()
    """The server has to say welcome or goodbye."""
    LOBBY = auto()
    """Logged in, no match."""
    MATCH = auto()
    """In a match, no question open."""
    TURN = auto()
    """In a match, the client has to answer."""
    CLOSED = auto()
    """Said goodbye, or the peer has closed."""
    ERROR = auto()
    """The peer broke the protocol; nothing more is read, but the server may still say goodbye."""


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
        Goodbye: State.CLOSED,
    },
    State.MATCH: {
        GetStep: State.TURN,
        Penalty: State.MATCH,
        End: State.LOBBY,
        Goodbye: State.CLOSED,
    },
    State.TURN: {
        Step: State.MATCH,
        Raised: State.MATCH,
        Resign: State.MATCH,
        Penalty: State.MATCH,
        End: State.LOBBY,
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
"""The states in which an answer may be late; before them it is simply out of order."""
