"""The Linkage ladder: linkage over two files, with a process for each turn.

The program reads ``input.txt`` in its folder. Its first line has the player, ``M`` (first) or ``F``, and the
numbers of dominoes left in the order R B G Y, such as ``M6666``. Seven lines of seven follow: ``R B G Y`` for a
domino's square, ``X`` for the centre, ``x`` for a square that touches the opponent's last domino, ``.`` for a
free one. The program writes ``order.txt``: the colour and two squares, a column A to G and a row 1 to 7 each,
such as ``RA1A2``; capitals or not. It may keep one more file in its folder.

With any argument, the program prints its id line instead: ``Name, Author, country, age, date, version``. The
country and the age may be missing, and the original's own example has a full stop after the name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
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


MAX_ID = 200
"""Characters of an id line, which is shown in tables."""

ID_ARGUMENT = "id"
"""The argument with which a program is asked for its id line; any other would do."""

_NAME = re.compile(r"(.+?)(?:,|\. )\s*(.*)")
_AGE = re.compile(r"\d{1,3}( years?( old)?)?", re.IGNORECASE)
_DAY = re.compile(r"\w+\.? \d{1,2}|\d{1,2}\.? \w+")


@dataclass(frozen=True)
class Identity:
    """The id line of a program. ``text`` is the line; the other fields are empty if the line does not have them."""

    text: str
    name: str
    author: str
    country: str = ""
    age: str = ""
    date: str = ""
    version: str = ""


class IdLine(Talk):
    """Asks a program for its id line, in a process of its own. `read` returns an `Identity` in place of a move."""

    game = "linkage"
    process_per_turn = True

    def arguments(self) -> tuple[str, ...]:
        return (ID_ARGUMENT,)

    def ask(self, question: Question) -> Input:  # noqa: ARG002 - a program that is asked for its name gets no board
        return Input()

    def read(self, output: Output) -> tuple[Any, int] | None:
        text = output.data.lstrip()
        if b"\n" not in text and not output.ended and len(text) <= 4 * MAX_ID:  # UTF-8 has up to 4 bytes for each
            return None
        return read_identity(text), len(output.data)


def read_identity(output: bytes) -> Identity:
    """Return the id line that a program has written. Lines after the first are ignored.

    It is free text with commas, so its fields are found from both ends: the name and the author come first, the
    version and the date last. A date such as ``May 5, 2020`` may have a comma.

    Raises:
        ConventionError: there is no line, it is too long, it has characters that cannot be shown, or no author.
    """
    line = output.strip().partition(b"\n")[0][: 4 * MAX_ID + 1]
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError:
        text = line.decode("cp1252", "replace").strip()  # a program that was written on Windows long ago
    expected = "expected Name, Author, country, age, date, version"
    if not text:
        raise ConventionError(f"the id line is missing; {expected}")
    if len(text) > MAX_ID:
        raise ConventionError(f"the id line has more than {MAX_ID} characters; {expected}")
    if not text.isprintable():
        raise ConventionError(f"the id line {shown(output)} has characters that cannot be shown; {expected}")
    found = _NAME.fullmatch(text)
    fields = [field.strip() for field in found[2].split(",")] if found else []
    if found is None or not fields[0]:
        raise ConventionError(f"the id line {shown(output)} has no author; {expected}")
    author, *rest = fields
    version = rest.pop() if rest else ""
    date = rest.pop() if rest else ""
    rest = [field for field in rest if field]
    if rest and re.fullmatch(r"\d{4}", date) and _DAY.fullmatch(rest[-1]):
        date = f"{rest.pop()}, {date}"
    age = rest.pop() if rest and _AGE.fullmatch(rest[-1]) else ""
    country = rest.pop() if rest else ""
    return Identity(text, found[1].strip(), ", ".join([author, *rest]), country, age, date, version)
