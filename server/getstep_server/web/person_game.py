"""A game of a person against a bot, outside any contest: nothing of it is recorded.

The rules of time and penalty are the contest's: `getstep.referee` decides. The process of the page measures the
time, so the contest's server does not notice such a game. `sample_game` and `friendly_game` ask the bot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import trio

from getstep import referee
from getstep.referee import FaultCode, MatchState
from getstep_engines import Game, Player, State, TimeControl
from getstep_server.config.event import game_heading
from getstep_server.errors import BotFailed
from getstep_server.limits import PERSON_AWAY_SECONDS

from .kept import KeptGame
from .person import RESIGNED, Person, clock_json, touched_by

LAG_SECONDS = 0.5
"""Added to each limit of a person: a phone's WLAN, and the time until the browser draws the board."""

PATIENT = TimeControl("move", 120.0)
"""A limit for people who want to think."""

BOT_SECONDS = 10.0
"""The longest time for a move of a bot against a person who has chosen `PATIENT`."""


FAULT_WORDS = {
    FaultCode.MISSED_LIMIT: "missed the limit",
    FaultCode.RAISED: "raised an exception",
    FaultCode.MALFORMED_ANSWER: "sent a malformed answer",
    FaultCode.ILLEGAL_MOVE: "made an illegal move",
}


class PersonGame(ABC):
    """One game. A subclass knows the bot.

    Args:
        person: at the board.
        game: its rules, with ``options``.
        me: the person's player.
        control: the time control.
        bot: the name of the person's opponent.
        title: of the page; by default the game's.
        kept: keeps the turns; the game goes on after those that it has.
    """

    def __init__(
        self,
        person: Person,
        game: Game,
        options: Mapping[str, int],
        me: Player,
        control: TimeControl,
        bot: str,
        title: str = "",
        kept: KeptGame | None = None,
    ) -> None:
        self._person = person
        self._me = me
        self._its: Player = 1 if me == 0 else 0
        self._bot_name = bot
        self._title = title or game_heading(game)
        # the lag of a person at this page is in `LAG_SECONDS`
        self._state = MatchState(game, options, control, 0.0)
        self._kept = kept or KeptGame({})

    @abstractmethod
    def _playing(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which the bot plays."""

    @abstractmethod
    async def _bots_turn(self) -> None:
        """Ask the bot, and decide its turn."""

    async def run(self) -> None:
        """Play to the end.

        Raises:
            BotFailed: the bot cannot go on.
        """
        state, person, game = self._state, self._person, self._state.game
        names = ("You", self._bot_name) if self._me == 0 else (self._bot_name, "You")
        person.show(
            game={
                "name": game.name,
                "title": self._title,
                "players": list(game.players),
                "teams": list(names),
                "me": self._me,
                "penalty": game.penalty,
                "counts": "This game counts nowhere.",
                "rematch": True,
            }
        )
        person.show_board(game, state.state)
        self._resume()
        async with self._playing():
            while state.outcome is None:
                if state.state.to_move == self._me:
                    await self._persons_turn()
                else:
                    await self._bots_turn()
        outcome = state.outcome
        won = None if outcome.winner is None else outcome.winner == self._me
        person.show(
            clock=self.stopped_clock(),
            result={"won": won, "text": outcome.detail, "reason": str(outcome.reason).replace("_", " ")},
        )

    def _resume(self) -> None:
        """Play the turns that were kept.

        Raises:
            WrongTurn: they do not fit the rules.
        """
        state = self._state
        for turn in self._kept.turns:
            number, before = state.move_number, state.state.copy()  # a copy: `apply` changes the state
            state.apply(turn)
            if "move" in turn:
                self._show_move(turn, number, before)
            elif "fault" in turn:
                self._tell_fault(turn)

    # --- the person's turn ---

    async def _persons_turn(self) -> None:
        state, person, me = self._state, self._person, self._me
        limit = state.clocks.limit(me)
        person.show(clock=self._clock(me))
        move: Any = None
        began = trio.current_time()
        if limit > 0:
            with trio.move_on_after(limit + LAG_SECONDS) as scope:  # the server's clock decides, not the browser's
                move = await person.ask(state.game, state.state)
        timing = {"ms": milliseconds(trio.current_time() - began)}
        if move is RESIGNED:
            referee.resigned(state, timing)
        elif limit <= 0 or scope.cancelled_caught:
            # A person who does not click may have left.
            turn = referee.missed(state, limit, timing, away=True)
            if "fault" in turn:
                self._show_fault(turn)
        else:
            self._play(move, timing)

    # --- the position ---

    def _play(self, move: Any, timing: referee.Timing) -> referee.Turn:
        """Decide a turn that was answered by a move; show it if it is legal."""
        state = self._state
        number, before = state.move_number, state.state.copy()  # a copy: `moved` applies the move
        turn = referee.moved(state, move, timing)
        if "move" in turn:
            self._keep(turn)
            self._show_move(turn, number, before)
        return turn

    def _show_fault(self, turn: referee.Turn) -> None:
        """Keep a turn with the game's penalty, and show it."""
        self._keep(turn)
        self._tell_fault(turn)

    def _keep(self, turn: referee.Turn) -> None:
        self._kept.add([turn, *({"player": player, "pass": True} for player in self._state.state.passed)])

    def _show_move(self, turn: Mapping[str, Any], number: int, before: State) -> None:
        game, position, move = self._state.game, self._state.state, turn["move"]
        self._person.note(f"{self._who(turn)}: {game.notation(move)}", number)
        self._person.show_board(game, position, touched_by(game, before, move))
        self._note_passes()

    def _tell_fault(self, turn: Mapping[str, Any]) -> None:
        game = self._state.game
        self._person.note(f"{self._who(turn)} {FAULT_WORDS[turn['fault']]}: {game.penalty}.")
        self._person.show_board(game, self._state.state)
        self._note_passes()

    def _who(self, turn: Mapping[str, Any]) -> str:
        return "You" if turn["player"] == self._me else self._bot_name

    def _note_passes(self) -> None:
        for player in self._state.state.passed:
            who = "You have" if player == self._me else f"{self._bot_name} has"
            self._person.note(f"{who} no legal move: the turn is skipped.")

    def stopped_clock(self) -> dict[str, Any]:
        """Return the clocks for the browser; none of them runs."""
        return self._clock(None)

    def _clock(self, running: Player | None) -> dict[str, Any]:
        clocks = self._state.clocks
        return clock_json(clocks.control.seconds, [clocks.limit(0), clocks.limit(1)], running)


def milliseconds(seconds: float) -> float:
    """Return milliseconds with three decimals, as a turn is charged."""
    return round(1000 * max(0.0, seconds), 3)


async def play_game(person: Person, game: PersonGame) -> None:
    """Play a game until it is over, its bot fails, or the person has been away for PERSON_AWAY_SECONDS."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(leave_with_person, person, nursery.cancel_scope)
        try:
            await game.run()
        except BotFailed as error:
            person.show(clock=game.stopped_clock(), result={"won": None, "text": str(error), "reason": "void"})
        nursery.cancel_scope.cancel()


async def leave_with_person(person: Person, scope: trio.CancelScope) -> None:
    """Cancel ``scope`` when no browser has followed the board for PERSON_AWAY_SECONDS."""
    while person.away_seconds < PERSON_AWAY_SECONDS:
        await trio.sleep(1)  # coarse is enough: people are given minutes
    person.show(result={"won": None, "text": "Nobody was at the board.", "reason": "void"})
    scope.cancel()
