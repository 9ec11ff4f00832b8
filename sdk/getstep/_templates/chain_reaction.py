"""A bot for chain_reaction. It already plays; now make it better.

You add an orb to an empty square or to one of yours. A square that has as many orbs as neighbours explodes:
each neighbour gets one orb, and all orbs there become yours. Who owns all orbs wins.
"""

import random

import getstep

SIZE = 8


def get_step(board: list[list[int]], is_black: bool) -> tuple[int, int]:
    """Return the move to make: the (row, column) of an empty square or of one of yours.

    board[row][column] is 0 for empty, 3 for three orbs of the first player, -3 for three of the second.
    is_black is True if you are the first player.
    """
    sign = 1 if is_black else -1
    moves = [(row, column) for row in range(SIZE) for column in range(SIZE) if board[row][column] * sign >= 0]

    # A square that is about to explode next to the enemy is a good one.
    # This is the place for your own ideas.
    best = max(value(board, move, sign) for move in moves)
    return random.choice([move for move in moves if value(board, move, sign) == best])


def value(board: list[list[int]], square: tuple[int, int], sign: int) -> int:
    """How good a move looks: the enemy's orbs that it takes at once, if it explodes."""
    row, column = square
    orbs = abs(board[row][column]) + 1
    around = neighbours(square)
    if orbs < len(around):
        return 0
    return sum(max(0, -sign * board[near_row][near_column]) for near_row, near_column in around)


def neighbours(square: tuple[int, int]) -> list[tuple[int, int]]:
    """The squares above, below, left and right: four inside, three at an edge, two in a corner."""
    row, column = square
    around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return [(r, c) for r, c in around if 0 <= r < SIZE and 0 <= c < SIZE]


# With a third parameter, def get_step(board, is_black, turn), you also get the match number, the opponent's
# name and last move, and the milliseconds left: turn.match, turn.opponent, turn.last_move, turn.time_left_ms.

if __name__ == "__main__":
    # Also possible: getstep.play(get_step, team=7, token="...", host="192.168.1.10")
    # What is missing is taken from GETSTEP_TEAM, GETSTEP_TOKEN and GETSTEP_HOST.
    getstep.play(get_step)
