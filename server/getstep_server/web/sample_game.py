"""A game of a person against a sample bot. The bots think at the page's low priority, two at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from getstep import referee
from getstep_engines import Game, Player, TimeControl
from getstep_server.bot_runner.sample_bots import SampleBot
from getstep_server.errors import BotFailed

from .kept import KeptGame
from .person import Person
from .person_game import BOT_SECONDS, PersonGame, milliseconds


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """The choices of a person: the game, the bot's name and file, the person's player, the time control."""

    game: Game
    bot: str
    file: Path
    me: Player
    control: TimeControl


class SampleGame(PersonGame):
    """One game. The sample bots stop to think after 1 s of their own accord.

    Args:
        person: at the board.
        settings: what the person has chosen.
        thinking: the bots that think at the same time.
        kept: keeps the game.
    """

    def __init__(
        self,
        person: Person,
        settings: SampleSettings,
        thinking: trio.CapacityLimiter,
        kept: KeptGame | None = None,
    ) -> None:
        super().__init__(person, settings.game, {}, settings.me, settings.control, settings.bot, kept=kept)
        self._file = settings.file
        self._thinking = thinking
        self._bot: SampleBot

    @asynccontextmanager
    async def _playing(self) -> AsyncIterator[None]:
        async with SampleBot(self._file) as self._bot:
            yield

    async def _bots_turn(self) -> None:
        state, player, bot = self._state, self._its, self._bot
        self._person.show(clock=self._clock(player))
        async with self._thinking:
            limit = state.clocks.limit(player)
            began = trio.current_time()
            move: Any = None
            if limit > 0:
                with trio.move_on_after(min(limit, BOT_SECONDS)) as scope:  # no person waits for a whole budget
                    move = await bot.move(state.state.board(), player == 0, self._turn(player, limit))
            timing = {"ms": milliseconds(trio.current_time() - began)}
        if limit <= 0 or scope.cancelled_caught:
            await bot.stop()
            self._show_fault(referee.missed(state, limit, timing))
            return
        turn = self._play(move, timing)
        if "fault" in turn:
            raise BotFailed(f"{self._bot_name}: an illegal move ({turn['detail']})")

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
