"""The Linkage ladder: linkage over two files, with a process for each turn.

The program reads ``input.txt`` in its folder. Its first line has the player, ``M`` (first) or ``F``, and the
numbers of dominoes left in the order R B G Y, such as ``M6666``. Seven lines of seven follow: ``R B G Y`` for a
domino's square, ``X`` for the centre, ``x`` for a square that touches the opponent's last domino, ``.`` for a
free one. The program writes ``order.txt``: the colour and two squares, a column A to G and a row 1 to 7 each,
such as ``RA1A2``; capitals or not. It may keep one more file in its folder.
"""

from __future__ import annotations

import re
from typing import Any

from ._convention import ConventionError, Input, Output, Question, Talk, shown

FILE, ORDER = "input.txt", "order.txt"
COLOURS = "RBGY"
DOMINOES = 6
_CELLS = {-2: "x", -1: "X", 0: ".", **dict(enumerate(COLOURS, 1))}
_ORDER = re.compile(rb"([RBGY])([A-G])([1-7])([A-G])([1-7])", re.IGNORECASE)


class Linkage(Talk):
    """One game of a program of the Linkage ladder."""

    game = "linkage"
    process_per_turn = True
    output_file = ORDER

    def ask(self, question: Question) -> Input:
        board = question.board
        cells = [cell for row in board for cell in row]
        left = "".join(str(DOMINOES - cells.count(colour) // 2) for colour in range(1, len(COLOURS) + 1))
        lines = ["MF"[self.player] + left, *("".join(_CELLS[cell] for cell in row) for row in board)]
        return Input(files={FILE: "".join(f"{line}\n" for line in lines).encode()})

    def read(self, output: Output) -> tuple[Any, int] | None:
        if not output.ended:
            return None  # the process writes the file at any time before it ends
        text = output.data.strip()
        if not text:
            raise ConventionError(
                f"the program has ended and {ORDER} is missing or empty; expected RA1A2, for example"
            )
        if text.lower() == b"skip":
            raise ConventionError("wrote Skip, though there is a legal move")
        found = _ORDER.fullmatch(text)
        if not found:
            raise ConventionError(f"{ORDER} has {shown(text)}; expected a colour and two squares, such as RA1A2")
        order = found[0].decode().upper()
        first, second = (("ABCDEFG".index(order[n]), int(order[n + 1]) - 1) for n in (1, 3))
        return (order[0], first[::-1], second[::-1]), len(output.data)
