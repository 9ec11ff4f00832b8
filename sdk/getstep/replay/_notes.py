"""What bots noted, in the data of a page: texts as lines that show what is in them, and a bound for their size.

In a page, the notes of a turn have the form that they have in a record, but ``say`` and ``output`` are lists of
lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from getstep.text import escape_control_chars
from getstep.wire import checked_notes

from ._size import largest_share, shortened, size

GAME_BYTES = 256_000
"""Of the notes of a game: as much as a record has of both players, if no character needs an escape in a page."""

PAGE_BYTES = 4_000_000
"""Of the notes of all games of a page, in equal shares."""

LEFT_OUT = "Some notes are left out here: there are too many for a page."

_KINDS = ("estimate", "tags", "say", "draw", "output")
"""The most important ones first: the others get the room that these leave."""

_TEXTS = ("say", "output")


def notes_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the notes of a turn from those of a page, which anybody may have written."""
    return checked_notes({key: "\n".join(value) if key in _TEXTS else value for key, value in data.items()})


def add_notes(game: dict[str, Any], notes: Iterable[Mapping[str, Any] | None], games: int) -> None:
    """Add the notes of all turns to the data of a game. If they are too long, they are cut, and the game says so.

    Args:
        game: the data of a game. Its turns get the key ``v``.
        notes: of each turn of the game; there may be more than turns.
        games: how many games share the page.
    """
    noted = [(turn, _data(each)) for turn, each in zip(game["turns"], notes, strict=False) if each]
    if _cut([data for _, data in noted], min(GAME_BYTES, PAGE_BYTES // games)):
        game["problem"] = " ".join(filter(None, [game.get("problem"), LEFT_OUT]))
    for turn, data in noted:
        if data:
            turn["v"] = data


def _data(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a turn's notes is right, for a page.

    A bot cannot turn text around, or hide it, with invisible characters.
    """
    data = checked_notes(notes)
    for key in _TEXTS:
        if key in data:
            data[key] = [escape_control_chars(line.expandtabs(4)) for line in data[key].split("\n")]
    if "estimate" in data:
        data["estimate"] = round(data["estimate"], 3)
    if "tags" in data:
        data["tags"] = list(map(escape_control_chars, data["tags"]))
    return data


def _cut(noted: Sequence[dict[str, Any]], room: int) -> bool:
    """Cut the longest notes, and return True if there are any; each kind of notes has the room that is left."""
    room -= size([{} for _ in noted])
    cut = False
    for kind in _KINDS:
        holders = [notes for notes in noted if kind in notes]
        overhead = size(kind) + 2  # a colon and a comma
        room -= overhead * len(holders)
        most = largest_share([size(notes[kind]) for notes in holders], max(0, room))
        for notes in holders:
            if size(notes[kind]) > most:
                cut = True
                notes[kind] = list(_first(notes[kind], most, kind)) if kind in ("tags", "draw", *_TEXTS) else None
            if not notes[kind] and notes[kind] != 0:
                del notes[kind]
            else:
                room -= size(notes[kind])
    return cut


def _first(parts: Iterable[Any], most: int, kind: str) -> Iterable[Any]:
    """Yield the first parts of a list that have room, and of a text the beginning of the next line."""
    left = most - size([])
    for part in parts:
        left -= size(part) + 1
        if left < 0:
            if kind in _TEXTS and (rest := shortened(part, left + size(part))) != "…":
                yield rest
            return
        yield part
