"""Linkage: build many small groups or few large ones; a game by Ethan Larson that a bot ladder still plays.

- **Game.** Linkage (Ethan Larson), More against Fewer.
- **Idea.** Both players place dominoes of any colour. More wants many groups of one colour in the end, Fewer
  wants few.
- **Board.** 7×7, empty at the start except for the blocked centre. A cell is 0 if empty, and 1, 2, 3 or 4 for
  red, blue, green or yellow. The centre is −1. An empty cell is −2 if it is a neighbour of the domino that the
  opponent placed in its last turn.
- **Move.** `(colour, square, square)`, the colour one of "R", "B", "G" and "Y", for example
  `("R", (0, 0), (0, 1))`.
- **Legal** is a domino of a colour that is left, on two empty squares that are neighbours, in either order.
  There are six dominoes of each colour: 6 − (squares of that colour) / 2 are left. Neither square may be a
  neighbour of the domino that the opponent placed in its last turn: both must be 0 on the board that you get.
  This rule holds for both players.
- **What happens.** The domino is placed and stays. **Decision:** a player who has no legal move skips; the
  engine records the skip and does not ask, so `None` is never legal. **Decision:** after a skip the opponent
  plays without restriction: there is no last domino to avoid, and no −2 on the board.
- **End.** When all 24 dominoes are placed, or when none would fit anywhere, even if the last domino is ignored.
- **Score and winner.** With 12 groups or more, of all colours together, More wins; with fewer, Fewer. There are
  no draws. Both players have the same score: the number of groups.
- **Time.** 5 s a move.
- **Faults.** An illegal move or a missed limit: the player loses the game. The score is the number of groups at
  that moment.
- **Example.** Blue and yellow are left. After More's move two neighbouring squares are still empty, but (3, 0)
  touches the new domino. So Fewer is passed over, and More, which may now touch anything, takes both squares.

```text
More to move         | illegal: ("R", (1, 0), (2, 0))    # all six red ones are placed
 2  2  3  3  2  1  1 | illegal: ("B", (3, 0), (4, 0))    # (3, 0) touches Fewer's last domino
 0  2  3  3  2  1  1 | legal:   ("B", (2, 0), (1, 0))    # either order
 0  2 -2  4  4  2  2 | More plays ("B", (1, 0), (2, 0))
-2  4  4 -1  4  1  1 | Fewer is passed over
 0  1  3  0  4  1  1 | More plays ("B", (3, 0), (4, 0))
 4  1  3  3  3  3  3 | More wins: 12 and 12
 4  3  3  0  1  1  0 |
```
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeAlias

from ._bits import check_board, components, full, short_repr, square
from ._game import Game, IllegalMove, Move, MoveForm, Outcome, Player, Starter, State, TimeControl
from ._tables import Tables, move_tables, moves_at
from .look import Look, Piece, Step, make_step

# A board does not show which domino was the last. It marks the empty squares that touch the last domino instead,
# which is all that the rules need.

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
    """Return, for each bit, the domino from its square to the right; then, for each bit, the domino downwards."""
    pairs = [(divmod(n, _STRIDE), divmod(n + along, _STRIDE)) for along in (1, _STRIDE) for n in range(_BITS)]
    return [(colour, *pair) for pair in pairs]


def _moves_of_colours() -> list[Tables[Domino]]:
    """Return, for each set of colours as four bits, the tables of its colours in order."""
    tables = [move_tables(_dominoes(colour)) for colour in COLOURS]
    subsets: list[Tables[Domino]] = [()]
    for table in tables:
        subsets += [subset + table for subset in subsets]
    return subsets


_MOVES = _moves_of_colours()


class LinkageState(State):
    """A position.

    ``placed`` are the squares of each colour. ``left`` has a bit for each colour with a domino left. ``empty`` are
    the empty squares, and ``free`` the empty squares that the player on turn may cover.
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
        """Return the number of groups on the board, of all colours together."""
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
        """End the game; the player on turn loses."""
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

    def key(self) -> Hashable:
        return (*self.placed, self.free, self.to_move)

    def _measures(self) -> tuple[float, float]:
        """Return the expected groups, if half of the remaining dominoes form one each, and 24 minus that."""
        placed = sum(squares.bit_count() for squares in self.placed) // 2
        groups = self.groups() + (_DOMINOES - placed) / 2
        return groups, _DOMINOES - groups

    def __str__(self) -> str:
        """Return the board as text: ``X`` is the blocked centre, ``x`` an empty square next to the last domino."""
        return "\n".join(" ".join(_SYMBOLS[cell] for cell in row) for row in self.board())

    def _domino(self, move: Move) -> tuple[int, int]:
        """Return the colour's index and the two squares of a legal move; raise IllegalMove if it is illegal."""
        self._expect_running()
        if not isinstance(move, (list, tuple)) or len(move) != 3:
            raise IllegalMove(f"the move is {short_repr(move)}; expected (colour, (row, column), (row, column))")
        colour = self._colour(move[0])
        first, second = square(move[1], SIZE), square(move[2], SIZE)
        if abs(first - second) not in (1, _STRIDE):
            raise IllegalMove(
                f"{short_repr(move[1])} and {short_repr(move[2])} are not orthogonally adjacent;"
                " a domino covers two adjacent squares"
            )
        domino = 1 << first | 1 << second
        if domino & ~self.free:
            raise IllegalMove(self._explain_not_free(domino & ~self.free))
        return colour, domino

    def _colour(self, colour: object) -> int:
        index = _COLOUR_INDEX.get(colour) if isinstance(colour, str) else None
        if index is None:
            raise IllegalMove(f"the colour is {short_repr(colour)}; expected one of {', '.join(COLOURS)}")
        if not self.left >> index & 1:
            left = ", ".join(c for i, c in enumerate(COLOURS) if self.left >> i & 1)
            raise IllegalMove(f"all {DOMINOES_EACH} dominoes of colour {colour} are placed; expected one of {left}")
        return index

    def _explain_not_free(self, squares: int) -> str:
        """Return the message for a domino on ``squares`` that are not free."""
        at = divmod(squares.bit_length() - 1, _STRIDE)
        if at == CENTRE:
            return f"{at} is the blocked centre; expected two empty squares"
        if squares & ~self.empty:
            return f"{at} is already covered; expected two empty squares"
        opponent = PLAYERS[1 - self.to_move]
        return f"{at} touches the domino that {opponent} placed in its last turn; expected two squares that do not"

    def _expect_running(self) -> None:
        if self.outcome:
            raise IllegalMove(f"the game is over: {self.outcome.reason}")

    def _settle(self) -> None:
        """Skip a player without a legal placement; end the game if no domino fits anywhere."""
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
    """Return True if two of ``squares`` are orthogonally adjacent."""
    return squares & (squares >> 1 | squares >> _STRIDE) != 0


def _from_board(board: Sequence[Sequence[int]], to_move: Player) -> LinkageState:
    check_board(board, SIZE, range(TOUCHING, len(COLOURS) + 1))
    planes = dict.fromkeys(_SYMBOLS, 0)
    for row, cells in enumerate(board):
        for column, cell in enumerate(cells):
            planes[cell] |= 1 << row * _STRIDE + column
    if planes[BLOCKED] != _CENTRE:
        raise ValueError(f"{planes[BLOCKED].bit_count()} squares are {BLOCKED}; expected {CENTRE} alone")
    placed = [planes[1 + index] for index in range(len(COLOURS))]
    for colour, squares in zip(COLOURS, placed, strict=True):
        number = squares.bit_count()
        if number not in range(0, 2 * DOMINOES_EACH + 1, 2):
            raise ValueError(f"{number} squares are {colour}; expected an even number up to {2 * DOMINOES_EACH}")
    return LinkageState(placed, planes[0], to_move)


def _start() -> LinkageState:
    return LinkageState([0] * len(COLOURS), _BOARD, 0)


# --- the look -----------------------------------------------------------------------------------------------------


def notation(move: Move) -> str:
    """Return the order notation of the original: the colour, then each square's column A to G and row 1 to 7."""
    colour, *pair = move
    first, second = (f"{'ABCDEFG'[column]}{row + 1}" for row, column in pair)
    return f"{colour}{first}{second}"


def _trace(state: LinkageState, move: Move) -> Iterator[Step]:
    """Yield the one step: the two squares, and the squares that the next player may not cover."""
    after = state.copy()
    after.play(move)
    board = after.board()
    blocked = [(r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if cell == TOUCHING]
    yield make_step(board, to=[(row, column) for row, column in move[1:]], blocked=blocked)


_NAMES = {"R": "red", "B": "blue", "G": "green", "Y": "yellow"}

_LOOK = Look(
    pieces={
        BLOCKED: Piece("blocked centre", "block", text="#", colour="grey"),
        TOUCHING: Piece("empty, next to the last domino", "dot", text="x", colour="grey"),
        **{
            value: Piece(f"{_NAMES[letter]} half-domino", "tile", None, letter, letter, _NAMES[letter])
            for value, letter in enumerate(COLOURS, 1)
        },
    },
    score=f"groups: {{0}}; {PLAYERS[0]} needs {GROUPS_FOR_MORE}",
    measures=lambda state: (state.groups(), state.groups()),
    trace=_trace,
    notation=notation,
)

LINKAGE = Game(
    name="linkage",
    title="Linkage (Ethan Larson)",
    players=PLAYERS,
    time_control=TimeControl("move", 5.0),
    penalty="the player loses the game",
    look=_LOOK,
    summary="coloured dominoes on 7x7, many groups or few",
    rules=__doc__ or "",
    move_form=MoveForm("(colour, square, square)", (tuple(COLOURS), "square", "square")),
    starter=Starter(
        "There are 24 dominoes of 2 squares, six of each colour. Both players place any colour they like. The first"
        " player wins if there are 12 or more groups of squares of one colour at the end, the second if fewer.",
        "0 for empty, 1 to 4 for R, B, G and Y, -1 for the blocked centre, -2 for empty but not yours now",
        (
            "A domino without a neighbour of its colour makes a new group; with one, a group grows.",
            "The first player wants many groups, the second wants few.",
        ),
    ),
    settings={"ladder": {"missed_limit": "round"}},
    _start=_start,
    _from_board=_from_board,
)
