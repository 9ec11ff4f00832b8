"""A picture for a renderer: a board, the squares to mark, and the look of the game."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property
from typing import Any

from getstep_engines import Game, Look, Piece, Step, Touched

Square = tuple[int, int]

LARGEST_BOARD = 128
"""Rows and columns that are drawn: a message of the protocol carries no more. getstep's own games have up to 16."""


class Mark(Enum):
    """Why a square is marked. If a square has several marks, the first one here is drawn."""

    FAULT = "the illegal move"
    ARRIVED = "the last move"
    CHANGED = "left, captured or exploded"


@dataclass(frozen=True)
class Picture:
    """A board with the squares that the last move touched.

    Args:
        look: how the game looks.
        board: the absolute board, at most `LARGEST_BOARD` rows and columns.
        touched: the squares of the last move.
        fault: the squares of an illegal move.

    Raises:
        ValueError: the board is larger, or its rows do not have the same length.
    """

    look: Look
    board: Sequence[Sequence[int]]
    touched: Touched = field(default_factory=Touched)
    fault: tuple[Square, ...] = ()

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.board}
        if len(self.board) > LARGEST_BOARD or max(widths, default=0) > LARGEST_BOARD or len(widths) > 1:
            raise ValueError(
                f"the board has {len(self.board)} rows of {sorted(widths)} squares;"
                f" expected at most {LARGEST_BOARD}, all of one length"
            )

    @classmethod
    def after(cls, game: Game, steps: Sequence[Step]) -> Picture:
        """Return the picture after a move or a penalty, from its `Game.trace`: all its steps are marked."""
        return cls(game.look, steps[-1].board, merge(step.touched for step in steps))

    def with_fault(self, move: Any) -> Picture:
        """Return the picture with the squares of an illegal move marked; ``move`` may be any object."""
        return replace(self, touched=Touched(), fault=tuple(squares_of(move, len(self.board), self.columns)))

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.board[0]) if self.board else 0

    @cached_property
    def pieces(self) -> list[Piece]:
        """The pieces on the board, row by row."""
        return [piece for _, row in self.rows() for _, piece in row if piece is not None]

    @cached_property
    def marks(self) -> dict[Square, Mark]:
        """The mark of each marked square."""
        touched = self.touched
        marks = dict.fromkeys((*touched.source, *touched.path, *touched.captured, *touched.exploded), Mark.CHANGED)
        marks |= dict.fromkeys(touched.to, Mark.ARRIVED)
        return marks | dict.fromkeys(self.fault, Mark.FAULT)

    @cached_property
    def shaded(self) -> frozenset[Square]:
        """The squares of all regions, as far as the board has them."""
        squares = (at for region in self.look.regions for at in region.squares)
        return frozenset((r, c) for r, c in squares if r < len(self.board) and c < self.columns)

    def piece(self, at: Square) -> Piece | None:
        """Return the piece on a square; None if it is empty."""
        return self.look.piece(self.board[at[0]][at[1]])

    def rows(self) -> Iterator[tuple[int, list[tuple[Square, Piece | None]]]]:
        """Yield each row's number with its squares and their pieces."""
        for number in range(len(self.board)):
            yield number, [((number, column), self.piece((number, column))) for column in range(self.columns)]


def merge(parts: Iterable[Touched]) -> Touched:
    """Return the squares that several steps touched, as if they were one."""
    every = list(parts)
    # A hopping piece passes squares on which it arrives and which it leaves again: only the last one counts.
    last = every[-1].to if every else ()
    squares = {
        part.name: tuple(dict.fromkeys(at for touched in every for at in getattr(touched, part.name)))
        for part in fields(Touched)
    }
    moved = bool(squares["path"])
    return Touched(**{**squares, "to": last} if moved else squares)


def squares_of(move: Any, rows: int, columns: int, depth: int = 3) -> list[Square]:
    """Return the squares of the board that ``move``, which may be any object, names anywhere in it."""
    if not isinstance(move, (list, tuple)) or depth == 0:
        return []
    if len(move) == 2 and all(type(number) is int for number in move):
        return [(move[0], move[1])] if 0 <= move[0] < rows and 0 <= move[1] < columns else []
    found = [at for part in move[:100] for at in squares_of(part, rows, columns, depth - 1)]
    return list(dict.fromkeys(found))


def legend(picture: Picture) -> str:
    """Return the pieces on the board as plain text draws them: ``B black piece, W white piece``.

    Of pieces that differ in their label only, such as one orb and two orbs of a player, one is named.
    """
    pieces = picture.pieces
    kinds = {(piece.player, piece.shape, piece.colour): piece for piece in reversed(pieces)}
    entries = [f"{piece.text} {piece.name}" for piece in sorted(kinds.values(), key=pieces.index)]
    if picture.shaded:
        entries.append(": " + " or ".join(region.name for region in picture.look.regions))
    return ", ".join(entries)


def describe(picture: Picture) -> str:
    """Return what is on the board in words, for people who do not see it: ``9 × black piece; last move on 2,3``."""
    counts = Counter(piece.name for piece in picture.pieces)
    parts = [", ".join(f"{number} × {name}" for name, number in counts.items()) or "empty board"]
    for mark in (Mark.ARRIVED, Mark.FAULT):
        marked = [f"{row},{column}" for (row, column), found in picture.marks.items() if found is mark]
        if 0 < len(marked) <= 8:  # a penalty may fill a whole board
            parts.append(f"{mark.value} on {' and '.join(marked)}")
    return "; ".join(parts)
