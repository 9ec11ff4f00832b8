"""The Prodrive Dev Challenge: longest_path over standard input and output.

The first line that the program reads is its player id: ``0`` moves first, ``1`` second. (An example of the
original shows ``1`` and ``2``; its text and all public programs have ``0`` and ``1``.) Before each of its moves,
but not before the first one of player 0, it reads the opponent's last move. A move is ``x y``: x is the column and
y the row, both from 0. (Some programs swap them; the game is symmetric.) As in the original, each may stand on a
line of its own. The program also reads the opponent's last move of the game, after its own last one: programs exist
that wait for it and end with an error without it.
"""

from __future__ import annotations

from typing import Any

from ._convention import Input, Output, Question, Talk, read_two_numbers


class Prodrive(Talk):
    """One game of a program of the Prodrive Dev Challenge."""

    game = "longest_path"
    from_any_board = False  # a program is never told the board

    def begin(self) -> Input:
        return Input(b"%d\n" % self.player)

    def ask(self, question: Question) -> Input:
        return Input() if question.last_move is None else _move(question.last_move)

    def read(self, output: Output) -> tuple[Any, int] | None:
        names = "x and y (column and row) on a line"
        found = read_two_numbers(output.data, names, complete=output.ended, two_lines=True)
        if found is None:
            return None
        (column, row), length = found
        return (row, column), length

    def after(self, question: Question, move: Any) -> Input:
        """Return the opponent's last move, if ``move`` leaves one empty square: it must go there."""
        empty = [(r, c) for r, cells in enumerate(question.board) for c, cell in enumerate(cells) if not cell]
        rest = [square for square in empty if square != tuple(move)]
        return _move(rest[0]) if len(rest) == 1 and len(empty) == 2 else Input()


def _move(square: Any) -> Input:
    row, column = square
    return Input(b"%d %d\n" % (column, row))
