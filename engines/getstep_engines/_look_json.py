"""The look of a game, and the steps of a move, as plain data for JSON: what the pages' JavaScript draws from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ._game import Game
from .look import PALETTE, SHAPES, THEMES, Step
from .value import Value


def look_json(game: Game) -> dict[str, Any]:
    """Return the look of a game as plain data for JSON: the contract with the JavaScript that draws boards.

    - ``version``: 1. A reader ignores keys that it does not know.
    - ``game``, ``title``: the name and the title of the game. ``players``: the two players' names.
    - ``colours``: the two players' colours, keys of ``palette``.
    - ``palette``: for each colour in use ``{"light": PAINT, "dark": PAINT}``; a PAINT is
      ``{"fill", "line", "ink"}``, each ``#rrggbb``: inside, outline, label.
    - ``themes``: ``{"light": THEME, "dark": THEME}``; a THEME is ``{"ground", "line", "text", "mark", "fault"}``:
      the squares, the lines between them, labels outside, frames of the last move, frames of an illegal square.
    - ``shapes``: for each shape in use its outline as SVG path data, in a square of 100×100 units.
    - ``pieces``: for each value of a board, as a string,
      ``{"name", "shape", "colour", "player", "label", "text"}``; ``colour`` is a key of ``palette``, ``player``
      is 0, 1 or null, ``label`` is drawn on the piece and may be empty, ``text`` is for plain text. A value that
      is missing is an empty square if it is 0; otherwise draw the shape ``tile`` in ``grey`` with the value's
      first two characters: both are always present.
    - ``regions``: a list of ``{"name", "player", "squares"}``; squares are ``[row, column]``.
    - ``score``: the score line, with ``{0}`` and ``{1}`` for the two numbers of `Game.measures`; "" for none.
    - ``notation``: true if the game has a notation of its own, beside the coordinates.
    """
    look = game.look
    pieces = {
        str(value): {**_fields(piece), "colour": look.colour(piece)} for value, piece in sorted(look.pieces.items())
    }
    used = dict.fromkeys([*look.colours, "grey", *(piece["colour"] for piece in pieces.values())])
    shapes = dict.fromkeys(["tile", *(piece["shape"] for piece in pieces.values())])
    return {
        "version": 1,
        "game": game.name,
        "title": game.title,
        "players": list(game.players),
        "colours": list(look.colours),
        "palette": {
            name: {"light": _fields(PALETTE[name].light), "dark": _fields(PALETTE[name].dark)} for name in used
        },
        "themes": {name: _fields(theme) for name, theme in THEMES.items()},
        "shapes": {name: SHAPES[name] for name in shapes},
        "pieces": pieces,
        "regions": [
            {"name": region.name, "player": region.player, "squares": [list(at) for at in region.squares]}
            for region in look.regions
        ],
        "score": look.score,
        "notation": look.notation is not None,
    }


def trace_json(before: Sequence[Sequence[int]], steps: Iterable[Step]) -> list[dict[str, Any]]:
    """Return steps as plain data for JSON, each as its difference to the board before it.

    ``before`` is the absolute board before the first step. A square is the number ``row * columns + column``.

    - ``set``: a list of ``[square, value]``: the new values of the board; left out if nothing changed.
    - ``source``, ``path``, ``to``, ``captured``, ``exploded``, ``blocked``: lists of squares, as in `Touched`;
      empty ones are left out.
    """
    columns = len(before[0]) if before else 0
    found = []
    for step in steps:
        changes = [
            [r * columns + c, value]
            for r, row in enumerate(step.board)
            for c, value in enumerate(row)
            if before[r][c] != value
        ]
        squares = {name: [r * columns + c for r, c in part] for name, part in _fields(step.touched).items()}
        found.append({name: part for name, part in {"set": changes, **squares}.items() if part})
        before = step.board
    return found


def _fields(data: Value) -> dict[str, Any]:
    return {name: getattr(data, name) for name in data.__match_args__}
