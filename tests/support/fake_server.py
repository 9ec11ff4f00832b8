"""A server that follows a script, in a thread, over real sockets; and bots that are its clients."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import pytest

from getstep import Result
from getstep.client.client import Client
from getstep.client.connection import ServerConnection, connect
from getstep.client.settings import Address, Login
from getstep.text import Console
from getstep.turn import Callback
from getstep.wire import (
    CLOSED,
    Connection,
    End,
    Event,
    GetStep,
    Goodbye,
    Hello,
    Join,
    Message,
    Penalty,
    Role,
    Sentinel,
    Start,
    Step,
    Welcome,
    new_nonce,
    prove_server,
    verify,
)
from tests.support.patience import PATIENCE_SECONDS

TOKEN = "kq3m-x7fd-29pt"
TEAM = 7

HOP = {"game": "hop", "options": {}, "time_kind": "move", "time_ms": 5000}
BOARD = [[1, 0, 2], [0, 0, 0]]
OVER = Goodbye(reason="contest_over", detail="Thank you for playing.", retry_ms=None)


class Session:
    """The server's end of one connection."""

    def __init__(self, sock: socket.socket, server: FakeServer) -> None:
        self.sock = sock
        self.server = server
        self.conversation = Connection(Role.SERVER)
        self.join: Join | None = None
        self.nonce = ""

    def say(self, *messages: Message, by_bytes: bool = False) -> None:
        """Say all of it in one piece, or byte by byte."""
        data = b"".join(self.conversation.send(message) for message in messages)
        for piece in [data[i : i + 1] for i in range(len(data))] if by_bytes else [data]:
            self.sock.sendall(piece)

    def hear(self) -> Event:
        """Return the next event from the client; CLOSED once it has closed."""
        while (event := self.conversation.next_event()) is Sentinel.NEED_DATA:
            self.conversation.receive_data(self.sock.recv(65536))
        return event

    def greet(self, **fields: Any) -> Event:
        """Send hello; return what the client answers."""
        self.nonce = new_nonce()
        hello: dict[str, Any] = {
            "versions": [1],
            "nonce": self.nonce,
            "contest": "Autumn",
            "server": "fake 1",
            "dialled": True,
        }
        hello.update(fields)
        self.say(Hello(**hello))
        event = self.hear()
        if isinstance(event, Join):
            assert verify(TOKEN, self.nonce, event.mac, event.dialled)
            assert event.dialled == (f"127.0.0.1:{self.server.port}" if hello["dialled"] else None)
            self.join = event
        return event

    def let_in(
        self,
        *more: Message,
        lag_ms: int = 100,
        games: list[dict[str, Any]] | None = None,
        proof: Callable[[Session], str | None] | None = None,
        **hello: Any,
    ) -> None:
        """Say hello, hear join, say welcome and ``more``. ``proof`` makes the server's proof: the right one."""
        assert isinstance(self.greet(**hello), Join)
        given = (proof or right_proof)(self)
        welcome = Welcome(TEAM, "The Hoppers", lag_ms, games if games is not None else [HOP], given)
        self.say(welcome, *more)

    def reset(self) -> None:
        """Break the connection with a reset, without a goodbye."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


Script = Callable[[Session], object]


def right_proof(session: Session) -> str:
    """Return the proof of a server that knows the token."""
    assert session.join is not None
    assert session.join.nonce is not None, "the client has not asked for a proof"
    return prove_server(TOKEN, session.nonce, session.join.nonce, session.join.dialled)


def no_proof(session: Session) -> None:
    """Answer like an older server, which ignores the client's nonce, or like a false one, which has no proof."""


def wrong_proof(session: Session) -> str:
    """Return the proof of a server that does not know the token."""
    assert session.join is not None
    return prove_server("not the token", session.nonce, session.join.nonce or "", session.join.dialled)


class FakeServer:
    """Runs each script on one connection, in order, then refuses connections. Use it as a context manager.

    Args:
        scripts: one for each connection.
        opens_at_pause: refuse connections until the client has paused so often.

    An error in a script is raised at the end of the ``with``, and from ``pause`` at once, so that the client
    under test does not connect again for ever.
    """

    def __init__(self, *scripts: Script, opens_at_pause: int = 0) -> None:
        self._scripts = scripts
        self._opens_at_pause = opens_at_pause
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))  # the port is ours, and refuses connections for now
        self._listener.settimeout(PATIENCE_SECONDS)
        self.port: int = self._listener.getsockname()[1]
        self.pauses: list[float] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> FakeServer:
        self._open_if_due()
        return self

    def _open_if_due(self) -> None:
        if len(self.pauses) == self._opens_at_pause:
            self._listener.listen()
            self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._listener.close()
        self._thread.join(PATIENCE_SECONDS + 1)
        assert not self._thread.is_alive()
        if self._error is not None and (kind is None or not issubclass(kind, AssertionError)):
            raise AssertionError(f"the server's script failed: {self._error!r}") from self._error

    def pause(self, seconds: float) -> None:
        """Record a pause without waiting: a stand-in for ``time.sleep`` in the client."""
        self.pauses.append(seconds)
        self._open_if_due()
        assert self._error is None, f"the server's script failed: {self._error!r}"
        assert len(self.pauses) < 100, "the client connects for ever"

    def _run(self) -> None:
        try:
            for script in self._scripts:
                sock, _ = self._listener.accept()
                sock.settimeout(PATIENCE_SECONDS)
                with sock:
                    script(Session(sock, self))
        except BaseException as error:
            self._error = error
        finally:
            self._listener.close()


def start(match: int = 12, **fields: Any) -> Start:
    """Return a match of hop as White."""
    values = {
        "match": match,
        "game": "hop",
        "options": {},
        "is_black": False,
        "opponent": "Grashüpfer",
        "time_kind": "move",
        "time_ms": 5000,
        "lag_ms": 100,
        "resumed": False,
    }
    return Start(**{**values, **fields})


def ask(question: int, **fields: Any) -> GetStep:
    """Return a question about a small board."""
    values = {"id": question, "move_number": 2, "board": BOARD, "is_black": False, "time_left_ms": 5000}
    return GetStep(**{**values, "last_move": None, **fields})


def missed(question: int) -> Penalty:
    """Return the penalty of a missed limit."""
    return Penalty(id=question, reason="missed_limit", detail="no answer within 5 s; your turn is skipped")


def end(match: int = 12, **fields: Any) -> End:
    """Return a lost match."""
    values = {"match": match, "result": "loss", "reason": "finished", "detail": "Black has 7 home, White 2"}
    return End(**{**values, "scores": [7, 2], **fields})


def until_closed(session: Session) -> bytes:
    """Return the client's messages until it closes; for scripts that do not follow the protocol."""
    data = b""
    while piece := session.sock.recv(65536):
        data += piece
    return data


# --- clients of a fake server: bots that answer at once or late, and the ends of a connection -------------------

MOVE = [(0, 2), (0, 1)]
WIRE_MOVE = [[0, 2], [0, 1]]


def play(get_step: Callable[..., Any], server: FakeServer, *, quiet: bool = False) -> list[Result]:
    address, login = Address("127.0.0.1", server.port), Login(TEAM, TOKEN)
    return Client(Callback(get_step), address, login, Console(quiet=quiet), sleep=server.pause).run()


def always(board: list[list[int]], is_black: bool) -> list[tuple[int, int]]:
    return MOVE


def one_question(session: Session) -> None:
    """Play a match with one question, answered with MOVE."""
    session.let_in(start(), ask(31))
    assert session.hear() == Step(id=31, move=WIRE_MOVE)
    session.say(end(), OVER)
    assert session.hear() is CLOSED


def only_over(session: Session) -> None:
    session.let_in(OVER)
    assert session.hear() is CLOSED


def _has_heard(link: ServerConnection) -> bool:
    """Return True once a message, or the end of the connection, has arrived at a client."""
    try:
        return bool(link._inbox or select.select([link._socket], [], [], 0.05)[0])
    except (OSError, ValueError):  # the thread that reads while the bot thinks has closed it
        return True


class SlowBot:
    """A callback that thinks, when asked for the first time, until the server has closed the question."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.thinking = threading.Event()
        self.calls = 0
        self._links: list[ServerConnection] = []
        monkeypatch.setattr("getstep.client.client.connect", self._connect)

    def _connect(self, address: Address) -> ServerConnection:
        self._links.append(connect(address))
        return self._links[-1]

    def __call__(self, board: list[list[int]], is_black: bool) -> Any:
        self.calls += 1
        if self.calls == 1:
            self.thinking.set()
            link, until = self._links[-1], time.monotonic() + PATIENCE_SECONDS
            while not _has_heard(link):
                assert time.monotonic() < until
        return MOVE

    def ask_and_wait(self, session: Session, question: GetStep) -> None:
        session.let_in(start(lag_ms=60_000), question)  # so much that it is not called late
        assert self.thinking.wait(PATIENCE_SECONDS)


def _goes(session: Session) -> None:
    """Close the connection without a goodbye."""


def _resets(session: Session) -> None:
    session.reset()


def _breaks_off(session: Session) -> None:
    session.sock.sendall(b"\0\0")


def _talks_nonsense(session: Session) -> None:
    session.sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    until_closed(session)


def _is_full(session: Session) -> None:
    session.say(Goodbye(reason="too_many_connections", detail="4096 are enough", retry_ms=5000))


ENDINGS = [_goes, _resets, _breaks_off, _talks_nonsense, _is_full]
