"""Chain Reaction: fill a square until it explodes, as in the CSE Fest AI contest.

- **Game.** Chain Reaction (CSE Fest AI contest), Red against Green.
- **Idea.** Put orbs on your squares until they explode and take over the squares around them. The player who
  owns every orb wins.
- **Board.** 8×8, empty at the start. A cell is 0 if empty, n for n orbs of Red, −n for n orbs of Green.
- **Move.** `(row, column)`: the square that gets one more orb, for example `(0, 0)`.
- **Legal** is every square that is empty or your own; never one with the opponent's orbs.
- **What happens.** The *capacity* of a square is the number of its neighbours: 2 in a corner, 3 along an edge,
  4 elsewhere. The orb is added. Then waves follow: all squares that hold their capacity or more when a wave
  begins explode at the same time. An exploding square gives one orb to each neighbour, and so loses as many
  orbs as its capacity. Every neighbour, with all its orbs, now belongs to the player who moved. If squares then
  hold their capacity or more, the next wave follows. The turn is over when no square does.
- **End.** As soon as all orbs on the board belong to the player who moved, provided that both players have
  moved. This is checked after the move and after every single wave. The next wave is then not played: such a
  cascade could continue without end.
- **Score and winner.** The player who owns all orbs wins. The score of a player is the number of its orbs.
  There are no draws.
- **Time.** 5 s a move. **Decision:** the original's text asks for a "reasonable" time. Its host waited a little
  more than 6 s for a program that uses the file, and without limit for one that uses the console. Here both play
  each other, so one limit holds for both, and a program that hangs does not stop a contest. A contest with programs
  that think as long as the original let them sets `move_seconds = 7`.
- **Faults.** An illegal move or a missed limit: the player loses the game. The scores are the orbs at that
  moment. **Decision:** the original "disqualifies" the player; this means that the player loses this game, and
  no other.
- **Example.** In the first wave the corner explodes. In the second wave (0, 1) and (1, 0) explode, with three
  orbs each, and take Green's last square, (0, 2). Red has won at once. The corner holds its capacity again, but
  no third wave is played.

```text
Red to move             | legal:   (4, 4)    # empty      |  2  0  2  0  0  0  0  0
 1  2 -1  0  0  0  0  0 | legal:   (0, 1)    # Red's own  |  0  2  0  0  0  0  0  0
-2  0  0  0  0  0  0  0 | illegal: (1, 0)    # Green's    |  1  0  0  0  0  0  0  0
 0  0  0  0  0  0  0  0 | Red plays (0, 0)                |  0  0  0  0  0  0  0  0
 0  0  0  0  0  0  0  0 |                                 |  0  0  0  0  0  0  0  0
 0  0  0  0  0  0  0  0 |                                 |  0  0  0  0  0  0  0  0
 0  0  0  0  0  0  0  0 |                                 |  0  0  0  0  0  0  0  0
 0  0  0  0  0  0  0  0 |                                 |  0  0  0  0  0  0  0  0
 0  0  0  0  0  0  0  0 |                                 | Red wins: 7 and 0
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ._bits import check_board, full, neighbours, short_repr, square
from ._game import SQUARE, Game, IllegalMove, Move, Outcome, Player, Starter, State, TimeControl
from ._tables import move_tables, moves_at
from .look import Look, Piece, Square, Step, make_step

# Every cascade ends. An endless cascade would explode every square repeatedly. So it would take the opponent's last
# orb, and the cascade is halted there. A cascade that is not halted leaves the same board in any order of its
# explosions; only a halted board depends on the waves.
#
# Representation: the *fill* of a square is its number of orbs plus ``4 - capacity``, so that every square
# explodes at 4. An explosion sends out four orbs; those that would leave the board come back. Three integers
# (planes) hold the ones, twos and fours of all fills, so a wave is about thirty operations on integers. A move is
# 34 times as fast as on nested lists.

SIZE = 8
PLAYERS = ("Red", "Green")

_STRIDE = SIZE + 1
_BYTES = _STRIDE * SIZE // 8
_BOARD = full(SIZE)
_OTHER: tuple[Player, Player] = (1, 0)

_TOP = (1 << SIZE) - 1
_BOTTOM = _TOP << _STRIDE * (SIZE - 1)
_LEFT = sum(1 << _STRIDE * row for row in range(SIZE))
_RIGHT = _LEFT << SIZE - 1
_CORNERS = (_TOP | _BOTTOM) & (_LEFT | _RIGHT)
_EDGES = (_TOP | _BOTTOM | _LEFT | _RIGHT) ^ _CORNERS

_NUMBERS = [[row * _STRIDE + column for column in range(SIZE)] for row in range(SIZE)]
_COORDINATES = [divmod(number, _STRIDE) for number in range(SIZE * _STRIDE)]  # guard squares too, never used
_MOVES = move_tables(_COORDINATES)


class ChainReactionState(State):
    """A position: the planes of the fills, and the squares of the player on turn and of its opponent."""

    __slots__ = ("fours", "mine", "ones", "outcome", "theirs", "to_move", "twos")

    passed = ()  # until the game is over, both players have a legal move

    def __init__(self) -> None:
        self.to_move: Player = 0
        self.outcome: Outcome | None = None
        self.ones, self.twos, self.fours = _EDGES, _CORNERS, 0
        self.mine = self.theirs = 0

    def board(self) -> list[list[int]]:
        sign = -1 if self.to_move else 1
        return [[self._orbs(n) * (-sign if self.theirs >> n & 1 else sign) for n in row] for row in _NUMBERS]

    def orbs(self, player: Player) -> int:
        """Return the number of orbs that ``player`` owns."""
        return self._orbs_on(self.mine if player == self.to_move else self.theirs)

    def _orbs_on(self, squares: int) -> int:
        fills = sum(
            weight * (plane & squares).bit_count()
            for weight, plane in ((1, self.ones), (2, self.twos), (4, self.fours))
        )
        return fills - (squares & _EDGES).bit_count() - 2 * (squares & _CORNERS).bit_count()

    def legal_moves(self) -> Iterator[tuple[int, int]]:
        free = 0 if self.outcome else _BOARD ^ self.theirs
        return moves_at(_MOVES, free.to_bytes(_BYTES, "little"))

    def is_legal(self, move: Move) -> bool:
        try:
            self._square(move)
        except IllegalMove:
            return False
        return True

    def play(self, move: Move) -> None:
        added = self._square(move)
        both_have_moved = self.mine | self.theirs  # not 0 if there is an orb, so this is not the first move
        self.mine |= added
        self.ones ^= added
        if not self.ones & added:
            self.twos ^= added
            if not self.twos & added:
                self._explode(added)
        if both_have_moved and not self.theirs:
            self._win(self.to_move)
        self.mine, self.theirs = self.theirs, self.mine
        self.to_move = _OTHER[self.to_move]

    def fault(self) -> None:
        """End the game; the player on turn loses."""
        self._expect_running()
        name = PLAYERS[self.to_move]
        self._end(_OTHER[self.to_move], f"{name} made a fault")

    def copy(self) -> ChainReactionState:
        twin = object.__new__(ChainReactionState)
        twin.to_move = self.to_move
        twin.outcome = self.outcome
        twin.ones, twin.twos, twin.fours = self.ones, self.twos, self.fours
        twin.mine, twin.theirs = self.mine, self.theirs
        return twin

    def _measures(self) -> tuple[float, float]:
        """Return the players' orbs, without those that the player on turn can take by its next explosion.

        A corner adds 0.04 and an edge 0.02, so that among equal squares those are best that explode early.
        """
        about_to_explode = self.ones & self.twos & self.mine
        safe = self.theirs & ~neighbours(about_to_explode, _STRIDE)
        mine = self._orbs_on(self.mine) + _places(self.mine)
        theirs = self._orbs_on(safe) + _places(self.theirs)
        return (theirs, mine) if self.to_move else (mine, theirs)

    def __str__(self) -> str:
        """Return the board as text: ``R2`` is a square with two orbs of Red, ``.`` an empty square."""
        return "\n".join(" ".join(map(_cell_text, row)).rstrip() for row in self.board())

    def _square(self, move: Move) -> int:
        """Return the bit of the square of a legal move; raise IllegalMove if the move is illegal."""
        self._expect_running()
        added = 1 << square(move, SIZE)
        if added & self.theirs:
            raise IllegalMove(
                f"{short_repr(move)} has orbs of {PLAYERS[1 - self.to_move]};"
                f" an orb goes on an empty square or on one of {PLAYERS[self.to_move]}'s own"
            )
        return added

    def _expect_running(self) -> None:
        if self.outcome:
            raise IllegalMove(f"the game is over: {self.outcome.reason}")

    def _explode(self, fours: int) -> None:
        """Play the waves that start with the squares ``fours`` at capacity, until the board is stable or won."""
        ones, twos, theirs = self.ones, self.twos, self.theirs
        while fours and theirs:
            # One orb in each direction. An orb that would leave the board comes back: see the module's docstring.
            up = fours >> _STRIDE | fours & _TOP
            down = fours << _STRIDE & _BOARD | fours & _BOTTOM
            left = fours >> 1 & _BOARD | fours & _LEFT
            right = fours << 1 & _BOARD | fours & _RIGHT
            theirs &= ~(up | down | left | right)
            # Add the four orbs to the fills of all squares at once, by binary adders on the planes.
            both, pair = up & down, left & right
            odd, even = up ^ down, left ^ right
            gain_ones, gain_twos, gain_fours = odd ^ even, both ^ pair ^ (odd & even), both & pair
            carry = ones & gain_ones
            ones ^= gain_ones
            fours = gain_fours | twos & gain_twos | (twos ^ gain_twos) & carry
            twos ^= gain_twos ^ carry
        self.ones, self.twos, self.fours, self.theirs = ones, twos, fours, theirs
        self.mine = ((ones ^ _EDGES) | (twos ^ _CORNERS) | fours) & ~theirs

    def _win(self, winner: Player) -> None:
        self._end(winner, f"{PLAYERS[winner]} owns all {self.orbs(winner)} orbs")

    def _end(self, winner: Player, reason: str) -> None:
        self.outcome = Outcome(winner, (self.orbs(0), self.orbs(1)), reason)

    def _orbs(self, number: int) -> int:
        """Return the number of orbs on a square, of either player."""
        fill = (self.ones >> number & 1) + 2 * (self.twos >> number & 1) + 4 * (self.fours >> number & 1)
        return fill - 4 + _capacity(number)


def _places(squares: int) -> float:
    return (2 * (squares & _CORNERS).bit_count() + (squares & _EDGES).bit_count()) / 50


def _capacity(number: int) -> int:
    return 4 - (_EDGES >> number & 1) - 2 * (_CORNERS >> number & 1)


def _cell_text(cell: int) -> str:
    return f"{'R' if cell > 0 else 'G'}{abs(cell)}" if cell else ". "


def _from_board(board: Sequence[Sequence[int]], to_move: Player) -> ChainReactionState:
    check_board(board, SIZE, range(-7, 8))
    cells = [(_NUMBERS[r][c], cell) for r, row in enumerate(board) for c, cell in enumerate(row)]
    red, green = (sum(1 << n for n, cell in cells if cell * sign > 0) for sign in (1, -1))
    won = not (red and green) and sum(abs(cell) for _, cell in cells) > 1
    _check_fills(cells, won)
    state = ChainReactionState()
    state.to_move = to_move
    state.mine, state.theirs = (green, red) if to_move else (red, green)
    fills = [(n, abs(cell) + 4 - _capacity(n)) for n, cell in cells]
    state.ones, state.twos, state.fours = (sum((f >> p & 1) << n for n, f in fills) for p in range(3))
    if won:
        state._win(0 if red else 1)
    return state


def _check_fills(cells: list[tuple[int, int]], won: bool) -> None:
    """Check that no square is at capacity. On the board of a won game one may be: its cascade was halted."""
    for number, cell in cells:
        most = (2 if won else 1) * _capacity(number) - 1
        if abs(cell) > most:
            raise ValueError(f"{_COORDINATES[number]} has {abs(cell)} orbs; expected at most {most}")


# --- the look -----------------------------------------------------------------------------------------------------


def _trace(state: ChainReactionState, move: Move) -> Iterator[Step]:
    """Yield the placing of the orb, then each wave, on a plain board: ``_explode`` keeps no boards in between."""
    sign = -1 if state.to_move else 1
    board = state.board()
    row, column = move
    board[row][column] += sign
    yield make_step(board, to=[(row, column)])
    while (full := _full(board)) and _owned(board, -sign):
        theirs = _owned(board, -sign)
        for row, column in full:
            board[row][column] -= sign * _capacity(_NUMBERS[row][column])
        hit = [at for square in full for at in _neighbours(square)]
        for row, column in hit:
            board[row][column] = sign * (abs(board[row][column]) + 1)
        yield make_step(board, exploded=full, captured=[at for at in theirs if at in hit])


def _full(board: list[list[int]]) -> list[Square]:
    """Return the squares at or over capacity."""
    return [
        (r, c)
        for r, row in enumerate(board)
        for c, cell in enumerate(row)
        if abs(cell) >= _capacity(_NUMBERS[r][c])
    ]


def _owned(board: list[list[int]], sign: int) -> list[Square]:
    return [(r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if cell * sign > 0]


def _neighbours(at: Square) -> list[Square]:
    row, column = at
    around = [(row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)]
    return [(r, c) for r, c in around if 0 <= r < SIZE and 0 <= c < SIZE]


def _pieces() -> Iterator[tuple[int, Piece]]:
    """Yield the pieces of 1 to 7 orbs of each player: 7 is the most that a halted cascade leaves on a square."""
    for orbs in range(1, 8):
        plural = "s" if orbs > 1 else ""
        yield orbs, Piece(f"{orbs} orb{plural} of {PLAYERS[0]}", "disc", 0, str(orbs), f"R{orbs}")
        yield -orbs, Piece(f"{orbs} orb{plural} of {PLAYERS[1]}", "diamond", 1, str(orbs), f"G{orbs}")


_LOOK = Look(
    pieces=dict(_pieces()),
    colours=("red", "green"),
    score="orbs: Red {0}, Green {1}",
    measures=lambda state: (state.orbs(0), state.orbs(1)),
    trace=_trace,
)

CHAIN_REACTION = Game(
    name="chain_reaction",
    title="Chain Reaction (CSE Fest AI contest)",
    players=PLAYERS,
    time_control=TimeControl("move", 5.0),  # the original's host had 6 s or none: "Time" above says why not here
    penalty="the player loses the game",
    differs=True,
    look=_LOOK,
    summary="orbs that explode on 8x8",
    rules=__doc__ or "",
    move_form=SQUARE,
    starter=Starter(
        "You add an orb to an empty square or to one of yours. A square that has as many orbs as neighbours"
        " explodes: each neighbour gets one orb, and all orbs there become yours. A player who owns all orbs wins.",
        "0 for empty, 3 for three orbs of the first player, -3 for three of the second",
        (
            "A square that is about to explode next to the enemy is a good one.",
            "Corners need two orbs only, and have two neighbours only.",
        ),
    ),
    _start=ChainReactionState,
    _from_board=_from_board,
)
