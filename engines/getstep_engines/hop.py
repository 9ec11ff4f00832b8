"""Hop: cross the board by hopping, as in the NCTU Introduction to AI contest of 2019.

- **Game.** Hop (NCTU Introduction to AI 2019), Black against White.
- **Idea.** Bring your pieces across the board by steps and by hops over other pieces. Hopping over an enemy
  captures it.
- **Board.** 8×8, nine pieces each. A cell is 0 if empty, 1 for a piece of Black, 2 for one of White. Black's
  *target region* is columns 6 and 7, White's is columns 0 and 1, in all rows.

```text
At the start
1 0 0 0 0 0 0 0
0 1 0 0 0 0 0 2
1 0 1 0 0 0 2 0
0 1 0 0 0 2 0 2
1 0 1 0 0 0 2 0
0 1 0 0 0 2 0 2
1 0 0 0 0 0 2 0
0 0 0 0 0 0 0 2
```

- **Move.** A list of 2 to 100 squares: the square of your piece, then each square on its way, for example
  `[(2, 2), (2, 3)]`.
- **Legal** is one *step* to an empty neighbour square, or a sequence of 1 to 99 *hops*, all with the same
  piece. A hop goes two squares straight up, down, left or right to an empty square, over a piece of either
  player on the square between. **Decision:** steps and hops never go diagonally. **Decision:** each hop is
  judged on the board after the hops before it; the square on which the piece started counts as empty, and the
  piece may visit a square more than once. **Decision:** a move is either a step or hops, never both.
- **What happens.** The piece ends on the last square. An enemy piece is removed as soon as it is hopped over; a
  piece of one's own stays.
- **Skipped turns.** A turn is skipped after a fault. It is also skipped, without asking, if the player has no
  piece left or no legal move.
- **End.** After any turn, if a player still has pieces and all of them are in its target region. (The
  opponent's move can cause this, too, by capturing the last piece outside.) **Decision:** also when each player
  has had 200 turns, including skipped turns. If a player has no piece left, the game does not end: the opponent
  plays on.
- **Score and winner.** The score is the number of one's pieces in one's own target region. The higher score
  wins, equal scores are a draw. Arriving first has no value of its own.
- **Time.** 5 s a move.
- **Faults.** An illegal move or a missed limit: the turn is skipped.
- **Example.** Black hops over White's piece on (4, 4), which is captured, then over its own piece on (4, 6).
  All of Black's pieces are now in the target region, so the game is over; but White has four in its own region
  and wins.

```text
Black to move   | legal:   [(4, 3), (3, 3)]          # a step                | 2 0 0 0 0 0 0 0
2 0 0 0 0 0 0 0 | legal:   [(4, 3), (4, 5)]          # a hop                 | 0 0 0 0 0 0 0 0
0 0 0 0 0 0 0 0 | legal:   [(4, 6), (6, 6), (4, 6)]  # back where it began   | 0 2 0 0 0 0 0 0
0 2 0 0 0 0 0 0 | illegal: [(4, 3), (3, 3), (3, 5)]  # a step, then a hop    | 0 0 0 0 2 0 0 0
0 0 0 0 2 0 0 0 | illegal: [(4, 3), (4, 5), (4, 3)]  # (4, 4) is empty then  | 0 0 0 0 0 0 1 1
0 0 0 1 2 0 1 0 | Black plays [(4, 3), (4, 5), (4, 7)]                       | 0 0 0 0 0 0 1 0
0 0 0 0 0 0 1 0 |                                                            | 0 2 0 0 0 0 0 0
0 2 0 0 0 0 0 0 |                                                            | 2 0 0 0 0 0 0 0
2 0 0 0 0 0 0 0 |                                                            | White wins: 3 and 4
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from ._bits import full, read_board, short_repr, square, squares, write_board
from ._game import Game, IllegalMove, Move, MoveForm, Outcome, Player, Starter, State, TimeControl
from .look import Look, Piece, Region, Step, make_step

SIZE = 8
TURNS_EACH = 200
_LAST_TURN = 2 * TURNS_EACH
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
_SIDE = frozenset(range(SIZE))
_BOARD = full(SIZE)
_BOTH: tuple[Player, Player] = (0, 1)
_OTHER: tuple[Player, Player] = (1, 0)
_TARGETS = (
    sum(0b11 << row * _STRIDE + 6 for row in range(SIZE)),
    sum(0b11 << row * _STRIDE for row in range(SIZE)),
)
_GATES = tuple(
    [sum(1 << row * _STRIDE + column for row in range(SIZE) for column in columns) for columns in ways]
    for ways in ([range(first, 8) for first in range(1, 7)], [range(last + 1) for last in range(6, 0, -1)])
)  # for each player and each of the six columns to cross: the squares beyond that column

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
]  # for each square: the bit hopped over and the square reached


class HopState(State):
    """A position. ``pieces`` are the two players' bits, ``turns`` the number of turns of both players together."""

    __slots__ = ("_rows", "outcome", "passed", "pieces", "to_move", "turns")

    def __init__(self, pieces: tuple[int, int], to_move: Player, turns: int = 0) -> None:
        self.pieces = pieces
        self.to_move = to_move
        self.turns = turns
        self._rows: list[list[int]] | None = None  # the result of board(), kept until the next capture
        self._settle()

    def board(self) -> list[list[int]]:
        if self._rows is None:
            self._rows = write_board(self.pieces, SIZE)
        return [*map(list.copy, self._rows)]

    def score(self, player: Player) -> int:
        """Return the number of the player's pieces in its own target region."""
        return (self.pieces[player] & _TARGETS[player]).bit_count()

    def has_move(self, player: Player) -> bool:
        """Return True if ``player`` would have a legal move on its turn."""
        own = self.pieces[player]
        occupied = own | self.pieces[1 - player]
        empty = _BOARD ^ occupied
        if (own << 1 | own >> 1 | own << _STRIDE | own >> _STRIDE) & empty:
            return True
        sideways = (own << 1 & occupied) << 1 | (own >> 1 & occupied) >> 1
        along = (own << _STRIDE & occupied) << _STRIDE | (own >> _STRIDE & occupied) >> _STRIDE
        return (sideways | along) & empty != 0

    def legal_moves(self) -> Iterator[Path]:
        """Yield every step, and every path of hops that visits no square twice. Longer paths can be legal, too."""
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
            self._move_in_rows(self._rows, path[0], path[-1])
        self._end_turn()

    def _move_in_rows(self, rows: list[list[int]], start: int, end: int) -> None:
        """Move a piece in ``rows``: a match reads the board each turn, and an update is faster than a new board."""
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
        """Return, for each player, the columns that its pieces have crossed, plus six for each piece and six.

        The last six keep the estimate below 1 against a player without pieces, so that going home still counts.
        """
        black, white = (
            len(gates) * (1 + own.bit_count()) + sum((own & beyond).bit_count() for beyond in gates)
            for own, gates in zip(self.pieces, _GATES, strict=True)
        )
        return black, white

    def __str__(self) -> str:
        return "\n".join(" ".join(map(str, row)) for row in self.board())

    def _path(self, move: Move) -> list[int]:
        """Return the squares of a move; check its form only, not the position."""
        if self.outcome:
            raise IllegalMove(f"the game is over: {self.outcome.reason}")
        if not isinstance(move, (list, tuple)):
            raise IllegalMove(f"the move is {short_repr(move)}; expected a list of squares [(row, column), …]")
        if not 2 <= len(move) <= MOST_HOPS + 1:
            raise IllegalMove(
                f"the move {short_repr(move)} has {len(move)} squares; expected 2 to {MOST_HOPS + 1}:"
                f" the piece's own square, then each square it reaches"
            )
        path = []
        for pair in move:
            if isinstance(pair, (list, tuple)) and len(pair) == 2:
                row, column = pair
                if type(row) is type(column) is int and row in _SIDE and column in _SIDE:
                    path.append(row * _STRIDE + column)
                    continue
            square(pair, SIZE)  # raises
        return path

    def _captures(self, path: list[int]) -> int:
        """Return the enemies that a path captures; raise IllegalMove unless it is a legal step or legal hops."""
        start, own, enemy = path[0], self.pieces[self.to_move], self.pieces[1 - self.to_move]
        if not own >> start & 1:
            name = PLAYERS[self.to_move]
            raise IllegalMove(f"{_COORDINATES[start]} is not one of {name}'s pieces; a move starts at one of them")
        occupied = own ^ 1 << start | enemy
        if len(path) == 2 and path[1] - start in _STEPS:
            if occupied >> path[1] & 1:
                raise IllegalMove(_explain_occupied(path[1]))
            return 0
        at = start
        for to in path[1:]:
            between = 1 << (at + to >> 1)
            # From the end of a row to the start of the next, the square between is a guard square: never occupied.
            if to - at not in _HOPS or not occupied & between:
                raise IllegalMove(_explain_no_hop(at, to, alone=len(path) == 2))
            if occupied >> to & 1:
                raise IllegalMove(_explain_occupied(to))
            occupied ^= between & enemy
            at = to
        return enemy & ~occupied

    def _end_turn(self) -> None:
        self.turns += 1
        self.to_move = _OTHER[self.to_move]
        self._settle()

    def _settle(self) -> None:
        """Set the outcome if the game has ended; otherwise pass over players without a legal move."""
        self.passed = ()
        self.outcome = None
        black, white = self.pieces
        if (not black & ~_TARGETS[0] and black) or (not white & ~_TARGETS[1] and white):
            names = " and ".join(f"all {PLAYERS[player]} pieces" for player in (0, 1) if self._is_home(player))
            self.outcome = self._result(f"{names} are home")
            return
        while self.turns < _LAST_TURN and not self.has_move(self.to_move):
            self.passed += (self.to_move,)
            self.turns += 1
            self.to_move = _OTHER[self.to_move]
        if self.turns == _LAST_TURN:
            self.outcome = self._result(f"both players have had {TURNS_EACH} turns")

    def _is_home(self, player: int) -> bool:
        own = self.pieces[player]
        return own != 0 and not own & ~_TARGETS[player]

    def _result(self, why: str) -> Outcome:
        black, white = self.score(0), self.score(1)
        winner: Player | None = None if black == white else 0 if black > white else 1
        return Outcome(winner, (black, white), f"{why}: Black has {black} in its target region, White {white}")


def _hop_paths(path: Path, at: int, visited: int, occupied: int, enemy: int) -> Iterator[Path]:
    """Yield every path of hops that continues ``path`` from ``at`` and avoids the squares ``visited``."""
    for over, to in _HOPS_FROM[at]:
        if occupied & over and not (occupied | visited) >> to & 1:
            longer = [*path, _COORDINATES[to]]
            yield longer
            yield from _hop_paths(longer, to, visited | 1 << to, occupied ^ over & enemy, enemy)


def _explain_occupied(number: int) -> str:
    return f"{_COORDINATES[number]} is occupied; a piece moves to an empty square"


def _explain_no_hop(at: int, to: int, *, alone: bool) -> str:
    """Return the message for a move from ``at`` to ``to`` that is neither a step nor a hop."""
    (row, column), (to_row, to_column) = _COORDINATES[at], _COORDINATES[to]
    leg = f"{_COORDINATES[at]} to {_COORDINATES[to]}"
    distance = sorted((abs(row - to_row), abs(column - to_column)))
    if distance == [0, 2]:
        return f"{leg} has no piece in between; a hop goes over a piece"
    if distance == [0, 1] and not alone:
        return f"{leg} is a step; a step is a whole move, never part of a longer one"
    return f"{leg} is neither a step nor a hop; a step goes to an adjacent square, a hop two squares straight"


def _from_board(board: Sequence[Sequence[int]], to_move: Player) -> HopState:
    return HopState(read_board(board, SIZE), to_move)


def _start() -> HopState:
    return _from_board(START, 0)


# --- the look -----------------------------------------------------------------------------------------------------


def _trace(state: HopState, move: Move) -> Iterator[Step]:
    """Yield a step for each hop, with its capture, or the one step."""
    board = state.board()
    path = [(row, column) for row, column in move]
    for at, to in pairwise(path):
        own, board[at[0]][at[1]] = board[at[0]][at[1]], 0
        board[to[0]][to[1]] = own
        row, column = (at[0] + to[0]) // 2, (at[1] + to[1]) // 2
        captured = [(row, column)] if board[row][column] == 3 - own else []
        for row, column in captured:
            board[row][column] = 0
        yield make_step(board, source=[at], path=[at, to], to=[to], captured=captured)


_LOOK = Look(
    pieces={
        1: Piece("black piece", "disc", 0, text="B"),
        2: Piece("white piece", "ring", 1, text="W"),
    },
    colours=("black", "white"),
    regions=tuple(
        Region(f"{name}'s target region", player, tuple(_COORDINATES[n] for n in squares(_TARGETS[player])))
        for player, name in zip(_BOTH, PLAYERS, strict=True)
    ),
    score="pieces home: Black {0}, White {1}",
    measures=lambda state: (state.score(0), state.score(1)),
    trace=_trace,
)

HOP = Game(
    name="hop",
    title="Hop (NCTU Introduction to AI 2019)",
    players=PLAYERS,
    time_control=TimeControl("move", 5.0),
    penalty="the turn is skipped",
    differs=True,
    look=_LOOK,
    summary="cross 8x8 by hopping over pieces",
    rules=__doc__ or "",
    move_form=MoveForm("a list of squares, the piece's own first", ("path",)),
    starter=Starter(
        "You have nine pieces. As Black you want them in columns 6 and 7, as White in columns 0 and 1. A move is"
        " either one step to a neighbouring empty square, or hops over neighbouring pieces of either colour.",
        "0 for empty, 1 for Black, 2 for White",
        (
            "An enemy piece that is hopped over is removed: take pieces, and protect your own.",
            "The game ends when one player is home, and then all pieces in the target regions count.",
        ),
    ),
    turn_limit=_LAST_TURN,
    _start=_start,
    _from_board=_from_board,
)
