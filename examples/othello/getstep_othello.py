"""Othello: outflank the opponent's discs, and own most of them in the end.

- **Game.** Othello, Black against White.
- **Idea.** Each disc shows its owner's colour. A new disc turns over all enemy discs that it encloses.
- **Board.** 8×8, with four discs in the middle. A cell is 0 if empty, 1 for Black, 2 for White.
- **Move.** `(row, column)`: the square for a new disc, for example `(2, 3)`.
- **Legal** is an empty square from which, in at least one of the eight directions, one or more enemy discs in a row
  are followed by an own disc.
- **What happens.** All these enemy discs, in all directions, become the player's. A player without a legal move is
  not asked.
- **End.** When neither player has a legal move.
- **Score and winner.** The score is the number of one's discs. The higher score wins, equal scores are a draw.
- **Time.** 3 s a move.
- **Faults.** An illegal move or a missed limit: the player loses the game, 64 to 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from getstep_engines import (
    SQUARE,
    Game,
    IllegalMove,
    Look,
    Move,
    Outcome,
    Piece,
    Player,
    Starter,
    State,
    TimeControl,
)

SIZE = 8
PLAYERS = ("Black", "White")
BOTH: tuple[Player, Player] = (0, 1)
EMPTY = 0
DIRECTIONS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]
SQUARES = [(row, column) for row in range(SIZE) for column in range(SIZE)]
CORNERS = [(0, 0), (0, SIZE - 1), (SIZE - 1, 0), (SIZE - 1, SIZE - 1)]


def _lines_from(row: int, column: int) -> list[list[tuple[int, int]]]:
    """Return the squares in each direction from a square to the edge, where there is room for two discs."""
    lines = []
    for down, right in DIRECTIONS:
        line = [(row + down * n, column + right * n) for n in range(1, SIZE)]
        line = [(r, c) for r, c in line if 0 <= r < SIZE and 0 <= c < SIZE]
        if len(line) > 1:
            lines.append(line)
    return lines


LINES = {square: _lines_from(*square) for square in SQUARES}


class OthelloState(State):
    """A position; ``cells`` holds 0 for an empty square, 1 for a disc of Black, 2 for one of White."""

    __slots__ = ("cells", "outcome", "passed", "to_move")

    def __init__(self, cells: list[list[int]], to_move: Player) -> None:
        self.cells = cells
        self.to_move = to_move
        self.passed: tuple[Player, ...] = ()
        self.outcome: Outcome | None = None

    def board(self) -> list[list[int]]:
        return [list(row) for row in self.cells]

    def legal_moves(self) -> Iterator[tuple[int, int]]:
        if self.outcome is None:
            yield from (square for square in SQUARES if self._can_play(square, self.to_move))

    def is_legal(self, move: Move) -> bool:
        # 1.0 and True are equal to 1, but they are not coordinates.
        is_square = isinstance(move, (list, tuple)) and [type(number) for number in move] == [int, int]
        return is_square and self.outcome is None and self._can_play(tuple(move), self.to_move)

    def play(self, move: Move) -> None:
        self._expect_running()
        if not self.is_legal(move):
            raise IllegalMove(f"a move is a square that turns over a disc, one of {list(self.legal_moves())}")
        row, column = move
        for r, c in [(row, column), *self._turned((row, column), self.to_move)]:
            self.cells[r][c] = self.to_move + 1
        self._next_player()

    def fault(self) -> None:
        self._expect_running()
        winner = BOTH[1 - self.to_move]
        scores = (0, SIZE * SIZE) if winner else (SIZE * SIZE, 0)
        self.outcome = Outcome(winner, scores, f"{PLAYERS[self.to_move]} made a fault")

    def copy(self) -> OthelloState:
        twin = OthelloState(self.board(), self.to_move)
        twin.passed = self.passed
        twin.outcome = self.outcome
        return twin

    def _measures(self) -> tuple[float, float]:
        """Return each player's legal moves, plus ten for each corner: discs alone change hands until the end."""
        first, second = (1.0 + self._mobility(player) + 10 * self._corners(player) for player in BOTH)
        return first, second

    def __str__(self) -> str:
        return "\n".join(" ".join(".BW"[cell] for cell in row) for row in self.cells)

    def key(self) -> Hashable:
        return tuple(map(tuple, self.cells)), self.to_move

    def _can_play(self, square: tuple[int, ...], player: Player) -> bool:
        return square in LINES and next(self._turned(square, player), None) is not None

    def _turned(self, square: tuple[int, ...], player: Player) -> Iterator[tuple[int, int]]:
        """Yield the squares of the discs that a new disc of ``player`` turns over."""
        row, column = square
        if self.cells[row][column] != EMPTY:
            return
        for line in LINES[row, column]:
            enemies = 0
            while enemies < len(line) and self._at(line[enemies]) == 2 - player:
                enemies += 1
            if 0 < enemies < len(line) and self._at(line[enemies]) == player + 1:
                yield from line[:enemies]

    def _at(self, square: tuple[int, int]) -> int:
        return self.cells[square[0]][square[1]]

    def _next_player(self) -> None:
        """Pass the turn to the opponent, or back to the player, or end the game if neither has a legal move."""
        player, opponent = self.to_move, BOTH[1 - self.to_move]
        self.passed = ()
        if self._mobility(opponent):
            self.to_move = opponent
        elif self._mobility(player):
            self.passed = (opponent,)
        else:
            black, white = self.discs()
            winner = None if black == white else BOTH[int(white > black)]
            self.outcome = Outcome(winner, (black, white), f"Black has {black} discs, White {white}")

    def _mobility(self, player: Player) -> int:
        return sum(self._can_play(square, player) for square in SQUARES)

    def _corners(self, player: Player) -> int:
        return sum(self._at(corner) == player + 1 for corner in CORNERS)

    def discs(self) -> tuple[int, int]:
        """Return the number of Black's and of White's discs."""
        cells = [cell for row in self.cells for cell in row]
        return cells.count(1), cells.count(2)

    def _expect_running(self) -> None:
        if self.outcome:
            raise IllegalMove(f"the game is over: {self.outcome.reason}")


def _start() -> OthelloState:
    cells = [[EMPTY] * SIZE for _ in range(SIZE)]
    cells[3][3] = cells[4][4] = 2
    cells[3][4] = cells[4][3] = 1
    return OthelloState(cells, 0)


def _from_board(board: Sequence[Sequence[int]], to_move: Player) -> OthelloState:
    if not isinstance(board, (list, tuple)) or [_is_row(row) for row in board] != [True] * SIZE:
        raise ValueError(f"expected {SIZE} rows of {SIZE} cells, each 0, 1 or 2")
    return OthelloState([list(row) for row in board], to_move)


def _is_row(row: object) -> bool:
    if not isinstance(row, (list, tuple)) or len(row) != SIZE:
        return False
    return all(type(cell) is int and cell in (0, 1, 2) for cell in row)


LOOK = Look(
    pieces={1: Piece("black disc", "disc", 0, text="B"), 2: Piece("white disc", "ring", 1, text="W")},
    colours=("black", "white"),
    score="discs: Black {0}, White {1}",
    measures=OthelloState.discs,
)

OTHELLO = Game(
    name="othello",
    title="Othello",
    players=PLAYERS,
    time_control=TimeControl("move", 3.0),
    penalty="the player loses the game",
    differs=True,
    look=LOOK,
    summary="turn over enclosed discs on 8x8",
    rules=__doc__ or "",
    move_form=SQUARE,
    starter=Starter(
        "You place a disc so that it encloses enemy discs in a row, and turn them over. The most discs win.",
        "0 for empty, 1 for Black, 2 for White",
        (
            "A disc in a corner can never be turned over.",
            "The number of discs says little before the end; the number of legal moves says more.",
        ),
    ),
    _start=_start,
    _from_board=_from_board,
)
