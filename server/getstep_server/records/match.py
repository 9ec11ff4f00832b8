"""Matches: the unit that is paired, played and has a result."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class Match(Struct, frozen=True, gc=False):
    """One match of the schedule: a leg of a pairing.

    ``number`` counts from 1 over the whole contest. ``first`` and ``second`` are team ids. A pairing's legs have
    the same ``pairing`` number, within the ``event``, and count from 1. ``opening`` are the moves that the host
    plays before the first turn, as JSON has them.
    """

    number: int
    round: int
    pairing: int
    leg: int
    first: int
    second: int
    game: str
    options: dict[str, int] = field(default_factory=dict)
    event: int = 1
    opening: tuple[Any, ...] = ()

    def __hash__(self) -> int:
        return hash((self.number, self.first, self.second))  # the options cannot be hashed

    @property
    def teams(self) -> tuple[int, int]:
        """The first player's team and the second's."""
        return (self.first, self.second)
