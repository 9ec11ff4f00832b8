"""The classic wire of protocol.md: little-endian 32-bit integers, no lengths, no secret.

It plays hop only. To the seat a classic connection is a link like any other: questions become 268-byte frames,
answers become steps, and what the old protocol has no words for is left unsaid.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from ipaddress import IPv4Address, IPv6Address, ip_address

import trio

from getstep.wire import GetStep, Goodbye, Message, RemoteProtocolError, Step

from .limits import CLASSIC_MAX_SQUARES, CLASSIC_REFUSAL_SECONDS, CLASSIC_STRAYS
from .seats import Seat, seat_for_newcomer
from .session import Gone, House, SocketLink

SIZE = 8
FRAME = struct.Struct(f"<2i{SIZE * SIZE}ii")
"""Code, move id, 64 squares, is_black: 268 bytes, sent at once because original clients take no short read."""

_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)  # Linux has it

_INT = struct.Struct("<i")
_ANSWER = struct.Struct("<2i")
_SQUARE = struct.Struct("<2i")


def question_bytes(move_id: int, board: list[list[int]], *, is_black: bool) -> bytes:
    """The frame that asks for a move."""
    return FRAME.pack(1, move_id, *(cell for row in board for cell in row), int(is_black))


def stop_bytes() -> bytes:
    """The frame that ends a client: as long as a question, for clients that read all of it before they look."""
    return FRAME.pack(*[0] * (SIZE * SIZE + 3))


def _plain(address: str) -> IPv4Address | IPv6Address:
    """An address to compare: an IPv4 peer of a listener for both families is ``::ffff:a.b.c.d`` to the kernel."""
    parsed = ip_address(address)
    return getattr(parsed, "ipv4_mapped", None) or parsed


class ClassicReader:
    """Cuts what a classic client sends into its team id and its answers; holds one answer at most."""

    def __init__(self) -> None:
        self.team: int | None = None
        self._buffer = bytearray()

    @property
    def partial(self) -> bool:
        """Whether the beginning of something has arrived and its end has not (once answers are taken out)."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> None:
        """Take in what arrived."""
        self._buffer += data
        if self.team is None and len(self._buffer) >= _INT.size:
            (self.team,) = _INT.unpack(self._take(_INT.size))

    def next_answer(self) -> tuple[int, list[tuple[int, int]]] | None:
        """The next whole answer, as move id and squares, or None until more has arrived.

        Raises:
            RemoteProtocolError: ``bad_field`` for a count or a coordinate out of range.
        """
        if self.team is None or len(self._buffer) < _ANSWER.size:
            return None
        count, move_id = _ANSWER.unpack_from(self._buffer)
        if not 0 <= count <= CLASSIC_MAX_SQUARES:
            raise RemoteProtocolError("bad_field", f"{count} squares, expected 0 to {CLASSIC_MAX_SQUARES}")
        length = _ANSWER.size + count * _SQUARE.size
        if len(self._buffer) < length:
            return None
        squares = list(_SQUARE.iter_unpack(self._take(length)[_ANSWER.size :]))
        for row, column in squares:
            if not (0 <= row < SIZE and 0 <= column < SIZE):
                raise RemoteProtocolError("bad_field", f"the square ({row}, {column}), expected 0 to {SIZE - 1}")
        return move_id, squares

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


class ClassicLink(SocketLink):
    """A connection that speaks the classic wire."""

    client = "classic"

    def __init__(self, house: House, sock: socket.socket, address: str) -> None:
        super().__init__(house, sock, address)
        self._reader = ClassicReader()
        self._asked = 0
        self._awaiting = False
        self._strays = 0
        self._stopped = False

    def close(self, goodbye: Goodbye) -> None:
        """Say goodbye; see `seats.Link`.

        A team's connection that is being kept waiting is told the contest's end too: when the wait is over there
        may be no server left to say it, and an original client would look for one for ever.
        """
        if self._closing and self.seat is not None and goodbye.reason == "contest_over":
            with contextlib.suppress(OSError):
                self._send_bytes(stop_bytes())
        super().close(goodbye)

    def _greet(self) -> None:
        """The client speaks first."""

    def _encode(self, message: Message) -> bytes:
        if isinstance(message, GetStep):
            self._asked = message.id
            self._awaiting = True
            self._strays = 0
            return question_bytes(message.id, message.board, is_black=message.is_black)
        if isinstance(message, Goodbye) and message.reason == "contest_over":
            self._stopped = True
            return stop_bytes()
        return b""

    def _received(self, data: bytes, at: float, *, stamped: bool) -> bool:
        if not data:
            raise Gone("it closed the connection")
        self._acknowledge()
        self._reader.feed(data)
        if self.seat is None and self._reader.team is not None:
            self._login(self._reader.team)
        while not self._closing and self._refused is None and (answer := self._reader.next_answer()) is not None:
            self._partial_since = None
            self._answered(*answer, at, stamped=stamped)
        return self._reader.partial

    def _acknowledge(self) -> None:
        """Have the kernel acknowledge at once what arrived.

        Original clients send an answer in three parts, and Nagle's algorithm keeps the second back until the
        first is acknowledged: the kernel's usual delay would take 40 ms a move off some clients' clocks.
        The kernel forgets the wish after a while, so it is repeated.
        """
        if _QUICK_ACK is not None:
            self._sock.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)

    def _login(self, team: int) -> None:
        seat = self._seat_of(team)
        if isinstance(seat, str):
            self._refuse(Goodbye("classic_refused", seat, None))
            return
        self.seat = seat
        if not self.house.doorkeeper.may_login(team, seat.team.seats):
            self._refuse(Goodbye("too_many_logins", f"team {team} logs in too often", None))
            return
        self._sit_down(seat)

    def _seat_of(self, number: int) -> Seat | str:
        """A seat of the team, or why this connection may not have one."""
        team = self.house.contest.teams.get(number)
        if team is None:
            return f"no team has the id {number}"
        if not team.classic:
            return f"team {number} is not opened for the classic wire (classic = true in teams.toml)"
        if team.classic_address is not None and _plain(self.address) != _plain(team.classic_address):
            return f"team {number} may play from {team.classic_address} only (classic_address in teams.toml)"
        return seat_for_newcomer(self.house.seats[number])

    def _answered(self, move_id: int, squares: list[tuple[int, int]], at: float, *, stamped: bool) -> None:
        if self.seat is None:
            return
        if not 0 < move_id <= self.seat.last_id:
            raise RemoteProtocolError("foreign_id", f"an answer to move id {move_id}, which was never sent")
        if move_id != self._asked:
            self._discard_stale()
            return
        if not self._awaiting:
            raise RemoteProtocolError("out_of_turn", f"a second answer to move id {move_id}")
        self._awaiting = False
        self.seat.answer(self, Step(move_id, squares), at, stamped=stamped)

    def _discard_stale(self) -> None:
        """The wait goes on, but not for a client that does nothing else."""
        self._strays += 1
        if self._strays > CLASSIC_STRAYS:
            raise RemoteProtocolError("out_of_turn", f"more than {CLASSIC_STRAYS} answers that nobody waits for")

    async def _linger(self) -> None:
        if self._stopped:
            await super()._linger()
        elif self._refused is not None or not self._hung_up():
            await trio.sleep(CLASSIC_REFUSAL_SECONDS)  # an original client comes back the moment it is closed

    def _hung_up(self) -> bool:
        """Whether the client has closed: then there is nobody to keep waiting."""
        try:
            return self._sock.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
