"""What both reading and making a book know of it."""

from __future__ import annotations

from typing import Any

Opening = tuple[Any, ...]
"""The moves of an opening from the start of the game, with lists in place of tuples, as JSON has them."""


class BookError(ValueError):
    """A book cannot be used. The message says what was expected, for people."""


def plain_move(move: Any) -> Any:
    """Return a move with lists in place of tuples."""
    return [plain_move(item) for item in move] if isinstance(move, (list, tuple)) else move
