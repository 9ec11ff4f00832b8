"""A simple reference implementation of the rules on nested lists. The engines are tested and measured against it.

A board is ``list[list[int]]`` as a player gets it, a square is ``(row, column)``, a player is 0 or 1. This module
does not use the engines, so that both can only agree if both are right.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import pairwise

Board = list[list[int]]
Square = tuple[int, int]


def around(square: Square, size: int) -> list[Square]:
    """Return the orthogonally adjacent squares on a board of ``size`` × ``size``."""
    row, column = square
    near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return [(r, c) for r, c in near if 0 <= r < size and 0 <= c < size]


def squares_of(board: Board, cells: Iterable[int]) -> list[Square]:
    """Return the squares that hold one of ``cells``."""
    wanted = set(cells)
    return [(r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if cell in wanted]


def distances(source: Square, within: set[Square], size: int) -> dict[Square, int]:
    """Return the distance from ``source`` of each square that a path inside ``within`` reaches."""
    found = {source: 0}
    todo = deque([source])
    while todo:
        square = todo.popleft()
        for near in around(square, size):
            if near in within and near not in found:
                found[near] = found[square] + 1
                todo.append(near)
    return found


def groups(board: Board, cell: int) -> Iterator[set[Square]]:
    """Yield the maximal orthogonally connected sets of squares that hold ``cell``."""
    left = set(squares_of(board, [cell]))
    while left:
        group = set(distances(min(left), left, len(board)))
        yield group
        left -= group


# --- longest_path and pseudo_tonga ----------------------------------------------------------------------------


def longest_path_counts(board: Board) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return both players' groups per length from length 1 up, the second player's with its bonus group."""
    first, second = ([_length(group, len(board)) for group in groups(board, cell)] for cell in (1, 2))
    if max(second, default=0) > 1:
        second.append(max(second) - 1)
    return _counts(first), _counts(second)


def _length(group: set[Square], size: int) -> int:
    return 1 + max(max(distances(square, group, size).values()) for square in group)


def _counts(lengths: list[int]) -> tuple[int, ...]:
    return tuple(lengths.count(length) for length in range(1, max(lengths, default=0) + 1))


def pseudo_tonga_points(board: Board) -> tuple[int, int]:
    """Return both players' sums of the squares of the sizes of their isles."""
    first, second = (sum(len(group) ** 2 for group in groups(board, cell)) for cell in (1, 2))
    return first, second


# --- chain_reaction -------------------------------------------------------------------------------------------


def play_chain_reaction(board: Board, player: int, move: Square) -> bool:
    """Add an orb and play the waves that follow, in place; return True if that wins."""
    sign = 1 if player == 0 else -1
    row, column = move
    both_have_moved = any(any(cells) for cells in board)
    board[row][column] += sign
    while not (won := both_have_moved and owns_all(board, sign)):
        wave = [square for square in squares_of(board, range(-8, 9)) if at_capacity(board, square)]
        if not wave:
            break
        for r, c in wave:
            board[r][c] -= sign * len(around((r, c), 8))
        for square in wave:
            for r, c in around(square, 8):
                board[r][c] = sign * (abs(board[r][c]) + 1)
    return won


def at_capacity(board: Board, square: Square) -> bool:
    row, column = square
    return abs(board[row][column]) >= len(around(square, 8))


def owns_all(board: Board, sign: int) -> bool:
    return all(cell * sign >= 0 for row in board for cell in row)


# --- hop ------------------------------------------------------------------------------------------------------


def hop_is_legal(board: Board, player: int, path: list[Square]) -> bool:
    """Return True if ``path`` is a step or a sequence of hops of one of the player's pieces."""
    own, enemy = (1, 2) if player == 0 else (2, 1)
    board = [row[:] for row in board]
    row, column = path[0]
    if board[row][column] != own:
        return False
    board[row][column] = 0
    if len(path) == 2 and path[1] in around(path[0], 8):
        return board[path[1][0]][path[1][1]] == 0
    for (r, c), (to_r, to_c) in pairwise(path):
        if sorted((abs(r - to_r), abs(c - to_c))) != [0, 2] or board[to_r][to_c]:
            return False
        over_r, over_c = (r + to_r) // 2, (c + to_c) // 2
        if not board[over_r][over_c]:
            return False
        if board[over_r][over_c] == enemy:
            board[over_r][over_c] = 0
    return True


def hop_has_move(board: Board, player: int) -> bool:
    """Return True if any of the player's pieces has a step or a hop."""
    for row, column in squares_of(board, [player + 1]):
        for near_row, near_column in around((row, column), 8):
            if not board[near_row][near_column]:
                return True
            far = (2 * near_row - row, 2 * near_column - column)
            if far in around((near_row, near_column), 8) and not board[far[0]][far[1]]:
                return True
    return False


# --- linkage --------------------------------------------------------------------------------------------------


def linkage_moves(board: Board) -> Iterator[tuple[str, Square, Square]]:
    """Yield every placement on a board whose squares next to the opponent's last domino are marked -2."""
    colours = [c for number, c in enumerate("RBGY", 1) if len(squares_of(board, [number])) < 12]
    for colour in colours:
        for row in range(7):
            for column in range(7):
                for r, c in ((row, column + 1), (row + 1, column)):
                    if r < 7 and c < 7 and board[row][column] == board[r][c] == 0:
                        yield colour, (row, column), (r, c)


def linkage_groups(board: Board) -> int:
    """Return the number of groups of all four colours together."""
    return sum(1 for cell in range(1, 5) for _ in groups(board, cell))
