"""A person who plays for a team in the contest: an ordinary client of protocol.md, whose moves come from a browser.

For the server it is a client like any other: it logs in with the team's token, takes a seat, and has the same
limits. The server's port comes from the status of the run, so it is right with ``--port``, too.

A person who misses limits would be stalled, as a program that hangs. So the page sends a late answer, which is a
sign of life and costs nothing: at once if the person has clicked a moment before, otherwise at the next click.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import trio

from getstep.client.reconnect import Backoff
from getstep.openings import state_after
from getstep.wire import (
    NEED_DATA,
    VERSION,
    Connection,
    End,
    GetStep,
    Goodbye,
    Hello,
    Join,
    LocalProtocolError,
    Message,
    Notice,
    Penalty,
    Raised,
    RemoteProtocolError,
    Resign,
    Role,
    Sentinel,
    Start,
    Step,
    Welcome,
    new_nonce,
    sign,
    verify_server,
)
from getstep_engines import GAMES, Game, IllegalMove, State
from getstep_server.config.contest import Team
from getstep_server.config.event import game_heading
from getstep_server.records.record import SOFTWARE

from .live import LiveMatch
from .parts import BOARD_SECONDS
from .person import RESIGNED, Person, clock_json, touched_by
from .person_game import leave_with_person

ServerAddress: TypeAlias = tuple[str, int]
FindAddress: TypeAlias = Callable[[], ServerAddress | None]
FindLive: TypeAlias = Callable[[int], LiveMatch | None]

CLIENT = f"a person on the page of {SOFTWARE}"
RECEIVE_BYTES = 1 << 14
LOGIN_SECONDS = 15.0
"""The time from the connection to `welcome`. The server is on this machine; a right login is never delayed."""

OVERDUE_SECONDS = 3.0
"""The time after the limit and the allowance after which a question is taken for closed, if no message says so."""


PRESENT_SECONDS = 20.0
"""The time after a click in which the person is present: a missed limit is then slow thinking, and no absence.

Without this, a person who missed three limits in a row would lose all further turns against a bot in an instant.
"""

LATE = "too late: the person was still thinking"
"""The error of a late answer, which changes nothing and is a sign of life."""


class _Ended(Exception):  # noqa: N818 - it says how a connection ended
    """Raised when the connection ended without a goodbye, or is not to the contest's server."""


_FAILURES = (OSError, trio.BrokenResourceError, RemoteProtocolError, _Ended)


@dataclass
class _MatchAtBoard:
    """The match that is played: the position as far as it is known, and how much time the person had left."""

    start: Start
    game: Game
    state: State | None = None


class TeamGame:
    """The connection of a person to the contest.

    Args:
        person: at the board.
        team: for which the person plays.
        address: returns the address of the contest's server; None if none runs.
        live: returns a match as the page knows it, for a person who comes back in the middle of it.
    """

    def __init__(self, person: Person, team: Team, address: FindAddress, live: FindLive = lambda _: None) -> None:
        self._person = person
        self._team = team
        self._address = address
        self._live = live
        self._backoff = Backoff()
        self._match: _MatchAtBoard | None = None
        self._asking: trio.CancelScope | None = None
        self._overdue_at = 0.0
        """The time from which the open question is overdue."""
        self._missed: int | None = None
        """The question that was closed without an answer."""
        self._stream: trio.SocketStream
        self._wire: Connection
        self._sending = trio.Lock()  # trio allows one sender of a stream at a time
        self._result: dict[str, Any] = {"won": None, "reason": "void"}
        """The result of the latest match."""
        self._last: list[str] = []
        """Why the latest match ended; [] before the end of the first one."""

    async def run(self) -> None:
        """Play until the server says not to come back."""
        while True:
            address = self._address()
            if address is None:
                self._person.show(text="No server runs this contest now. The page tries again.")
                await trio.sleep(self._backoff.next())  # longer each time, as a bot of the SDK waits
                continue
            try:
                goodbye = await self._one_connection(address)
            except _FAILURES as error:
                self._person.show(text=f"No connection to the contest ({error}). The page tries again.")
                await trio.sleep(self._backoff.next())  # as above
                continue
            if goodbye.retry_ms is None:
                text = " ".join([*self._last, goodbye.detail])
                self._person.show(result={**self._result, "text": text}, stalled=False)
                return
            self._person.show(text=f"{goodbye.detail} The page connects again.")
            await trio.sleep(goodbye.retry_ms / 1000)  # as protocol.md asks: earlier tries are refused

    # --- one connection ---

    async def _one_connection(self, address: ServerAddress) -> Goodbye:
        """Connect and play; return the server's goodbye.

        Raises:
            OSError, BrokenResourceError, RemoteProtocolError, _Ended: the connection ended without one.
        """
        self._wire, self._missed = Connection(Role.CLIENT), None
        self._stream = await trio.open_tcp_stream(*address)
        failure: Exception | None = None
        async with self._stream, trio.open_nursery() as nursery:
            try:
                goodbye = await self._log_in()
                if goodbye is None:
                    nursery.start_soon(self._watch_person)
                    goodbye = await self._converse(nursery)
            except _FAILURES as error:  # raised again outside of the nursery, which would put it into a group
                failure = error
            nursery.cancel_scope.cancel()
        self._asking = None
        if failure is not None:
            raise failure
        assert goodbye is not None  # noqa: S101 - there is no other way out
        return goodbye

    async def _log_in(self) -> Goodbye | None:
        """Log in; return the goodbye if the server refuses."""
        with trio.move_on_after(LOGIN_SECONDS):  # the server closes an open login after it, too
            hello = await self._receive()
            if isinstance(hello, Goodbye):
                return hello
            if not isinstance(hello, Hello) or VERSION not in hello.versions:
                raise _Ended("the server has another version")
            nonce, token = new_nonce(), self._team.token
            await self._send(
                Join(
                    VERSION,
                    self._team.id,
                    sign(token, hello.nonce),
                    client=CLIENT[:64],  # the limit of `client` in protocol.md
                    purpose="play",
                    nonce=nonce,
                )
            )
            welcome = await self._receive()
            if isinstance(welcome, Goodbye):
                return welcome
            proof = welcome.proof if isinstance(welcome, Welcome) else None
            if proof is None or not verify_server(token, hello.nonce, nonce, proof):
                raise _Ended("it is another contest's server")
            self._backoff.reset()
            self._person.show(text="You are in the contest. Waiting for the next match.")
            return None
        raise _Ended("the server does not answer")

    async def _converse(self, nursery: trio.Nursery) -> Goodbye:
        while True:
            match await self._receive():
                case Start() as start:
                    self._begin(start)
                case GetStep() as ask:
                    self._stop_asking()
                    self._asking = trio.CancelScope()
                    nursery.start_soon(self._ask, ask, self._asking)
                case Penalty() as penalty:
                    await self._penalty(penalty)
                case End() as end:
                    self._end(end)
                case Notice() as notice:
                    self._person.note(f"The host: {notice.text}")
                case Goodbye() as goodbye:
                    self._stop_asking()
                    return goodbye

    async def _receive(self) -> Message:
        while True:
            event = self._wire.next_event()
            if isinstance(event, Message):
                return event
            if event is not NEED_DATA:
                assert isinstance(event, Sentinel)  # noqa: S101 - a client gets no other event
                raise _Ended("the server closed the connection")
            self._wire.receive_data(bytes(await self._stream.receive_some(RECEIVE_BYTES)))

    async def _send(self, message: Message) -> None:
        async with self._sending:
            # The reader says why the connection ended. The match may have ended while this waited for the lock.
            with suppress(trio.BrokenResourceError, LocalProtocolError):
                await self._stream.send_all(self._wire.send(message))

    # --- a match ---

    def _begin(self, start: Start) -> None:
        known = self._match is not None and self._match.start.match == start.match
        self._match = _MatchAtBoard(start, GAMES[start.game])
        game, me = self._match.game, 0 if start.is_black else 1
        names = (self._team.name, start.opponent) if me == 0 else (start.opponent, self._team.name)
        self._person.show(
            game={
                "name": game.name,
                "title": f"Match {start.match}, {game_heading(game)}",
                "players": list(game.players),
                "teams": list(names),
                "me": me,
                "penalty": game.penalty,
            },
            result=None,
            text=None,
            stalled=False,
            clock=self._clock(None, None),
        )
        self._person.note(f"Match {start.match} against {start.opponent} {'goes on' if known else 'begins'}.")
        if not known and not start.resumed:
            state = state_after(game, start.options, start.opening or ())
            self._match.state = state
            self._person.show_board(game, state)
        elif not known and (live := self._live(start.match)) is not None:
            live.catch_up(BOARD_SECONDS)
            if live.current:
                self._match.state = live.state.state.copy()  # a copy: the live match goes on
                self._person.show_board(game, self._match.state, live.touched())

    async def _ask(self, ask: GetStep, scope: trio.CancelScope) -> None:
        """Ask the person, and send the answer; nothing if ``scope`` is cancelled: the question is closed."""
        match = self._match
        if match is None:
            return
        state = match.game.from_board(ask.board, ask.is_black)
        self._show_position(match, state, ask)
        allowed = (ask.time_left_ms + match.start.lag_ms) / 1000 + OVERDUE_SECONDS
        self._overdue_at = trio.current_time() + allowed
        with scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._mark_overdue, allowed)
                move = await self._person.ask(match.game, state)
                nursery.cancel_scope.cancel()
            if move is RESIGNED:
                await self._send(Resign(ask.id))
                return
            await self._send(Step(ask.id, move))
            after = state.copy()  # a copy: the position before the move is still shown
            after.play(move)
            match.state = after
            self._person.note(f"You: {match.game.notation(move)}", ask.move_number)
            self._person.show_board(match.game, after, touched_by(match.game, state, move))
            self._missed = None
            self._person.show(clock=self._clock(None, None), stalled=False)

    async def _mark_overdue(self, seconds: float) -> None:
        await trio.sleep(seconds)  # cancelled if a message about the question comes first
        self._person.show(stalled=True)

    def _show_position(self, match: _MatchAtBoard, state: State, ask: GetStep) -> None:
        """Show the position of a question, with the opponent's last move if it leads there."""
        touched: dict[str, Any] = {}
        if ask.last_move is not None:
            move = _notation(match.game, ask.last_move)
            self._person.note(f"{match.start.opponent}: {move}", ask.move_number - 1)
            if match.state is not None:
                touched = touched_by(match.game, match.state, ask.last_move)
        match.state = state
        self._person.show_board(match.game, state, touched)
        self._person.show(clock=self._clock(ask.time_left_ms / 1000, state.to_move), text=None)

    async def _penalty(self, penalty: Penalty) -> None:
        open_ = self._stop_asking()
        self._person.note(f"Penalty ({penalty.reason.replace('_', ' ')}): {penalty.detail}")
        if open_ and penalty.reason in ("missed_limit", "stalled"):
            self._person.show(clock=self._clock(None, None))
            if trio.current_time() < self._person.touched_at + PRESENT_SECONDS:
                await self._send(Raised(penalty.id, LATE))
                return
            self._missed = penalty.id
            self._person.show(stalled=True, text="You missed the limit. Are you here?")

    def _end(self, end: End) -> None:
        self._stop_asking()
        won = {"win": True, "loss": False}.get(end.result)
        reason = "void" if end.result == "void" else end.reason.replace("_", " ")
        self._result, self._last = {"won": won, "reason": reason}, [f"{end.detail}."]
        self._person.note(f"Match {end.match}: {end.result}, {end.detail}")
        text = f"{end.detail}. Waiting for the next match."
        clock = self._clock(None, None)
        self._person.show(result={**self._result, "text": text}, clock=clock, stalled=False)
        self._match = self._missed = None

    def _stop_asking(self) -> bool:
        """Close the question at the board; return True if the person had not answered it."""
        scope, self._asking = self._asking, None
        if scope is None:
            return False
        open_ = self._person.asked
        scope.cancel()
        return open_

    # --- the person ---

    async def _watch_person(self) -> None:
        """Send a sign of life when the person clicks after a missed limit."""
        while True:
            self._person.active = trio.Event()
            await self._person.active.wait()
            question = self._missed
            if question is None and self._person.asked and trio.current_time() > self._overdue_at:
                question = self._wire.question  # a stalled player's last question stays open
                self._stop_asking()
            if question is None or self._match is None:
                continue
            self._missed = None
            self._person.show(stalled=False, text=None)
            await self._send(Raised(question, LATE))

    def _clock(self, left: float | None, running: int | None) -> dict[str, Any]:
        """Return the clocks. The server does not tell the opponent's time."""
        start = self._match.start if self._match is not None else None
        limit = start.time_ms / 1000 if start is not None else 0.0
        both: list[float | None] = [None, None]
        if running is not None:
            both[running] = left
        return clock_json(limit, both, running)


def _notation(game: Game, move: object) -> str:
    try:
        return game.notation(move)
    except (IllegalMove, TypeError, ValueError, LookupError):  # of another version of the server
        return str(move)[:80]


async def play_for_team(person: Person, team: Team, address: FindAddress, live: FindLive) -> None:
    """Play in the contest until it is over, or the person has been away for PERSON_AWAY_SECONDS."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(leave_with_person, person, nursery.cancel_scope)
        await TeamGame(person, team, address, live).run()
        nursery.cancel_scope.cancel()
