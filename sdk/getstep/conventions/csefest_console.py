"""The CSE Fest AI contest over standard input and output: chain_reaction.

The program's argument is its colour, ``R`` (first) or ``G``. It reads ``start`` once, then 8 lines of the board
before each of its moves. A line is 8 cells, each followed by a space: ``No`` for an empty one, otherwise the colour
and the number of orbs, such as ``R1``. It writes ``x y``: x is the row and y the column, both from 0. The
original's text suggests a ``printf`` without a newline: such a move counts once the program is silent or has ended.
"""

from __future__ import annotations

from typing import Any

from ._chain_reaction import COLOURS, board_lines
from ._convention import Input, Output, Question, Talk, read_two_numbers


class CsefestConsole(Talk):
    """One game of a console program of the CSE Fest contest."""

    game = "chain_reaction"

    def arguments(self) -> tuple[str, ...]:
        return (COLOURS[self.player],)

    def begin(self) -> Input:
        return Input(b"start\n")

    def ask(self, question: Question) -> Input:
        return Input(board_lines(question.board) + b"\n")

    def read(self, output: Output) -> tuple[Any, int] | None:
        complete = output.silent or output.ended
        return read_two_numbers(output.data, "x and y (row and column) on a line", complete=complete)
