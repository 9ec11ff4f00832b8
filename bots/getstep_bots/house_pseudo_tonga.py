"""The house bot of pseudo_tonga, reconstructed from the description of TopCoder Marathon Match 6: beat it first.

On an empty board it plays one of the four middle squares. Otherwise it searches three plies: its own move,
the reply and its own next move. It scores a position as the sum of ``area² × perimeter`` over its own isles
minus the same sum over the opponent's isles. Near the end it searches as deep as the empty squares allow.
Decision: an isle's perimeter is the number of its unit edges that do not face a square of the same isle.
Decision: among equal moves it plays the one in the lowest row, then in the lowest column.

The search is exact and fast. The score of an isle depends only on the stones of its colour. So the gain of a pair
of own stones and the gain of the opponent's reply come from two separate tables. Their only connection is that no
square is used twice.
"""

from heapq import nlargest

Board = list[list[int]]
Square = tuple[int, int]


def get_step(board: Board, is_black: bool) -> Square:
    size = len(board)
    empty = [(row, column) for row in range(size) for column in range(size) if not board[row][column]]
    if len(empty) == size * size:
        return size // 2 - 1, size // 2 - 1
    mine, theirs = (Isles(board, 1), Isles(board, 2)) if is_black else (Isles(board, 2), Isles(board, 1))
    if len(empty) == 1:
        return empty[0]
    return max(empty, key=lambda move: value(move, [s for s in empty if s != move], mine, theirs))


def value(move: Square, others: list[Square], mine: "Isles", theirs: "Isles") -> int:
    """Return the gain of ``move`` if the reply, on one of the ``others``, is the worst one for it."""
    best_two = nlargest(2, [(mine.gain_of_both(move, square), square) for square in others])

    def after(reply: Square) -> int:
        mine_then = (gain for gain, square in best_two if square != reply)
        return next(mine_then, mine.gain[move]) - theirs.gain[reply]  # without a third ply: the first ply alone

    return min(after(reply) for reply in others)


class Isles:
    """The isles of one colour on a board, and the gain in score of additional stones.

    ``gain[square]`` is the gain of one stone on that empty square.
    """

    def __init__(self, board: Board, colour: int) -> None:
        stones = {(r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if cell == colour}
        empty = [(r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if cell == 0]
        isles = components(stones)
        self._area = [len(isle) for isle in isles]
        self._perimeter = [sum(n not in isle for square in isle for n in around(square)) for isle in isles]
        isle_of = {square: number for number, isle in enumerate(isles) for square in isle}
        near = {square: [isle_of[n] for n in around(square) if n in stones] for square in empty}
        self._touched = {square: frozenset(numbers) for square, numbers in near.items()}
        self._shared = {square: len(numbers) for square, numbers in near.items()}
        self.gain = {s: self._gain_of_merging(self._touched[s], 1, self._shared[s]) for s in empty}

    def gain_of_both(self, one: Square, other: Square) -> int:
        """Return the gain of stones on two empty squares: more than the sum if they share an isle."""
        adjacent = abs(one[0] - other[0]) + abs(one[1] - other[1]) == 1
        if not adjacent and self._touched[one].isdisjoint(self._touched[other]):
            return self.gain[one] + self.gain[other]
        shared = self._shared[one] + self._shared[other] + adjacent
        return self._gain_of_merging(self._touched[one] | self._touched[other], 2, shared)

    def _gain_of_merging(self, isles: frozenset[int], stones: int, shared: int) -> int:
        """Return the gain of joining ``isles`` by new ``stones``; ``shared`` edges are inside the new isle."""
        area, perimeter, before = stones, 4 * stones - 2 * shared, 0
        for isle in isles:
            area += self._area[isle]
            perimeter += self._perimeter[isle]
            before += self._area[isle] ** 2 * self._perimeter[isle]
        return area**2 * perimeter - before


def around(square: Square) -> list[Square]:
    """Return the four orthogonal neighbours, including squares off the board."""
    row, column = square
    return [(row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)]


def components(stones: set[Square]) -> list[set[Square]]:
    """Return the maximal orthogonally connected groups of ``stones``."""
    groups, rest = [], set(stones)
    while rest:
        todo = [rest.pop()]
        group = set(todo)
        while todo:
            found = rest.intersection(around(todo.pop()))
            rest -= found
            group |= found
            todo += found
        groups.append(group)
    return groups
