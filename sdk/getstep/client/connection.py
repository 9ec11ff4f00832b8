"""One TCP connection to the server: blocking, in waits so short that Ctrl-C also works on Windows."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
import time
from collections import deque
from dataclasses import dataclass, replace
from types import TracebackType
from typing import cast

from getstep._errors import NotGetstep, NotProved, Unreachable
from getstep._version import __version__
from getstep.text import escape_control_chars, short_repr
from getstep.wire import (
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
    SocketAddress,
    State,
    Welcome,
    new_nonce,
    sign,
    verify_fence,
    verify_server,
)

from .saved_login import absence
from .settings import Address, Login
from .tls import is_no_text_yet, over_tls

TICK_SECONDS = 0.2
"""The longest single wait. On Windows, Ctrl-C does not interrupt a wait for a socket."""

CONNECT_SECONDS = 5.0
"""Seconds for each address of the host's name. A LAN answers in milliseconds, or there is no such computer."""

HELLO_SECONDS = 5.0
"""Seconds from the open connection to `hello`, which a server sends at once."""

WELCOME_SECONDS = 10.0
"""Seconds from `join` to `welcome`. A wrong login is answered after up to 8 s (protocol.md, "Logging in")."""

SEND_SECONDS = 5.0
"""Seconds to send one answer: a few hundred bytes, which fit into every network buffer."""

EARLIER_HOST = "another computer has taken over this contest from this server, so nothing counts here any more"
WRONG_FENCE = "the server's proof of its fencing number is wrong, so it is not your host; check the address"
NOT_LOCATED = "this server does not prove at which address it is (an older getstep server, or not your host)"
_RECEIVE_BYTES = 65536
_MAX_RECEIVES = 64  # per call, so that a server that never stops sending cannot block the bot: 4 MiB
_CLIENT = f"getstep {__version__}"
_CONNECTING = (errno.EINPROGRESS, errno.EWOULDBLOCK)


@dataclass(frozen=True)
class Fence:
    """The fencing number that a server has proved, and the certificate with it; 0 if no server has taken over."""

    number: int = 0
    certificate: str = ""


NO_FENCE = Fence()


class ServerConnection:
    """A socket to the server, and the client's side of the conversation. Close it, or use it in a ``with``."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._conversation = Connection(Role.CLIENT)
        self._inbox: deque[Message] = deque()
        self.proved = False
        """True once the server has proved on this connection that it knows the token."""
        self.located = False
        """True once the proof also says that the server is at the address that this client has dialled. Without
        that, another computer may stand between and pass on what both say."""
        self.fence = NO_FENCE
        """What the server has proved on this connection."""
        self._failure: Exception | None = None
        """The reason why nothing more will arrive. Raised after all received messages have been taken out."""

    def __enter__(self) -> ServerConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    @property
    def open_question(self) -> int | None:
        """The id of the question to answer, by the messages received until now."""
        return self._conversation.question

    @property
    def goodbye_received(self) -> bool:
        """True if the server has ended the conversation, by the messages received until now."""
        return self._conversation.state is State.CLOSED

    def dialled(self) -> str:
        """Return the address and the port to which the socket is connected.

        Raises:
            OSError: the connection has ended.
        """
        return str(SocketAddress.of(self._socket.getpeername()))

    def send(self, message: Message) -> None:
        """Send ``message``.

        Raises:
            OSError: the connection has ended.
        """
        if self._failure:
            raise self._failure
        data = self._conversation.send(message)
        self._socket.settimeout(SEND_SECONDS)
        self._socket.sendall(data)

    def read_available(self) -> list[Message]:
        """Return all messages that have arrived, without waiting.

        Raises:
            OSError: there are none, and the connection has ended.
            RemoteProtocolError: there are none, and the server has broken the protocol.
        """
        self.receive_available()
        if not self._inbox and self._failure:
            raise self._failure
        messages = list(self._inbox)
        self._inbox.clear()
        return messages

    def receive_available(self) -> None:
        """Receive what has arrived, without waiting, and keep it for `read_available`. Never raises."""
        for _ in range(_MAX_RECEIVES):
            if not self._receive(0):
                break

    def close_if_ended(self) -> None:
        """Close the socket if nothing more will arrive, as after a goodbye. What has arrived can still be read."""
        if self._failure:
            self._socket.close()

    @property
    def last_goodbye(self) -> Goodbye | None:
        """The goodbye that has arrived and was not taken out yet; None if there is none."""
        last = self._inbox[-1] if self._inbox else None
        return last if isinstance(last, Goodbye) else None

    def wait_for_messages(self) -> list[Message]:
        """Wait for a message, and return all that have arrived. Raises like `read_available`."""
        while not (messages := self.read_available()):
            self._receive(TICK_SECONDS)
        return messages

    def next_message(self, limit_seconds: float) -> Message:
        """Wait for the next message and return it alone; for the login.

        Raises:
            TimeoutError: none came within ``limit_seconds``.
            OSError, RemoteProtocolError: as for `read_available`.
        """
        until = time.monotonic() + limit_seconds
        while not self._inbox:
            if self._failure:
                raise self._failure
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no answer within {limit_seconds:g} s")
            self._receive(min(left, TICK_SECONDS))
        return self._inbox.popleft()

    # --- inside ---

    def _receive(self, limit_seconds: float) -> bool:
        """Receive once. Return True if there may be more to receive without waiting."""
        if self._failure:
            return False
        self._socket.settimeout(limit_seconds)
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
        except OSError as error:
            if not _is_no_data_yet(error):
                self._failure = error
            return False
        self._conversation.receive_data(data)
        try:
            self._decode_received()
        except RemoteProtocolError as error:
            self._failure = error
        return self._failure is None

    def _decode_received(self) -> None:
        while not isinstance(event := self._conversation.next_event(), Sentinel):
            if isinstance(event, Message):  # a client gets no other event
                self._inbox.append(event)
        if event is CLOSED:
            self._failure = ConnectionResetError("the server closed the connection")


def connect(address: Address) -> ServerConnection:
    """Connect to the first of the host's addresses that accepts.

    Raises:
        Unreachable: the host's name does not resolve.
        OSError: no address accepts a connection; `explain` puts the error into words.
    """
    failure: OSError | None = None
    for family, kind, protocol, _, socket_address in resolve(address):
        sock = socket.socket(family, kind, protocol)
        try:
            _connect(sock, socket_address)
            _set_options(sock)
            if address.tls:
                sock = over_tls(sock, address.host, address.tls)
        except BaseException as error:  # Ctrl-C, too: the socket would stay open
            sock.close()
            if not isinstance(error, OSError):
                raise
            failure = error
        else:
            return ServerConnection(sock)
    raise failure or OSError("the name has no address")


def resolve(address: Address) -> list[tuple[int, int, int, str, tuple[object, ...]]]:
    """Return what ``socket.getaddrinfo`` returns for the host.

    Raises:
        Unreachable: the host's name does not resolve.
    """
    try:
        return list(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))
    except (socket.gaierror, UnicodeError) as error:
        raise Unreachable(
            f"No computer is called {short_repr(address.host)} in this network ({error}).\n"
            "Check the spelling, or ask the host for the address in numbers, such as 192.168.1.10."
        ) from error


def read_hello(connection: ServerConnection) -> Hello | Goodbye:
    """Return the server's first message.

    Raises:
        NotGetstep: the server sends something else, or nothing.
    """
    try:
        return cast(Hello | Goodbye, connection.next_message(HELLO_SECONDS))  # the codec allows no other here
    except (OSError, RemoteProtocolError) as error:
        raise NotGetstep(f"what answers there is no getstep server: {_behaviour(error)}") from error


def speaks_our_version(hello: Hello) -> bool:
    """Return True if the server speaks this client's version of the protocol."""
    return VERSION in hello.versions


def log_in(
    connection: ServerConnection,
    hello: Hello,
    login: Login,
    purpose: str = "play",
    *,
    must_be_there: bool = False,
    fence: Fence = NO_FENCE,
) -> Welcome | Goodbye:
    """Log in, and ask the server to prove that it knows the token, and that it is at the dialled address.

    ``connection.proved`` and ``connection.located`` say what it has proved.

    Args:
        connection: on which ``hello`` has arrived.
        hello: the server's.
        login: the team and its token.
        purpose: as in `Join`.
        must_be_there: sign nothing for a server that does not check the dialled address: nobody has given the
            address to this client, or it was checked there before.
        fence: the highest fencing number that was proved before.

    Raises:
        NotProved: the server's proof is wrong, it is not at the dialled address although it must, or another server
            has taken over from it.
        OSError, RemoteProtocolError: the connection ended, or there was no answer in time.
    """
    nonce, dialled = new_nonce(), connection.dialled() if hello.dialled else None
    if not connection.goodbye_received:  # it may come right after hello; the codec then refuses a join
        if must_be_there and dialled is None:
            raise NotProved(NOT_LOCATED)
        mac = sign(login.token, hello.nonce, dialled)
        join = Join(
            VERSION, login.team, mac, client=_CLIENT, purpose=purpose, nonce=nonce, dialled=dialled, notices=True
        )
        if fence.number:
            join = replace(join, fence=fence.number, fence_certificate=fence.certificate)
        connection.send(join)
    answer = cast(Welcome | Goodbye, connection.next_message(WELCOME_SECONDS))  # the codec allows no other here
    if isinstance(answer, Welcome) and answer.proof is not None:
        if not verify_server(login.token, hello.nonce, nonce, answer.proof, dialled):
            raise NotProved(
                "the server's proof that it knows your token is wrong, so it is not your host; check the address"
            )
        connection.proved, connection.located = True, dialled is not None
        connection.fence = _proved_fence(login, hello, nonce, answer)
        if connection.fence.number < fence.number:
            raise NotProved(EARLIER_HOST)
    return answer


def _proved_fence(login: Login, hello: Hello, nonce: str, welcome: Welcome) -> Fence:
    """Return the fencing number of a server.

    Raises:
        NotProved: the proof of it is wrong.
    """
    number, certificate, proof = welcome.fence, welcome.fence_certificate, welcome.fence_proof
    if number is None:
        return NO_FENCE
    if certificate is None or proof is None:
        raise NotProved(WRONG_FENCE)
    if not verify_fence(login.token, hello.nonce, nonce, number, certificate, proof):
        raise NotProved(WRONG_FENCE)
    return Fence(number, certificate)


def is_gone(error: Exception) -> bool:
    """Return True if no computer answers at an address any more, or its server says that another has taken over."""
    unreachable = getattr(error, "errno", None) in (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH)
    return unreachable or (isinstance(error, NotProved) and str(error) == EARLIER_HOST)


def explain(error: Exception, address: Address | None = None) -> str:
    """Return why there is no connection (to ``address``), in words for the bot's author."""
    if isinstance(error, RemoteProtocolError):
        return f"the server broke the protocol ({escape_control_chars(str(error))}); please tell the host"
    if isinstance(error, NotGetstep):
        return f"{error}; the port may be wrong"
    if isinstance(error, ConnectionRefusedError) and address is not None:
        return escape_control_chars(absence(address.host, address.port))
    if isinstance(error, TimeoutError) and error.errno is not None:
        return "no answer; the address is wrong, or a firewall or another network is between"
    if getattr(error, "errno", None) in (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN):
        return "no way to that address; is this computer in the host's network?"
    return escape_control_chars(getattr(error, "strerror", None) or str(error))


def _connect(sock: socket.socket, socket_address: tuple[object, ...]) -> None:
    sock.setblocking(False)
    code = sock.connect_ex(socket_address)
    if code in _CONNECTING:
        code = _wait_until_connected(sock)
    if code:
        raise OSError(code, os.strerror(code))


def _wait_until_connected(sock: socket.socket) -> int:
    """Return the error code of a connection attempt in progress, 0 if it succeeded."""
    until = time.monotonic() + CONNECT_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_WRITE)
        while time.monotonic() < until:
            if selector.select(TICK_SECONDS):
                return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return errno.ETIMEDOUT


def _set_options(sock: socket.socket) -> None:
    """Send without delay, and detect a dead peer within 20 s: 5 s + 3 x 5 s.

    Another computer may have taken over by then. While an answer is not acknowledged, there is no keep-alive: Linux
    repeats the answer for 15 minutes by default.
    """
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for names, value in (
        (("TCP_KEEPIDLE", "TCP_KEEPALIVE"), 5),
        (("TCP_KEEPINTVL",), 5),
        (("TCP_KEEPCNT",), 3),
        (("TCP_USER_TIMEOUT",), 20_000),
    ):
        option = next((getattr(socket, name) for name in names if hasattr(socket, name)), None)
        if option is not None:
            with contextlib.suppress(OSError):  # an old system without the option keeps its own intervals
                sock.setsockopt(socket.IPPROTO_TCP, option, value)


def _is_no_data_yet(error: OSError) -> bool:
    """Return True if nothing has arrived yet. A TimeoutError with a code is the network's, and final."""
    if isinstance(error, TimeoutError):
        return error.errno is None
    return isinstance(error, BlockingIOError) or is_no_text_yet(error)


def _behaviour(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it sends nothing"
    if isinstance(error, RemoteProtocolError):
        return "it speaks another protocol"
    return "it closes the connection at once"
