"""Hop: cross the board by hopping, as in the NCTU Introduction to AI contest of 2019.

Nine pieces each on 8×8; Black moves first. Black's target region is columns 6 and 7, White's columns 0
and 1. A move is a list of squares, the moving piece's own square first: either one *step* to an orthogonally
adjacent empty square, or 1 to 99 *hops*, each over an orthogonally adjacent piece of either player to the
empty square right behind it. An enemy hopped over is captured and removed at once; an own piece stays.

Decision: hops are judged one after the other on the board as it then stands; the mover's starting square
counts as empty while it travels, and squares may be visited again, so a path may return to where it began.
Decision: a step cannot be followed by a hop.
Decision: the game ends when each player has had 200 turns, skipped ones included.

A turn is skipped when the move is illegal, the limit is missed, or the player has no piece or no legal move;
in the last two cases the player is not asked. The game ends as well when a player that still has pieces has
all of them in its target region: the move of either player can bring that about (capturing the last outside
piece does), so both are looked at after every turn, and when both have arrived at once the game ends just the
same. A player without pieces does not end the game. However it ends, the score is the number of own pieces
in the own target region and the higher score wins, so to arrive first is not to win.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ._bits import full, read_board, shown, square, squares, write_board
from ._game import Game, IllegalMove, Move, Outcome, Player, State, TimeControl

SIZE = 8
TURNS_EACH = 200
MOST_HOPS = 99
PLAYERS = ("Black", "White")

START = (
    (1, 0, 0, 0, 0, 0, 0, 0),
    (0, 1, 0, 0, 0, 0, 0, 2),
    (1, 0, 1, 0, 0, 0, 2, 0),
    (0, 1, 0, 0, 0, 2, 0, 2),
    (1, 0, 1, 0, 0, 0, 2, 0),
    (0, 1, 0, 0, 0, 2, 0, 2),
    (1, 0, 0, 0, 0, 0, 2, 0),
    (0, 0, 0, 0, 0, 0, 0, 2),
)

Path: TypeAlias = list[tuple[int, int]]

_STRIDE = SIZE + 1
_BOARD = full(SIZE)
_OTHER: tuple[Player, Player] = (1, 0)
_TARGETS = (
    sum(0b11 << row * _STRIDE + 6 for row in range(SIZE)),
    sum(0b11 << row * _STRIDE for row in range(SIZE)),
)
_GATES = tuple(
    [sum(1 << row * _STRIDE + column for row in range(SIZE) for column in columns) for columns in ways]
    for ways in ([range(first, 8) for first in range(1, 7)], [range(last + 1) for last in range(6, 0, -1)])
)  # of each player: the squares beyond each of the six steps from its far edge to its target region

_DIRECTIONS = (-_STRIDE, -1, 1, _STRIDE)
_STEPS = frozenset(_DIRECTIONS)
_HOPS = frozenset(2 * direction for direction in _DIRECTIONS)
_COORDINATES = [divmod(number, _STRIDE) for number in range(SIZE * _STRIDE)]  # guard squares too, never used


def _on_board(number: int) -> bool:
    return number >= 0 and _BOARD >> number & 1 == 1


_STEPS_FROM = [[n + d for d in _DIRECTIONS if _on_board(n + d)] for n in range(SIZE * _STRIDE)]
_HOPS_FROM = [
    [(1 << n + d, n + 2 * d) for d in _DIRECTIONS if _on_board(n + d) and _on_board(n + 2 * d)]
    for n in range(SIZE * _STRIDE)
]  # of each square: the bit hopped over and the square reached


class HopState(State):
    """A position. ``pieces`` are the two players' bits, ``turns`` the turns both have had together."""

    __slots__ = ("_rows", "outcome", "passed", "pieces", "to_move", "turns")

    def __init__(self, pieces: tuple[int, int], to_move: Player) -> None:
        self.pieces = pieces
        self.to_move = to_move
        self.turns = 0
        self._rows: list[list[int]] | None = None  # the board, once somebody has asked for it
        self._settle()

    def board(self) -> list[list[int]]:
        if self._rows is None:
            self._rows = write_board(self.pieces, SIZE)
        return [row.copy() for row in self._rows]

    def score(self, player: Player) -> int:
        """The player's pieces in its own target region."""
        return (self.pieces[player] & _TARGETS[player]).bit_count()

    def has_move(self, player: Player) -> bool:
        """Whether ``player`` would have a legal move, were it on turn."""
        own = self.pieces[player]
        occupied = own | self.pieces[1 - player]
        empty = _BOARD ^ occupied
        if (own << 1 | own >> 1 | own << _STRIDE | own >> _STRIDE) & empty:
            return True
        sideways = (own << 1 & occupied) << 1 | (own >> 1 & occupied) >> 1
        along = (own << _STRIDE & occupied) << _STRIDE | (own >> _STRIDE & occupied) >> _STRIDE
        return (sideways | along) & empty != 0

    def legal_moves(self) -> Iterator[Path]:
        """Every step, and every path of hops that visits no square twice; there are more legal paths."""
        if self.outcome:
            return
        own, enemy = self.pieces[self.to_move], self.pieces[1 - self.to_move]
        for start in squares(own):
            at = _COORDINATES[start]
            for to in _STEPS_FROM[start]:
                if not (own | enemy) >> to & 1:
                    yield [at, _COORDINATES[to]]
            yield from _hop_paths([at], start, 1 << start, own ^ 1 << start | enemy, enemy)

    def is_legal(self, move: Move) -> bool:
        try:
            self._captures(self._path(move))
        except IllegalMove:
            return False
        return True

    def play(self, move: Move) -> None:
        path = self._path(move)
        captured = self._captures(path)
        own = self.pieces[self.to_move] ^ 1 << path[0] | 1 << path[-1]
        enemy = self.pieces[1 - self.to_move] ^ captured
        self.pieces = (enemy, own) if self.to_move else (own, enemy)
        if captured:
            self._rows = None
        elif self._rows is not None:
            self._carry(self._rows, path[0], path[-1])
        self._end_turn()

    def _carry(self, rows: list[list[int]], start: int, end: int) -> None:
        """Move a piece on the board: a match that asks for it each turn need not have it written anew each time."""
        row, column = _COORDINATES[start]
        rows[row][column] = 0
        row, column = _COORDINATES[end]
        rows[row][column] = self.to_move + 1

    def fault(self) -> None:
        """Skip the turn of the player on turn."""
        if self.outcome:
            raise IllegalMove(f"the game is over: {self.outcome.reason}")
        self._end_turn()

    def copy(self) -> HopState:
        twin = object.__new__(HopState)
        twin.pieces = self.pieces
        twin.to_move = self.to_move
        twin.turns = self.turns
        twin.passed = self.passed
        twin.outcome = self.outcome
        twin._rows = None
        return twin

    def _measures(self) -> tuple[float, float]:
        """The columns that the pieces have come on their way, and for each piece as many as the whole way."""
        black, white = (
            len(gates) * own.bit_count() + sum((own & beyond).bit_count() for beyond in gates)
            for own, gates in zip(self.pieces, _GATES, strict=True)
        )
        return black, white

    def __str__(self) -> str:
        return "\n".join(" ".join(map(str, row)) for row in self.board())

    def _path(self, move: Move) -> list[int]:
        """The squares of a move that has the right form, which says nothing yet about the position."""
        if self.outcome:
            raise IllegalMove(f"the game is over: {self.outcome.reason}")
        if not isinstance(move, (list, tuple)):
            raise IllegalMove(f"the move is {shown(move)}, expected a list of squares [(row, column), …]")
        if not 2 <= len(move) <= MOST_HOPS + 1:
            raise IllegalMove(
                f"the move {shown(move)} has {len(move)} squares, expected 2 to {MOST_HOPS + 1}:"
                f" the piece's own square, then each square it reaches"
            )
        return [square(pair, SIZE) for pair in move]

    def _captures(self, path: list[int]) -> int:
        """The enemies that a path captures, if it is a legal step or a legal sequence of hops."""
        start, own, enemy = path[0], self.pieces[self.to_move], self.pieces[1 - self.to_move]
        if not own >> start & 1:
            name = PLAYERS[self.to_move]
            raise IllegalMove(f"{_COORDINATES[start]} is not one of {name}'s pieces, a move starts at one")
        occupied = own ^ 1 << start | enemy
        if len(path) == 2 and path[1] - start in _STEPS:
            _expect_empty(path[1], occupied)
            return 0
        at = start
        for to in path[1:]:
            between = 1 << (at + to >> 1)
            # From one row's end to the next row's start the square between is a guard square: never a piece.
            if to - at not in _HOPS or not occupied & between:
                raise IllegalMove(_why_no_hop(at, to, alone=len(path) == 2))
            _expect_empty(to, occupied)
            occupied ^= between & enemy
            at = to
        return enemy & ~occupied

    def _end_turn(self) -> None:
        self.turns += 1
        self.to_move = _OTHER[self.to_move]
        self._settle()

    def _settle(self) -> None:
        """End the game if it has ended, else pass for whoever cannot move."""
        self.passed = ()
        self.outcome = None
        if self._is_home(0) or self._is_home(1):
            names = " and ".join(f"all {PLAYERS[player]} pieces" for player in (0, 1) if self._is_home(player))
            self.outcome = self._result(f"{names} are home")
            return
        while self.turns < 2 * TURNS_EACH and not self.has_move(self.to_move):
            self.passed += (self.to_move,)
            self.turns += 1
            self.to_move = _OTHER[self.to_move]
        if self.turns == 2 * TURNS_EACH:
            self.outcome = self._result(f"both players have had {TURNS_EACH} turns")

    def _is_home(self, player: int) -> bool:
        own = self.pieces[player]
        return own != 0 and not own & ~_TARGETS[player]

    def _result(self, why: str) -> Outcome:
        black, white = self.score(0), self.score(1)
        winner: Player | None = None if black == white else 0 if black > white else 1
        return Outcome(winner, (black, white), f"{why}: Black has {black} in its target region, White {white}")


def _hop_paths(path: Path, at: int, visited: int, occupied: int, enemy: int) -> Iterator[Path]:
    """Every path of hops that goes on from ``path``, at ``at``, without a square of ``visited``."""
    for over, to in _HOPS_FROM[at]:
        if occupied & over and not (occupied | visited) >> to & 1:
            longer = [*path, _COORDINATES[to]]
            yield longer
            yield from _hop_paths(longer, to, visited | 1 << to, occupied ^ over & enemy, enemy)


def _expect_empty(number: int, occupied: int) -> None:
    if occupied >> number & 1:
        raise IllegalMove(f"{_COORDINATES[number]} is occupied, expected an empty square")


def _why_no_hop(at: int, to: int, *, alone: bool) -> str:
    """The lesson for a move from ``at`` to ``to`` that is neither a step nor a hop."""
    (row, column), (to_row, to_column) = _COORDINATES[at], _COORDINATES[to]
    leg = f"{_COORDINATES[at]} to {_COORDINATES[to]}"
    distance = sorted((abs(row - to_row), abs(column - to_column)))
    if distance == [0, 2]:
        return f"{leg} has no piece in between, expected one to hop over"
    if distance == [0, 1] and not alone:
        return f"{leg} is a step, expected hops only: a step is a whole move, never part of a longer one"
    return f"{leg} is neither a step to an adjacent square nor a hop two squares straight ahead"


def _from_board(board: Sequence[Sequence[int]], to_move: Player) -> HopState:
    return HopState(read_board(board, SIZE), to_move)


def _start() -> HopState:
    return _from_board(START, 0)


HOP = Game(
    name="hop",
    title="Hop (NCTU Introduction to AI 2019)",
    players=PLAYERS,
    time_control=TimeControl("move", 5.0),
    penalty="the turn is skipped",
    differs=True,
    _start=_start,
    _from_board=_from_board,
)
