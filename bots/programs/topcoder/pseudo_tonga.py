"""An example for TopCoder Marathon Match 6 (pseudo_tonga, ``--as topcoder``): it joins its isles, and parts others.

The host makes one object of the class for each game. It calls ``init`` once and then ``move``.
"""

from __future__ import annotations

Square = tuple[int, int]


class PseudoTonga:
    def init(self, size: int, row: int, col: int) -> Square:
        """Return the first move; ``row`` and ``col`` are the opponent's, or -1 if there was none."""
        self.free = {(r, c) for r in range(size) for c in range(size)}
        self.mine: set[Square] = set()
        self.theirs: set[Square] = set()
        if row < 0:
            return self.take((size // 2, size // 2))
        return self.move(row, col)

    def move(self, row: int, col: int) -> Square:
        """Return the answer to the opponent's move."""
        self.free.remove((row, col))
        self.theirs.add((row, col))
        return self.take(max(sorted(self.free), key=lambda s: gain(s, self.mine) + gain(s, self.theirs)))

    def take(self, square: Square) -> Square:
        self.free.remove(square)
        self.mine.add(square)
        return square


def gain(square: Square, stones: set[Square]) -> int:
    """Return the points that a stone would add: the square of the new isle less the squares of those it joins."""
    seen, area, before = {square}, 1, 0
    for neighbour in around(square):
        isle = [neighbour] if neighbour in stones - seen else []
        seen.update(isle)
        for stone in isle:  # grows while it is read
            found = (set(around(stone)) & stones) - seen
            seen |= found
            isle += found
        area += len(isle)
        before += len(isle) ** 2
    return area**2 - before


def around(square: Square) -> list[Square]:
    r, c = square
    return [(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
