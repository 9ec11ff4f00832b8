"""The protocol of protocol.md without sockets: a connection object, its messages and its states.

>>> from getstep.wire import Connection, Hello, NEED_DATA, Role
>>> server, client = Connection(Role.SERVER), Connection(Role.CLIENT)
>>> client.receive_data(server.send(Hello(versions=[1], nonce="0" * 32, contest="demo", server="x")))
>>> client.next_event().contest
'demo'
>>> client.next_event() is NEED_DATA
True

In: the bytes of the peer, and messages to send. Out: checked messages, or an error that names the violation, and
bytes to send. It must not know sockets, clocks or rules: any value can be a move.

`FrameReader`, `encode` and `decode` are frames without a conversation: test cases send what it would refuse.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._limits import (
    CLASSIC_MAX_SQUARES,
    HEADER_BYTES,
    MAX_ARRAY,
    MAX_ARROW_SQUARES,
    MAX_CLIENT_FRAME,
    MAX_COORDINATE,
    MAX_DEPTH,
    MAX_DRAWINGS,
    MAX_DRAWN_SQUARES,
    MAX_ID,
    MAX_LABEL,
    MAX_LOGIN_FRAME,
    MAX_MAP,
    MAX_MS,
    MAX_NAME,
    MAX_OPENING,
    MAX_SAY,
    MAX_SERVER_FRAME,
    MAX_TAG,
    MAX_TAGS,
    MAX_TEAM,
    MAX_TEXT,
    MAX_TEXT_BYTES,
    NOTE_COLORS,
    NOTE_KEYS,
    NOTE_SHAPES,
    NOTES_BYTES,
    VERSION,
)

if TYPE_CHECKING:
    from ._addresses import SocketAddress
    from ._auth import (
        TOKEN_LETTERS,
        canonical_token,
        new_nonce,
        prove_fence,
        prove_server,
        sign,
        sign_page_login,
        verify,
        verify_fence,
        verify_server,
    )
    from ._connection import CLOSED, NEED_DATA, Connection, Event, Role, Sentinel
    from ._errors import LocalProtocolError, ProtocolError, RemoteProtocolError
    from ._frames import FrameReader, decode, encode, pack_boards_with
    from ._login import fence_proof_for, proof_for, signed_token
    from ._messages import (
        CLIENT_MESSAGES,
        SERVER_MESSAGES,
        End,
        GetStep,
        Goodbye,
        Hello,
        Join,
        LateAnswer,
        MalformedAnswer,
        Message,
        Notice,
        Penalty,
        Raised,
        Resign,
        Start,
        Step,
        Welcome,
        with_notes,
    )
    from ._notes import checked_notes, fit_notes, is_drawing, is_tag
    from ._state import ANSWERS, TRANSITIONS, State

__all__ = [
    "ANSWERS",
    "CLASSIC_MAX_SQUARES",
    "CLIENT_MESSAGES",
    "CLOSED",
    "HEADER_BYTES",
    "MAX_ARRAY",
    "MAX_ARROW_SQUARES",
    "MAX_CLIENT_FRAME",
    "MAX_COORDINATE",
    "MAX_DEPTH",
    "MAX_DRAWINGS",
    "MAX_DRAWN_SQUARES",
    "MAX_ID",
    "MAX_LABEL",
    "MAX_LOGIN_FRAME",
    "MAX_MAP",
    "MAX_MS",
    "MAX_NAME",
    "MAX_OPENING",
    "MAX_SAY",
    "MAX_SERVER_FRAME",
    "MAX_TAG",
    "MAX_TAGS",
    "MAX_TEAM",
    "MAX_TEXT",
    "MAX_TEXT_BYTES",
    "NEED_DATA",
    "NOTES_BYTES",
    "NOTE_COLORS",
    "NOTE_KEYS",
    "NOTE_SHAPES",
    "SERVER_MESSAGES",
    "TOKEN_LETTERS",
    "TRANSITIONS",
    "VERSION",
    "Connection",
    "End",
    "Event",
    "FrameReader",
    "GetStep",
    "Goodbye",
    "Hello",
    "Join",
    "LateAnswer",
    "LocalProtocolError",
    "MalformedAnswer",
    "Message",
    "Notice",
    "Penalty",
    "ProtocolError",
    "Raised",
    "RemoteProtocolError",
    "Resign",
    "Role",
    "Sentinel",
    "SocketAddress",
    "Start",
    "State",
    "Step",
    "Welcome",
    "canonical_token",
    "checked_notes",
    "decode",
    "encode",
    "fence_proof_for",
    "fit_notes",
    "is_drawing",
    "is_tag",
    "new_nonce",
    "pack_boards_with",
    "proof_for",
    "prove_fence",
    "prove_server",
    "sign",
    "sign_page_login",
    "signed_token",
    "verify",
    "verify_fence",
    "verify_server",
    "with_notes",
]

_MODULES = {
    "ANSWERS": "_state",
    "CLIENT_MESSAGES": "_messages",
    "CLOSED": "_connection",
    "Connection": "_connection",
    "End": "_messages",
    "Event": "_connection",
    "FrameReader": "_frames",
    "GetStep": "_messages",
    "Goodbye": "_messages",
    "Hello": "_messages",
    "Join": "_messages",
    "LateAnswer": "_messages",
    "LocalProtocolError": "_errors",
    "MalformedAnswer": "_messages",
    "Message": "_messages",
    "NEED_DATA": "_connection",
    "Notice": "_messages",
    "Penalty": "_messages",
    "ProtocolError": "_errors",
    "Raised": "_messages",
    "RemoteProtocolError": "_errors",
    "Resign": "_messages",
    "Role": "_connection",
    "SERVER_MESSAGES": "_messages",
    "Sentinel": "_connection",
    "SocketAddress": "_addresses",
    "Start": "_messages",
    "State": "_state",
    "Step": "_messages",
    "TOKEN_LETTERS": "_auth",
    "TRANSITIONS": "_state",
    "Welcome": "_messages",
    "canonical_token": "_auth",
    "checked_notes": "_notes",
    "decode": "_frames",
    "encode": "_frames",
    "fit_notes": "_notes",
    "is_drawing": "_notes",
    "is_tag": "_notes",
    "new_nonce": "_auth",
    "pack_boards_with": "_frames",
    "fence_proof_for": "_login",
    "proof_for": "_login",
    "prove_fence": "_auth",
    "prove_server": "_auth",
    "sign": "_auth",
    "sign_page_login": "_auth",
    "signed_token": "_login",
    "verify": "_auth",
    "verify_fence": "_auth",
    "verify_server": "_auth",
    "with_notes": "_messages",
}
"""The module of each public name that is not a limit, imported on first use (PEP 562).

The codec and its messages take 20 ms of CPU time, and most of the server's commands need the limits alone."""


if not TYPE_CHECKING:  # a type checker must still report a name that is not there

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"getstep.wire.{_MODULES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
