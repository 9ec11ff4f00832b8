"""Connections: they turn bytes from a socket into calls of a seat, and a seat's messages into bytes.

Theory of operation
-------------------

A connection is in one of five states, and each state waits for one thing:

=========  ================================================  ==================  ===========================
state      it waits for                                      at most             next
=========  ================================================  ==================  ===========================
LOGIN      a complete login                                  LOGIN_SECONDS       SEATED, REFUSED or CLOSING
SEATED     answers; silence may last forever, except         FRAME_SECONDS from  CLOSING, LENT
           during a frame                                    the first byte
LENT       the judge process that serves it then             the match           SEATED, CLOSING
REFUSED    nothing: the goodbye to a wrong login is held     the login limiter's CLOSING
           back, and nothing more is read                    delay
CLOSING    the client to read the goodbye and close          LINGER_SECONDS      the end
=========  ================================================  ==================  ===========================

Each connection has a task of its own from greeting to goodbye (`ClientConnection.run`). It holds the one deadline
of the current state; every change of state cancels its wait. An exception in it, or in a read, ends this connection
only: an exception that escaped would end the whole server.

Three callers use a connection, and none of them may wait. The poller calls `poll` when the socket is readable. The
judge calls `poll` as well, to see whether an answer has arrived that was not read yet. A seat calls `send` and
`close`.

A send never waits. The kernel takes 160 kB for a peer that does not read, which is well over a hundred frames. A
peer for which it has no room left does not read at all, and loses the connection at once instead of holding up a
match.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
import traceback
from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

import trio
from msgspec import Struct

from getstep import wire
from getstep.wire import Goodbye, Message, RemoteProtocolError
from getstep_server.events import ServerFault
from getstep_server.incident import Incident
from getstep_server.limits import (
    FRAME_SECONDS,
    LINGER_BYTES,
    LINGER_SECONDS,
    LOGIN_SECONDS,
    RECEIVE_BYTES,
)
from getstep_server.net import timestamps
from getstep_server.text import escape_control_chars

from .registry import ConnectionRegistry
from .round_trip import round_trip_ms
from .seat import Borrower, Seat

HOSTILE_RETRY_MS = 1000
"""A client that broke the protocol may come back after this pause: it may be an honest bug."""
FULL_RETRY_MS = 5000
"""A client that was refused because of a limit may come back after this pause: half of LOGIN_WINDOW_SECONDS."""
SHUTDOWN_RETRY_MS = 2000
"""Clients reconnect after this pause when the host has stopped the server: a restart takes about a second."""
FIRST_BYTES = 32
"""Bytes of the latest read that the record of an incident keeps: enough to recognize HTTP, TLS or SSH."""

HANG_UP_SECONDS = 0.05
"""The interval at which a connection that another process reads is checked for its end."""

_NEVER = float("inf")


class State(Enum):
    """The state of a connection; see "Theory of operation"."""

    LOGIN = "login"
    SEATED = "seated"
    LENT = "lent"
    REFUSED = "refused"
    CLOSING = "closing"


READING = (State.LOGIN, State.SEATED)
# In Python 3.11, looking up a member of an Enum takes longer than a call.
_CLOSING, _LENT = State.CLOSING, State.LENT


def has_hung_up(sock: socket.socket) -> bool:
    """Return True if the client has closed, and everything that it sent is read: there is no reason to wait."""
    try:
        # peek: nothing that was sent may get lost here
        return sock.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:  # it was reset
        return True


class PeerClosed(Exception):  # noqa: N818 - an end, not an error
    """The peer has closed the connection; ``why`` is for the host.

    Unlike a `RemoteProtocolError` it is not a violation, and unlike an `OSError` not a failure of the network.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class SavedConnection(Struct, frozen=True):
    """A connection after the login, as plain data: it travels with the socket to another process.

    Attributes:
        wire: the name of its class, which knows the wire.
        address: of the peer.
        client: how the peer calls itself.
        conversation: the state of its wire, with the bytes that were received and not understood yet.
        first_bytes: the first bytes of the latest read.
        frame_age: the seconds since the first byte of an incomplete frame; None if there is none.
        last_received_ns: when something last arrived, by `time.perf_counter_ns`, a clock that all processes share.
    """

    wire: str
    address: str
    client: str
    conversation: dict[str, Any]
    first_bytes: bytes
    frame_age: float | None
    last_received_ns: int


class ClientConnection(ABC):
    """A connection over a non-blocking socket. A subclass knows what the bytes mean."""

    client = ""
    notices = False
    """True if the client knows the message `Notice`; see `seat.Peer`."""

    def __init__(self, registry: ConnectionRegistry, sock: socket.socket, address: str) -> None:
        self.address = address
        self.registry = registry
        self.seat: Seat | None = None
        self._state = State.LOGIN
        self._sock = sock
        self._wait = trio.CancelScope()
        self._life = trio.CancelScope()
        self._deadline = 0.0
        """The deadline of the wait, once seated; the first read after the login removes that of the login."""
        self._borrower: Borrower | None = None
        """The owner of the process that serves the connection, in state LENT."""
        self._read_elsewhere = False
        """True if another process has ended the connection, and reads what still comes."""
        self._refusal: tuple[Goodbye, float] | None = None
        """The goodbye to a refused login, and how many seconds it is held back."""
        self._why = "connection lost"
        self._first_bytes = b""
        self._frame_began: float | None = None
        self._last_received_ns = time.perf_counter_ns()

    # --- what a subclass defines ---

    @abstractmethod
    def _greet(self) -> None:
        """Send the server's first message, if the wire has one."""

    @abstractmethod
    def _received(self, data: bytes, at: float, *, stamped: bool) -> bool:
        """Process bytes (``b""`` at the end) that arrived at ``at``.

        Returns:
            True if the last frame is not complete.

        Raises:
            PeerClosed: the peer has closed.
            RemoteProtocolError: it broke the protocol.
        """

    @abstractmethod
    def _encode(self, message: Message) -> bytes:
        """Return ``message`` as bytes; empty if this wire has no form for it."""

    @abstractmethod
    def _save(self) -> dict[str, Any]:
        """Return the state of the conversation after the login as plain data."""

    @abstractmethod
    def _restore(self, saved: dict[str, Any]) -> None:
        """Go on with a conversation that `_save` of another process has described."""

    async def _linger(self) -> None:
        """After the goodbye, let the peer read it and close."""
        if self._read_elsewhere:
            with trio.move_on_after(LINGER_SECONDS):
                while not has_hung_up(self._sock):
                    # polled: another process reads this socket, so waiting for input would not show the end
                    await trio.sleep(HANG_UP_SECONDS)
            return
        # Not closed at once: a close with unread bytes resets the connection, and the goodbye may be lost with it.
        self._sock.shutdown(socket.SHUT_WR)
        left = LINGER_BYTES
        with trio.move_on_after(LINGER_SECONDS):
            while left > 0:
                await trio.lowlevel.wait_readable(self._sock)
                data = self._sock.recv(RECEIVE_BYTES)
                if not data:
                    return
                left -= len(data)
        if left <= 0:
            self._record_incident("flood", f"more than {LINGER_BYTES} bytes after goodbye")
            self._reset_on_close()

    # --- for the seat, the judge and the poller ---

    def send(self, message: Message) -> None:
        """Hand a message to the kernel; see `seat.Peer`."""
        if self._state is _CLOSING or self._state is _LENT:
            return
        try:
            data = self._encode(message)
            taken = self._sock.send(data) if data else 0
        except OSError as error:
            self._send_failed(error)
        except Exception:  # a fault of ours ends this connection, and no other
            self.registry.publish(ServerFault("send", traceback.format_exc()))
            self._stop("server fault")
        else:
            # A frame that is sent in part is never finished: the kernel's buffer has room for the frames of many
            # turns.
            if taken < len(data):
                self._send_failed(BlockingIOError())

    def close(self, goodbye: Goodbye) -> None:
        """Send the goodbye; the connection's task does the rest. If it is lent, its borrower does both."""
        if self._borrower is not None:
            self._borrower.close(self, goodbye)
            return
        self.send(goodbye)
        self._stop(goodbye.reason)

    @property
    def seated(self) -> bool:
        return self.seat is not None and self.seat.connection is self

    @property
    def last_received_ns(self) -> int:
        """The time when something last arrived; see `seat.Peer`."""
        return self._last_received_ns

    @property
    def round_trip_ms(self) -> float | None:
        """The time to the client and back; see `seat.Peer`."""
        return round_trip_ms(self._sock)

    def evict(self) -> None:
        """Close at once, without waiting for the peer to read why."""
        detail = "Too many connections of this address, or in all, have not logged in. Start fewer bots at once."
        self.close(Goodbye("too_many_connections", detail, FULL_RETRY_MS))
        self._life.cancel()
        self.registry.remove(self)  # not only in `_clean_up`: the place is for a connection that waits now

    def poll(self) -> None:
        """Receive once and process what arrived; never raises. See also `seat.Peer`."""
        if self._state not in READING:
            return
        try:
            self._read()
        except Exception:  # as above
            self.registry.publish(ServerFault("connection", traceback.format_exc()))
            self._stop("server fault")

    # --- for the process that judges, and for the one that lends it connections ---

    def fileno(self) -> int:
        """Return the file descriptor of the socket, which stays open while the connection is lent."""
        return self._sock.fileno()

    def lend(self, borrower: Borrower) -> SavedConnection:
        """Stop reading and writing: another process does both until `take_back` or `lost`."""
        saved = self._saved()
        self._borrower = borrower
        self._change(_LENT)
        return saved

    @property
    def is_lent(self) -> bool:
        """True if another process serves the connection."""
        return self._state is _LENT

    def take_back(self, saved: SavedConnection | None) -> None:
        """Serve the connection again from where the other process has left it; None if that is unknown."""
        self._borrower = None
        self._change(State.SEATED)
        if saved is not None:
            self._restore_all(saved)

    def lost(self, why: str) -> None:
        """End a lent connection that the other process has closed or lost.

        Both let the peer read the goodbye: at the end of the contest, a client that lingers is told by this one.
        Only the other process reads, so that it counts all bytes that come after the goodbye.
        """
        self._borrower = None
        self._read_elsewhere = True
        self._stop(why)

    def adopt(self, saved: SavedConnection, seat: Seat) -> None:
        """Go on, at ``seat``, with a connection that another process has lent; call `run` next."""
        self.client, self.seat = saved.client, seat
        self._state, self._deadline = State.SEATED, _NEVER
        self._restore_all(saved)

    def give_back(self) -> SavedConnection:
        """Return an adopted connection to the process that has lent it: this one only closes its descriptor."""
        saved = self._saved()
        self.seat, self._state = None, _CLOSING
        self._life.cancel()
        return saved

    def note_received(self, received_ns: int) -> None:
        """Note when something last arrived at a lent connection; see `seat.Peer.last_received_ns`."""
        self._last_received_ns = max(self._last_received_ns, received_ns)

    def _saved(self) -> SavedConnection:
        conversation = self._save()
        age = None if self._frame_began is None else trio.current_time() - self._frame_began
        if age is None and conversation["received"]:  # in the same segment as the login
            age = 0.0
        return SavedConnection(
            type(self).__name__,
            self.address,
            self.client,
            conversation,
            self._first_bytes,
            age,
            self._last_received_ns,
        )

    def _restore_all(self, saved: SavedConnection) -> None:
        self._restore(saved.conversation)
        self._first_bytes, self._last_received_ns = saved.first_bytes, saved.last_received_ns
        if saved.frame_age is not None:
            now = trio.current_time()
            self._frame_began = now - saved.frame_age
            self._set_deadline(now, mid_frame=True)

    def _change(self, state: State) -> None:
        """Change to a state in which the connection's task waits in another way."""
        self._state = state
        before, self._wait = self._wait, trio.CancelScope()  # first the new one: `_serve` looks whether it changed
        self._deadline, self._frame_began = _NEVER, None
        before.cancel()

    # --- the connection's task ---

    async def run(self) -> None:
        """Serve the connection to its end; raises nothing but cancellation."""
        try:
            with self._life:
                await self._live()
        except OSError as error:
            self._why = f"connection lost: {error.strerror or error}"
        except Exception:  # as above
            self.registry.publish(ServerFault("connection", traceback.format_exc()))
        finally:
            self._clean_up()

    async def _live(self) -> None:
        # Otherwise Nagle's algorithm holds a frame back until the last one is acknowledged, for up to 40 ms.
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # a computer that loses its power sends nothing; the intervals are the listener's
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self._state is State.LOGIN:
            self._wait.deadline = trio.current_time() + LOGIN_SECONDS
            self._greet()
        await self._serve()
        if self._state in READING:
            self._timed_out()
        if self._state is State.REFUSED:
            await self._hold_back()
        await self._linger()

    async def _serve(self) -> None:
        """Read until the connection's deadline, or until it is closed; while it is lent, do nothing."""
        while True:
            wait = self._wait
            with wait:
                if self._state is _LENT:
                    await trio.sleep_forever()
                await self.registry.poller.watch(
                    self._sock, self.poll, self.address, logged_in=self.seat is not None
                )
            if wait is self._wait:  # otherwise it was lent or has come back
                return

    async def _hold_back(self) -> None:
        """Send the goodbye of a refused login after its delay, or an earlier goodbye if there is one."""
        if self._refusal is not None:
            goodbye, delay = self._refusal
            with trio.CancelScope(deadline=trio.current_time() + delay) as self._wait:
                await trio.sleep_forever()
            self.close(goodbye)

    def _read(self) -> None:
        try:
            data, stamp = timestamps.receive(self._sock)
            now = trio.current_time()
            age = None if stamp is None else self.registry.timestamp_clock.age(stamp, self._last_received_ns)
            self._last_received_ns = time.perf_counter_ns()  # after `age`, which needs that of the read before
            self._first_bytes = data[:FIRST_BYTES]
            mid_frame = self._received(data, now - (age or 0.0), stamped=age is not None)
            if mid_frame or self._deadline != _NEVER:
                self._set_deadline(now, mid_frame=mid_frame)
        except BlockingIOError:
            pass  # the judge has read it already
        except RemoteProtocolError as error:
            self._violation(error.code, error.detail)
        except PeerClosed as closed:
            self._stop(closed.why)
        except OSError as error:
            self._stop(f"connection lost: {error.strerror or error}")

    def _set_deadline(self, now: float, *, mid_frame: bool) -> None:
        """Set the deadline of a frame that has begun; a seated connection may be silent, but not within a frame."""
        began = self._frame_began = (self._frame_began or now) if mid_frame else None
        if self._state is not State.SEATED:
            return
        deadline = began + FRAME_SECONDS if began is not None else _NEVER
        if deadline != self._deadline:  # rarely: a new deadline costs 2 µs in trio
            self._deadline = self._wait.deadline = deadline

    def _timed_out(self) -> None:
        if self.seat is None:
            detail = f"no complete login within {LOGIN_SECONDS:g} s"
            self.close(Goodbye("login_timeout", detail, HOSTILE_RETRY_MS))
        else:
            self._violation("slow_frame", f"a frame that was not complete after {FRAME_SECONDS:g} s")

    def _violation(self, code: str, detail: str) -> None:
        """Record a violation of the protocol, tell the judge, and close."""
        detail = escape_control_chars(detail)
        self._record_incident(code, detail)
        if self.seat is not None and code != "truncated_frame":  # a client that crashes in a send looks the same
            self.seat.violation(self, code, detail)
        retry_ms = HOSTILE_RETRY_MS if self.seat is not None else None  # a client that cannot log in now never will
        self.close(Goodbye(code, detail[: wire.MAX_TEXT], retry_ms))

    def _refuse(self, goodbye: Goodbye, delay: float = 0.0) -> None:
        """Refuse a login, after ``delay`` seconds in which nothing more is read."""
        self._record_incident(goodbye.reason, goodbye.detail)
        self._state = State.REFUSED
        self._refusal = (goodbye, delay)
        self._wait.cancel()

    def _record_incident(self, code: str, detail: str) -> None:
        seat = self.seat
        team = None if seat is None else seat.team.id
        match = seat.match if seat is not None and seat.connection is self else None
        self.registry.publish(Incident(code, detail, self.address, team, self._first_bytes.hex(" "), match))

    def _send_failed(self, error: OSError) -> None:
        if isinstance(error, BlockingIOError):
            self._record_incident("never_reads", "the network buffers are full of what this client does not read")
            if self.seat is not None:
                self.seat.violation(self, "never_reads", "it does not read what the server sends")
            self._reset_on_close()
        self._stop(f"connection lost: {error.strerror or error}")

    def _stop(self, why: str) -> None:
        if self._state is not State.CLOSING:
            self._state = State.CLOSING
            self._why = why
            self._wait.cancel()
            if self.seat is not None:
                self.seat.detach(self, why)

    def _reset_on_close(self) -> None:
        """Make close() reset the connection. Otherwise the kernel keeps data for a peer that does not read."""
        linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)  # on, and 0 seconds; Windows has two shorts
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    def _take_seat(self, seat: Seat, *, known: bool) -> None:
        """Take a seat after an accepted login; if the contest is over, only to be told so.

        ``known``: its address is one from which the team plays; see `ConnectionRegistry.logged_in`.
        """
        self.seat = seat
        self.registry.logged_in(self, seat.team if known else None)
        if self._state is State.LOGIN:  # otherwise the send of `welcome` has failed, and the connection ends
            self._state = State.SEATED
        self.registry.poller.logged_in(self._sock)
        seat.attach(self)
        self.registry.close_if_over(self, seat.team.id)

    def _clean_up(self) -> None:
        if self.seat is not None:
            self.seat.detach(self, self._why)
        with contextlib.suppress(OSError):  # an error of a dead connection tells nothing new
            self._sock.close()
        self.registry.remove(self)  # last: the server may end once no connection is left
