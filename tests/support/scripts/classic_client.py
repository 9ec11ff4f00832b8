"""A stand-in for the original clients of the classic wire, with their habits, good and bad.

Blocking sockets, one ``recv`` for each field, a short read taken for a lost connection, and a reconnect in a busy
loop without a pause. It knows nothing of this project and needs nothing but Python.

    python classic_client.py HOST PORT TEAM [--seed N] [--answer-nothing-every K] [--drop-every K]
                             [--sleep-every K SECONDS] [--most-sleeps N]

It ends with exit code 0 when the server sends code 0, and not before. Each event is one line on its output.
"""

from __future__ import annotations

import argparse
import random
import select
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

SIZE = 8
ASKED, STOP = 1, 0

Board = list[list[int]]
Square = tuple[int, int]
Path = list[Square]


class LostConnection(Exception):  # noqa: N818 - an everyday event to this client
    """End of file, a short read, or a reset."""


@dataclass(frozen=True)
class Question:
    """The server's message of each turn; ``code`` is ASKED or STOP."""

    code: int
    move_id: int
    board: Board
    is_black: bool


@dataclass(frozen=True)
class Habits:
    """Every how many turns this client misbehaves (0: never), and for how many seconds it oversleeps.

    It wakes up earlier if the server goes on without it.
    """

    answer_nothing_every: int = 0
    drop_every: int = 0
    sleep_every: int = 0
    sleep_seconds: float = 0.0
    most_sleeps: int = 10**9


class Client:
    """One client of one team; ``say`` gets a line for each event."""

    def __init__(self, host: str, port: int, team: int, seed: int, habits: Habits) -> None:
        self.turns = 0
        self._address = (host, port)
        self._team = team
        self._habits = habits
        self._dice = random.Random(seed)
        self._slept = 0
        self._sock: socket.socket | None = None

    def run(self) -> None:
        """Play until code 0."""
        while True:
            try:
                self._connect()
                self._play()
            except LostConnection as lost:
                say(f"lost the connection: {lost}")
            else:
                return
            finally:
                self._close()

    def _connect(self) -> None:
        """Come back at once, and again, and again: no pause."""
        tries = 0
        while self._sock is None:
            tries += 1
            try:
                self._sock = socket.create_connection(self._address)
            except OSError as error:
                if tries == 1:
                    say(f"cannot connect: {error}; trying without a pause")
        say(f"connected as team {self._team} at try {tries}")
        self._send(self._team)

    def _play(self) -> None:
        while (question := self._question()).code != STOP:
            self.turns += 1
            say(f"turn {self.turns}: asked for move {question.move_id}")
            if _due(self.turns, self._habits.drop_every):
                raise LostConnection("dropped on purpose")
            self._answer(question)
        say("code 0: the end")

    def _answer(self, question: Question) -> None:
        if _due(self.turns, self._habits.sleep_every) and self._slept < self._habits.most_sleeps:
            self._slept += 1
            say(f"sleeping for {self._habits.sleep_seconds:g} s")
            select.select([self._open], [], [], self._habits.sleep_seconds)
        nothing = _due(self.turns, self._habits.answer_nothing_every)
        path = [] if nothing else choose(question.board, question.is_black, self._dice)
        self._send(len(path))
        self._send(question.move_id)
        if path:
            self._send(*(number for square in path for number in square))
        say(f"answered move {question.move_id} with {path}")

    def _question(self) -> Question:
        (code,) = self._field("<i")
        (move_id,) = self._field("<i")
        cells = self._field(f"<{SIZE * SIZE}i")
        (is_black,) = self._field("<i")
        board = [list(cells[start : start + SIZE]) for start in range(0, SIZE * SIZE, SIZE)]
        return Question(code, move_id, board, bool(is_black))

    def _field(self, form: str) -> tuple[int, ...]:
        """Read one field with one recv."""
        size = struct.calcsize(form)
        try:
            data = self._open.recv(size)
        except OSError as error:
            raise LostConnection(str(error)) from error
        if len(data) < size:
            raise LostConnection(f"{len(data)} bytes instead of {size}" if data else "end of file")
        return struct.unpack(form, data)

    def _send(self, *numbers: int) -> None:
        try:
            self._open.sendall(struct.pack(f"<{len(numbers)}i", *numbers))
        except OSError as error:
            raise LostConnection(str(error)) from error

    @property
    def _open(self) -> socket.socket:
        if self._sock is None:
            raise LostConnection("not connected")
        return self._sock

    def _close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None


def say(line: str) -> None:
    """Print an event."""
    print(line, flush=True)


def _due(turn: int, every: int) -> bool:
    return every > 0 and turn % every == 0


# --- a simple player of hop -------------------------------------------------------------------------------

_DIRECTIONS = ((0, 1), (0, -1), (1, 0), (-1, 0))
_MOST_HOPS = 6


def choose(board: Board, is_black: bool, dice: random.Random) -> Path:
    """Return the move that brings a piece farthest towards its target region; chance decides between equals."""

    def gain(path: Path) -> tuple[int, float]:
        return _way(path[0], is_black) - _way(path[-1], is_black), dice.random()

    return max(_moves(board, 1 if is_black else 2), key=gain)


def _way(square: Square, is_black: bool) -> int:
    """Columns to go to the target region: 6 and 7 for Black, 0 and 1 for White."""
    return max(0, 6 - square[1]) if is_black else max(0, square[1] - 1)


def _moves(board: Board, own: int) -> Iterator[Path]:
    """Yield the steps and the hop paths of all pieces of the colour ``own``."""
    for row in range(SIZE):
        for column in range(SIZE):
            if board[row][column] == own:
                yield from _steps(board, (row, column))
                yield from _hops(_without(board, (row, column)), [(row, column)], own)


def _steps(board: Board, start: Square) -> Iterator[Path]:
    for down, right in _DIRECTIONS:
        to = (start[0] + down, start[1] + right)
        if _is_empty(board, to):
            yield [start, to]


def _hops(board: Board, path: Path, own: int) -> Iterator[Path]:
    """Yield paths that continue ``path``; ``board`` is the board after the hops of ``path``."""
    row, column = path[-1]
    for down, right in _DIRECTIONS:
        over, to = (row + down, column + right), (row + 2 * down, column + 2 * right)
        if not _is_empty(board, to) or to in path or board[over[0]][over[1]] == 0:
            continue
        longer = [*path, to]
        yield longer
        if len(longer) <= _MOST_HOPS:
            captured = board[over[0]][over[1]] != own
            yield from _hops(_without(board, over) if captured else board, longer, own)


def _is_empty(board: Board, square: Square) -> bool:
    row, column = square
    return 0 <= row < SIZE and 0 <= column < SIZE and board[row][column] == 0


def _without(board: Board, square: Square) -> Board:
    rest = [list(row) for row in board]
    rest[square[0]][square[1]] = 0
    return rest


# --- the command line -------------------------------------------------------------------------------------


def main() -> None:
    """Run one client."""
    parser = argparse.ArgumentParser(description="A stand-in for the original clients of the classic wire.")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("team", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--answer-nothing-every", type=int, default=0, metavar="K")
    parser.add_argument("--drop-every", type=int, default=0, metavar="K")
    parser.add_argument("--sleep-every", nargs=2, type=float, default=(0, 0), metavar=("K", "SECONDS"))
    parser.add_argument("--most-sleeps", type=int, default=10**9, metavar="N")
    args = parser.parse_args()
    every, seconds = args.sleep_every
    habits = Habits(args.answer_nothing_every, args.drop_every, int(every), seconds, args.most_sleeps)
    Client(args.host, args.port, args.team, args.seed, habits).run()
    sys.exit(0)


if __name__ == "__main__":
    main()
