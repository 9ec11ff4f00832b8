"""A game's record as text with a header, like the PGN of chess: for people, and to read back byte for byte.

    [record 1]
    [type "game"]
    [game "hop"]
    ...
    [turns 2]
    ...

       1.   0,0-0,1       {"ms":0.512,"timed":"kernel"}
       2... (illegal_move) {"fault":"illegal_move","detail":"...","tried":[[0,0]],"ms":1.0,"timed":"kernel"}

Each tag is a field of the record with its value as JSON, in the order of the record; ``turns`` has their number.
A turn of the first player has one dot after its number, a turn of the second three. Coordinates are the move. Any
other text, such as a game's own notation, is for people: then the JSON behind it has the move. A turn or a record
that this form cannot say exactly is JSON as a whole: ``3: {...}`` and ``[whole {...}]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from getstep_engines import GAMES
from getstep_engines.look import coordinates
from getstep_server.json_text import JsonError, decode, encode
from getstep_server.limits import HEADED_TEXT_BYTES

from .record import RecordError, parse

_TAG = re.compile(rb"\[([a-z_]{1,32}) (.*)\]")
_TURN = re.compile(rb" *[0-9]{1,9}(\.\.\.|\.) +(\S{1,1000}) +(\{.*\})")
_WHOLE_TURN = re.compile(rb" *[0-9]{1,9}: (\{.*\})")
_SQUARES = re.compile(rb"[0-9]{1,9},[0-9]{1,9}(-[0-9]{1,9},[0-9]{1,9})*")
_SHOWN = re.compile(r"[!-z|~]{1,40}")
_DOTS = (b".", b"...")
_MARKS = {b".": 0, b"...": 1}
_BEGIN = (b"[record ", b"[whole ")


# --- writing ------------------------------------------------------------------------------------------------------


def headed_text(line: bytes) -> bytes:
    """Return the record of a game as text with a header; the last line is empty.

    Raises:
        RecordError: the line is not a record of a game.
    """
    fields = parse(line)
    turns = fields.get("turns")
    if fields.get("type") != "game" or not isinstance(turns, list):
        raise RecordError(f"{line[:60]!r}, expected the record of a game")
    text = b"\n".join([*_tag_lines(fields), b"", *_turn_lines(fields, turns), b"", b""])
    with suppress(RecordError):
        if _Game(text.split(b"\n")).line() == line:
            return text
    return b"[whole %b]\n\n" % line


def _tag_lines(fields: Mapping[str, Any]) -> Iterator[bytes]:
    for name, value in fields.items():
        yield b"[%b %b]" % (name.encode(), encode(len(value) if name == "turns" else value))


def _turn_lines(fields: Mapping[str, Any], turns: Sequence[Any]) -> Iterator[bytes]:
    for number, turn in enumerate(turns, start=1):
        whole = encode(turn)
        if isinstance(turn, dict) and type(turn.get("player")) is int and turn["player"] in (0, 1):
            rest = {name: value for name, value in turn.items() if name != "player"}
            dots = _DOTS[turn["player"]]
            shown, squares = _shown(turn, fields), _squares_text(turn.get("move"))
            kept = {name: value for name, value in rest.items() if name != "move" or not squares}
            made = b"%4d%-3b %-12b %b" % (number, dots, squares or shown, encode(kept))
            with suppress(RecordError):
                if encode(_turn_of(made)) == whole:
                    yield made
                    continue
        yield b"%4d: %b" % (number, whole)


def _squares_text(move: Any) -> bytes:
    """Return the coordinates of a square or a path; empty if they do not say the move exactly."""
    with suppress(TypeError, ValueError, LookupError):
        text = coordinates(move).encode()
        if _SQUARES.fullmatch(text) and _move_of(text) == move:
            return text
    return b""


def _shown(turn: Mapping[str, Any], fields: Mapping[str, Any]) -> bytes:
    """Return a text for people: the move in the notation of the game, ``Skip``, or a code in brackets."""
    text = "?"
    with suppress(TypeError, ValueError, LookupError):
        if "move" in turn:
            text = GAMES[fields["game"]].notation(turn["move"]).replace(" ", "_")
        else:
            text = "Skip" if "pass" in turn else f"({turn.get('fault', turn.get('end'))})"
    return text.encode() if isinstance(text, str) and _SHOWN.fullmatch(text) else b"?"


# --- reading ------------------------------------------------------------------------------------------------------


def read_headed_text(file: BinaryIO) -> Iterator[bytes | RecordError]:
    """Yield the record of each game in ``file``, or why its text is not one; then the next game is read.

    A game takes at most `HEADED_TEXT_BYTES`, so memory is bounded. The records prove themselves by their hashes,
    which are not checked here.
    """
    lines: list[bytes] = []
    size = number = 0
    first = 1
    while line := file.readline(HEADED_TEXT_BYTES + 1):
        number += 1
        if line.startswith(_BEGIN):
            if size:
                yield _read(lines, size, first)
            lines, size, first = [], 0, number
        size += len(line)
        if size <= HEADED_TEXT_BYTES:
            lines.append(line.rstrip(b"\r\n"))
    if size:
        yield _read(lines, size, first)


def _read(lines: list[bytes], size: int, first: int) -> bytes | RecordError:
    if size > HEADED_TEXT_BYTES:
        return RecordError(f"line {first}: a game of {size} bytes, expected at most {HEADED_TEXT_BYTES}")
    try:
        return _Game(lines).line()
    except RecordError as error:
        return RecordError(f"line {first}: {error}")


class _Game:
    """The lines of one game."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.fields: dict[str, Any] = {}
        self.turns: list[Any] = []
        self.whole: bytes | None = None
        for line in lines:
            if line.startswith(b"["):
                self._add_tag(line)
            elif line.strip():
                self.turns.append(_turn_of(line))

    def _add_tag(self, line: bytes) -> None:
        match = _TAG.fullmatch(line)
        if match is None:
            raise RecordError(f"{line!r:.80}, expected [name value]")
        name = match[1].decode()
        if name in self.fields:
            raise RecordError(f"the tag {name} is there twice")
        self.fields[name] = _json(match[2])
        if name == "whole":
            self.whole = match[2]

    def line(self) -> bytes:
        """Return the record.

        Raises:
            RecordError: tags are missing, or there are fewer or more turns than the tag says.
        """
        if self.whole is not None:
            return self.whole
        count = self.fields.get("turns")
        if type(count) is not int or count != len(self.turns):
            raise RecordError(f"{len(self.turns)} turns, expected {count!r:.20} by the tag turns")
        return encode({**self.fields, "turns": self.turns})


def _turn_of(line: bytes) -> Any:
    """Return the turn of a line.

    Raises:
        RecordError: the line is not a turn.
    """
    if match := _WHOLE_TURN.fullmatch(line):
        return _json(match[1])
    match = _TURN.fullmatch(line)
    if match is None:
        raise RecordError(f"{line!r:.80}, expected a turn")
    rest = _json(match[3])
    turn: dict[str, Any] = {"player": _MARKS[match[1]]}
    if "move" not in rest and _SQUARES.fullmatch(match[2]):
        turn["move"] = _move_of(match[2])
    return {**turn, **rest}


def _move_of(text: bytes) -> list[Any]:
    squares = [[int(number) for number in square.split(b",")] for square in text.split(b"-")]
    return squares[0] if len(squares) == 1 else squares


def _json(text: bytes) -> Any:
    try:
        return decode(text)
    except JsonError as error:
        raise RecordError(f"{text!r:.80} is not JSON: {error}") from error
