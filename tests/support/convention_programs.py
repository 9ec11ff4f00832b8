"""Small programs for each convention: they play the first legal move that they find."""

from __future__ import annotations

from getstep.conventions import CONVENTIONS
from getstep_engines import GAMES, Game

PRODRIVE = """\
import sys
me = input().strip()
taken = set()
if me == "1":
    taken.add(tuple(map(int, input().split())))
while True:
    free = [(x, y) for x in range(11) for y in range(11) if (x, y) not in taken]
    if not free:
        break
    taken.add(free[0])
    print(*free[0], flush=True)
    if len(taken) == 121:
        break
    taken.add(tuple(map(int, input().split())))
open("ended.txt", "a").write(f"{me}: {len(taken)} ")
"""

CONSOLE = """\
import sys
colour = sys.argv[1]
assert sys.stdin.readline() == "start\\n"
while True:
    board = [sys.stdin.readline() for _ in range(8)]
    if not board[7]:
        sys.exit(3)  # how programs of the contest end
    cells = [line.split(" ")[:-1] for line in board]
    x, y = next((x, y) for x in range(8) for y in range(8) if cells[x][y] == "No" or cells[x][y][0] == colour)
    sys.stdout.write(f"\\r\\n {x} {y}\\n")
    sys.stdout.flush()
"""

FILE = """\
import sys, time
colour = sys.argv[1]
assert len(open("shared_file.txt").read().split("\\n")) == 9  # as the contest's own sample opens it at the start
while True:
    try:
        lines = open("shared_file.txt").read().split("\\n")
    except OSError:
        lines = []
    if len(lines) == 9 and lines[0] == colour:
        cells = [line.split(" ")[:-1] for line in lines[1:]]
        x, y = next((x, y) for x in range(8) for y in range(8) if cells[x][y] == "No" or cells[x][y][0] == colour)
        open("shared_file.txt", "w").write(f"0\\n{x} {y}\\n")
    time.sleep(0.002)
"""

TOPCODER = """\
class PseudoTonga:
    def init(self, N, row, col):
        print("a program may print")
        self.free = [[r, c] for r in range(N) for c in range(N)]
        return self.next(row, col)

    def move(self, row, col):
        return self.next(row, col)

    def next(self, row, col):
        if row >= 0:
            self.free.remove([row, col])
        return self.free.pop(0)
"""

LINKAGE = """\
import sys
if len(sys.argv) > 1:
    print("First, An author, 2024-01-01, 1")
    sys.exit()
player, *rows = open("input.txt").read().splitlines()
colour = next(colour for colour, left in zip("RBGY", player[1:]) if left != "0")
free = {(r, c) for r in range(7) for c in range(7) if rows[r][c] == "."}
r, c, other = next((r, c, o) for r, c in sorted(free) for o in ((r, c + 1), (r + 1, c)) if o in free)
open("order.txt", "w").write(f"{colour}{'abcdefg'[c]}{r + 1}{'ABCDEFG'[other[1]]}{other[0] + 1}")
"""

UGI = """\
import sys
free = []
for line in sys.stdin:
    word, *rest = line.split()
    if word == "ugi":
        print("id name First", "ugiok", sep="\\n", flush=True)
    elif word == "isready":
        print("readyok", flush=True)
    elif word == "position":
        if rest[0] == "fen":
            rows = [row.split(",") for row in rest[1].split("/")]
            free = [f"{r},{c}" for r, row in enumerate(rows) for c, cell in enumerate(row) if cell == "0"]
        else:
            free = [f"{r},{c}" for r in range(11) for c in range(11)]
        for move in rest[rest.index("moves") + 1 :] if "moves" in rest else []:
            free.remove(move)
    elif word == "go":
        print(f"info depth 1 score cp 20 pv {free[0]}", f"bestmove {free[0]}", sep="\\n", flush=True)
    elif word == "quit":
        open("ended.txt", "a").write("quit ")
        break
"""

PROGRAMS = {
    "prodrive": PRODRIVE,
    "csefest-console": CONSOLE,
    "csefest-file": FILE,
    "topcoder": TOPCODER,
    "linkage": LINKAGE,
    "ugi": UGI,
}


def game_of(convention: str) -> Game:
    """Return the game that the programs of these tests play by a convention, which may have every game."""
    return GAMES[CONVENTIONS[convention].game or "longest_path"]
