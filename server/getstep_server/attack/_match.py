"""A team at a line, two of them in a match, and who of them sends."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, TypeVar

import trio

from getstep_engines import GAMES

from ._case import NotAsExpected
from ._line import ClassicLine, Line, Message, ints, step

if TYPE_CHECKING:
    from ._stage import Stage

T = TypeVar("T")


class Player:
    """A team at a line, and what it knows of its match.

    Args:
        team: its id.
        line: where it has logged in.
        ended: takes the numbers of its matches that are over.
    """

    def __init__(self, team: int, line: Line, ended: set[int]) -> None:
        self.team = team
        self.line = line
        self.start: Message | None = None
        self.question: Message | None = None
        self.end: Message | None = None
        self.answered: int | None = None
        """The id of the latest question, once it is answered."""
        self._ended = ended
        self._asked = self._listened = trio.current_time()

    async def hear(self) -> Message | None:
        """The next message, taken note of; None at the end of the connection."""
        try:
            said = await self.line.hear()
        finally:
            self._listened = trio.current_time()
        match said:
            case None:
                self.start = self.question = None
            case {"type": "start"}:
                self.start, self.question = said, None
            case {"type": "get_step"}:
                self.question, self._asked, self.answered = said, trio.current_time(), None
            case {"type": "penalty"}:
                self.question = None
            case {"type": "end"}:
                self.start = self.question = None
                self.end = said
                if said["result"] != "void":
                    self._ended.add(said["match"])
        return said

    async def until(self, *kinds: str) -> Message:
        """The next message of one of these types.

        Raises:
            NotAsExpected: the connection ended before.
        """
        while (said := await self.hear()) is not None:
            if said["type"] in kinds:
                return said
        raise NotAsExpected(f"team {self.team} is cut off, expected {kinds[0]}; heard {self.line.summary()}")

    async def catch_up(self) -> None:
        """Hear what has already been said: a question may have waited since anybody last listened."""
        before, since = self.question, self._listened
        with trio.move_on_after(0.02):
            while await self.hear() is not None:
                pass
        if self.question is not before:
            self._asked = since

    @property
    def waited(self) -> float:
        """Seconds since the open question was asked, or more."""
        return trio.current_time() - self._asked

    def honest(self) -> bytes:
        """A good answer to the open question, as bytes."""
        question = there(self.question)
        game = "hop" if self.start is None else self.start["game"]
        move = next(GAMES[game].from_board(question["board"], question["is_black"]).legal_moves())
        if isinstance(self.line, ClassicLine):
            return ints(len(move), question["id"], *(number for square in move for number in square))
        return step(question["id"], move)

    async def answer(self) -> None:
        """Answer the open question like an honest bot."""
        data, self.answered = self.honest(), there(self.question)["id"]
        self.question = None
        await self.line.send(data)


@dataclass
class Actor:
    """Who sends. ``player`` and ``opponent`` are there if the case takes a team and a match."""

    stage: Stage
    line: Line
    player: Player | None = None
    opponent: Player | None = None

    async def send(self, data: bytes) -> None:
        """Send bytes."""
        await self.line.send(data)

    @property
    def me(self) -> Player:
        """Who sends, as the player of a team."""
        return there(self.player)

    @property
    def other(self) -> Player:
        """The sender's opponent."""
        return there(self.opponent)

    @property
    def question(self) -> int:
        """The id of the question that is open: the sender's, or its opponent's."""
        return int(there(self.me.question or self.other.question)["id"])

    def summary(self) -> str:
        """What it and its opponent heard last, in short."""
        heard = f"heard {self.line.summary()}"
        return heard if self.opponent is None else f"{heard}; the opponent heard {self.opponent.line.summary()}"

    @property
    def limit(self) -> float:
        """Seconds a turn may take in this match, the allowance for lag included."""
        start = there(self.me.start or self.other.start)
        return float(start["time_ms"] + start["lag_ms"]) / 1000


async def turn_of(
    players: list[Player], patience: float, wanted: Player | None = None, stale: float = inf
) -> tuple[Player, Player] | None:
    """Who of two players is on turn, and who is not; None if they have no match.

    Args:
        players: both.
        patience: how many seconds it may take until one of them is asked.
        wanted: who has to be on turn, if it matters; the other one answers until then.
        stale: a question that may have waited so many seconds is answered and passed over.
    """
    for player in players:
        await player.catch_up()
    deadline = trio.current_time() + patience
    while True:
        asked = next((player for player in players if player.question is not None), None)
        if asked is None:
            with trio.move_on_at(deadline) as waiting:
                await _hear_any(players)
            if waiting.cancelled_caught or any(player.line.closed for player in players):
                return None
        elif asked.waited > stale or (wanted is not None and asked is not wanted):
            await asked.answer()
        else:
            return asked, players[1 - players.index(asked)]


async def answered(actor: Actor) -> int:
    """The id of the sender's latest question, which it has answered; if it has not, both play a turn before."""
    if actor.me.answered is None:
        await actor.other.answer()
        await actor.me.until("get_step")
        await actor.me.answer()
        await actor.other.until("get_step")
    return there(actor.me.answered)


async def go_on(actor: Actor) -> None:
    """Play a turn each like honest bots; who has lost its connection comes back first.

    Raises:
        NotAsExpected: the match does not go on.
    """
    me, other = actor.me, actor.other
    if me.line.closed:
        me = await actor.stage.back(me)
    turns = 0
    while turns < 2:
        turn = await turn_of([me, other], actor.stage.times.grace)
        if turn is None:
            raise NotAsExpected(f"nobody is asked any more; {actor.summary()}")
        on, off = turn
        in_turn = off.question is None  # else the limit of the one who is to answer has just run out
        await on.answer()
        if in_turn:
            await off.until("get_step")
            turns += 1


async def _hear_any(players: list[Player]) -> None:
    """Hear one message from whoever says something first."""
    async with trio.open_nursery() as nursery:

        async def hear(player: Player) -> None:
            await player.hear()
            nursery.cancel_scope.cancel()

        for player in players:
            nursery.start_soon(hear, player)


def there(value: T | None) -> T:
    """What has to be there for this case."""
    if value is None:
        raise NotAsExpected("no player, opponent, match or open question where the case needs one")
    return value
