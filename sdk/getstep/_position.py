"""The board of a question as text, for the messages about a fault."""

from __future__ import annotations

from textwrap import indent
from typing import Any

from ._games import Board

_INDENT = "    "


def position_text(game: str, board: Board, is_black: bool, move: Any) -> str:
    """Return the board that ``get_step`` got, with the squares that its answer names marked, and a legend.

    ``move`` may be any object. The text is empty if the board cannot be drawn, as one from a newer server may be.
    """
    # Here, not on top: a bot that makes no fault needs no drawing, and the import takes 10 ms.
    from getstep_engines import GAMES
    from getstep_engines.look import DEFAULT_LOOK

    from .draw import Picture, draw_text, legend

    known = GAMES.get(game)
    look = known.look if known else DEFAULT_LOOK
    try:
        seen = known.view(known.from_board(board, is_black)) if known and look.view else board
        picture = Picture(look, seen).with_fault(move)
    except ValueError:
        return ""
    marked = "! ! the squares that you returned, " if picture.fault else ""
    return indent(f"{draw_text(picture)}\n{marked}{legend(picture)}", _INDENT)
