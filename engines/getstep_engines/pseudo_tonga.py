"""Pseudo-Tonga: grow few large isles, as in TopCoder Marathon Match 6.

- **Game.** Pseudo-Tonga (TopCoder Marathon Match 6), Black against White.
- **Idea.** The players fill the board, a stone at a time. A few large isles are worth more than many small
  ones.
- **Board.** 6×6 to 16×16, empty at the start. The host sets the option `size`, 6 to 16 in steps of 2, by
  default 8; a bot sees it as `len(board)`. If the host sets a range such as `"6-16"`, the size is drawn from the
  contest's seed, as in the original. Two games with swapped colours have the same size. A cell is 0 if empty, 1
  for a stone of Black, 2 for one of White.
- **Move.** `(row, column)`: the square for a new stone, for example `(3, 4)`.
- **Legal** is every empty square.
- **What happens.** The stone is placed. Stones never move and never disappear.
- **End.** When the board is full.
- **Score and winner.** A group of one player's stones is an *isle*; it is worth its size times its size, and a
  player's score is the sum over its isles. The higher score wins, equal scores are a draw. The score difference
  counts in the tournament.
- **Time.** 20 s for all of one's moves in a game.
- **Faults.** An illegal move, an exception or a used-up budget ends the game: every empty square gets the
  opponent's stone, and that full board is scored like any other.
- **Examples.** The last move of a game: Black's isles are 11, 4 and 3 stones, 121 + 16 + 9 = 146; White's 12, 5
  and the new one, 144 + 25 + 1 = 170. Then an early fault in another game: 2 stones against 34.

```text
White to move | White plays (5, 5)
1 2 2 1 1 1   | White wins: 146 and 170
1 2 2 1 2 2   |
1 1 2 2 2 1   |
2 1 1 1 2 1   |
2 2 1 2 2 1   |
2 2 1 1 1 0   |
```

```text
Black to move | Black makes a fault | 2 2 2 2 2 2
0 0 0 0 0 0   |                     | 2 2 2 2 2 2
0 0 0 0 0 0   |                     | 2 2 1 1 2 2
0 0 1 1 0 0   |                     | 2 2 2 2 2 2
0 0 2 2 0 0   |                     | 2 2 2 2 2 2
0 0 0 0 0 0   |                     | 2 2 2 2 2 2
0 0 0 0 0 0   |                     | White wins: 4 and 1156
```

**The house bot**, `getstep_bots/house_pseudo_tonga.py`, plays like the opponent in the original contest, as far
as it is known. On an empty board it takes one of the four middle squares. Otherwise it searches its move, the
reply and its next move (fewer, if fewer than three squares are empty). The value of a position is the sum of
area² × perimeter over its isles, minus the same sum over the opponent's isles. **Decision:** an isle's
perimeter is the number of edges of its squares that do not face another square of that isle. **Decision:** of
equal moves it takes the one with the lowest row, then the lowest column.
"""

from __future__ import annotations

from collections.abc import Sequence

from ._bits import components, neighbours, read_board, short_repr
from ._filling import FillingState
from ._game import SQUARE, Game, Option, Outcome, Player, Starter, TimeControl
from .look import Look, Piece

PLAYERS = ("Black", "White")
SIZE = Option("size", default=8, lowest=6, highest=16, step=2, help="squares along a side of the board")


class PseudoTongaState(FillingState):
    """A position on a board of ``size`` × ``size`` squares."""

    __slots__ = ()

    def fault(self) -> None:
        """Put a stone of the opponent on every empty square, and score the board."""
        self._expect_running()
        black, white = self.pieces
        self.pieces = (black | self.empty, white) if self.to_move else (black, white | self.empty)
        self.empty = 0
        result = self._result()
        reason = f"{PLAYERS[self.to_move]} made a fault: {result.reason}"
        self.outcome = Outcome(result.winner, result.scores, reason)

    def _measures(self) -> tuple[float, float]:
        """Return the points, and for each isle what each empty square next to it would add to them."""
        black, white = (_promise(stones, self.empty, self.size + 1) for stones in self.pieces)
        return black, white

    def _result(self) -> Outcome:
        black, white = score(self.pieces[0], self.size), score(self.pieces[1], self.size)
        winner: Player | None = None if black == white else 0 if black > white else 1
        return Outcome(winner, (black, white), f"Black has {black} points, White {white}")

    def __str__(self) -> str:
        return "\n".join(" ".join(".BW"[cell] for cell in row) for row in self.board())


def score(stones: int, size: int) -> int:
    """Return the points of one player: the sum of the squares of the sizes of its isles.

    Args:
        stones: the player's bits, see ``_bits``; ``size``: the squares along a side of the board.
    """
    return sum(isle.bit_count() ** 2 for isle in components(stones, size + 1))


def _promise(stones: int, empty: int, stride: int) -> int:
    """Return the sum over all isles of ``n² + 2 n e``, for ``n`` stones and ``e`` empty squares next to them.

    One stone more makes n² + 2 n + 1 of n². A bot that looks one move ahead and counts the points alone does not
    see that an isle is shut in: it wins 1 of 5 games against one that counts this.
    """
    total = 0
    for isle in components(stones, stride):
        size = isle.bit_count()
        total += size * (size + 2 * (neighbours(isle, stride) & empty).bit_count())
    return total


def _from_board(board: Sequence[Sequence[int]], to_move: Player) -> PseudoTongaState:
    if not isinstance(board, (list, tuple)):
        raise ValueError(f"the board is {short_repr(board)}; expected a list of rows")  # noqa: TRY004 - as elsewhere
    size = SIZE.check(len(board))
    return PseudoTongaState(size, read_board(board, size), to_move)


def _start(size: int) -> PseudoTongaState:
    return PseudoTongaState(size, (0, 0), 0)


_LOOK = Look(
    pieces={
        1: Piece("black stone", "disc", 0, text="B"),
        2: Piece("white stone", "ring", 1, text="W"),
    },
    colours=("black", "white"),
    score="points: Black {0}, White {1}",
    measures=lambda state: (score(state.pieces[0], state.size), score(state.pieces[1], state.size)),
)

PSEUDO_TONGA = Game(
    name="pseudo_tonga",
    title="Pseudo-Tonga (TopCoder Marathon Match 6)",
    players=PLAYERS,
    time_control=TimeControl("budget", 20.0),
    penalty="every empty square gets the opponent's stone",
    differs=True,
    look=_LOOK,
    summary="fill the board, big isles count",
    rules=__doc__ or "",
    move_form=SQUARE,
    starter=Starter(
        "Both players fill the board in turn. A group of connected stones of yours counts its size squared, so few"
        " big groups beat many small ones.",
        "0 for empty, 1 for the first player, 2 for the second; the board is N by N, N even, from 6 to 16",
        (
            "The time limit is for all your moves in a match together: do not spend it on one move.",
            "One big group is worth more than two small ones: join yours, and keep the opponent's apart.",
        ),
    ),
    scoring="signed_roots",
    _start=_start,
    _from_board=_from_board,
    options={SIZE.name: SIZE},
)
