"""Results by tag: how often a bot won the matches that it marked with a word.

In: what it noted in each turn of a match, and the result. Out: counts. It must not know where matches come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .sprt import wilson

MOST_TAGS = 16
"""Of a match, the first different ones of each player count: see protocol.md."""

MOST_ROWS = 8
"""Rows of results by tag: a bot that numbers its matches would fill the page."""


@dataclass(frozen=True, slots=True)
class TagResult:
    """The results of the matches with a tag."""

    tag: str
    won: int
    drawn: int
    lost: int

    def __str__(self) -> str:
        return results_text(self.won, self.drawn, self.lost)


def results_text(won: int, drawn: int, lost: int) -> str:
    """Return results in words, with the share of the points and its 95 % interval in brackets if there are any."""
    text, over = f"{won} won, {drawn} drawn, {lost} lost", won + drawn + lost
    if not over:
        return text
    share = (won + drawn / 2) / over
    low, high = (round(100 * end) for end in wilson(share, over))
    return f"{text} ({100 * share:.0f} % [{low}, {high}])"


def tags_of(notes: Iterable[Mapping[str, Any] | None]) -> tuple[str, ...]:
    """Return the tags of a player's turns in a match, in the order in which they came."""
    found = dict.fromkeys(word for each in notes if each for word in each.get("tags", ()))
    return tuple(found)[:MOST_TAGS]


def results_by_tag(
    matches: Iterable[tuple[Sequence[str], str]],
) -> list[TagResult]:
    """Return the results of the tags that most matches have.

    Args:
        matches: the tags of each match that is over, and its outcome: "win", "draw" or "loss".
    """
    outcomes: dict[str, list[str]] = {}
    for tags, outcome in matches:
        for tag in tags:
            outcomes.setdefault(tag, []).append(outcome)
    most = sorted(outcomes.items(), key=lambda entry: -len(entry[1]))[:MOST_ROWS]
    return [TagResult(tag, *(found.count(each) for each in ("win", "draw", "loss"))) for tag, found in most]
