"""The interface of a convention: bytes and files for a program, and its output as a move."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from getstep.games import Board
from getstep.text import short_repr
from getstep.turn import Turn
from getstep_engines import Player

MAX_OUTPUT = 1000
"""Bytes of a program's output for one move. A move has at most 10 characters; the rest is for empty lines."""


class ConventionError(ValueError):
    """Raised when a program's output is not a move. The message tells the program's author what was expected."""


@dataclass(frozen=True)
class Input:
    """The input of a program: bytes for its standard input, and files by name, to be replaced as a whole."""

    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """One turn: the board as ``get_step`` gets it, and the opponent's last move, or None if there was none.

    ``turn`` has the rest, such as the time, for conventions that tell it. None: this convention does not.
    """

    board: Board
    last_move: Any
    turn: Turn | None = None


@dataclass(frozen=True)
class Output:
    """The bytes that a program has written since its last move, or the whole contents of its output file.

    ``silent`` is True if nothing was added for `SILENCE_SECONDS`, ``ended`` if the program has ended or has closed
    its output, so that nothing will be added.
    """

    data: bytes
    silent: bool = False
    ended: bool = False


class Talk(ABC):
    """One game of a program: its input in each turn, and the meaning of its output. It does no I/O.

    The program is asked only when it has a legal move.

    Args:
        player: the program's player, 0 for the first.
    """

    game: ClassVar[str | None]
    """The name of the only game; None if such programs may play every game."""

    process_per_turn: ClassVar[bool] = False
    """True if a process is started for each turn. Otherwise one process plays the whole game."""

    output_file: ClassVar[str | None] = None
    """The file, in the program's folder, that has the move; None if the program writes to standard output."""

    from_any_board: ClassVar[bool] = True
    """True if a program that was started anew can play on from the middle of a game."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.awaits = "move"
        """What the program has to write now, in a word for its author."""

    def arguments(self) -> tuple[str, ...]:
        """Return the program's arguments."""
        return ()

    def begin(self) -> Input:
        """Return the input before the first turn. Its files are written before the program is started."""
        return Input()

    @abstractmethod
    def ask(self, question: Question) -> Input:
        """Return the input for one turn."""

    def reply(self, output: Output) -> tuple[Input, int] | None:  # noqa: ARG002 - what most conventions do not need
        """Return the input that answers the output before a move, and the number of bytes that belong to it.

        None if there is nothing to answer. It is called before `read`, until it returns None.

        Raises:
            ConventionError: the output has no place in the convention.
        """
        return None

    @abstractmethod
    def read(self, output: Output) -> tuple[Any, int] | None:
        """Return the move and the number of bytes that belong to it; None if the output is not complete yet.

        Raises:
            ConventionError: the output is not a move.
        """

    def after(self, question: Question, move: Any) -> Input:  # noqa: ARG002 - what most conventions do not need
        """Return the input after the program's own move, where the convention has one."""
        return Input()

    def end(self) -> Input:
        """Return the input at the end of the game, where the convention has one."""
        return Input()

    def notes(self) -> Sequence[str]:
        """Return what the program has noted about this turn in the convention's own way, as lines of `notes`.

        They are those that a program writes to standard error, without the beginning ``getstep:``.
        """
        return ()


SILENCE_SECONDS = 0.05
"""After that, a move without a newline counts. A C program that prints both numbers with one call needs less."""

_NUMBERS = rb"\s*([+-]?\d{1,9})%b([+-]?\d{1,9})[ \t]*(\r?\n|\Z)"
_BEGINNING = rb"\s*(?:[+-]?\d{0,9}|[+-]?\d{1,9}%b[+-]?\d{0,9}[ \t]*\r?)\Z"
_ON_ONE_LINE, _ON_ONE_OR_TWO = (
    (re.compile(_NUMBERS % between), re.compile(_BEGINNING % between)) for between in (rb"[ \t]+", rb"\s+")
)


def read_two_numbers(
    output: bytes, names: str, *, complete: bool, two_lines: bool = False
) -> tuple[tuple[int, int], int] | None:
    """Return two numbers on a line, and the number of bytes they take; None if there may be more to come.

    Empty lines, and spaces before a line, are skipped.

    Args:
        output: the bytes that the program has written.
        names: the names of the numbers, for the message, such as ``"row and column on a line"``.
        complete: True if two numbers without a newline count.
        two_lines: True if each number may stand on a line of its own.

    Raises:
        ConventionError: the line has something else.
    """
    numbers, beginning = _ON_ONE_OR_TWO if two_lines else _ON_ONE_LINE
    found = numbers.match(output)
    if found and (found[3] or complete):
        return (int(found[1]), int(found[2])), found.end()
    if len(output) > MAX_OUTPUT:
        raise ConventionError(f"more than {MAX_OUTPUT} bytes without a move; expected {names}, such as 3 4")
    if found or beginning.match(output):
        return None
    # After a number alone, the mistake is on the next line.
    lines = 2 if two_lines and beginning.match(output.strip().partition(b"\n")[0]) else 1
    raise ConventionError(f"wrote {shown(output, lines)}; expected {names}, such as 3 4")


def shown(output: bytes, lines: int = 1) -> str:
    """Return the first lines of the output with more than spaces, for a message."""
    written = [line for line in output.strip().split(b"\n") if line.strip()]
    return short_repr(b"\n".join(written[:lines]).decode("utf-8", "replace"))
