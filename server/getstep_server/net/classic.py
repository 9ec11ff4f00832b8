"""Connections that speak the classic wire (docs/classic.md); its frames are in `getstep.wire.classic`.

It plays hop only. To the seat a classic connection is like any other: questions become 268-byte frames, and answers
become steps. Messages that the old protocol has no form for are not sent.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any

import trio

from getstep.wire import GetStep, Goodbye, Message, RemoteProtocolError, Step
from getstep.wire.classic import ClassicReader, question_bytes, stop_bytes
from getstep_server.addresses import plain
from getstep_server.limits import CLASSIC_REFUSAL_SECONDS, MAX_STALE_ANSWERS

from .connection import READING, ClientConnection, PeerClosed, State, has_hung_up
from .registry import ConnectionRegistry
from .seat import Seat, choose_seat

_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)  # Linux has it


class ClassicConnection(ClientConnection):
    client = "classic"

    def __init__(self, registry: ConnectionRegistry, sock: socket.socket, address: str) -> None:
        super().__init__(registry, sock, address)
        self._reader = ClassicReader()
        self._asked = 0
        self._awaiting = False
        self._unanswered: set[int] = set()  # asked here and closed since; one late answer to each is allowed
        self._stale_count = 0
        self._stopped = False

    def close(self, goodbye: Goodbye) -> None:
        """Send the goodbye; see `seat.Peer`.

        A connection that is already closing is told the end of the contest too. When its wait is over the server
        may be gone, and an original client would try to reconnect forever.
        """
        if self._state is State.CLOSING and self.seat is not None and goodbye.reason == "contest_over":
            with contextlib.suppress(OSError):  # the connection is closing, and the client may be gone
                self._sock.send(stop_bytes())
        super().close(goodbye)

    def _greet(self) -> None:
        """Send nothing: on the classic wire the client sends first."""

    def _encode(self, message: Message) -> bytes:
        if isinstance(message, GetStep):
            if self._awaiting:
                self._unanswered.add(self._asked)
            self._asked = message.id
            self._awaiting = True
            self._stale_count = 0
            return question_bytes(message.id, message.board, is_black=message.is_black)
        if isinstance(message, Goodbye) and message.reason == "contest_over":
            self._stopped = True
            return stop_bytes()
        return b""

    def _save(self) -> dict[str, Any]:
        return {
            "team": self._reader.team,
            "received": self._reader.rest,
            "asked": self._asked,
            "awaiting": self._awaiting,
            "unanswered": sorted(self._unanswered),
            "stale_count": self._stale_count,
        }

    def _restore(self, saved: dict[str, Any]) -> None:
        self._reader = ClassicReader(saved["team"], saved["received"])
        self._asked, self._awaiting = saved["asked"], saved["awaiting"]
        self._unanswered, self._stale_count = set(saved["unanswered"]), saved["stale_count"]

    def _received(self, data: bytes, at: float, *, stamped: bool) -> bool:
        if not data:
            raise PeerClosed("it closed the connection")
        self._acknowledge()
        self._reader.feed(data)
        if self.seat is None and self._reader.team is not None:
            self._login(self._reader.team)
        while self._state in READING and (answer := self._reader.next_answer()) is not None:
            self._frame_began = None
            self._answered(*answer, at, stamped=stamped)
        return self._reader.partial

    def _acknowledge(self) -> None:
        """Make the kernel acknowledge at once what arrived.

        Original clients send an answer in three parts, and Nagle's algorithm holds the second one back until the
        first is acknowledged. The kernel's usual delay would cost some clients 40 ms of each move. The option is
        set again for each read because the kernel resets it after a while.
        """
        if _QUICK_ACK is not None:
            self._sock.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)

    def _login(self, team: int) -> None:
        seat = self._seat_of(team)
        if isinstance(seat, str):
            self._refuse(Goodbye("classic_refused", seat, None))
            return
        self.seat = seat
        if not self.registry.login_limiter.allow_login(team, seat.team.seats):
            self._refuse(Goodbye("too_many_logins", f"team {team} logs in too often", None))
            return
        self._take_seat(seat, known=seat.team.classic_address is not None)

    def _seat_of(self, number: int) -> Seat | str:
        """Return a seat of the team, or the reason why this connection may not have one."""
        team = self.registry.contest.teams.get(number)
        if team is None:
            return f"no team has the id {number}"
        if not team.classic:
            return f"team {number} is not opened for the classic wire (classic = true in teams.toml)"
        if team.classic_address is not None and plain(self.address) != plain(team.classic_address):
            return f"team {number} may play from {team.classic_address} only (classic_address in teams.toml)"
        if number in self.registry.hosted:
            return f"the host runs the program of team {number}, so its bots cannot log in"
        return choose_seat(self.registry.seats[number])

    def _answered(self, move_id: int, squares: list[tuple[int, int]], at: float, *, stamped: bool) -> None:
        if self.seat is None:
            return
        if not 0 < move_id <= self.seat.last_id:
            raise RemoteProtocolError("foreign_id", f"an answer to move id {move_id}, which was never sent")
        if move_id != self._asked:
            self._discard_stale(move_id)
            return
        if not self._awaiting:
            raise RemoteProtocolError("out_of_turn", f"a second answer to move id {move_id}")
        self._awaiting = False
        self.seat.answer(self, Step(move_id, squares), at, stamped=stamped)

    def _discard_stale(self, move_id: int) -> None:
        """Count an answer to an earlier question; refuse a client that sends too many.

        A client whose process was stopped finds several questions waiting, and answers each of them.
        """
        if move_id in self._unanswered:
            self._unanswered.remove(move_id)
        else:
            self._stale_count += 1
        if self._stale_count > MAX_STALE_ANSWERS:
            raise RemoteProtocolError("out_of_turn", f"more than {MAX_STALE_ANSWERS} answers to no open question")
        if self.seat is not None:
            self.seat.late_answer(self)

    async def _linger(self) -> None:
        if self._stopped:
            await super()._linger()
        elif self._refusal is not None or not has_hung_up(self._sock):
            await trio.sleep(CLASSIC_REFUSAL_SECONDS)  # an original client comes back the moment it is closed
