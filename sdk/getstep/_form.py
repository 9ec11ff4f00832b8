"""The form of a first move, as far as no rules are needed: squares on the board, and what is on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._games import Board
from ._text import shown

_COLOURS = ("R", "B", "G", "Y")


class _Wrong(Exception):  # noqa: N818 - never leaves this module
    """What is wrong with the move."""


def misfit(game: str, board: Board, move: Any) -> str:
    """Why ``move`` cannot be the first player's on ``board``, half a sentence; empty if the form is right.

    ``move`` is as the wire has it, with lists in place of tuples. A move that passes may still be illegal; of a
    game that this version does not know every move passes.
    """
    try:
        _FORMS.get(game, _anything)(board, move)
    except _Wrong as wrong:
        return str(wrong)
    return ""


def _anything(board: Board, move: Any) -> None:
    """A game newer than this getstep."""


def _one_square(board: Board, move: Any) -> None:
    _empty(board, _square(board, move))


def _path(board: Board, move: Any) -> None:
    if not isinstance(move, list) or len(move) < 2:
        raise _Wrong(f"{shown(move)} is no list of at least two squares")
    (row, column), second, *_ = [_square(board, square) for square in move]
    if board[row][column] != 1:
        raise _Wrong(f"there is no piece of the first player on ({row}, {column})")
    _empty(board, second)


def _domino(board: Board, move: Any) -> None:
    if not isinstance(move, list) or len(move) != 3:
        raise _Wrong(f"{shown(move)} is not a colour and two squares")
    if move[0] not in _COLOURS:
        raise _Wrong(f"{shown(move[0])} is no colour, expected one of {' '.join(_COLOURS)}")
    one, other = (_empty(board, _square(board, square)) for square in move[1:])
    if abs(one[0] - other[0]) + abs(one[1] - other[1]) != 1:
        raise _Wrong(f"the squares {one} and {other} are not side by side")


def _square(board: Board, value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or [type(number) for number in value] != [int, int]:
        raise _Wrong(f"{shown(value)} is no square, expected two ints: (row, column)")
    row, column = value
    if row not in range(len(board)) or column not in range(len(board[row])):
        raise _Wrong(f"({row}, {column}) is not on the board of {len(board)} rows and {len(board[0])} columns")
    return row, column


def _empty(board: Board, square: tuple[int, int]) -> tuple[int, int]:
    row, column = square
    if board[row][column] != 0:
        raise _Wrong(f"{square} is not empty")
    return square


_FORMS: dict[str, Callable[[Board, Any], None]] = {
    "longest_path": _one_square,
    "chain_reaction": _one_square,
    "pseudo_tonga": _one_square,
    "hop": _path,
    "linkage": _domino,
}
