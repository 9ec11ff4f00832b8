"""Players of a match whose connections are raw, and the sender of a case."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol, TypeVar

import trio

from getstep_engines import GAMES

from ._connection import ClassicConnection, Message, RawConnection, ints, step
from ._errors import NotAsExpected
from ._times import Times

T = TypeVar("T")

PENDING_SECONDS = 0.02
"""Seconds to wait for messages that the server has already sent; on the loopback interface they take under 1 ms."""


@dataclass(frozen=True)
class Credential:
    """A team that the cases may play for."""

    team: int
    token: str


class Player:
    """A team that has logged in, and the state of its match as it sees it.

    Attributes:
        start: the start of the current match; None between two matches.
        question: the open ``get_step``; None if this player is not asked, or has answered.
        end: the end of the latest match.
        answered: the id of the latest question, once it is answered.

    Args:
        team: its id.
        connection: that it has logged in on.
        ended: takes the numbers of its matches that are over.
    """

    def __init__(self, team: int, connection: RawConnection, ended: set[int]) -> None:
        self.team = team
        self.connection = connection
        self.start: Message | None = None
        self.question: Message | None = None
        self.end: Message | None = None
        self.answered: int | None = None
        self._ended = ended
        self._asked_at = self._received_at = trio.current_time()

    async def receive(self) -> Message | None:
        """Return the next message and update the attributes; None at the end of the connection."""
        try:
            received = await self.connection.receive()
        finally:
            self._received_at = trio.current_time()
        match received:
            case None:
                self.start = self.question = None
            case {"type": "start"}:
                self.start, self.question = received, None
            case {"type": "get_step"}:
                self.question, self._asked_at, self.answered = received, trio.current_time(), None
            case {"type": "penalty"}:
                self.question = None
            case {"type": "end"}:
                self.start = self.question = None
                self.end = received
                if received["result"] != "void":
                    self._ended.add(received["match"])
        return received

    async def wait_for(self, *kinds: str) -> Message:
        """Return the next message of one of these types; other messages are skipped.

        Raises:
            NotAsExpected: the connection ended before that.
        """
        while (received := await self.receive()) is not None:
            if received["type"] in kinds:
                return received
        summary = self.connection.summary()
        raise NotAsExpected(f"team {self.team} is disconnected, expected {kinds[0]}; received {summary}")

    async def read_pending(self) -> None:
        """Read the messages that have arrived; a question among them counts as asked since the previous read."""
        question, since = self.question, self._received_at
        with trio.move_on_after(PENDING_SECONDS):
            while await self.receive() is not None:
                pass
        if self.question is not question:
            self._asked_at = since

    @property
    def waited(self) -> float:
        """The most seconds for which the open question may have been open."""
        return trio.current_time() - self._asked_at

    def legal_answer(self, **fields: Any) -> bytes:
        """Return a legal answer to the open question, as bytes, on the main port with further fields."""
        question = required(self.question)
        game = "hop" if self.start is None else self.start["game"]
        move = next(GAMES[game].from_board(question["board"], question["is_black"]).legal_moves())
        if isinstance(self.connection, ClassicConnection):
            return ints(len(move), question["id"], *(number for square in move for number in square))
        return step(question["id"], move, **fields)

    async def answer(self, **fields: Any) -> None:
        """Answer the open question with a legal move, and with further fields."""
        data, self.answered = self.legal_answer(**fields), required(self.question)["id"]
        self.question = None
        await self.connection.send(data)


class Server(Protocol):
    """The server as a case may use it: further connections, logins and time limits."""

    teams: dict[int, Credential]
    times: Times

    def new_source(self) -> str:
        """Return a loopback address that no other case connects from."""

    async def connect(self, source: str | None = None, *, narrow: bool = False) -> RawConnection:
        """Return a new connection to the main port."""

    async def connect_classic(self, source: str | None = None) -> ClassicConnection:
        """Return a new connection to the classic port."""

    async def login(self, team: int, connection: RawConnection | None = None, **fields: object) -> Player:
        """Log in and return the player."""

    def promptly(self, what: str) -> AbstractContextManager[None]:
        """Return a context that may take at most `Times.prompt`."""

    def player(self, team: int, connection: RawConnection) -> Player:
        """Return a player on a connection that has logged in."""

    def adopt(self, player: Player) -> None:
        """Use the player's connection as its team's from now on."""

    async def reconnect(self, player: Player) -> Player:
        """Log in again and return the player in the same match."""

    def rest(self, team: int) -> None:
        """Avoid logins of the team for a while."""


@dataclass
class Sender:
    """The connection that a case sends on. `player` and `opponent` are set if the case needs a team and a match."""

    server: Server
    connection: RawConnection
    player: Player | None = None
    opponent: Player | None = None

    async def send(self, data: bytes) -> None:
        """Send bytes."""
        await self.connection.send(data)

    @property
    def me(self) -> Player:
        """The sender as a player."""
        return required(self.player)

    @property
    def other(self) -> Player:
        """The sender's opponent."""
        return required(self.opponent)

    @property
    def question(self) -> int:
        """The id of the open question, which is the sender's or its opponent's."""
        return int(required(self.me.question or self.other.question)["id"])

    def summary(self) -> str:
        """Return what the sender and its opponent received last, for an error message."""
        received = f"received {self.connection.summary()}"
        if self.opponent is None:
            return received
        return f"{received}; the opponent received {self.opponent.connection.summary()}"

    @property
    def limit(self) -> float:
        """Seconds that a turn may take in this match, with the allowance for lag."""
        start = required(self.me.start or self.other.start)
        return float(start["time_ms"] + start["lag_ms"]) / 1000


async def turn_of(
    players: list[Player], patience: float, wanted: Player | None = None, stale: float = inf
) -> tuple[Player, Player] | None:
    """Return the player on turn and its opponent; None if the two have no match.

    Args:
        players: both.
        patience: seconds to wait until one of them is asked.
        wanted: the player that has to be on turn; questions to the other one are answered until then.
        stale: answer a question that may have been open for this many seconds, and wait for the next one.
    """
    for player in players:
        await player.read_pending()
    deadline = trio.current_time() + patience
    while True:
        asked = next((player for player in players if player.question is not None), None)
        if asked is None:
            with trio.move_on_at(deadline) as waiting:
                await _receive_any(players)
            if waiting.cancelled_caught or any(player.connection.closed for player in players):
                return None
        elif asked.waited > stale or (wanted is not None and asked is not wanted):
            await asked.answer()
        else:
            return asked, players[1 - players.index(asked)]


async def answered(sender: Sender) -> int:
    """Return the id of the sender's latest question, which it has answered; play a turn each if it has not."""
    if sender.me.answered is None:
        await sender.other.answer()
        await sender.me.wait_for("get_step")
        await sender.me.answer()
        await sender.other.wait_for("get_step")
    return required(sender.me.answered)


async def play_on(sender: Sender) -> None:
    """Play a legal turn each; a sender that has lost its connection reconnects first.

    Raises:
        NotAsExpected: the match does not continue.
    """
    me, other = sender.me, sender.other
    if me.connection.closed:
        me = await sender.server.reconnect(me)
    turns = 0
    while turns < 2:
        turn = await turn_of([me, other], sender.server.times.grace)
        if turn is None:
            raise NotAsExpected(f"neither player is asked any more; {sender.summary()}")
        on, off = turn
        in_turn = off.question is None  # else the time limit of the player on turn has just expired
        await on.answer()
        if in_turn:
            await off.wait_for("get_step")
            turns += 1


async def _receive_any(players: list[Player]) -> None:
    """Receive one message, from the player that gets one first."""
    async with trio.open_nursery() as nursery:

        async def receive(player: Player) -> None:
            await player.receive()
            nursery.cancel_scope.cancel()

        for player in players:
            nursery.start_soon(receive, player)


def required(value: T | None) -> T:
    """Return ``value``.

    Raises:
        NotAsExpected: it is None, though the case needs it.
    """
    if value is None:
        raise NotAsExpected("no player, opponent, match or open question where the case needs one")
    return value
