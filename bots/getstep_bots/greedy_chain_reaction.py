"""Plays chain_reaction by looking one move ahead: capture orbs, and keep away from what is about to explode.

Try it: ``getstep play greedy_chain_reaction.py --team 7``
It needs the host's package too: see README.md, "Take part".
"""

from getstep_engines import GAMES

Board = list[list[int]]
Square = tuple[int, int]


def get_step(board: Board, is_black: bool) -> Square:
    position = GAMES["chain_reaction"].from_board(board, is_black)

    def value(square: Square) -> tuple[int, int]:
        later = position.copy()
        later.play(square)
        return safe_orbs(later.board(), 1 if is_black else -1), -capacity(*square)  # of equal moves: corners

    best: Square = max(position.legal_moves(), key=value)
    return best


def safe_orbs(board: Board, sign: int) -> int:
    """The orbs of mine, without those next to a square that the opponent can explode."""
    total = 0
    for row in range(8):
        for column in range(8):
            mine = board[row][column] * sign
            if mine > 0 and not any(-board[r][c] * sign == capacity(r, c) - 1 for r, c in around(row, column)):
                total += mine
    return total


def around(row: int, column: int) -> list[Square]:
    near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return [(r, c) for r, c in near if 0 <= r < 8 and 0 <= c < 8]


def capacity(row: int, column: int) -> int:
    return len(around(row, column))
