"""The bots in Python that ``getstep new`` writes: templates for all games, filled in from the `Game`."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import resources
from string import Template

from getstep_engines import Game

from .games import move_text

_WIDTH = 110  # characters of a line: more than an editor shows beside its list of files is not read


def one_game(game: Game) -> str:
    """Return the source of a bot for ``game`` that makes legal moves, with comments."""
    return _fill("one_game.txt", goal=textwrap.fill(_goal(game), _WIDTH), **_about(game))


def several_games(games: Sequence[Game]) -> str:
    """Return the source of a bot with a function for each of ``games``; it makes legal moves, and has comments."""
    goals = [textwrap.fill(_goal(game), _WIDTH, initial_indent="# ", subsequent_indent="# ") for game in games]
    functions = [
        _fill("game_of_several.txt", goal=goal, **_about(game)) for game, goal in zip(games, goals, strict=True)
    ]
    return _fill(
        "several_games.txt",
        listed=", ".join(game.name for game in games),
        first_game=games[0].name,
        functions="\n".join(functions).strip("\n") + "\n",
        bots="\n".join(f'    "{game.name}": play_{game.name},' for game in games),
    )


def _goal(game: Game) -> str:
    return game.starter.goal or game.summary


def _about(game: Game) -> dict[str, str]:
    starter = game.starter
    board = f"board[row][column] is {starter.board or 'as the rules say'}. Row 0 is at the top."
    return {
        "name": game.name,
        "move": move_text(game.name),
        "board": textwrap.indent(textwrap.fill(board, _WIDTH - 4), "    "),
        "first": game.players[0],
        "hints": "\n".join(f"    # {hint}" for hint in starter.hints) or "    #",
    }


def _fill(template: str, **values: str) -> str:
    text = resources.files(__package__).joinpath("_templates").joinpath(template).read_text(encoding="utf-8")
    return Template(text).substitute(values)
