"""One TCP connection to the server: blocking, in waits so short that Ctrl-C works on Windows, too."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
import time
from collections import deque
from types import TracebackType
from typing import cast

from ._errors import NotGetstep, Unreachable
from ._settings import Address, Login
from ._text import printable, shown
from ._version import __version__
from .wire import (
    CLOSED,
    VERSION,
    Connection,
    Goodbye,
    Hello,
    Join,
    Message,
    RemoteProtocolError,
    Role,
    Sentinel,
    State,
    Welcome,
    sign,
)

TICK_SECONDS = 0.2
"""The longest single wait: Windows does not interrupt a wait for Ctrl-C."""

CONNECT_SECONDS = 5.0
"""For each address of the host's name. A LAN answers in milliseconds, or somebody is not there."""

HELLO_SECONDS = 5.0
"""From connecting to the hello, which a server says at once."""

WELCOME_SECONDS = 10.0
"""From join to welcome."""

SEND_SECONDS = 5.0
"""For one answer: a few hundred bytes, for which every network buffer has room."""

_RECEIVE_BYTES = 65536
_MOST_RECEIVES = 64  # in one go, so that a server that never stops talking cannot hold the bot up for ever
_CLIENT = f"getstep {__version__}"
_UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK)


class Link:
    """A connection: a socket and its side of the conversation. Close it, or use it as a context manager."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._conversation = Connection(Role.CLIENT)
        self._inbox: deque[Message] = deque()
        self._ended: Exception | None = None
        """Why nothing more will arrive; raised once all that had arrived is taken out."""

    def __enter__(self) -> Link:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    @property
    def open_question(self) -> int | None:
        """The id of the question to answer, as far as what has arrived tells."""
        return self._conversation.question

    @property
    def said_goodbye(self) -> bool:
        """Whether the server has closed the conversation, as far as what has arrived tells."""
        return self._conversation.state is State.CLOSED

    def say(self, message: Message) -> None:
        """Send ``message``.

        Raises:
            OSError: the connection has ended.
        """
        if self._ended:
            raise self._ended
        data = self._conversation.send(message)
        self._socket.settimeout(SEND_SECONDS)
        self._socket.sendall(data)

    def arrived(self) -> list[Message]:
        """All that has arrived and was not taken out yet, without waiting for more.

        Raises:
            OSError: nothing has, and the connection has ended.
            RemoteProtocolError: nothing has, and the server has broken the protocol.
        """
        for _ in range(_MOST_RECEIVES):
            if not self._receive(0):
                break
        if not self._inbox and self._ended:
            raise self._ended
        messages = list(self._inbox)
        self._inbox.clear()
        return messages

    def wait(self) -> list[Message]:
        """At least one message, and all that has arrived with it; raises as `arrived` does."""
        while not (messages := self.arrived()):
            self._receive(TICK_SECONDS)
        return messages

    def first(self, limit_seconds: float) -> Message:
        """The next message alone, for the login.

        Raises:
            TimeoutError: none came in ``limit_seconds``.
            OSError, RemoteProtocolError: as for `arrived`.
        """
        until = time.monotonic() + limit_seconds
        while not self._inbox:
            if self._ended:
                raise self._ended
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no answer within {limit_seconds:g} s")
            self._receive(min(left, TICK_SECONDS))
        return self._inbox.popleft()

    # --- inside ---

    def _receive(self, limit_seconds: float) -> bool:
        """Take in what one receive gives; whether there may be more at once."""
        if self._ended:
            return False
        self._socket.settimeout(limit_seconds)
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
        except OSError as error:
            if not _is_only_early(error):
                self._ended = error
            return False
        self._conversation.receive_data(data)
        try:
            self._take_in()
        except RemoteProtocolError as error:
            self._ended = error
        return self._ended is None

    def _take_in(self) -> None:
        while not isinstance(event := self._conversation.next_event(), Sentinel):
            if isinstance(event, Message):  # a client hears nothing else
                self._inbox.append(event)
        if event is CLOSED:
            self._ended = ConnectionResetError("the server closed the connection")


def connect(address: Address) -> Link:
    """A connection to the first of the host's addresses that takes one.

    Raises:
        Unreachable: the host's name does not resolve.
        OSError: no address takes a connection; `explain` says it to people.
    """
    failure: OSError | None = None
    for family, kind, protocol, _, place in resolve(address):
        sock = socket.socket(family, kind, protocol)
        try:
            _connect(sock, place)
            _tune(sock)
        except BaseException as error:
            sock.close()
            if not isinstance(error, OSError):
                raise
            failure = error
        else:
            return Link(sock)
    raise failure or OSError("the name has no address")


def resolve(address: Address) -> list[tuple[int, int, int, str, tuple[object, ...]]]:
    """What ``socket.getaddrinfo`` says of the host.

    Raises:
        Unreachable: its name does not resolve.
    """
    try:
        return list(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))
    except (socket.gaierror, UnicodeError) as error:
        raise Unreachable(
            f"No computer is called {shown(address.host)} in this network ({error}).\n"
            "Check the spelling, or ask the host for the address in numbers, such as 192.168.1.10."
        ) from error


def greet(link: Link) -> Hello | Goodbye:
    """The first thing the server says.

    Raises:
        NotGetstep: it says something else, or nothing.
    """
    try:
        return cast(Hello | Goodbye, link.first(HELLO_SECONDS))  # the codec takes no other message here
    except (OSError, RemoteProtocolError) as error:
        raise NotGetstep(f"what answers there is no getstep server: {_what_it_does(error)}") from error


def speaks_our_version(hello: Hello) -> bool:
    """Whether the server speaks the protocol version of this client."""
    return VERSION in hello.versions


def join(link: Link, hello: Hello, login: Login, purpose: str = "play") -> Welcome | Goodbye:
    """Log in.

    Raises:
        OSError, RemoteProtocolError: the connection ended, or there was no answer in time.
    """
    if not link.said_goodbye:
        mac = sign(login.token, hello.nonce)
        link.say(Join(version=VERSION, team=login.team, mac=mac, client=_CLIENT, purpose=purpose))
    return cast(Welcome | Goodbye, link.first(WELCOME_SECONDS))  # the codec takes no other message here


def explain(error: Exception) -> str:
    """Why there is no connection, for people."""
    if isinstance(error, RemoteProtocolError):
        return f"the server broke the protocol ({printable(str(error))}); please tell the host"
    if isinstance(error, NotGetstep):
        return f"{error}; the port may be wrong"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there; the server is not running yet, or the port is wrong"
    if isinstance(error, TimeoutError) and error.errno is not None:
        return "no answer; the address is wrong, or a firewall or another network is between"
    if getattr(error, "errno", None) in (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN):
        return "no way to that address; is this computer in the host's network?"
    return printable(getattr(error, "strerror", None) or str(error))


def _connect(sock: socket.socket, place: tuple[object, ...]) -> None:
    sock.setblocking(False)
    code = sock.connect_ex(place)
    if code in _UNDER_WAY:
        code = _outcome(sock)
    if code:
        raise OSError(code, os.strerror(code))


def _outcome(sock: socket.socket) -> int:
    """The error code of a connecting under way, 0 if it worked."""
    until = time.monotonic() + CONNECT_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_WRITE)
        while time.monotonic() < until:
            if selector.select(TICK_SECONDS):
                return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return errno.ETIMEDOUT


def _tune(sock: socket.socket) -> None:
    """Send at once, and notice within half a minute that the other end is gone without a word."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for names, value in ((("TCP_KEEPIDLE", "TCP_KEEPALIVE"), 10), (("TCP_KEEPINTVL",), 5), (("TCP_KEEPCNT",), 4)):
        option = next((getattr(socket, name) for name in names if hasattr(socket, name)), None)
        if option is not None:
            with contextlib.suppress(OSError):  # an old system without it keeps its own pace
                sock.setsockopt(socket.IPPROTO_TCP, option, value)


def _is_only_early(error: OSError) -> bool:
    """Whether nothing has arrived yet; a TimeoutError with a code is the network's, and final."""
    return isinstance(error, BlockingIOError) or (isinstance(error, TimeoutError) and error.errno is None)


def _what_it_does(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it says nothing"
    if isinstance(error, RemoteProtocolError):
        return "it speaks otherwise"
    return "it hangs up at once"
