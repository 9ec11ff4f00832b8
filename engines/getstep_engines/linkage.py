"""Linkage: many small groups or few large ones, the game by Ethan Larson of an ongoing bot ladder.

7×7 with a blocked centre, and twenty-four 2×1 dominoes, six in each of red, blue, green and yellow. More
moves first. In turn a player takes a domino of any colour left and covers two orthogonally adjacent empty
squares; neither may be orthogonally adjacent to a square of the domino that the opponent placed in its last
turn. A move is ``(colour, (row, column), (row, column))``, the colour one of "R" "B" "G" "Y" and the squares
in either order. The game ends when all dominoes are placed or no domino fits anywhere even without the
restriction. A *group* is a maximal orthogonally connected set of squares of one colour: with 12 or more
groups More wins, with less Fewer does; there are no draws. An illegal move or a missed limit loses the game.

Decision: a player that has no legal placement skips, and the engine records the skip and does not ask, so
that ``None`` is never a legal move.

After a skip the opponent plays without restriction: there is no last domino to touch. So a skip is never
followed by another one. A board does not tell which domino was the last; it marks the empty squares that
touch it instead, which is all that the rules make of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ._bits import check_board, components, full, shown, square
from ._game import Game, IllegalMove, Move, Outcome, Player, State, TimeControl
from ._tables import Tables, move_tables, moves_at

SIZE = 7
COLOURS = "RBGY"
DOMINOES_EACH = 6
GROUPS_FOR_MORE = 12
PLAYERS = ("More", "Fewer")
BLOCKED, TOUCHING = -1, -2
CENTRE = (3, 3)

Domino: TypeAlias = tuple[str, tuple[int, int], tuple[int, int]]

_STRIDE = SIZE + 1  # so each row is a byte
_BITS = _STRIDE * SIZE
_CENTRE = 1 << square(CENTRE, SIZE)
_BOARD = full(SIZE) ^ _CENTRE
_DOMINOES = DOMINOES_EACH * len(COLOURS)
_OTHER: tuple[Player, Player] = (1, 0)
_COLOUR_INDEX = {colour: index for index, colour in enumerate(COLOURS)}
_SYMBOLS = {TOUCHING: "x", BLOCKED: "X", 0: "."} | dict(enumerate(COLOURS, 1))


def _dominoes(colour: str) -> list[Domino]:
    """Of each bit, the domino from its square to the right; then of each, the domino downwards."""
    pairs = [(divmod(n, _STRIDE), divmod(n + along, _STRIDE)) for along in (1, _STRIDE) for n in range(_BITS)]
    return [(colour, *pair) for pair in pairs]


def _moves_of_colours() -> list[Tables[Domino]]:
    """For each set of colours, as four bits, the tables of its colours one after the other."""
    tables = [move_tables(_dominoes(colour)) for colour in COLOURS]
    subsets: list[Tables[Domino]] = [()]
    for table in tables:
        subsets += [subset + table for subset in subsets]
    return subsets


_MOVES = _moves_of_colours()


class LinkageState(State):
    """A position.

    ``placed`` are the squares of each colour, ``left`` the colours that have a domino left, a bit each,
    ``empty`` the empty squares and ``free`` those of them that the player on turn may cover.
    """

    __slots__ = ("empty", "free", "left", "outcome", "passed", "placed", "to_move")

    def __init__(self, placed: list[int], free: int, to_move: Player) -> None:
        self.placed = placed
        self.left = sum(1 << i for i in range(len(COLOURS)) if placed[i].bit_count() < 2 * DOMINOES_EACH)
        self.empty = _BOARD & ~sum(placed)
        self.free = free
        self.to_move: Player = to_move
        self._settle()

    def board(self) -> list[list[int]]:
        planes = {BLOCKED: _CENTRE, TOUCHING: self.empty & ~self.free, **dict(enumerate(self.placed, 1))}
        return [
            [sum(cell for cell, squares in planes.items() if squares >> n & 1) for n in range(row, row + SIZE)]
            for row in range(0, _BITS, _STRIDE)
        ]

    def groups(self) -> int:
        """The groups on the board, of all colours together."""
        return sum(1 for squares in self.placed for _ in components(squares, _STRIDE))

    def legal_moves(self) -> Iterator[Domino]:
        free = 0 if self.outcome else self.free
        places = free & free >> 1 | (free & free >> _STRIDE) << _BITS
        return moves_at(_MOVES[self.left], places.to_bytes(2 * SIZE, "little") * self.left.bit_count())

    def is_legal(self, move: Move) -> bool:
        try:
            self._domino(move)
        except IllegalMove:
            return False
        return True

    def play(self, move: Move) -> None:
        colour, domino = self._domino(move)
        self.placed[colour] |= domino
        if self.placed[colour].bit_count() == 2 * DOMINOES_EACH:
            self.left ^= 1 << colour
        self.empty ^= domino
        touching = domino << 1 | domino >> 1 | domino << _STRIDE | domino >> _STRIDE
        self.free = self.empty & ~touching
        self.to_move = _OTHER[self.to_move]
        self._settle()

    def fault(self) -> None:
        """The player on turn loses the game."""
        self._expect_running()
        name = PLAYERS[self.to_move]
        self._end(_OTHER[self.to_move], self.groups(), f"{name} made a fault")

    def copy(self) -> LinkageState:
        twin = object.__new__(LinkageState)
        twin.placed = self.placed[:]
        twin.left = self.left
        twin.empty = self.empty
        twin.free = self.free
        twin.to_move = self.to_move
        twin.passed = self.passed
        twin.outcome = self.outcome
        return twin

    def _measures(self) -> tuple[float, float]:
        """The groups there would be if half of the dominoes left made one each, and what is missing to 24."""
        placed = sum(squares.bit_count() for squares in self.placed) // 2
        groups = self.groups() + (_DOMINOES - placed) / 2
        return groups, _DOMINOES - groups

    def __str__(self) -> str:
        """``X`` is the blocked centre, ``x`` an empty square that touches the opponent's last domino."""
        return "\n".join(" ".join(_SYMBOLS[cell] for cell in row) for row in self.board())

    def _domino(self, move: Move) -> tuple[int, int]:
        """The index of the colour and the two squares of a legal move."""
        self._expect_running()
        if not isinstance(move, (list, tuple)) or len(move) != 3:
            raise IllegalMove(f"the move is {shown(move)}, expected (colour, (row, column), (row, column))")
        colour = self._colour(move[0])
        first, second = square(move[1], SIZE), square(move[2], SIZE)
        if abs(first - second) not in (1, _STRIDE):
            raise IllegalMove(f"{shown(move[1])} and {shown(move[2])} are not orthogonally adjacent squares")
        domino = 1 << first | 1 << second
        if domino & ~self.free:
            raise IllegalMove(self._why_not_free(domino & ~self.free))
        return colour, domino

    def _colour(self, colour: object) -> int:
        index = _COLOUR_INDEX.get(colour) if isinstance(colour, str) else None
        if index is None:
            raise IllegalMove(f"the colour is {shown(colour)}, expected one of {', '.join(COLOURS)}")
        if not self.left >> index & 1:
            left = ", ".join(c for i, c in enumerate(COLOURS) if self.left >> i & 1)
            raise IllegalMove(f"all {DOMINOES_EACH} dominoes of colour {colour} are placed, expected {left}")
        return index

    def _why_not_free(self, squares: int) -> str:
        at = divmod(squares.bit_length() - 1, _STRIDE)
        if at == CENTRE:
            return f"{at} is the blocked centre"
        if squares & ~self.empty:
            return f"{at} is covered already, expected two empty squares"
        return f"{at} touches the domino that {PLAYERS[1 - self.to_move]} placed in its last turn"

    def _expect_running(self) -> None:
        if self.outcome:
            raise IllegalMove(f"the game is over: {self.outcome.reason}")

    def _settle(self) -> None:
        """Skip for a player without a legal placement; end the game if no domino fits anywhere."""
        self.passed: tuple[Player, ...] = ()
        self.outcome: Outcome | None = None
        if self.left and _has_place(self.free):
            return
        self.free = self.empty
        if self.left and _has_place(self.empty):
            self.passed = (self.to_move,)
            self.to_move = _OTHER[self.to_move]
            return
        groups = self.groups()
        winner: Player = 0 if groups >= GROUPS_FOR_MORE else 1
        self._end(winner, groups, f"{groups} groups, and More needs {GROUPS_FOR_MORE}")

    def _end(self, winner: Player, groups: int, reason: str) -> None:
        self.outcome = Outcome(winner, (groups, groups), reason)


def _has_place(squares: int) -> bool:
    """Whether two of ``squares`` are orthogonally adjacent."""
    return squares & (squares >> 1 | squares >> _STRIDE) != 0


def _from_board(board: Sequence[Sequence[int]], to_move: Player) -> LinkageState:
    check_board(board, SIZE, range(TOUCHING, len(COLOURS) + 1))
    planes = dict.fromkeys(_SYMBOLS, 0)
    for row, cells in enumerate(board):
        for column, cell in enumerate(cells):
            planes[cell] |= 1 << row * _STRIDE + column
    if planes[BLOCKED] != _CENTRE:
        raise ValueError(f"{planes[BLOCKED].bit_count()} squares are {BLOCKED}, expected {CENTRE} alone")
    placed = [planes[1 + index] for index in range(len(COLOURS))]
    for colour, squares in zip(COLOURS, placed, strict=True):
        number = squares.bit_count()
        if number not in range(0, 2 * DOMINOES_EACH + 1, 2):
            raise ValueError(f"{number} squares are {colour}, expected an even number up to {2 * DOMINOES_EACH}")
    return LinkageState(placed, planes[0], to_move)


def _start() -> LinkageState:
    return LinkageState([0] * len(COLOURS), _BOARD, 0)


LINKAGE = Game(
    name="linkage",
    title="Linkage (Ethan Larson)",
    players=PLAYERS,
    time_control=TimeControl("move", 5.0),
    penalty="the player loses the game",
    _start=_start,
    _from_board=_from_board,
)
