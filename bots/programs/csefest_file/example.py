"""An example for the CSE Fest contest (chain_reaction, ``--as csefest-file``): it looks one move ahead.

Its argument is its colour, R or G. It reads ``shared_file.txt`` again and again. If the first line has its colour,
the other 8 lines are the board, and it writes its move there: ``0``, and then a line with the row and the column.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

FILE = Path("shared_file.txt")
SIZE = 8
Board = list[list[int]]
"""Positive numbers are my orbs, negative ones the opponent's."""


def main() -> None:
    colour = sys.argv[1]
    while True:  # the host ends the program
        lines = read_lines()
        if len(lines) == 1 + SIZE and lines[0] == colour:
            x, y = best_move([[orbs(cell, colour) for cell in line.split()] for line in lines[1:]])
            FILE.write_text(f"0\n{x} {y}\n")
        time.sleep(0.005)


def read_lines() -> list[str]:
    try:
        return FILE.read_text().splitlines()
    except OSError:
        return []  # the host is writing it: Windows then refuses to read it


def orbs(cell: str, colour: str) -> int:
    """Return the number of a cell such as ``R2`` or ``No``."""
    if cell == "No":
        return 0
    return int(cell[1]) if cell[0] == colour else -int(cell[1])


def best_move(board: Board) -> tuple[int, int]:
    moves = [(x, y) for x in range(SIZE) for y in range(SIZE) if board[x][y] >= 0]
    random.shuffle(moves)  # of equal ones, any
    return max(moves, key=lambda move: value_after(board, *move))


def value_after(board: Board, x: int, y: int) -> int:
    """Return the sum of the orbs after a move, mine less the opponent's."""
    board = [row[:] for row in board]
    todo = [(x, y)]
    while todo:
        x, y = todo.pop()
        board[x][y] = abs(board[x][y]) + 1
        around = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
        around = [(i, j) for i, j in around if 0 <= i < SIZE and 0 <= j < SIZE]
        if board[x][y] == len(around):  # the square explodes
            board[x][y] = 0
            todo += around
            if all(cell >= 0 for row in board for cell in row):
                return 1000  # the opponent has nothing left
    return sum(map(sum, board))


if __name__ == "__main__":
    main()
