"""The boards that cases ask about, and the move that the test bot of docs/conformance.md answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Board = list[list[int]]

_SIZES = {"longest_path": 11, "chain_reaction": 8, "pseudo_tonga": 8, "hop": 8, "linkage": 7}
_ANY_SIZE = 5
"""The size of the board of a game that the suite has invented."""

NO_MOVE = [0, 0]
"""The answer to a board without a move."""


def board_for(game: str, options: Mapping[str, Any], question: int, *, is_black: bool) -> Board:
    """Return a board. Boards of different questions have different moves, so that no answer fits two of them."""
    own, other = (1, 2) if is_black else (2, 1)
    size = options.get("size", _SIZES.get(game, _ANY_SIZE))
    board = [[0] * size for _ in range(size)]
    if game == "hop":
        row, column = divmod(question * 5 % (size * size), size)
        board[row][column] = own
        board[(row + 3) % size][column] = other
        return board
    for square in range(question % (size * size // 2)):
        orbs = 1 + square % 3
        piece = (-orbs if is_black else orbs) if game == "chain_reaction" else other if square % 3 else own
        board[square // size][square % size] = piece
    if game == "linkage":
        board[size // 2][size // 2] = -1
    return board


def move_for(game: str, board: Board, *, is_black: bool) -> Any:
    """Return the test bot's move."""
    squares = [(row, column) for row, cells in enumerate(board) for column in range(len(cells))]
    for row, column in squares:
        cell = board[row][column]
        if game == "hop":
            near = [(row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)]
            to = next((square for square in near if _is_empty(board, square)), None)
            if cell == (1 if is_black else 2) and to is not None:
                return [[row, column], list(to)]
        elif game == "linkage":
            to = next((s for s in [(row, column + 1), (row + 1, column)] if _is_empty(board, s)), None)
            if cell == 0 and to is not None:
                return ["R", [row, column], list(to)]
        elif cell == 0 or (game == "chain_reaction" and (cell > 0) == is_black):
            return [row, column]
    return NO_MOVE


def told(asked: Mapping[str, Any]) -> list[list[int]]:
    """Return the answer to the command ``tell``: the time and the turn, then the squares of the last move."""
    return [[asked["time_left_ms"], asked["move_number"]], *_squares(asked["last_move"] or [])]


def told_opening(start: Mapping[str, Any]) -> list[list[int]]:
    """Return the answer to the command ``tell opening``: the number of its moves and 0, then their squares."""
    opening = start.get("opening") or []
    return [[len(opening), 0], *(square for move in opening for square in _squares(move))]


def _squares(move: list[Any]) -> list[list[int]]:
    return [move] if move and type(move[0]) is int else [part for part in move if isinstance(part, list)]


def is_plausible(game: str, board: Board, move: Any) -> bool:
    """Return True if another bot may have chosen this move: an empty square, where that is a legal move."""
    if game not in ("longest_path", "pseudo_tonga") or not isinstance(move, list) or len(move) != 2:
        return False
    return all(type(number) is int for number in move) and _is_empty(board, (move[0], move[1]))


def _is_empty(board: Board, square: tuple[int, int]) -> bool:
    row, column = square
    return 0 <= row < len(board) and 0 <= column < len(board[row]) and board[row][column] == 0
