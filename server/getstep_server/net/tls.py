"""TLS on the port for bots: connections that speak the protocol of protocol.md inside TLS.

Theory of operation
-------------------

A connection with TLS reads its socket as any other, with the kernel's receive timestamps, and in the same rounds of
the poller. Only then the bytes go through OpenSSL, which reads and writes memory (`ssl.MemoryBIO`). So an answer
has the time at which its last segment arrived, and connections without TLS run no code for it.

The handshake costs 0.5 to 2 ms of processor time. It happens in reads before the login, which wait for the turn of
their address and take LOGIN_SHARE of a processor at most (`login_queue`). The object of OpenSSL is made when the
first bytes have arrived, so a connection that sends nothing costs no more than without TLS.

A client that speaks no TLS waits for the server's hello. It is told so, without TLS, after SILENCE_SECONDS.

The state of TLS cannot be given to another process. So a contest with TLS has no judge processes, and programs of
this machine (house bots, hosted programs, games of people on the page) connect to a listener of their own, on the
loopback interface and without TLS.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import Any, NoReturn

import trio

from getstep.wire import Goodbye, Message, RemoteProtocolError
from getstep_server.config.certificate import Certificate
from getstep_server.limits import LOGIN_SECONDS, RECEIVE_BYTES

from .connection import FIRST_BYTES, READING, PeerClosed
from .registry import ConnectionRegistry
from .wire_connection import WireConnection

SILENCE_SECONDS = 2.0
"""The time after which a client that has sent nothing is told that this port speaks TLS. A TLS client speaks first.
Clients without TLS wait 5 s for the server's hello."""

_HANDSHAKE = 0x16
"""The first byte of a TLS connection: the type of a record with a handshake."""


class TlsConnection(WireConnection):
    """A connection that speaks the protocol of protocol.md inside TLS.

    Args:
        certificate: of the contest.
        registry: as of all connections, like the arguments that follow.
        sock: the socket.
        address: of the client.
    """

    def __init__(
        self, certificate: Certificate, registry: ConnectionRegistry, sock: socket.socket, address: str
    ) -> None:
        super().__init__(registry, sock, address)
        self._certificate = certificate
        self._login_deadline = 0.0
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        """None until the client has sent something."""
        self._established = False

    def _greet(self) -> None:
        """Wait for the client's first bytes: `hello` follows the handshake."""
        now = trio.current_time()
        self._login_deadline, self._wait.deadline = now + LOGIN_SECONDS, now + SILENCE_SECONDS

    def _timed_out(self) -> None:
        if self._tls is None:
            # No incident: this is how a client without the option looks, and its author reads the goodbye.
            self.close(Goodbye("tls_required", _NO_TLS, None))
        else:
            super()._timed_out()

    def _encode(self, message: Message) -> bytes:
        if self._tls is None or not self._established:
            # Without TLS a client is told this one thing. In a handshake nothing but TLS can be sent.
            wanted = self._tls is None and isinstance(message, Goodbye) and message.reason == "tls_required"
            return super()._encode(message) if wanted else b""
        self._tls.write(super()._encode(message))
        if isinstance(message, Goodbye):
            with contextlib.suppress(ssl.SSLError):  # it wants the client's notice, too
                self._tls.unwrap()
        return self._outgoing.read()

    def _save(self) -> NoReturn:
        raise AssertionError("the state of TLS cannot be given to another process")

    def _restore(self, saved: dict[str, Any]) -> NoReturn:  # noqa: ARG002 - as all connections
        raise AssertionError("the state of TLS cannot come from another process")

    def _received(self, data: bytes, at: float, *, stamped: bool) -> bool:
        if not data:
            if self._established:
                return super()._received(data, at, stamped=stamped)
            raise PeerClosed("it closed the connection before the end of the TLS handshake")
        if self._tls is None:
            if data[0] != _HANDSHAKE:
                raise RemoteProtocolError("tls_required", _NO_TLS)
            self._tls = self._certificate.context.wrap_bio(self._incoming, self._outgoing, server_side=True)
            self._wait.deadline = self._login_deadline
        self._incoming.write(data)
        if not self._established and not self._shake_hands(self._tls):
            return False
        text, closed = self._decrypt(self._tls)
        self._first_bytes = text[:FIRST_BYTES]
        mid_frame = super()._received(text, at, stamped=stamped) if text else self._wire.mid_frame
        return super()._received(b"", at, stamped=stamped) if closed and self._state in READING else mid_frame

    def _shake_hands(self, tls: ssl.SSLObject) -> bool:
        """Go on with the handshake; return True, and send `hello`, once it is complete."""
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        except ssl.SSLError as error:
            self._flush()
            raise RemoteProtocolError("tls_handshake", _handshake_text(error)) from error
        self._established = True
        super()._greet()
        return self._state in READING

    def _decrypt(self, tls: ssl.SSLObject) -> tuple[bytes, bool]:
        """Return all text of complete records, at most what one read brings, and True if the client has closed."""
        parts: list[bytes] = []
        closed = False
        try:
            while part := tls.read(RECEIVE_BYTES):
                parts.append(part)
            closed = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:  # somebody on the way has changed a record: not the client's fault
            raise PeerClosed(f"TLS: {error.reason or error}") from error
        if self._outgoing.pending:  # the client has asked for new keys
            self._flush()
        return b"".join(parts), closed

    def _flush(self) -> None:
        """Send what OpenSSL has to say; the kernel has room for it, as for a message."""
        data = self._outgoing.read()
        if data and self._sock.send(data) < len(data):
            self._send_failed(BlockingIOError())


_NO_TLS = "This port speaks TLS. Start the bot with --tls, or with --tls-pin and the pin on the slip from the host."


def _handshake_text(error: ssl.SSLError) -> str:
    reason = error.reason or str(error)
    if "ALERT_UNKNOWN_CA" in reason or "ALERT_BAD_CERTIFICATE" in reason or "CERTIFICATE_UNKNOWN" in reason:
        return f"the client does not trust the certificate of this server ({reason}); it may need --tls-pin"
    return f"the TLS handshake failed: {reason}"
