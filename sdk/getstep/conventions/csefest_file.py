"""The CSE Fest AI contest over a file: chain_reaction.

The program's argument is its colour, ``R`` (first) or ``G``. It polls ``shared_file.txt`` in its folder for as
long as it lives; there is no sign of the end. The host writes the colour on turn and then the 8 lines of the
board, as in `csefest_console`, without a newline at the end. The program whose colour it is writes ``0`` and,
on the second line, ``x y``: x is the row and y the column, both from 0.

The host has written the file before it starts the program: programs of the contest, its own sample too, open it at
their start and end with an error without it. It has the opponent's colour until the first turn.
"""

from __future__ import annotations

from typing import Any

from getstep.games import Board

from ._chain_reaction import COLOURS, EMPTY, board_lines
from ._convention import ConventionError, Input, Output, Question, Talk, read_two_numbers, shown

FILE = "shared_file.txt"


class CsefestFile(Talk):
    """One game of a program of the CSE Fest contest that uses the shared file."""

    game = "chain_reaction"
    output_file = FILE

    def arguments(self) -> tuple[str, ...]:
        return (COLOURS[self.player],)

    def begin(self) -> Input:
        return _file(COLOURS[1 - self.player], EMPTY)

    def ask(self, question: Question) -> Input:
        return _file(COLOURS[self.player], question.board)

    def read(self, output: Output) -> tuple[Any, int] | None:
        first, newline, rest = output.data.lstrip().partition(b"\n")
        first = first.strip()
        if first in (b"R", b"G", b""):
            return None  # the host's own text, or nothing yet
        complete = output.silent or output.ended
        if first != b"0" or not newline:
            if not complete:
                return None  # the file is half written
            raise ConventionError(f"the first line of {FILE} is {shown(first)}; expected 0, then x and y")
        found = read_two_numbers(rest, "x and y (row and column) on the second line", complete=complete)
        return None if found is None else (found[0], len(output.data))


def _file(colour: str, board: Board) -> Input:
    return Input(files={FILE: colour.encode() + b"\n" + board_lines(board)})
