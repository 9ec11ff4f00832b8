"""Pseudo-Tonga: grow few large isles, as in TopCoder Marathon Match 6.

On N×N (N even, 6 to 16), Black first, each turn places one stone on any empty square, ``(row, column)``. When
the board is full, a player's points are the sum of the squares of the sizes of its *isles*, the maximal
orthogonally connected groups of its stones. More points win, equal points draw; a tournament sums the signed
square root of the difference over games. An illegal move or a missed limit gives every empty square to the
opponent, and that board is scored. The time limit is for all of one's moves together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ._bits import components, read_board, shown
from ._filling import FillingState
from ._game import Game, Option, Outcome, Player, TimeControl

PLAYERS = ("Black", "White")
SIZE = Option("size", default=8, lowest=6, highest=16, step=2, help="squares along a side of the board")


class PseudoTongaState(FillingState):
    """A position on a board of ``size`` × ``size`` squares."""

    __slots__ = ()

    def fault(self) -> None:
        """Every empty square gets a stone of the opponent of the player on turn, and the board is scored."""
        self._expect_running()
        black, white = self.pieces
        self.pieces = (black | self.empty, white) if self.to_move else (black, white | self.empty)
        self.empty = 0
        result = self._result()
        reason = f"{PLAYERS[self.to_move]} made a fault: {result.reason}"
        self.outcome = replace(result, reason=reason)

    def _measures(self) -> tuple[float, float]:
        """The points so far."""
        return score(self.pieces[0], self.size), score(self.pieces[1], self.size)

    def _result(self) -> Outcome:
        black, white = score(self.pieces[0], self.size), score(self.pieces[1], self.size)
        winner: Player | None = None if black == white else 0 if black > white else 1
        return Outcome(winner, (black, white), f"Black has {black} points, White {white}")

    def __str__(self) -> str:
        return "\n".join(" ".join(".BW"[cell] for cell in row) for row in self.board())


def score(stones: int, size: int) -> int:
    """The points of one player: the sum of the squares of the sizes of its isles.

    Args:
        stones: the player's bits, see ``_bits``; ``size``: the squares along a side of the board.
    """
    return sum(isle.bit_count() ** 2 for isle in components(stones, size + 1))


def _from_board(board: Sequence[Sequence[int]], to_move: Player) -> PseudoTongaState:
    if not isinstance(board, (list, tuple)):
        raise ValueError(f"the board is {shown(board)}, expected a list of rows")  # noqa: TRY004 - as elsewhere
    size = SIZE.check(len(board))
    return PseudoTongaState(size, read_board(board, size), to_move)


def _start(size: int) -> PseudoTongaState:
    return PseudoTongaState(size, (0, 0), 0)


PSEUDO_TONGA = Game(
    name="pseudo_tonga",
    title="Pseudo-Tonga (TopCoder Marathon Match 6)",
    players=PLAYERS,
    time_control=TimeControl("budget", 20.0),
    penalty="every empty square gets the opponent's stone",
    differs=True,
    _start=_start,
    _from_board=_from_board,
    options={SIZE.name: SIZE},
)
