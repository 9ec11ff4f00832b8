"""Plays hop by looking one move ahead: take what can be taken, else get closer to home.

Try it: ``getstep play greedy_hop.py --team 7``
It needs the host's package too: see README.md, "Take part".
"""

from getstep_engines import GAMES

Board = list[list[int]]
Path = list[tuple[int, int]]


def get_step(board: Board, is_black: bool) -> Path:
    position = GAMES["hop"].from_board(board, is_black)

    def value(path: Path) -> int:
        later = position.copy()
        later.play(path)
        return balance(later.board(), is_black)

    return max(position.legal_moves(), key=value)


def balance(board: Board, is_black: bool) -> int:
    """How good a board is: a piece is worth ten columns of the way to the target region."""
    mine, theirs = (1, 2) if is_black else (2, 1)
    total = 0
    for row in board:
        for column, piece in enumerate(row):
            if piece == mine:
                total += 10 - (max(0, 6 - column) if is_black else max(0, column - 1))
            elif piece == theirs:
                total -= 10
    return total
