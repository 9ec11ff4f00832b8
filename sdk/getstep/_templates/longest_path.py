"""A bot for longest_path. It already plays; now make it better.

Both players fill the 11 by 11 board in turn. The length of a group of yours is the number of pieces on the
longest of the shortest ways through it. The longest group decides; if those are equal, the next longer ones.
"""

import random

import getstep


def get_step(board: list[list[int]], is_black: bool) -> tuple[int, int]:
    """Return the move to make: the (row, column) of an empty square.

    board[row][column] is 0 for empty, 1 for the first player, 2 for the second; row 0 is at the top.
    is_black is True if you are the first player.
    """
    me = 1 if is_black else 2
    squares = empty_squares(board)

    # A path grows at its ends: the squares with exactly one piece of yours next to them make it longer.
    # This is the place for your own ideas.
    ends = [square for square in squares if neighbours_of(board, square, me) == 1]
    return random.choice(ends or squares)


def empty_squares(board: list[list[int]]) -> list[tuple[int, int]]:
    """All squares where you may play."""
    size = len(board)
    return [(row, column) for row in range(size) for column in range(size) if board[row][column] == 0]


def neighbours_of(board: list[list[int]], square: tuple[int, int], player: int) -> int:
    """How many of the squares above, below, left and right of this one are the player's."""
    size = len(board)
    row, column = square
    count = 0
    for near_row, near_column in [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]:
        if 0 <= near_row < size and 0 <= near_column < size and board[near_row][near_column] == player:
            count += 1
    return count


# With a third parameter, def get_step(board, is_black, turn), you also get the match number, the opponent's
# name and last move, and the milliseconds left: turn.match, turn.opponent, turn.last_move, turn.time_left_ms.

if __name__ == "__main__":
    # Also possible: getstep.play(get_step, team=7, token="...", host="192.168.1.10")
    # What is missing is taken from GETSTEP_TEAM, GETSTEP_TOKEN and GETSTEP_HOST.
    getstep.play(get_step)
