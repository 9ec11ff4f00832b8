"""Chain Reaction: fill a square until it explodes, as in the CSE Fest AI contest.

8×8; Red moves first. A square's *capacity* is its number of orthogonal neighbours: 2 in a corner, 3 at an
edge, 4 inside. A player adds one orb to an empty square or to one of its own, and that orb's square is the
move, ``(row, column)``. A square at capacity explodes: it loses as many orbs as its capacity, and each
neighbour gains one and turns to the mover's colour. Explosions go in waves: all squares at or over capacity
at the start of a wave explode together, then the next wave is computed. A player that owns all orbs after
any wave, or after a move without one, wins at once when both players have moved: the rest of the cascade is
not played. An illegal move or a missed limit loses the game.

Decision: the time limit is 5 seconds a move, where the original says "reasonable".

Every cascade ends. One that could go on for ever would explode every square again and again, so it takes
the opponent's last orb on the way and is halted there. A cascade that ends by itself leaves the same
board in whatever order its squares explode; only a halted board depends on the waves.

How it is kept: each square has a *fill*, its orbs and ``4 - capacity`` more, so that every square explodes
at 4, and an explosion sends out four orbs, of which those that would leave the board come back. Three whole
numbers hold the ones, twos and fours of all fills, and a wave is some thirty operations on whole boards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ._bits import check_board, full, shown, square
from ._game import Game, IllegalMove, Move, Outcome, Player, State, TimeControl
from ._tables import move_tables, moves_at

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

    passed = ()  # while a game goes on, both players have a square to play on

    def __init__(self) -> None:
        self.to_move: Player = 0
        self.outcome: Outcome | None = None
        self.ones, self.twos, self.fours = _EDGES, _CORNERS, 0
        self.mine = self.theirs = 0

    def board(self) -> list[list[int]]:
        sign = -1 if self.to_move else 1
        return [[self._orbs(n) * (-sign if self.theirs >> n & 1 else sign) for n in row] for row in _NUMBERS]

    def orbs(self, player: Player) -> int:
        """The orbs that ``player`` owns."""
        own = self.mine if player == self.to_move else self.theirs
        fills = sum(
            weight * (plane & own).bit_count()
            for weight, plane in ((1, self.ones), (2, self.twos), (4, self.fours))
        )
        return fills - (own & _EDGES).bit_count() - 2 * (own & _CORNERS).bit_count()

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
        both_have_moved = self.mine | self.theirs  # there is an orb: now there are two
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
        """The player on turn loses the game."""
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
        """The orbs."""
        return self.orbs(0), self.orbs(1)

    def __str__(self) -> str:
        """``R2`` is a square where Red has two orbs, ``.`` an empty one."""
        return "\n".join(" ".join(map(_cell_text, row)).rstrip() for row in self.board())

    def _square(self, move: Move) -> int:
        """The bit of the square that a legal move names."""
        self._expect_running()
        added = 1 << square(move, SIZE)
        if added & self.theirs:
            raise IllegalMove(
                f"{shown(move)} has orbs of {PLAYERS[1 - self.to_move]},"
                f" expected an empty square or one of {PLAYERS[self.to_move]}'s own"
            )
        return added

    def _expect_running(self) -> None:
        if self.outcome:
            raise IllegalMove(f"the game is over: {self.outcome.reason}")

    def _explode(self, fours: int) -> None:
        """Play the waves that start with the squares ``fours`` at capacity, until stable or won."""
        ones, twos, theirs = self.ones, self.twos, self.theirs
        while fours and theirs:
            # One orb in each direction. What would leave the board comes back: see the module's docstring.
            up = fours >> _STRIDE | fours & _TOP
            down = fours << _STRIDE & _BOARD | fours & _BOTTOM
            left = fours >> 1 & _BOARD | fours & _LEFT
            right = fours << 1 & _BOARD | fours & _RIGHT
            theirs &= ~(up | down | left | right)
            # Add the four to the fills, all squares at once: binary adders on whole boards.
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
        """The orbs on a square, whoever owns them."""
        fill = (self.ones >> number & 1) + 2 * (self.twos >> number & 1) + 4 * (self.fours >> number & 1)
        return fill - 4 + _capacity(number)


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
    """No square is at capacity, but on the board of a won game, whose cascade was halted."""
    for number, cell in cells:
        most = (2 if won else 1) * _capacity(number) - 1
        if abs(cell) > most:
            raise ValueError(f"{_COORDINATES[number]} has {abs(cell)} orbs, expected at most {most}")


CHAIN_REACTION = Game(
    name="chain_reaction",
    title="Chain Reaction (CSE Fest AI contest)",
    players=PLAYERS,
    time_control=TimeControl("move", 5.0),
    penalty="the player loses the game",
    differs=True,
    _start=ChainReactionState,
    _from_board=_from_board,
)
