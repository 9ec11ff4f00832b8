"""Connections that speak the protocol of protocol.md."""

from __future__ import annotations

import socket
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import msgspec

import getstep_server
from getstep import wire
from getstep.referee.answers import Answer
from getstep.wire import Goodbye, Hello, Join, Message, Raised, Welcome
from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent
from getstep_server.text import escape_control_chars

from .client_version import update_notice
from .connection import FULL_RETRY_MS, READING, ClientConnection, PeerClosed
from .registry import ConnectionRegistry
from .seat import Seat, choose_seat, hosted_program

SOFTWARE = f"getstep-server {getstep_server.__version__}"

wire.pack_boards_with(msgspec.msgpack.Encoder().encode)  # in a fifth of msgpack's time


class WireConnection(ClientConnection):
    """A connection that speaks the protocol of protocol.md."""

    def __init__(self, registry: ConnectionRegistry, sock: socket.socket, address: str) -> None:
        super().__init__(registry, sock, address)
        self._wire = wire.Connection(wire.Role.SERVER)
        self._nonce = wire.new_nonce()

    def _greet(self) -> None:
        self.send(self._hello())

    def _hello(self) -> Hello:
        return Hello(
            versions=[wire.VERSION],
            nonce=self._nonce,
            contest=self.registry.contest.name,
            server=SOFTWARE,
            dialled=True,
        )

    def _encode(self, message: Message) -> bytes:
        return self._wire.send(message)

    def _save(self) -> dict[str, Any]:
        return self._wire.save()

    def _restore(self, saved: dict[str, Any]) -> None:
        self._wire.restore(saved)
        self.notices = self._wire.notices

    def _received(self, data: bytes, at: float, *, stamped: bool) -> bool:
        step = self._wire.receive_step(data)
        if step is not None and self.seat is not None:  # nearly always; a question is asked only at a seat
            self.seat.answer(self, step, at, stamped=stamped)
            return False
        self._wire.receive_data(data)
        while self._state in READING:
            event = self._wire.next_event()
            if event is wire.NEED_DATA:
                return True
            if event is wire.CLOSED:
                raise PeerClosed("it closed the connection")
            self._frame_began = None
            if isinstance(event, Answer):
                self._answered(event, at, stamped=stamped)
            elif isinstance(event, Join):
                self._login(event)
            elif isinstance(event, wire.LateAnswer) and self.seat is not None:
                self.seat.late_answer(self)
            if not self._wire.mid_frame:  # nearly always: one answer is one segment
                break
        return False

    def _answered(self, answer: Answer, at: float, *, stamped: bool) -> None:
        if type(answer) is Raised:
            answer = replace(answer, error=escape_control_chars(answer.error)[: wire.MAX_TEXT])
        if self.seat is not None:
            self.seat.answer(self, answer, at, stamped=stamped)

    def _login(self, join: Join) -> None:
        self.client = escape_control_chars(join.client)
        self.notices = self._wire.notices
        if join.version != wire.VERSION:
            detail = f"This server speaks version {wire.VERSION}, your client asked for {join.version}."
            self._refuse(Goodbye("unsupported_version", detail, None))
            return
        hosted = self.registry.hosted.get(join.team)
        if hosted is not None and wire.verify(hosted.token, self._nonce, join.mac, join.dialled):
            self._enter(join, hosted.seat)
            return
        wrong = self._wrong_login(join)
        if wrong is not None:
            self._refuse(wrong, self.registry.login_limiter.record_failure(self.address))
            return
        elsewhere = self._dialled_elsewhere(join)
        if elsewhere is not None:
            self._refuse(elsewhere)  # without a delay: the client knows the token
            return
        if join.team in self.registry.hosted and join.purpose != "check":
            self._refuse(hosted_program(join.team))
            return
        seat = choose_seat(self.registry.seats[join.team])
        if not self.registry.login_limiter.allow_login(join.team, seat.team.seats):
            self.seat = seat  # the team is known, and the incident names it
            detail = f"Team {join.team} logs in too often; is a second copy of the bot running?"
            self._refuse(Goodbye("too_many_logins", detail, FULL_RETRY_MS))
            return
        if join.fence is not None and join.fence > self.registry.fence.number:
            self.registry.fence.heard(join.fence, join.fence_certificate or "")
        self._enter(join, seat)

    def _wrong_login(self, join: Join) -> Goodbye | None:
        team = self.registry.contest.teams.get(join.team)
        if team is None:
            detail = f"No team has the id {join.team}. Ids are on the slip from the host."
            return Goodbye("unknown_team", detail, None)
        if wire.signed_token(team.token, self._nonce, join) is None:
            detail = f"The token for team {join.team} is wrong. It is on the slip from the host."
            return Goodbye("bad_token", detail, None)
        return None

    def _dialled_elsewhere(self, join: Join) -> Goodbye | None:
        """Return the goodbye to a client that has dialled another address than this server's, None to all others.

        Such a client reached this server through address translation, which the host knows of, or through a relay.
        """
        if join.dialled is None:
            return None
        dialled = wire.SocketAddress.parse(join.dialled)
        # On its own machine a client dials its end of a tunnel. No other computer can be there.
        if dialled.ip.is_loopback or dialled == (reached := wire.SocketAddress.of(self._sock.getsockname())):
            return None
        if any(_names(text, dialled) for text in self.registry.contest.file.server.addresses):
            return None
        detail = (
            f"Your client has dialled {dialled}, but has reached this server at {reached}. Somebody may pass on"
            " what you send: compare the address with the slip from the host. If the host has address translation"
            f' (a container, a forwarded port), add addresses = ["{dialled}"] under [server] in contest.toml'
        )
        return Goodbye("wrong_address", detail, None)

    def _enter(self, join: Join, seat: Seat) -> None:
        token, fence = self.registry.contest.teams[join.team].token, self.registry.fence
        answer = replace(welcome(self.registry.contest, join.team), proof=wire.proof_for(token, self._nonce, join))
        if fence.number:
            answer = replace(
                answer,
                fence=fence.number,
                fence_certificate=fence.certificate,
                fence_proof=wire.fence_proof_for(token, self._nonce, join, fence.number, fence.certificate),
            )
        self.send(answer)
        if join.purpose == "check":
            self.registry.logged_in(self, None)
            self.close(Goodbye("checked", "The login was accepted.", None))
            return
        self._tell_of_update(seat)
        self._take_seat(seat, known=True)  # after `welcome`: in mid-match it sends the start and the question

    def _tell_of_update(self, seat: Seat) -> None:
        """Tell an old client where the new one is, once at each seat, not after each lost connection."""
        if self.notices and seat.told_of_update != self.client:
            seat.told_of_update = self.client
            notice = update_notice(self.client, self._page())
            if notice is not None:
                self.send(notice)

    def _page(self) -> str | None:
        """Return the address of the live page on the interface by which this client came; None without a page."""
        if self.registry.page_port is None:
            return None
        reached = wire.SocketAddress.of(self._sock.getsockname())
        return self.registry.contest.page_at(str(reached.ip), self.registry.page_port).rstrip("/")


def welcome(contest: Contest, team: int) -> Welcome:
    """Return the answer to an accepted login; a game that two events play in the same way is in it once.

    If an option is drawn for each match, the game is in it with the smallest and with the largest value.
    """
    games: list[dict[str, Any]] = []
    for event in contest.events:
        for options in event.extreme_options():
            if team in event.teams and (game := _game(event, options)) not in games:
                games.append(game)
    return Welcome(team=team, name=contest.team_name(team), lag_ms=round(contest.lag * 1000), games=games)


def _game(event: ContestEvent, options: dict[str, int]) -> dict[str, Any]:
    control = event.time_control
    game = {
        "game": event.game.name,
        "options": options,
        "time_kind": control.kind,
        "time_ms": round(control.seconds * 1000),
    }
    return {**game, "increment_ms": round(control.increment * 1000)} if control.increment else game


def _names(setting: str, dialled: wire.SocketAddress) -> bool:
    """Return True if a value of `addresses` in contest.toml stands for this address."""
    try:
        return ip_address(setting) == dialled.ip
    except ValueError:  # it has a port
        return wire.SocketAddress.parse(setting) == dialled


class FriendlyConnection(WireConnection):
    """A connection of a bot that plays friendly matches only; `hello` says so, and the SDK checks it."""

    def _hello(self) -> Hello:
        return replace(super()._hello(), friendly=True)
