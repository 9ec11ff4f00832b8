"""The client's texts about each game: its title, the form of a move, the first board. The rules are the engines'.

The contest may have a game that is not installed here. Its bots can still play it: nothing here is needed for that.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

from getstep_engines import GAMES, Game, IllegalMove, UnknownGameError

Board = list[list[int]]


def game_named(name: str) -> Game | None:
    """Return the game, or None if it is not installed."""
    try:
        return GAMES[name]
    except UnknownGameError:
        return None


def only_game(bot: str) -> str | None:
    """Return the only game that a sample bot plays, which its name has: ``"house_pseudo_tonga"``; None if all."""
    return bot.removeprefix("house_") if bot.startswith("house_") else None


def move_text(name: str) -> str:
    """Return the form of a move with an example, such as ``"(row, column), for example (0, 0)"``."""
    game = game_named(name)
    if game is None:
        return "as the contest's rules say"
    example = next(iter(game.start().legal_moves()))
    return f"{game.move_form.text}, for example {example}"


def start_board(name: str, options: dict[str, int]) -> Board | None:
    """Return the first player's first board, or None for a game or an option that is not installed here."""
    game = game_named(name)
    try:
        return game.start(**options).board() if game else None
    except ValueError:
        return None


def first_move_error(name: str, options: dict[str, int], move: Any) -> str:
    """Return why ``move`` is not a legal first move, or an empty string. In an unknown game every move is legal."""
    game = game_named(name)
    try:
        if game:
            game.start(**options).play(move)
    except IllegalMove as error:
        return str(error)
    return ""


def games_named(file: Path) -> list[str]:
    """Return the games that a bot's file names: those in its first line, or else anywhere."""
    text = ""
    with contextlib.suppress(OSError):
        text = file.read_text(encoding="utf-8", errors="replace")
    for part in (text.partition("\n")[0], text):
        words = set(re.findall(r"\w+", part))
        if found := [name for name in GAMES if name in words]:
            return found
    return []
