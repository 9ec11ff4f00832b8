"""The levels in practice: which of the sample bots of known strength does a bot beat?"""

from __future__ import annotations

from pathlib import Path

from getstep.conventions import CONVENTIONS
from getstep.openings import BALANCED, BookError, find_book
from getstep.samples import LEVELS
from getstep.sprt import elo_text
from getstep_engines import Game

from .results import Results
from .series import Entrant

BEATEN_IF = "A level is beaten if the whole 95 % interval of the Elo difference is above 0."


def openings_for(game: Game, options: dict[str, int | str], bot: Entrant) -> str | None:
    """Return the openings in games against a level: the game's book, as when the levels were rated.

    None if the game has no book for these options, or the bot cannot begin after an opening.
    """
    fixed = {name: value for name, value in options.items() if isinstance(value, int)}
    if len(fixed) < len(options) or (bot.convention and not CONVENTIONS[bot.convention].from_any_board):
        return None
    try:
        find_book(BALANCED, game, fixed, "", Path())
    except BookError:
        return None
    return BALANCED


def beaten(results: Results) -> bool:
    """Return True if the bot is surely stronger, and its games are not copies of a few."""
    return results.elo is not None and results.elo[1] > 0 and results.copied is None


def level_text(level: int, results: Results) -> str:
    """Return in one sentence if a level is beaten."""
    said = "beaten" if beaten(results) else "not beaten yet"
    elo = elo_text(results.elo) if results.elo else "no pair of games is over"
    return f"Level {level} ({LEVELS[level - 1]}) is {said}: {elo}."


def reached_text(bot: str, level: int, results: Results) -> str:
    """Return in one sentence how far a bot has come that has played levels 1 to ``level``."""
    if beaten(results):
        return f"{bot} beats all {len(LEVELS)} levels."
    below = f"beats level {level - 1}" if level > 1 else "beats no level"
    return f"{bot} {below}, not yet level {level} ({LEVELS[level - 1]})."
