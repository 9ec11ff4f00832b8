"""The size of a replay. Texts of faults come from bots, which may write a long and different one in each turn.

Texts that come again are stored once. If a game is still too large, its longest texts are cut.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

MOST_BYTES = 40_000
"""The size of a game of 400 turns: ten games load in a second in a class room's wireless network."""

LEAST_TEXT_BYTES = 12
"""A text is not cut shorter than that, in a game that is large without its texts."""

MOST_TRIED = 2_000
"""Squares of illegal moves in a game, in equal shares: five for each if all of 400 turns are illegal moves."""

LEAST_TRIED = 2

_REFERENCE = 4
"""Bytes of the number of a text that is stored once, with a comma."""


def fit(game: dict[str, Any]) -> None:
    """Store texts of turns that come again once, in ``texts``, and cut what is too long for `MOST_BYTES`.

    Args:
        game: the data of a game. Its turns have the keys of `getstep.replay._data`.
    """
    turns = game["turns"]
    tried = [turn["q"] for turn in turns if "q" in turn]
    for squares in tried:
        del squares[max(LEAST_TRIED, MOST_TRIED // len(tried)) :]
    places: list[tuple[Any, Any]] = [
        (turn, key) for turn in turns if "k" in turn for key in ("m", "c", "w") if key in turn
    ]
    places += [(turn["n"], place) for turn in turns if "n" in turn for place in range(len(turn["n"]))]
    if not places:
        return
    times = Counter(holder[key] for holder, key in places)
    sizes = {text: size(text) for text in times}
    rest = size(game) - sum(count * sizes[text] for text, count in times.items())
    room = MOST_BYTES - rest - _REFERENCE * len(places)
    most = max(LEAST_TEXT_BYTES, largest_share(sizes.values(), room))
    cut = {text: text if sizes[text] <= most else shortened(text, most) for text in times}
    again = [text for text, count in times.items() if count > 1]
    numbers = {text: number for number, text in enumerate(again)}
    for holder, key in places:
        text = holder[key]
        holder[key] = numbers.get(text, cut[text])
    if again:
        game["texts"] = [cut[text] for text in again]


def size(value: Any) -> int:
    """Return the bytes of a value in a page: JSON in ASCII, in which ``<`` is escaped, too."""
    text = json.dumps(value, separators=(",", ":"))
    return len(text) + 5 * text.count("<")


def largest_share(sizes: Iterable[int], room: int) -> int:
    """Return the largest size to which all larger ones have to be cut, so that their sum is at most ``room``."""
    ordered: Sequence[int] = sorted(sizes)
    for place, smallest in enumerate(ordered):
        share = room // (len(ordered) - place)
        if smallest > share:
            return share
        room -= smallest
    return max(ordered, default=0)


def shortened(text: str, most: int) -> str:
    """Return the beginning of a text, with an ellipsis, in at most ``most`` bytes of JSON."""
    left = most - size("…")
    for place, char in enumerate(text):
        left -= size(char) - size("")
        if left < 0:
            return f"{text[:place]}…"
    return text
