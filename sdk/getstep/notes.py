"""What a bot notes about a move while it computes it: for its author, and after the match for everybody.

>>> import getstep
>>> def get_step(board, is_black):
...     getstep.say("I take the corner")
...     getstep.estimate(0.25)
...     getstep.draw((0, 0), label=7, color="red")
...     getstep.tag("opening")
...     return (0, 0)

In: calls from ``get_step``, and from any thread while a move is computed; or lines of a program of an original
contest. Out: the notes of the move, as protocol.md describes them, and a line for the author about each kind of
mistake. It must not know who judges the match, or where the notes go.

A call takes 1 to 3 µs. It never raises and never costs a turn: what is wrong or too much is dropped.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .text import Console, short_repr
from .wire import (
    MAX_ARROW_SQUARES,
    MAX_DRAWINGS,
    MAX_DRAWN_SQUARES,
    MAX_LABEL,
    MAX_SAY,
    MAX_TAG,
    MAX_TAGS,
    MAX_TEXT_BYTES,
    NOTE_COLORS,
    NOTE_SHAPES,
    NOTES_BYTES,
    checked_notes,
    fit_notes,
    is_drawing,
    is_tag,
)

__all__ = ["PREFIX", "Collector", "collected", "current", "draw", "estimate", "noted_line", "say", "tag"]

PREFIX = "getstep:"
"""The beginning of a line of a program's standard error that is a note."""


def say(text: object) -> None:
    """Say something about this move. Several texts are lines; together at most 1,000 characters a move."""
    if collector := _current("say"):
        collector.say(text)


def estimate(x: float) -> None:
    """Say what this bot expects: from -1, it loses, to 1, it wins. The last call of a move counts."""
    if collector := _current("estimate"):
        collector.estimate(x)


def draw(squares: Any, label: object = None, color: str | None = None, shape: str = "mark") -> None:
    """Draw on the board of this move; at most 64 drawings a move.

    Args:
        squares: a square such as ``(row, col)``, or a list of squares.
        label: a number or a text of at most 8 characters.
        color: "black", "white", "blue", "orange", "red", "green", "yellow", "purple" or "grey"; None for the colour
            of this bot's side.
        shape: "mark" on each square, "arrow" along a path of 2 to 16 squares, "region" or "domino" of 2 squares.
    """
    if collector := _current("draw"):
        collector.draw(squares, label, color, shape)


def tag(word: str) -> None:
    """Mark the match with a word of at most 24 characters, such as "opening"; at most 8 a move."""
    if collector := _current("tag"):
        collector.tag(word)


def noted_line(notes: Mapping[str, Any]) -> str:
    """Return checked notes in one line; drawings and what the program printed are for replays only."""
    said = " / ".join(line for line in notes.get("say", "").split("\n") if line)
    estimate = f"estimate {notes['estimate']:.3g}" if "estimate" in notes else ""
    tags = f"tags {' '.join(notes['tags'])}" if "tags" in notes else ""
    return "; ".join(filter(None, [said and f"says: {said}", estimate, tags]))


# --- the notes of a move ----------------------------------------------------------------------------------------

_told: set[str] = set()
"""The kinds of mistakes that the author was told of: once each for the run."""


class Collector:
    """The notes of one move. Any thread may add to it.

    Args:
        board: that of the question: drawings have to be on it.
        told: the kinds of mistakes that the author was told of; those of this move are added.
    """

    def __init__(self, board: Sequence[Sequence[int]], told: set[str] = _told) -> None:
        self._rows, self._columns = len(board), len(board[0]) if board else 0
        self._told = told
        self.dropped: list[str] = []
        """A line for the author about each kind of mistake that was not told before."""
        self._lock = threading.RLock()  # a signal handler may note something during a call
        self._said: list[str] = []
        self._characters, self._bytes = MAX_SAY + 1, MAX_TEXT_BYTES + 1  # left; each text has a line end
        self._estimate: float | None = None
        self._drawings: list[list[Any]] = []
        self._tags: list[str] = []
        self._printed = bytearray()
        self._cut = 0  # bytes before these

    def say(self, text: object) -> None:
        """See `getstep.say`; so all four."""
        self._add("say", self._say, text)

    def estimate(self, x: object) -> None:
        self._add("estimate", self._set_estimate, x)

    def draw(self, squares: object, label: object = None, color: object = None, shape: object = "mark") -> None:
        self._add("draw", self._draw, squares, label, color, shape)

    def tag(self, word: object) -> None:
        self._add("tag", self._tag, word)

    def from_line(self, line: str) -> bool:
        """Add the note in a line such as ``"getstep: estimate 0.25"``. Return False if the line is none."""
        if not line.startswith(PREFIX):
            return False
        call, _, rest = line[len(PREFIX) :].strip().partition(" ")
        rest = rest.strip()
        if call == "say":
            self.say(rest)
        elif call == "estimate":
            self._add("estimate", lambda text: self._set_estimate(float(text)), rest)
        elif call == "draw":
            self._add("draw", self._draw_line, rest)
        elif call == "tag":
            self.tag(rest)
        else:
            self._drop("line", f"unknown: {short_repr(line)}; after {PREFIX} comes say, estimate, draw or tag")
        return True

    def print(self, text: str, cut: int = 0) -> None:
        """Add to what the program has printed during this move: the end is kept.

        Args:
            text: what it has printed.
            cut: the bytes before the text that were not kept.
        """
        with self._lock:
            self._printed += _utf8(text).encode()
            excess = max(0, len(self._printed) - MAX_TEXT_BYTES)
            del self._printed[:excess]
            self._cut += cut + excess

    def take(self) -> dict[str, Any] | None:
        """Return the notes; None if there are none."""
        with self._lock:
            notes = checked_notes(
                {
                    "say": "\n".join(self._said),
                    "estimate": self._estimate,
                    "draw": self._drawings,
                    "tags": self._tags,
                }
            )
            printed, cut = bytes(self._printed), self._cut
        if notes:
            whole, notes = notes, fit_notes(notes, NOTES_BYTES)
            if notes != whole:
                self._drop("draw", f"the last drawings: the notes of a move have at most {NOTES_BYTES:,} bytes")
        if printed.strip():  # beside that bound: it stays on this machine, unless the host runs the program
            notes["output"] = _end_of(printed, cut)
        return notes or None

    # --- each returns what is wrong, or nothing ---

    def _add(self, name: str, add: Callable[..., str], *arguments: object) -> None:
        try:
            with self._lock:
                problem = add(*arguments)
        except Exception:  # raised by what has no text, is no number, or is no list of squares
            problem = f"what it cannot read: {short_repr(arguments[0])}; {_EXPECTED[name]}"
        if problem:
            self._drop(name, problem)

    def _say(self, text: object) -> str:
        said = text if type(text) is str else str(text)
        characters = self._characters - len(said) - 1
        said = _utf8(said[:MAX_SAY])  # a text of any length costs the same
        size = self._bytes - (len(said) if said.isascii() else len(said.encode())) - 1
        if characters < 0 or size < 0:
            return f"too long a text: there is room for {MAX_SAY:,} characters and {MAX_TEXT_BYTES:,} bytes a move"
        self._characters, self._bytes = characters, size
        self._said.append(said)
        return ""

    def _set_estimate(self, x: Any) -> str:
        if type(x) not in (int, float):
            if isinstance(x, (str, bytes, bool)):
                raise TypeError
            x = float(x)  # a number of numpy, or a fraction
        if not -1 <= x <= 1:  # also for NaN
            return f"a wrong number: {short_repr(x)}; {_EXPECTED['estimate']}"
        self._estimate = x
        return ""

    def _draw(self, squares: Any, label: Any, color: Any, shape: Any) -> str:
        if len(self._drawings) >= MAX_DRAWINGS:
            return f"too many drawings: there is room for {MAX_DRAWINGS} a move"
        flat = _flat(squares)
        lowest, highest = _COUNTS[shape]
        if not lowest <= len(flat) // 2 <= highest:
            return f"a wrong number of squares: {shape} has {lowest} to {highest}, and not {len(flat) // 2}"
        if min(flat) < 0 or max(flat[::2]) >= self._rows or max(flat[1::2]) >= self._columns:
            return f"squares off the board: {short_repr(squares)}; it is {self._rows} by {self._columns}"
        drawing = [shape, flat, _label(label), color]
        if not is_drawing(drawing):
            return (
                f"a wrong label or color: {short_repr(label)}, {short_repr(color)}; expected at most {MAX_LABEL}"
                f" characters, and one of {', '.join(NOTE_COLORS)}"
            )
        self._drawings.append(drawing)
        return ""

    def _draw_line(self, line: str) -> str:
        shape, color, label, *squares = line.split()
        flat = [tuple(map(int, square.split(","))) for square in squares]
        return self._draw(flat, None if label == "-" else label, None if color == "-" else color, shape)

    def _tag(self, word: Any) -> str:
        if not is_tag(word):
            return f"a wrong word: {short_repr(word)}; {_EXPECTED['tag']}"
        if word in self._tags:
            return ""
        if len(self._tags) >= MAX_TAGS:
            return f"too many words: there is room for {MAX_TAGS} a move"
        self._tags.append(word)
        return ""

    def _drop(self, name: str, problem: str) -> None:
        kind = f"{name} {problem.partition(':')[0]}"  # what follows differs from call to call
        if kind not in self._told:
            self._told.add(kind)
            self.dropped.append(f"getstep.{name} has dropped {problem}. This is said once.")


_COUNTS = {
    "mark": (1, MAX_DRAWN_SQUARES),
    "region": (1, MAX_DRAWN_SQUARES),
    "arrow": (2, MAX_ARROW_SQUARES),
    "domino": (2, 2),
}
_EXPECTED = {
    "say": "expected a text",
    "estimate": "expected a number from -1, this bot loses, to 1, it wins",
    "draw": f"expected a square such as (2, 3), or a list of squares, and a shape of {', '.join(NOTE_SHAPES)}",
    "tag": f"expected a word of at most {MAX_TAG} characters, without a space",
}


def _end_of(printed: bytes, cut: int) -> str:
    """Return what was printed, or the end of it and how much is missing."""
    if not cut:
        return printed.decode(errors="ignore")
    head = f"[{cut:,} bytes before this are not kept]\n"
    while len(head) + len(printed) > MAX_TEXT_BYTES:
        excess = len(head) + len(printed) - MAX_TEXT_BYTES
        printed, cut = printed[excess:], cut + excess
        head = f"[{cut:,} bytes before this are not kept]\n"
    return head + printed.decode(errors="ignore")  # the cut may be in a character


def _utf8(text: str) -> str:
    """Return a text without halves of surrogate pairs, which no UTF-8 has."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _flat(squares: Any) -> list[int]:
    """Return a square, or several, as row, column, row, column, ..."""
    most = MAX_DRAWN_SQUARES + 1  # a list of any length costs the same
    if hasattr(squares, "tolist"):  # an array of numpy
        squares = squares[:most].tolist()
    elif not isinstance(squares, tuple):
        squares = list(itertools.islice(squares, most))
    try:
        row, column = squares
        return [int(operator.index(row)), int(operator.index(column))]
    except (TypeError, ValueError):  # several squares, or one in a list
        return [int(operator.index(number)) for row, column in squares[:most] for number in (row, column)]


def _label(label: Any) -> str | None:
    if label is None or label == "":
        return None
    if isinstance(label, str):
        return label
    texts = (f"{label:.{digits}g}" for digits in (3, 2, 1))
    return next(text for text in texts if len(text) <= MAX_LABEL)  # -1.23e-05 has 9 characters


# --- the move that is computed ------------------------------------------------------------------------------------


class _Thread(threading.local):
    collector: Collector | None = None


_thread = _Thread()
_latest: Collector | None = None
"""That of the latest move, for calls from threads that ``get_step`` has started."""


@contextlib.contextmanager
def collected(collector: Collector) -> Iterator[None]:
    """Add what is noted in the block to ``collector``: in this thread, and in others that compute no move."""
    global _latest
    _latest = _thread.collector = collector
    try:
        yield
    finally:
        _thread.collector = None
        if _latest is collector:
            _latest = None


def current() -> Collector | None:
    """Return the collector of the move that is computed; None if there is none."""
    return _thread.collector or _latest


def _current(name: str) -> Collector | None:
    collector = current()
    if collector is None and "outside" not in _told:
        _told.add("outside")
        Console().warn(f"getstep.{name} was dropped: no move is computed now. This is said once.")
    return collector
