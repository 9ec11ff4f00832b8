"""The client's texts about each game: its title, the form of a move, the first board. The rules are the engines'.

The contest may have a game that is not installed here. Its bots can still play it: nothing here is needed for that.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

from getstep_engines import GAMES, OPENSPIEL, Game, IllegalMove, State, UnknownGameError
from getstep_engines.look import coordinates

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
        others = sorted(word for word in words if word.startswith(OPENSPIEL) and word in GAMES)
        if found := [name for name in [*GAMES, *others] if name in words]:
            return found
    return []


def named_move(game: Game, state: State | None, text: str) -> Any:
    """Return the move whose text this is, in the game's notation or as coordinates; None if it is none.

    A move that is given by coordinates may be illegal. Capitals and small letters are the same.

    Args:
        game: the game.
        state: the position, which a game with a notation of its own needs.
        text: exactly the move's text, such as ``"3,4"``, ``"2,2-2,4"`` or ``"RA1A2"``.
    """
    if game.move_form.parts == ("text",):
        return text  # small letters and capitals may be different moves, as in chess
    wanted = text.lower()
    if game.look.notation is not None and state is not None:
        for move in state.legal_moves():
            if game.notation(move).lower() == wanted:
                return move
    move = read_move(game, text)
    return move if move is not None and coordinates(move).lower() == wanted else None


def read_move(game: Game, typed: str) -> Any:
    """Return the move that a text names, or None. Brackets, commas, spaces and dashes all separate.

    ``3 4`` and ``(3, 4)`` are a square, ``2,2-2,4`` a path, ``R 0,0 0,1`` a domino. A move that is any text is the
    text itself.
    """
    if game.move_form.parts == ("text",):
        return typed
    tokens = re.findall(r"\d+|[^\W\d]+", typed)
    items = []
    for part in game.move_form.parts:
        item, tokens = _read_part(part, tokens)
        if item is None:
            return None
        items.append(item)
    if tokens or not items:
        return None
    return items[0] if len(items) == 1 else items


def _read_part(part: str | tuple[str, ...], tokens: list[str]) -> tuple[Any, list[str]]:
    """Return one part of a move and the tokens after it; None if the tokens do not begin with such a part."""
    if isinstance(part, tuple):
        words = {word.lower(): word for word in part}
        return (words.get(tokens[0].lower()), tokens[1:]) if tokens else (None, tokens)
    count = len(tokens) if part == "path" else 2
    numbers, rest = tokens[:count], tokens[count:]
    if len(numbers) < (4 if part == "path" else 2) or len(numbers) % 2 or not all(map(_is_number, numbers)):
        return None, tokens
    squares = [[int(row), int(column)] for row, column in zip(numbers[::2], numbers[1::2], strict=True)]
    return (squares if part == "path" else squares[0]), rest


def _is_number(token: str) -> bool:
    return token.isascii() and token.isdigit() and len(token) <= 3  # int() refuses thousands of digits
