"""Making a move square by square: the squares that can be picked next, and the reason why another one cannot.

A move is picked part by part, as its `MoveForm` says: words such as a colour, squares, or the squares of a path.
The engine alone decides. Each answer here is made by asking it whether a move is legal, and why not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from getstep_engines import IllegalMove, MoveForm, State
from getstep_engines.look import coordinates

MOST_MOVES = 4096
"""The legal moves that are compared; linkage has at most 336. Moves that are paths are not listed."""

MOST_PICKED = 100
"""The parts of the longest move: a path in hop."""

_SQUARE = re.compile(r"\(-?\d+, -?\d+\)")


@dataclass(frozen=True, slots=True)
class Choices:
    """The next choice of a person: squares, or words.

    ``complete``: what is picked is a legal move already. It is final if nothing else can be picked.
    """

    squares: tuple[tuple[int, int], ...]
    words: tuple[str, ...]
    complete: bool

    def to_json(self) -> dict[str, Any]:
        return {"squares": self.squares, "words": self.words, "complete": self.complete}


def parse_picked(value: object) -> list[Any]:
    """Return picked parts in the form of the engine: squares are tuples.

    Raises:
        IllegalMove: ``value`` is not a list of squares and words.
    """
    if not isinstance(value, list) or len(value) > MOST_PICKED:
        raise IllegalMove(f"expected a list of at most {MOST_PICKED} squares")
    return [_parse_part(part) for part in value]


def _parse_part(part: object) -> Any:
    if isinstance(part, str) and len(part) <= 64:  # from a browser: the names of the parts of a move are short
        return part
    if isinstance(part, list) and [type(number) for number in part] == [int, int]:
        return tuple(part)
    raise IllegalMove("expected squares (row, column) and words")


def move_of(form: MoveForm, picked: Sequence[Any]) -> Any:
    if form.parts == ("path",):
        return list(picked)
    return picked[0] if len(form.parts) == 1 else tuple(picked)


def choices(state: State, form: MoveForm, picked: Sequence[Any]) -> Choices:
    """Return what can be picked after ``picked``.

    Raises:
        IllegalMove: no legal move begins like this; the message says why.
    """
    found = _of_path(state, picked) if form.parts == ("path",) else _of_parts(state, form, picked)
    if not (found.complete or found.squares or found.words):
        raise IllegalMove(_explain(state, form, picked))
    return found


def _of_path(state: State, picked: Sequence[Any]) -> Choices:
    """Return the choices of a path. Each beginning of a path, from two squares on, must be a legal move itself."""
    squares = list(_squares(state))
    path = list(picked)
    if len(path) > 1 and not state.is_legal(path):
        return Choices((), (), complete=False)
    if path:
        return Choices(tuple(to for to in squares if state.is_legal([*path, to])), (), complete=len(path) > 1)
    starts = (at for at in squares if any(state.is_legal([at, to]) for to in squares))
    return Choices(tuple(starts), (), complete=False)


def _of_parts(state: State, form: MoveForm, picked: Sequence[Any]) -> Choices:
    begun = [parts for parts in _legal_parts(state, form) if parts[: len(picked)] == list(picked)]
    if len(picked) >= len(form.parts):
        return Choices((), (), complete=bool(begun))
    following = dict.fromkeys(parts[len(picked)] for parts in begun)
    if form.parts[len(picked)] == "square":
        return Choices(tuple(following), (), complete=False)
    return Choices((), tuple(following), complete=False)


def _legal_parts(state: State, form: MoveForm) -> Iterator[list[Any]]:
    """Yield the parts of each legal move. Two squares may come in either order if the engine takes both."""
    places = [place for place, part in enumerate(form.parts) if part == "square"]
    for move in islice(state.legal_moves(), MOST_MOVES):
        parts = [move] if len(form.parts) == 1 else list(move)
        yield parts
        if len(places) == 2:
            swapped = parts.copy()  # a copy: the caller gets both orders
            swapped[places[0]], swapped[places[1]] = parts[places[1]], parts[places[0]]
            if state.is_legal(move_of(form, swapped)):
                yield swapped


def _explain(state: State, form: MoveForm, picked: Sequence[Any]) -> str:
    """Return why no legal move begins with these parts, by the engine's messages for the moves that do."""
    for parts in _completions(state, form, list(picked)):
        try:
            # a copy: `play` changes the state, and this only asks if the move is legal
            state.copy().play(move_of(form, parts))
        except IllegalMove as error:
            message = str(error)
            if len(parts) == len(picked) or not isinstance(picked[-1], tuple):
                return message
            if _SQUARE.findall(message) == [str(picked[-1])]:  # about this square, and no other
                return message
    last = picked[-1] if picked else ""
    return f"no legal move continues with {last if isinstance(last, str) else coordinates(last)}"


def _completions(state: State, form: MoveForm, picked: list[Any]) -> Iterator[list[Any]]:
    """Yield the parts of moves that begin with ``picked``, most of them illegal."""
    wanted = 2 if form.parts == ("path",) else len(form.parts)
    if len(picked) >= wanted:
        yield picked
        return
    part = "square" if form.parts == ("path",) else form.parts[len(picked)]
    if part == "text":
        return  # the texts that are possible are the legal moves, and none of them begins so
    for item in _squares(state) if part == "square" else part:
        yield from _completions(state, form, [*picked, item])


def _squares(state: State) -> Iterator[tuple[int, int]]:
    for row, cells in enumerate(state.board()):
        for column in range(len(cells)):
            yield row, column
