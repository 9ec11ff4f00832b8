"""A game of a person against a sample bot, outside any contest: nothing of it is recorded.

The rules of time and penalty are the contest's: `getstep.referee` decides. The process of the page measures the
time, so the contest's server does not notice such a game. The bots think at the page's low priority, two at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from getstep.referee import EndCode, FaultCode, MatchState
from getstep_engines import Game, IllegalMove, Player, TimeControl
from getstep_server.bot_runner.sample_bots import SampleBot
from getstep_server.errors import BotFailed
from getstep_server.limits import PERSON_AWAY_SECONDS

from .person import RESIGNED, Person, clock_json, touched_by

LAG_SECONDS = 0.5
"""Added to each limit of a person: a phone's WLAN, and the time until the browser draws the board."""

PATIENT = TimeControl("move", 120.0)
"""A limit for people who want to think."""

BOT_SECONDS = 10.0
"""The longest time that a bot gets for a move. The sample bots stop after 1 s of their own accord."""


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """The choices of a person: the game, the bot's name and file, the person's player, the time control."""

    game: Game
    bot: str
    file: Path
    me: Player
    control: TimeControl


class SampleGame:
    """One game.

    Args:
        person: at the board.
        settings: what the person has chosen.
        thinking: the bots that think at the same time.
    """

    def __init__(self, person: Person, settings: SampleSettings, thinking: trio.CapacityLimiter) -> None:
        self._person = person
        self._settings = settings
        self._thinking = thinking
        self._state = MatchState(settings.game, {}, settings.control, 0.0)

    async def run(self) -> None:
        """Play to the end.

        Raises:
            BotFailed: the bot's process exited.
        """
        state, settings, person = self._state, self._settings, self._person
        names = ("You", settings.bot) if settings.me == 0 else (settings.bot, "You")
        person.show(
            game={
                "name": settings.game.name,
                "title": settings.game.title,
                "players": list(settings.game.players),
                "teams": list(names),
                "me": settings.me,
                "penalty": settings.game.penalty,
                "counts": "This game counts nowhere.",
            }
        )
        person.show_board(settings.game, state.state)
        async with SampleBot(settings.file) as bot:
            while state.outcome is None:
                if state.state.to_move == settings.me:
                    await self._persons_turn()
                else:
                    await self._bots_turn(bot)
        outcome = state.outcome
        won = None if outcome.winner is None else outcome.winner == settings.me
        person.show(
            clock=self._clock(None),
            result={"won": won, "text": outcome.detail, "reason": str(outcome.reason).replace("_", " ")},
        )

    # --- turns ---

    async def _persons_turn(self) -> None:
        state, person, me = self._state, self._person, self._settings.me
        limit = state.clocks.limit(me)
        person.show(clock=self._clock(me))
        move: Any = None
        began = trio.current_time()
        if limit > 0:
            with trio.move_on_after(limit + LAG_SECONDS) as scope:
                move = await person.ask(state.game, state.state)
        ms = self._spent(began)
        if move is RESIGNED:
            state.lose(me, EndCode.RESIGNED, f"{state.game.players[me]} resigned", ms)
        elif limit <= 0 or scope.cancelled_caught:
            self._miss(ms)
        else:
            self._apply(move, ms)

    def _miss(self, ms: float) -> None:
        state, person, me = self._state, self._person, self._settings.me
        if why := state.absence(me):
            state.lose(me, EndCode.ABSENT, why, ms)
            return
        person.note(f"You missed the limit: {state.game.penalty}.")
        self._fault(FaultCode.MISSED_LIMIT, ms, away=True)  # a person who does not click may have left

    async def _bots_turn(self, bot: SampleBot) -> None:
        state, settings = self._state, self._settings
        player: Player = 1 if settings.me == 0 else 0
        self._person.show(clock=self._clock(player))
        async with self._thinking:
            limit = state.clocks.limit(player)
            began = trio.current_time()
            move: Any = None
            if limit > 0:
                with trio.move_on_after(min(limit, BOT_SECONDS)) as scope:
                    move = await bot.move(state.state.board(), player == 0, self._turn(player, limit))
            ms = self._spent(began)
        if limit <= 0 or scope.cancelled_caught:
            await bot.stop()
            self._person.note(f"{settings.bot} missed the limit.")
            self._fault(FaultCode.MISSED_LIMIT, ms)
            return
        try:
            self._apply(move, ms)
        except IllegalMove as error:
            raise BotFailed(f"{settings.bot}: an illegal move ({error})") from error

    def _turn(self, player: Player, limit: float) -> dict[str, Any]:
        state = self._state
        return {
            "game": state.game.name,
            "match": 1,
            "move_number": state.move_number,
            "opponent": "a person",
            "last_move": state.last_moves[1 - player],
            "time_left_ms": round(1000 * limit),
        }

    # --- the position ---

    def _apply(self, move: Any, ms: float) -> None:
        state, person = self._state, self._person
        player, before = state.state.to_move, state.state.copy()
        state.move(move, ms)
        who = "You" if player == self._settings.me else self._settings.bot
        person.note(f"{who}: {state.game.notation(move)}")
        person.show_board(state.game, state.state, touched_by(state.game, before, move))
        self._note_passes()

    def _fault(self, code: FaultCode, ms: float, *, away: bool = False) -> None:
        self._state.fault(code, ms, away=away)
        self._person.show_board(self._state.game, self._state.state)
        self._note_passes()

    def _note_passes(self) -> None:
        for player in self._state.state.passed:
            who = "You have" if player == self._settings.me else f"{self._settings.bot} has"
            self._person.note(f"{who} no legal move: the turn is skipped.")

    def _spent(self, began: float) -> float:
        return round(1000 * (trio.current_time() - began), 3)

    def _clock(self, running: Player | None) -> dict[str, Any]:
        clocks = self._state.clocks
        return clock_json(clocks.control.seconds, [clocks.limit(0), clocks.limit(1)], running)


async def play_sample_game(person: Person, settings: SampleSettings, thinking: trio.CapacityLimiter) -> None:
    """Play a game against a sample bot, until it is over or the person has been away for PERSON_AWAY_SECONDS."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(leave_with_person, person, nursery.cancel_scope)
        try:
            await SampleGame(person, settings, thinking).run()
        except BotFailed as error:
            person.show(result={"won": None, "text": f"The game cannot go on: {error}", "reason": "void"})
        nursery.cancel_scope.cancel()


async def leave_with_person(person: Person, scope: trio.CancelScope) -> None:
    """Cancel ``scope`` when no browser has followed the board for PERSON_AWAY_SECONDS."""
    while person.away_seconds < PERSON_AWAY_SECONDS:
        await trio.sleep(1)
    person.show(result={"won": None, "text": "Nobody was at the board.", "reason": "void"})
    scope.cancel()
