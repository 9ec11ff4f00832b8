"""TopCoder Marathon Match 6: pseudo_tonga, a class with two methods.

The class ``PseudoTonga`` has ``int[] init(int N, int row, int col)`` and ``int[] move(int row, int col)``.
``init`` gets the size and the opponent's first move, -1 and -1 if the program starts, and returns the program's
first move; ``move`` gets the opponent's move and returns the next one. A wrapper for each language calls it
(`topcoder_wrapper` for Python). The wrapper reads a line for each call, ``N row col`` first and then ``row
col``, and writes the array that was returned.
"""

from __future__ import annotations

import re
from typing import Any

from getstep_engines import Player

from ._convention import MAX_OUTPUT, ConventionError, Input, Output, Question, Talk, shown

_LINE = re.compile(rb"[ \t]*((?:-?\d{1,10}[ \t]*)*)\r?\n")


class TopCoder(Talk):
    """One game of a class of the TopCoder match."""

    game = "pseudo_tonga"
    from_any_board = False  # the class is never told the board

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self._begun = False

    def ask(self, question: Question) -> Input:
        row, column = (-1, -1) if question.last_move is None else question.last_move
        size = b"" if self._begun else b"%d " % len(question.board)
        self._begun = True
        return Input(size + b"%d %d\n" % (row, column))

    def read(self, output: Output) -> tuple[Any, int] | None:
        found = _LINE.match(output.data)
        if found:
            numbers = [int(word) for word in found[1].split()]
            if len(numbers) != 2:
                raise ConventionError(
                    f"the method returned an array of {len(numbers)} elements; expected two, row and column"
                )
            return (numbers[0], numbers[1]), found.end()
        if b"\n" in output.data or len(output.data) > MAX_OUTPUT or output.ended:
            raise ConventionError(f"the wrapper wrote {shown(output.data)}; expected an array's numbers on a line")
        return None
