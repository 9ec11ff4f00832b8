"""A bot for hop. It already plays; now make it better.

You have nine pieces. As Black (1) you want them in columns 6 and 7, as White (2) in columns 0 and 1.
A move is either one step to a neighbouring empty square, or hops over neighbouring pieces of either colour.
A hopped-over enemy is taken off the board.
"""

import random

import getstep

SIZE = 8
DIRECTIONS = [(0, 1), (0, -1), (1, 0), (-1, 0)]


def get_step(board: list[list[int]], is_black: bool) -> list[tuple[int, int]]:
    """Return the move to make: a list of squares, the piece's own square first.

    board[row][column] is 0 for empty, 1 for Black, 2 for White; row 0 is at the top.
    is_black is True if you are Black. You are only asked when you have a move.
    """
    me = 1 if is_black else 2
    moves = legal_moves(board, me)

    # The moves that bring a piece furthest ahead; any of them will do.
    # This is the place for your own ideas: what about taking pieces, or not being taken?
    best = max(columns_won(move, is_black) for move in moves)
    return random.choice([move for move in moves if columns_won(move, is_black) == best])


def columns_won(move: list[tuple[int, int]], is_black: bool) -> int:
    """How many columns the move brings its piece closer to its target."""
    first_column = move[0][1]
    last_column = move[-1][1]
    return last_column - first_column if is_black else first_column - last_column


def legal_moves(board: list[list[int]], me: int) -> list[list[tuple[int, int]]]:
    """All steps and all single hops. More hops in a row are allowed, too: add them!"""
    moves = []
    for row in range(SIZE):
        for column in range(SIZE):
            if board[row][column] == me:
                for down, right in DIRECTIONS:
                    near = (row + down, column + right)
                    far = (row + 2 * down, column + 2 * right)
                    if is_empty(board, near):
                        moves.append([(row, column), near])  # a step
                    elif is_empty(board, far):
                        moves.append([(row, column), far])  # a hop over the piece in between
    return moves


def is_empty(board: list[list[int]], square: tuple[int, int]) -> bool:
    """True if the square is on the board and nobody stands there."""
    row, column = square
    return 0 <= row < SIZE and 0 <= column < SIZE and board[row][column] == 0


# With a third parameter, def get_step(board, is_black, turn), you also get the match number, the opponent's
# name and last move, and the milliseconds left: turn.match, turn.opponent, turn.last_move, turn.time_left_ms.

if __name__ == "__main__":
    # Also possible: getstep.play(get_step, team=7, token="...", host="192.168.1.10")
    # What is missing is taken from GETSTEP_TEAM, GETSTEP_TOKEN and GETSTEP_HOST.
    getstep.play(get_step)
