"""An example for the Prodrive Dev Challenge (longest_path, ``--as prodrive``): it makes and blocks long paths.

It reads its player id, 0 or 1, and then the opponent's moves. Each line is ``x y``: the column and the row.
"""

from __future__ import annotations

import sys

SIZE = 11
Square = tuple[int, int]


def main() -> None:
    second = sys.stdin.readline().strip() == "1"
    free = {(x, y) for x in range(SIZE) for y in range(SIZE)}
    mine: set[Square] = set()
    theirs: set[Square] = set()
    if second:
        take(free, theirs, read())
    while free:
        x, y = take(free, mine, max(sorted(free), key=lambda square: value(square, mine, theirs)))
        print(x, y, flush=True)
        if free:
            take(free, theirs, read())


def read() -> Square:
    """Return the opponent's move. The game may be over earlier, after a fault."""
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    x, y = map(int, line.split())
    return x, y


def take(free: set[Square], stones: set[Square], square: Square) -> Square:
    free.remove(square)
    stones.add(square)
    return square


def value(square: Square, mine: set[Square], theirs: set[Square]) -> int:
    """Return the lengths of the path that a stone here makes and of the opponent's that it prevents, weighted."""
    return 3 * path_from(square, mine) + 2 * path_from(square, theirs)


def path_from(square: Square, stones: set[Square]) -> int:
    """Return the number of stones to the farthest one of the group: a breadth-first search, ring by ring."""
    ring, seen, length = {square}, {square}, 0
    while ring:
        length += 1
        seen |= ring
        around = {(x + dx, y + dy) for x, y in ring for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))}
        ring = (around & stones) - seen
    return length


if __name__ == "__main__":
    main()
