"""The bots that ``getstep new`` writes: one template for all games, filled in from the `Game`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from importlib import resources
from string import Template

from getstep_engines import Game

from .games import move_text

_WIDTH = 110  # characters of a line: more than an editor shows beside its list of files is not read


def one_game(game: Game) -> str:
    """Return the source of a bot for ``game`` that makes legal moves, with comments."""
    starter = game.starter
    board = f"board[row][column] is {starter.board or 'as the rules say'}. Row 0 is at the top."
    return _fill(
        "one_game.txt",
        name=game.name,
        goal=textwrap.fill(starter.goal or game.summary, _WIDTH),
        move=move_text(game.name),
        board=textwrap.indent(textwrap.fill(board, _WIDTH - 4), "    "),
        first=game.players[0],
        hints="\n".join(f"    # {hint}" for hint in starter.hints) or "    #",
    )


def several_games(modules: Mapping[str, str]) -> str:
    """Return the source of a bot that calls one module for each game; ``modules`` are their names by game."""
    imports = "\n".join(f"import {module}" for module in sorted(modules.values()))
    bots = "\n".join(f'    "{game}": {module},' for game, module in modules.items())
    return _fill("every_game.txt", imports=imports, bots=bots)


def _fill(template: str, **values: str) -> str:
    text = resources.files(__package__).joinpath("_templates").joinpath(template).read_text(encoding="utf-8")
    return Template(text).substitute(values)
