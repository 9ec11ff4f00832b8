"""Connections: bytes on one side, a seat on the other.

Each connection has a task of its own from greeting to goodbye, which keeps its deadlines and sees it out; whatever
goes wrong in it ends that connection only. The switchboard has it read, a judge may look by itself, and anybody may
send. A send never waits: the kernel absorbs well over a hundred frames, so a peer for which it has no room left
does not read, and loses the connection at once instead of holding up a match.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import trio

import getstep_server
from getstep import wire
from getstep.wire import Goodbye, Hello, Join, Message, Raised, RemoteProtocolError, Welcome

from . import arrivals
from ._text import printable
from .contest import Contest
from .contest_event import ContestEvent
from .doorkeeper import Doorkeeper
from .events import Incident, Publish, ServerFault
from .limits import (
    FAREWELL_SECONDS,
    FRAME_SECONDS,
    LINGER_BYTES,
    LINGER_SECONDS,
    LOGIN_SECONDS,
    MAX_CONNECTIONS,
    MAX_CONNECTIONS_PER_ADDRESS,
    RECEIVE_BYTES,
)
from .seats import Answer, Seat, seat_for_newcomer
from .switchboard import Switchboard, new_switchboard

SOFTWARE = f"getstep-server {getstep_server.__version__}"
HOSTILE_RETRY_MS = 1000
FULL_RETRY_MS = 5000
SHUTDOWN_RETRY_MS = 2000
FIRST_BYTES = 32
"""How much of what a hostile peer sent is kept for the record."""

_NEVER = float("inf")


@dataclass
class House:
    """What the connections of one contest share: who may sit where, and who is here, in the order of coming."""

    contest: Contest
    seats: dict[int, tuple[Seat, ...]]
    publish: Publish
    links: dict[SocketLink, None] = field(default_factory=dict)
    by_address: dict[str, dict[SocketLink, None]] = field(default_factory=dict)
    doorkeeper: Doorkeeper = field(default_factory=Doorkeeper)
    age_of: arrivals.AgeOf = field(default_factory=arrivals.AgeOf)
    switchboard: Switchboard = field(default_factory=new_switchboard)
    departures: trio.lowlevel.ParkingLot = field(default_factory=trio.lowlevel.ParkingLot)
    met: frozenset[int] = frozenset()
    """Teams that were here in an earlier run."""
    farewell: Goodbye | None = None
    untold: Counter[int] = field(default_factory=Counter)
    """By team, its bots that were away when everybody else was told goodbye."""

    def enter(self, link: SocketLink) -> None:
        """Count a connection."""
        self.links[link] = None
        self.by_address.setdefault(link.address, {})[link] = None

    def leave(self, link: SocketLink) -> None:
        """Count a connection no more, if it is counted."""
        if link in self.links:
            del self.links[link]
            del self.by_address[link.address][link]
            if not self.by_address[link.address]:
                del self.by_address[link.address]
            self.departures.unpark_all()

    def crowd(self, address: str) -> dict[SocketLink, None] | None:
        """The connections that one more from ``address`` would make too many; None if there is room."""
        here = self.by_address.get(address, {})
        if len(here) >= MAX_CONNECTIONS_PER_ADDRESS:
            return here
        return self.links if len(self.links) >= MAX_CONNECTIONS else None

    def make_room(self, crowd: dict[SocketLink, None]) -> bool:
        """Send away who has been here longest without a seat; False if all have one.

        Were it the newest that goes, whoever holds connections open could keep a team from logging in.
        """
        stranger = next((link for link in crowd if not link.seated), None)
        if stranger is not None:
            stranger.evict()
        return stranger is not None

    def close_all(self, goodbye: Goodbye) -> None:
        """Say goodbye on every connection, and on every further one as soon as its team has logged in."""
        self.farewell = goodbye
        if goodbye.retry_ms is None:
            self.untold = +Counter({team: self._away(team) for team in self.seats})
        for link in list(self.links):
            link.close(goodbye)

    def _away(self, team: int) -> int:
        """How many bots of ``team`` have been here and are not now."""
        met = [seat for seat in self.seats[team] if seat.been_here]
        return sum(not seat.connected for seat in met) if met else int(team in self.met)

    def tell(self, link: SocketLink, team: int) -> None:
        """Say goodbye to one more bot of ``team``, if everybody else was told."""
        if self.farewell is not None:
            self.untold = self.untold - Counter([team])
            link.close(self.farewell)

    async def all_gone(self) -> None:
        """Wait until every connection is closed and every bot told, as far as they do it in FAREWELL_SECONDS."""
        with trio.move_on_after(FAREWELL_SECONDS):
            while self.links or self.untold:
                await self.departures.park()


class Gone(Exception):  # noqa: N818 - an end, not an error
    """The connection is over; ``why`` for the host."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class SocketLink(ABC):
    """A connection over a non-blocking socket; what the bytes mean is the subclass's."""

    client = ""

    def __init__(self, house: House, sock: socket.socket, address: str) -> None:
        self.address = address
        self.house = house
        self.seat: Seat | None = None
        self._sock = sock
        self._scope = trio.CancelScope()
        self._life = trio.CancelScope()
        self._why = "connection lost"
        self._closing = False
        self._first_bytes = b""
        self._partial_since: float | None = None
        self._deadline = 0.0
        self._looked = time.perf_counter_ns()
        self._refused: tuple[Goodbye, float] | None = None

    # --- what a wire has to say for itself ---

    @abstractmethod
    def _greet(self) -> None:
        """Say what the server says first, if anything."""

    @abstractmethod
    def _received(self, data: bytes, at: float, *, stamped: bool) -> bool:
        """Take in bytes (``b""`` at the end) that arrived at ``at``.

        Returns:
            Whether the beginning of something is left over that has no end yet.

        Raises:
            Gone: the peer has closed.
            RemoteProtocolError: it broke the protocol.
        """

    @abstractmethod
    def _encode(self, message: Message) -> bytes:
        """The bytes that say ``message``; none if this wire has no way to say it."""

    async def _linger(self) -> None:
        """After goodbye: let the peer read it and close."""
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
            self._incident("flood", f"more than {LINGER_BYTES} bytes after goodbye")
            self._reset_on_close()

    # --- for the seat ---

    def send(self, message: Message) -> None:
        """Hand a message to the kernel; see `seats.Link`."""
        if self._closing:
            return
        try:
            self._send_bytes(self._encode(message))
        except (BlockingIOError, OSError) as error:
            self._lost(error)
        except Exception:
            self.house.publish(ServerFault("send", traceback.format_exc()))
            self._stop("server fault")

    def close(self, goodbye: Goodbye) -> None:
        """Say goodbye; the connection's task does the rest."""
        self.send(goodbye)
        self._stop(goodbye.reason)

    @property
    def seated(self) -> bool:
        """Whether this connection holds a seat of its team."""
        return self.seat is not None and self.seat.link is self

    @property
    def heard(self) -> int:
        """When something last arrived; see `seats.Link`."""
        return self._looked

    def evict(self) -> None:
        """Make room at once, without waiting for the peer to read why."""
        self.close(Goodbye("too_many_connections", "The server has as many connections as it may.", FULL_RETRY_MS))
        self._life.cancel()
        self.house.leave(self)

    def look(self) -> None:
        """Take in one receive's worth, and all that follows from it; never raises. See `seats.Link` as well."""
        if self._closing or self._refused is not None:
            return
        try:
            self._read()
        except Exception:
            self.house.publish(ServerFault("connection", traceback.format_exc()))
            self._stop("server fault")

    # --- the connection's task ---

    async def run(self) -> None:
        """Serve the connection to its end; never raises anything but cancellation."""
        try:
            with self._life:
                await self._live()
        except OSError as error:
            self._why = f"connection lost: {error.strerror or error}"
        except Exception:
            self.house.publish(ServerFault("connection", traceback.format_exc()))
        finally:
            self._leave()

    async def _live(self) -> None:
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        with self._scope:
            await self._serve()
        if not self._closing and self._refused is None:
            self._timed_out()
        if self._refused is not None and not self._closing:
            await self._hold_back(*self._refused)
        if self._closing:
            await self._linger()

    async def _hold_back(self, goodbye: Goodbye, delay: float) -> None:
        """Say ``goodbye`` after ``delay`` seconds, or whatever else has to be said before that."""
        with trio.CancelScope(deadline=trio.current_time() + delay) as self._scope:
            await trio.sleep_forever()
        self.close(goodbye)

    async def _serve(self) -> None:
        self._scope.deadline = trio.current_time() + LOGIN_SECONDS
        self._greet()
        await self.house.switchboard.serve(self._sock, self.look)

    def _read(self) -> None:
        try:
            data, stamp = arrivals.receive(self._sock)
            now = trio.current_time()
            age = None if stamp is None else self.house.age_of(stamp, self._looked)
            self._looked = time.perf_counter_ns()
            self._first_bytes = data[:FIRST_BYTES]
            mid_frame = self._received(data, now - (age or 0.0), stamped=age is not None)
            self._set_deadline(now, mid_frame=mid_frame)
        except BlockingIOError:
            pass  # somebody else has read it
        except RemoteProtocolError as error:
            self._breach(error.code, error.detail)
        except Gone as gone:
            self._stop(gone.why)
        except OSError as error:
            self._stop(f"connection lost: {error.strerror or error}")

    def _set_deadline(self, now: float, *, mid_frame: bool) -> None:
        """Logged in, a connection may be silent for ever, but not in the middle of a frame."""
        since = self._partial_since = (self._partial_since or now) if mid_frame else None
        if self.seat is None:
            return
        deadline = since + FRAME_SECONDS if since is not None else _NEVER
        if deadline != self._deadline:  # hardly ever, and trio takes its time over it
            self._deadline = self._scope.deadline = deadline

    def _timed_out(self) -> None:
        if self.seat is None:
            detail = f"no complete login within {LOGIN_SECONDS:g} s"
            self.close(Goodbye("login_timeout", detail, HOSTILE_RETRY_MS))
        else:
            self._breach("slow_frame", f"a frame that was not complete after {FRAME_SECONDS:g} s")

    def _breach(self, code: str, detail: str) -> None:
        detail = printable(detail)
        self._incident(code, detail)
        if self.seat is not None and code != "truncated_frame":  # a crash in mid-send looks the same
            self.seat.breach(self, code, detail)
        retry_ms = HOSTILE_RETRY_MS if self.seat is not None else None  # what cannot log in now never will
        self.close(Goodbye(code, detail[: wire.MAX_TEXT], retry_ms))

    def _refuse(self, goodbye: Goodbye, delay: float = 0.0) -> None:
        """Turn a login away, after ``delay`` seconds in which nothing more is read."""
        self._incident(goodbye.reason, goodbye.detail)
        self._refused = (goodbye, delay)
        self._scope.cancel()

    def _incident(self, code: str, detail: str) -> None:
        seat = self.seat
        team = None if seat is None else seat.team.id
        match = seat.match if seat is not None and seat.link is self else None
        self.house.publish(Incident(code, detail, self.address, team, self._first_bytes.hex(" "), match))

    def _send_bytes(self, data: bytes) -> None:
        if data and self._sock.send(data) < len(data):
            raise BlockingIOError

    def _lost(self, error: OSError) -> None:
        if isinstance(error, BlockingIOError):
            self._incident("never_reads", "the network buffers are full of what this client does not read")
            if self.seat is not None:
                self.seat.breach(self, "never_reads", "it does not read what the server sends")
            self._reset_on_close()
        self._stop(f"connection lost: {error.strerror or error}")

    def _stop(self, why: str) -> None:
        if not self._closing:
            self._closing = True
            self._why = why
            self._scope.cancel()
            if self.seat is not None:
                self.seat.detach(self, why)

    def _reset_on_close(self) -> None:
        """Have close() reset the connection instead of sending what is left."""
        linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    def _sit_down(self, seat: Seat) -> None:
        """Take a seat after a login that holds; if the contest is over, to hear just that."""
        self.seat = seat
        seat.attach(self)
        self.house.tell(self, seat.team.id)

    def _leave(self) -> None:
        if self.seat is not None:
            self.seat.detach(self, self._why)
        with contextlib.suppress(OSError):  # what the kernel has to say about a dead connection is no news
            self._sock.close()
        self.house.leave(self)


class WireLink(SocketLink):
    """A connection that speaks the protocol of protocol.md."""

    def __init__(self, house: House, sock: socket.socket, address: str) -> None:
        super().__init__(house, sock, address)
        self._wire = wire.Connection(wire.Role.SERVER)
        self._nonce = wire.new_nonce()

    def _greet(self) -> None:
        self.send(
            Hello(
                versions=[wire.VERSION],
                nonce=self._nonce,
                contest=self.house.contest.name,
                server=SOFTWARE,
            )
        )

    def _encode(self, message: Message) -> bytes:
        return self._wire.send(message)

    def _received(self, data: bytes, at: float, *, stamped: bool) -> bool:
        self._wire.receive_data(data)
        while not self._closing and self._refused is None:
            event = self._wire.next_event()
            if event is wire.NEED_DATA:
                return True
            if event is wire.CLOSED:
                raise Gone("it closed the connection")
            self._partial_since = None
            if isinstance(event, Answer):
                self._answered(event, at, stamped=stamped)
            elif isinstance(event, Join):
                self._login(event)
            if not self._wire.mid_frame:  # as nearly always: nothing to ask for again
                break
        return False

    def _answered(self, answer: Answer, at: float, *, stamped: bool) -> None:
        if isinstance(answer, Raised):
            answer = replace(answer, error=printable(answer.error)[: wire.MAX_TEXT])
        if self.seat is not None:
            self.seat.answer(self, answer, at, stamped=stamped)

    def _login(self, join: Join) -> None:
        self.client = printable(join.client)
        if join.version != wire.VERSION:
            detail = f"This server speaks version {wire.VERSION}, your client asked for {join.version}."
            self._refuse(Goodbye("unsupported_version", detail, None))
            return
        wrong = self._wrong_login(join)
        if wrong is not None:
            self._refuse(wrong, self.house.doorkeeper.wrong_login(self.address))
            return
        seat = seat_for_newcomer(self.house.seats[join.team])
        if not self.house.doorkeeper.may_login(join.team, seat.team.seats):
            self.seat = seat  # whose it is is known, and goes on record
            detail = f"Team {join.team} logs in too often; is a second copy of the bot running?"
            self._refuse(Goodbye("too_many_logins", detail, FULL_RETRY_MS))
            return
        self._enter(join, seat)

    def _wrong_login(self, join: Join) -> Goodbye | None:
        team = self.house.contest.teams.get(join.team)
        if team is None:
            detail = f"No team has the id {join.team}. Ids are on the slip from the host."
            return Goodbye("unknown_team", detail, None)
        if not wire.verify(team.token, self._nonce, join.mac):
            detail = f"The token of team {join.team} does not fit. Tokens are on the slip from the host."
            return Goodbye("bad_token", detail, None)
        return None

    def _enter(self, join: Join, seat: Seat) -> None:
        self.send(welcome(self.house.contest, join.team))
        if join.purpose == "check":
            self.close(Goodbye("checked", "The login is right.", None))
            return
        self._sit_down(seat)


def welcome(contest: Contest, team: int) -> Welcome:
    """What a team is told when its login holds; a game that is played in the same way in two events, once."""
    games: list[dict[str, Any]] = []
    for event in contest.events:
        if team in event.teams and (game := _game(event)) not in games:
            games.append(game)
    return Welcome(team=team, name=contest.team_name(team), lag_ms=round(contest.lag * 1000), games=games)


def _game(event: ContestEvent) -> dict[str, Any]:
    control = event.time_control
    return {
        "game": event.game.name,
        "options": event.options,
        "time_kind": control.kind,
        "time_ms": round(control.seconds * 1000),
    }
