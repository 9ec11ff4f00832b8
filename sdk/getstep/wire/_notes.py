"""The notes of a move: what a bot says, expects and draws beside its answer (protocol.md, "Notes of a move").

They never decide anything, and whatever they are, the answer counts. So nothing here raises: what is wrong is left
out. 64 drawings take 60 µs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from ._frames import pack
from ._limits import (
    MAX_ARROW_SQUARES,
    MAX_COORDINATE,
    MAX_DRAWINGS,
    MAX_DRAWN_SQUARES,
    MAX_LABEL,
    MAX_SAY,
    MAX_TAG,
    MAX_TAGS,
    MAX_TEXT_BYTES,
    NOTE_COLORS,
    NOTE_SHAPES,
)

_COORDINATES = frozenset(range(MAX_COORDINATE + 1))
_INT = frozenset([int])
_COLORS = frozenset(NOTE_COLORS)
_LENGTHS = {  # of the array of squares: two numbers for each
    shape: frozenset(range(2, 2 * MAX_DRAWN_SQUARES + 1, 2)) for shape in NOTE_SHAPES
} | {"arrow": frozenset(range(4, 2 * MAX_ARROW_SQUARES + 1, 2)), "domino": frozenset([4])}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def checked_notes(value: object) -> dict[str, Any]:
    """Return what of ``value`` is notes: the keys, drawings and tags that are right, and nothing else."""
    if not isinstance(value, Mapping):
        return {}
    notes: dict[str, Any] = {}
    if _is_text(say := value.get("say"), MAX_SAY):
        notes["say"] = say
    if is_estimate(estimate := value.get("estimate")):
        notes["estimate"] = estimate
    if drawings := _some(value.get("draw"), is_drawing, MAX_DRAWINGS):
        notes["draw"] = drawings
    if tags := _some(value.get("tags"), is_tag, MAX_TAGS):
        notes["tags"] = tags
    if _is_text(output := value.get("output"), MAX_TEXT_BYTES):
        notes["output"] = output
    return notes


def fit_notes(notes: Mapping[str, Any], room: int) -> dict[str, Any]:
    """Return what of checked notes ``room`` bytes hold: without the last drawings, then with shorter texts."""
    fitted = dict(notes)
    if (excess := len(pack(fitted)) - room) <= 0:
        return fitted
    drawings = list(fitted.pop("draw", ()))
    while drawings and excess > 0:
        excess -= len(pack(drawings.pop()))
    if drawings:
        fitted["draw"] = drawings
    for key in ("say", "output"):
        if key in fitted and (excess := len(pack(fitted)) - room) > 0:
            data = fitted.pop(key).encode()
            if text := data[: max(0, len(data) - excess)].decode(errors="ignore"):  # the cut may be in a character
                fitted[key] = text
    return fitted if len(pack(fitted)) <= room else {}


def is_estimate(value: object) -> bool:
    """Return True for a number from -1 to 1, and not for a boolean or NaN."""
    return type(value) in (float, int) and -1 <= value <= 1  # type: ignore[operator]  # a number


def is_drawing(value: object) -> bool:
    """Return True for a drawing: its shape, its squares, its label and its colour."""
    if type(value) is not list or len(value) != 4:
        return False
    shape, squares, label, color = value
    return (
        type(squares) is list
        and type(shape) is str
        and len(squares) in _LENGTHS.get(shape, ())
        and _INT.issuperset(map(type, squares))
        and _COORDINATES.issuperset(squares)
        and (label is None or _is_text(label, MAX_LABEL))
        and (color is None or (type(color) is str and color in _COLORS))
    )


def is_tag(value: object) -> bool:
    """Return True for a word without white space and control characters."""
    return _is_text(value, MAX_TAG) and value.split() == [value] and not _CONTROL.search(value)


def _is_text(value: object, most: int) -> TypeGuard[str]:
    """Return True for a text of 1 to ``most`` characters, and of at most MAX_TEXT_BYTES as UTF-8."""
    if type(value) is not str or not 0 < len(value) <= most:
        return False
    if value.isascii():
        return len(value) <= MAX_TEXT_BYTES
    try:
        return len(value.encode()) <= MAX_TEXT_BYTES
    except UnicodeEncodeError:  # half of a surrogate pair, which a bot may have in a text
        return False


def _some(value: object, is_right: Any, most: int) -> list[Any]:
    return [item for item in value[:most] if is_right(item)] if type(value) is list else []
