"""A bot for linkage. It already plays; now make it better.

There are 24 dominoes of 2 squares, six of each colour. Both players place any colour they like. Black wins
if there are 12 or more groups of squares of one colour at the end, White if there are fewer.
"""

import random

import getstep

SIZE = 7
COLOURS = ["R", "B", "G", "Y"]  # on the board they are 1, 2, 3 and 4
DOMINOES_EACH = 6


def get_step(board: list[list[int]], is_black: bool) -> tuple[str, tuple[int, int], tuple[int, int]]:
    """Return the move to make: (colour, square, square), for example ("R", (0, 0), (0, 1)).

    board[row][column] is 0 for a square you may cover, 1 to 4 for a colour, -1 for the blocked centre, and
    -2 for an empty square that touches the opponent's last domino: you may not cover it in this turn.
    is_black is True if you want many groups. You are only asked when you have a move.
    """
    moves = [(colour, first, second) for colour in colours_left(board) for first, second in places(board)]

    # One neighbour of the same colour makes the group bigger, none makes a new group.
    # This is the place for your own ideas.
    few = min(same_colour_around(board, move) for move in moves)
    many = max(same_colour_around(board, move) for move in moves)
    wanted = few if is_black else many
    return random.choice([move for move in moves if same_colour_around(board, move) == wanted])


def colours_left(board: list[list[int]]) -> list[str]:
    """The colours that still have a domino."""
    left = []
    for number, colour in enumerate(COLOURS, start=1):
        squares = sum(row.count(number) for row in board)
        if squares < 2 * DOMINOES_EACH:
            left.append(colour)
    return left


def places(board: list[list[int]]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """All pairs of neighbouring squares that may be covered."""
    pairs = []
    for row in range(SIZE):
        for column in range(SIZE):
            for other in [(row, column + 1), (row + 1, column)]:
                if is_free(board, (row, column)) and is_free(board, other):
                    pairs.append(((row, column), other))
    return pairs


def is_free(board: list[list[int]], square: tuple[int, int]) -> bool:
    """True if the square is on the board and may be covered."""
    row, column = square
    return 0 <= row < SIZE and 0 <= column < SIZE and board[row][column] == 0


def same_colour_around(board: list[list[int]], move: tuple[str, tuple[int, int], tuple[int, int]]) -> int:
    """How many neighbours of the new domino have its colour."""
    colour, first, second = move
    number = COLOURS.index(colour) + 1
    count = 0
    for row, column in [first, second]:
        for near_row, near_column in [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]:
            if 0 <= near_row < SIZE and 0 <= near_column < SIZE and board[near_row][near_column] == number:
                count += 1
    return count


# With a third parameter, def get_step(board, is_black, turn), you also get the match number, the opponent's
# name and last move, and the milliseconds left: turn.match, turn.opponent, turn.last_move, turn.time_left_ms.

if __name__ == "__main__":
    # Also possible: getstep.play(get_step, team=7, token="...", host="192.168.1.10")
    # What is missing is taken from GETSTEP_TEAM, GETSTEP_TOKEN and GETSTEP_HOST.
    getstep.play(get_step)
