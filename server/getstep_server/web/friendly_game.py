"""A friendly match of a person against a team's bot, which plays over the network as in the contest.

It counts nowhere, and nothing of it is recorded. The bot has a `net.seat`, which is not a seat of the contest.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio

from getstep import referee
from getstep.referee import STALLED_MISSES
from getstep.referee.answers import answered
from getstep.wire import End, Start, Step
from getstep_engines import Player, TimeControl
from getstep_server.config.event import ContestEvent, game_heading
from getstep_server.errors import BotFailed
from getstep_server.net.seat import ProtocolViolation, Received, Seat

from .kept import KeptGame
from .person import Person
from .person_game import BOT_SECONDS, PATIENT, PersonGame, milliseconds


@dataclass(frozen=True, slots=True)
class FriendlySettings:
    """The choices of a person: the event whose game is played, and the person's player.

    ``patient``: the person has `PATIENT`, and the bot BOT_SECONDS, for each move; otherwise both have the event's
    limit.
    """

    event: ContestEvent
    me: Player
    patient: bool


class BotMailbox:
    """The messages of the bot, for the game; see `net.seat.Mailbox`. It also says when the bot has left."""

    def __init__(self) -> None:
        self._received: deque[Received] = deque()
        self._news = trio.Event()
        self.left = trio.Event()

    def put(self, received: Received) -> None:
        """Queue an answer or a violation."""
        self._received.append(received)

    def wake(self) -> None:
        self._news.set()

    async def next(self) -> Received:
        """Wait for the next answer or violation."""
        while not self._received:
            await self._news.wait()
            self._news = trio.Event()
        return self._received.popleft()


class FriendlyGame(PersonGame):
    """One friendly match.

    Args:
        person: at the board.
        settings: what the person has chosen.
        seat: of the bot; it is connected, and this game holds it until its end.
        mailbox: where the answers of the bot arrive.
        number: of the match.
        lag: the network allowance in seconds, added to each limit of the bot.
        kept: keeps the game.
    """

    def __init__(
        self,
        person: Person,
        settings: FriendlySettings,
        seat: Seat,
        mailbox: BotMailbox,
        number: int,
        lag: float,
        kept: KeptGame,
    ) -> None:
        event = settings.event
        title = f"Friendly match, {game_heading(event.game)}"
        control = PATIENT if settings.patient else event.time_control
        if "options" not in kept.about:
            kept.note(options=event.game.draw(event.options, random.random), number=number)
        options = kept.about["options"]
        super().__init__(person, event.game, options, settings.me, control, seat.team.name, title, kept)
        self._patient = settings.patient
        self._options = options
        self._seat = seat
        self._mailbox = mailbox
        self._number: int = kept.about["number"]
        self._lag = lag

    async def run(self) -> None:
        """Play to the end; the game also ends when the bot leaves.

        Raises:
            BotFailed: the bot has left, or does not answer.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_bot, nursery.cancel_scope)
            failure: BotFailed | None = None
            try:
                await super().run()
            except BotFailed as error:  # raised again outside of the nursery, which would put it into a group
                failure = error
            nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if self._state.outcome is None:
            raise BotFailed(f"the bot of {self._bot_name} has left.")

    async def _watch_bot(self, scope: trio.CancelScope) -> None:
        await self._mailbox.left.wait()
        scope.cancel()

    @asynccontextmanager
    async def _playing(self) -> AsyncIterator[None]:
        control = TimeControl("move", BOT_SECONDS) if self._patient else self._state.clocks.control
        start = Start(
            match=self._number,
            game=self._state.game.name,
            options=self._options,
            is_black=self._its == 0,
            opponent="a person",
            time_kind=control.kind,
            time_ms=round(control.seconds * 1000),
            lag_ms=round(self._lag * 1000),
            resumed=bool(self._kept.turns),
            increment_ms=round(control.increment * 1000) or None,  # nil means "no increment" in protocol.md
            friendly=True,
        )
        self._seat.begin(self._mailbox, start)
        try:
            yield
        finally:
            self._seat.end(self._end())

    def _end(self) -> End:
        outcome = self._state.outcome
        if outcome is None:
            return End(self._number, "void", "called_off", "The friendly match was broken off", None)
        result = "draw" if outcome.winner is None else "win" if outcome.winner == self._its else "loss"
        scores = None if outcome.scores is None else list(outcome.scores)
        return End(self._number, result, str(outcome.reason), outcome.detail, scores)

    # --- the bot's turn ---

    async def _bots_turn(self) -> None:
        state, player, seat = self._state, self._its, self._seat
        self._person.show(clock=self._clock(player))
        limit = BOT_SECONDS if self._patient else state.clocks.limit(player)
        if limit <= 0:  # the budget is spent: the bot is not asked
            await trio.lowlevel.checkpoint()
            self._show_bots_fault(referee.missed(state, limit, {"ms": 0.0}))
            return
        asked = seat.ask(state.move_number, state.state.board(), state.last_moves[1 - player], limit)
        received: Received | None = None
        with trio.move_on_after(limit + self._lag):  # the allowance, as in a contest's match
            received = await self._mailbox.next()
        if received is None:
            seat.time_is_up()
            heard = seat.take_sign_of_life()
            self._show_bots_fault(referee.missed(state, limit, {"ms": 1000 * limit}, heard=heard))
            if state.is_stalled(player) and state.outcome is None:
                raise BotFailed(f"the bot of {self._bot_name} has not answered for {STALLED_MISSES} limits.")
        elif isinstance(received.what, ProtocolViolation):
            raise BotFailed(f"the bot of {self._bot_name} broke the protocol ({received.what.code}).")
        else:
            timing = {"ms": milliseconds(received.at - asked)}
            it = received.what
            turn = self._play(it.move, timing) if isinstance(it, Step) else answered(state, it, timing)
            if "fault" in turn:
                self._show_bots_fault(turn)

    def _show_bots_fault(self, turn: referee.Turn) -> None:
        """Show the fault to the person, and tell the bot. An exception's text is for the bot's author only."""
        self._show_fault(turn)
        self._seat.penalize(turn["fault"], referee.penalty_text(self._state, turn))
