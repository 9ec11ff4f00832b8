"""The wire of protocol.md without sockets: a connection object, its messages, its state table.

>>> from getstep.wire import Connection, Hello, NEED_DATA, Role
>>> server, client = Connection(Role.SERVER), Connection(Role.CLIENT)
>>> client.receive_data(server.send(Hello(versions=[1], nonce="0" * 32, contest="demo", server="x")))
>>> client.next_event().contest
'demo'
>>> client.next_event() is NEED_DATA
True
"""

from ._auth import new_nonce, sign, verify
from ._connection import CLOSED, NEED_DATA, Connection, Event, Role, Sentinel
from ._errors import LocalProtocolError, ProtocolError, RemoteProtocolError
from ._limits import (
    HEADER_BYTES,
    MAX_ARRAY,
    MAX_CLIENT_FRAME,
    MAX_DEPTH,
    MAX_ID,
    MAX_MAP,
    MAX_MS,
    MAX_NAME,
    MAX_SERVER_FRAME,
    MAX_TEAM,
    MAX_TEXT,
    VERSION,
)
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
    Penalty,
    Raised,
    Resign,
    Start,
    Step,
    Welcome,
)
from ._state import ANSWERS, TRANSITIONS, State

__all__ = [
    "ANSWERS",
    "CLIENT_MESSAGES",
    "CLOSED",
    "HEADER_BYTES",
    "MAX_ARRAY",
    "MAX_CLIENT_FRAME",
    "MAX_DEPTH",
    "MAX_ID",
    "MAX_MAP",
    "MAX_MS",
    "MAX_NAME",
    "MAX_SERVER_FRAME",
    "MAX_TEAM",
    "MAX_TEXT",
    "NEED_DATA",
    "SERVER_MESSAGES",
    "TRANSITIONS",
    "VERSION",
    "Connection",
    "End",
    "Event",
    "GetStep",
    "Goodbye",
    "Hello",
    "Join",
    "LateAnswer",
    "LocalProtocolError",
    "MalformedAnswer",
    "Message",
    "Penalty",
    "ProtocolError",
    "Raised",
    "RemoteProtocolError",
    "Resign",
    "Role",
    "Sentinel",
    "Start",
    "State",
    "Step",
    "Welcome",
    "new_nonce",
    "sign",
    "verify",
]
