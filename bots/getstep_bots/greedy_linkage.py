"""Plays linkage by looking one move ahead: most groups for More, fewest for Fewer.

Try it: ``getstep play greedy_linkage.py --team 7``
It needs the host's package too: see README.md, "Take part".
"""

from getstep_engines import GAMES

Domino = tuple[str, tuple[int, int], tuple[int, int]]


def get_step(board: list[list[int]], is_black: bool) -> Domino:
    position = GAMES["linkage"].from_board(board, is_black)

    def value(domino: Domino) -> int:
        later = position.copy()
        later.play(domino)
        groups = count_groups(later.board())
        return groups if is_black else -groups

    best: Domino = max(position.legal_moves(), key=value)
    return best


def count_groups(board: list[list[int]]) -> int:
    """The connected groups of squares of one colour."""
    unseen = {(row, column) for row in range(7) for column in range(7) if board[row][column] > 0}
    groups = 0
    while unseen:
        groups += 1
        stack = [unseen.pop()]
        while stack:
            row, column = stack.pop()
            for near in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
                if near in unseen and board[near[0]][near[1]] == board[row][column]:
                    unseen.remove(near)
                    stack.append(near)
    return groups
