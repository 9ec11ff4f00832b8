"""Formats whose pairings do not depend on results: a table of rounds, played through once for each leg."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, TypeAlias, TypeVar

from pydantic import Field

from ._format import Format, FormatOptions, Pairing, Played, last_round

Table: TypeAlias = list[list[tuple[int, int]]]
"""Rounds of pairs, the first player first; nobody is twice in a round."""


class TableOptions(FormatOptions):
    """Of the event."""

    legs: Annotated[
        int, Field(ge=1, le=1000, description="how often two teams meet, colours swapped from one time to the next")
    ] = 2


T = TypeVar("T", bound=TableOptions)


class TableFormat(Format[T]):
    """Gives out at once all that its table has for the teams of the moment.

    When teams have come or ``legs`` was raised, the table is made anew for all that are there now; what it has and
    was not given out yet follows, in rounds of their own after the last one.
    """

    @abstractmethod
    def table(self, teams: Sequence[int]) -> Table:
        """The rounds of the first leg, for at least two teams."""

    @abstractmethod
    def meetings(self, teams: int) -> int:
        """How many pairs such a table has for so many teams, at most."""

    def most(self, teams: int) -> int:
        return self.meetings(teams) * self.options.legs

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        if len(teams) < 2:
            return []
        table, meetings = self.table(teams), _Meetings(games)
        found: list[Pairing] = []
        round_ = last_round(games)
        for leg in range(1, self.options.legs + 1):
            for pairs in table:
                new = [game for pair in pairs if (game := meetings.new_leg(pair, leg, round_ + 1))]
                found += new
                round_ += bool(new)
        return found


class _Meetings:
    """Which teams meet under which number, and who is first in odd legs."""

    def __init__(self, games: Sequence[Played]) -> None:
        self._given = {(game.pairing.pairing, game.pairing.leg) for game in games}
        self._numbers: dict[frozenset[int], tuple[int, tuple[int, ...]]] = {}
        for game in games:  # of each two teams the first leg comes first
            pair = game.pairing.teams
            self._numbers.setdefault(frozenset(pair), (game.pairing.pairing, pair))

    def new_leg(self, pair: tuple[int, int], leg: int, round_: int) -> Pairing | None:
        """The pair's game in that leg, unless it was given out."""
        number, (home, away) = self._numbers.setdefault(frozenset(pair), (len(self._numbers) + 1, pair))
        if (number, leg) in self._given:
            return None
        first, second = (home, away) if leg % 2 else (away, home)
        return Pairing(round_, number, leg, first, second)
