"""The test bot of docs/conformance.md, for the Python SDK.

getstep-server conformance -- python conformance_bot.py
"""

from __future__ import annotations

import math
import time
from typing import Any

import getstep

Board = list[list[int]]


def get_step(board: Board, is_black: bool, turn: getstep.Turn) -> Any:
    """Follow the command in the opponent's name, then return the first move in reading order."""
    word, _, number = turn.opponent.partition(" ")
    if word == "note":
        note(number, turn)
    elif word == "sleep" and number.isdecimal():
        time.sleep(int(number) / 1000)
    elif turn.opponent == "raise":
        raise RuntimeError("conformance")
    elif turn.opponent == "raise long":
        raise RuntimeError("🎲" * 2000)
    elif turn.opponent == "recurse":
        return get_step(board, is_black, turn)
    elif turn.opponent == "return nothing":
        return None
    elif turn.opponent == "return long":
        return [(0, 0)] * 1000
    elif turn.opponent == "tell":
        return [(turn.time_left_ms, turn.move_number), *squares_of(turn.last_move)]
    elif turn.opponent == "tell opening":
        return [(len(turn.opening), 0), *(square for move in turn.opening for square in squares_of(move))]
    return first_move(turn.game, board, is_black)


def note(what: str, turn: getstep.Turn) -> None:
    """Note something about this move, as ``what`` asks."""
    if what == "":
        getstep.say("conformance")
        getstep.say("🎲")
        getstep.estimate(0.5)
        getstep.estimate(0.25)
        getstep.draw((0, 0), 7, "red")
        getstep.draw([(0, 0), (1, 1)], "to", "blue", "arrow")
        getstep.tag("opening")
    elif what == "and raise":
        getstep.say("before the error")
        raise RuntimeError("conformance")
    elif what == "badly":
        getstep.say("x" * 1_000_000)
        getstep.say("the right one")
        for estimate in (math.nan, math.inf, -1.5):
            getstep.estimate(estimate)
        for square in ((-1, 0), (0, 200)):
            getstep.draw(square)
        getstep.draw([])
        getstep.draw((0, 0), shape="circle")
        for word in ("", "two words", "\x1b[2J"):
            getstep.tag(word)
    elif what == "a lot":
        for number in range(10_000):
            getstep.say("x" * 100)
            getstep.estimate(number / 10_000)
            getstep.draw((0, 0), number)
            getstep.tag(f"tag{number}")
    elif what.isdecimal():
        getstep.say(f"move {turn.move_number}")
        time.sleep(int(what) / 1000)


def squares_of(move: Any) -> list[Any]:
    """Return the squares of a move in any game."""
    if not move:
        return []
    return [move] if isinstance(move[0], int) else [part for part in move if not isinstance(part, str)]


def first_move(game: str, board: Board, is_black: bool) -> Any:
    """Return the first move in reading order."""
    own = 1 if is_black else 2
    for row, cells in enumerate(board):
        for column, cell in enumerate(cells):
            if game == "hop":
                near = [(row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)]
                empty = [square for square in near if is_empty(board, *square)]
                if cell == own and empty:
                    return [(row, column), empty[0]]
            elif game == "linkage":
                empty = [s for s in [(row, column + 1), (row + 1, column)] if is_empty(board, *s)]
                if cell == 0 and empty:
                    return ("R", (row, column), empty[0])
            elif cell == 0 or (game == "chain_reaction" and (cell > 0) == is_black):
                return (row, column)
    return (0, 0)


def is_empty(board: Board, row: int, column: int) -> bool:
    """Return True if there is such a square, and it is empty."""
    return 0 <= row < len(board) and 0 <= column < len(board[row]) and board[row][column] == 0


if __name__ == "__main__":
    getstep.play(get_step)
