"""An example for UGI (``--as ugi``): it plays longest_path, and makes and blocks long paths.

It reads the position in each turn: the board, or the moves from the start.
"""

from __future__ import annotations

import sys

SIZE = 11
Square = tuple[int, int]  # the row and the column


def main() -> None:
    stones: tuple[set[Square], set[Square]] = (set(), set())
    mover = 0
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["ugi"]:
            say("id name Example in Python", "id author The getstep authors", "ugiok")
        elif words[:1] == ["isready"]:
            say("readyok")
        elif words[:1] == ["position"]:
            stones, mover = position(words[1:])
        elif words[:1] == ["go"]:
            think(stones[mover], stones[1 - mover])
        elif words[:1] == ["quit"]:
            break


def say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


def position(words: list[str]) -> tuple[tuple[set[Square], set[Square]], int]:
    """Return the stones of both players, and the player on turn, of ``startpos`` or ``fen BOARD PLAYER TURNS``."""
    stones: tuple[set[Square], set[Square]] = (set(), set())
    mover = 0
    if words[0] == "fen":
        for row, cells in enumerate(words[1].split("/")):
            for column, cell in enumerate(cells.split(",")):
                if cell != "0":
                    stones[int(cell) - 1].add((row, column))
        mover = int(words[2] == "p2")
    for move in words[words.index("moves") + 1 :] if "moves" in words else []:
        row, column = map(int, move.split(","))
        stones[mover].add((row, column))
        mover = 1 - mover
    return stones, mover


def think(mine: set[Square], theirs: set[Square]) -> None:
    """Choose the square that makes the longest path, or prevents one of the opponent's."""
    free = [(r, c) for r in range(SIZE) for c in range(SIZE) if (r, c) not in mine | theirs]
    best = max(free, key=lambda square: 3 * path_from(square, mine) + 2 * path_from(square, theirs))
    ahead = path_from(best, mine) - path_from(best, theirs)
    text = f"{best[0]},{best[1]}"
    say(f"info depth 1 score cp {20 * ahead} pv {text}", f"bestmove {text}")


def path_from(square: Square, stones: set[Square]) -> int:
    """Return the number of stones to the farthest one of the group: a breadth-first search, ring by ring."""
    ring, seen, length = {square}, {square}, 0
    while ring:
        length += 1
        seen |= ring
        around = {(r + dr, c + dc) for r, c in ring for dr, dc in ((1, 0), (-1, 0), (0, 1), (0, -1))}
        ring = (around & stones) - seen
    return length


if __name__ == "__main__":
    main()
