"""A board as plain text: ASCII only, for logs, pipes and terminals without colours."""

from __future__ import annotations

from .picture import Mark, Picture

FRAMES = {Mark.FAULT: ("!", "!"), Mark.ARRIVED: ("[", "]"), Mark.CHANGED: ("(", ")"), None: (" ", " ")}
"""The two characters around a square with a mark, and around one without."""


def draw_text(picture: Picture) -> str:
    """Return the board with row and column numbers, a line for each row.

    ``.`` is an empty square, ``:`` an empty square of a region. A square is in ``[ ]`` if the last move arrived
    there, in ``( )`` if a piece left it, was captured or exploded, in ``! !`` if it belongs to an illegal move.
    """
    widest = max((len(piece.text) for piece in (*picture.look.pieces.values(), *picture.pieces)), default=1)
    width = max(widest, len(str(picture.columns - 1)) - 1)  # numbers of two digits fit between the frames
    head = "    " + "".join(
        f" {column:>{width}} " if column < 10 else f"{column:>{width + 1}} " for column in range(picture.columns)
    )
    lines, marks, shaded = [head.rstrip()], picture.marks, picture.shaded
    for number, row in picture.rows():
        line = f"{number:>2}  "
        for at, piece in row:
            mark = marks.get(at)
            before, after = FRAMES[mark]
            empty = " " if mark is Mark.CHANGED else ":" if at in shaded else "."
            line += f"{before}{piece.text if piece else empty:<{width}}{after}"
        lines.append(line.rstrip())
    return "\n".join(lines)
