"""Formats whose pairings do not depend on results: a table of rounds, played through once for each leg."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, TypeAlias, TypeVar

from msgspec import Meta

from ._format import Format, FormatOptions, Pairing, Played, last_round

Table: TypeAlias = list[list[tuple[int, int]]]
"""Rounds of pairs, the first player first; a team is at most once in a round."""


class TableOptions(FormatOptions, frozen=True, kw_only=True):
    legs: Annotated[
        int, Meta(ge=1, le=1000, description="matches of every two teams, colours swapped each time")
    ] = 2


T = TypeVar("T", bound=TableOptions)


class TableFormat(Format[T]):
    """A format that issues all matches of its table at once.

    If teams have come later or ``legs`` was raised, the table is computed again for all current teams. Its matches
    that were not issued before follow, in rounds of their own after the last one.
    """

    @abstractmethod
    def table(self, teams: Sequence[int]) -> Table:
        """Return the rounds of the first leg, for at least two teams."""

    @abstractmethod
    def pair_count(self, teams: int) -> int:
        """Return the largest number of pairs that the table of so many teams can have."""

    def max_matches(self, teams: int) -> int:
        return self.pair_count(teams) * self.options.legs

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        if len(teams) < 2:
            return []
        table, pairs_by_number = self.table(teams), _Pairs(games)
        found: list[Pairing] = []
        round_ = last_round(games)
        for leg in range(1, self.options.legs + 1):
            for pairs in table:
                new = [game for pair in pairs if (game := pairs_by_number.new_leg(pair, leg, round_ + 1))]
                found += new
                round_ += bool(new)
        return found


class _Pairs:
    """The pairs of teams with their pairing numbers and the first player of odd legs."""

    def __init__(self, games: Sequence[Played]) -> None:
        self._issued = {(game.pairing.pairing, game.pairing.leg) for game in games}
        self._numbers: dict[frozenset[int], tuple[int, tuple[int, ...]]] = {}
        for game in games:  # of each two teams the first leg comes first
            pair = game.pairing.teams
            self._numbers.setdefault(frozenset(pair), (game.pairing.pairing, pair))

    def new_leg(self, pair: tuple[int, int], leg: int, round_: int) -> Pairing | None:
        """Return the pair's match in a leg; None if it was issued already."""
        number, (home, away) = self._numbers.setdefault(frozenset(pair), (len(self._numbers) + 1, pair))
        if (number, leg) in self._issued:
            return None
        first, second = (home, away) if leg % 2 else (away, home)  # the colours swap with each leg
        return Pairing(round_, number, leg, first, second)
