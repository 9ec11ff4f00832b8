"""A trial for ``getstep check``: whole games against random moves, within a bounded time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from getstep.bot_process.serve import Message
from getstep.programs.wire import WireBot
from getstep_engines import Game, TimeControl

from .match import PlayedMatch, play_match
from .players import Answer, Player, ProcessPlayer
from .results import Results
from .series import Plan, entrant
from .wire_players import WirePlayer

TRIAL_GAMES = 2  # one with each colour


class _TimeIsUp(Exception):  # noqa: N818 - not an error
    """The trial has taken all its time."""


class _TrialPlayer(Player):
    """A bot whose trial ends at a time (``time.perf_counter()``), in the middle of a call if need be."""

    until = 0.0

    def ask(self, question: Message, _seconds: float) -> Answer | None:
        left = self.until - time.perf_counter()
        answer = super().ask(question, max(0.0, min(_seconds, left)))
        if time.perf_counter() >= self.until:
            raise _TimeIsUp
        return answer


class _TrialProcess(_TrialPlayer, ProcessPlayer):
    """A bot file in such a trial."""


class _TrialWire(_TrialPlayer, WirePlayer):
    """A program on the wire in such a trial."""


def try_bot(
    bot: Path | WireBot,
    game: Game,
    options: Mapping[str, int],
    control: TimeControl,
    seconds: float,
    convention: str | None = None,
) -> Results:
    """Play a game with each colour against the sample bot random, for at most some seconds.

    With a convention, a file is a program that plays by it. The results are ``stopped`` if the time was too
    short. A game that is not over counts for nobody.

    Raises:
        BotError: the file cannot be loaded.
    """
    plan = Plan(game, TRIAL_GAMES, options=dict(options))
    plan.control = control
    player: _TrialPlayer
    if isinstance(bot, WireBot):
        player = _TrialWire(bot.command, bot.name, bot.folder)
    else:
        player = _TrialProcess(bot, bot.name, convention=convention or "")
    player.until = time.perf_counter() + seconds  # from here: a program may take long to start
    matches: list[PlayedMatch] = []
    stopped = False
    try:
        other = entrant("random").start("")
        try:
            for number in range(1, TRIAL_GAMES + 1):
                match = plan.match(number, (player.name, other.name))
                matches.append(match)
                players = (player, other) if match.bot == 0 else (other, player)
                play_match(match, players, plan.first_number + number, lambda _match, _turn: None)
                if not player.alive or player.busy:
                    break
        except _TimeIsUp:
            stopped = True
        finally:
            other.close()
    finally:
        player.close()
    printed = {player.name: str(player.output)} if player.output.lines else {}
    return Results(player.name, other.name, game.name, tuple(matches), stopped, printed)
