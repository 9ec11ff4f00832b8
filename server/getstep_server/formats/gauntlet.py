"""Gauntlet: one team or a few against all the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from getstep.wire import MAX_TEAM

from ._table import Table, TableFormat, TableOptions


def _once_each(teams: list[int]) -> list[int]:
    if len(set(teams)) < len(teams):
        raise ValueError("each team once")
    return teams


TeamId = Annotated[int, Field(ge=0, le=MAX_TEAM)]


class GauntletOptions(TableOptions):
    """Of the event."""

    challengers: Annotated[
        list[TeamId],
        Field(min_length=1, description="the ids of the teams that meet all the others", examples=[[1]]),
        AfterValidator(_once_each),
    ]


class Gauntlet(TableFormat[GauntletOptions]):
    """Every challenger meets every team that is none, ``legs`` times, colours swapped each time.

    Challengers do not meet each other, nor do the others. With an even number of legs everybody is first as often
    as second; else once more often the one or the other.

    - A late team meets all challengers, and a late challenger all others, in rounds after those given out; with an
      odd number of legs, each may add one to a team's difference of colours.
    - A team that withdraws gets no further games; those given out are the caller's to cancel or to forfeit. When
      all challengers have withdrawn, nothing is left to play.
    - There are no byes: who has no opponent in a round is just free.
    - A cancelled game is not given out again. Equal points in a game, or none, change nothing.
    """

    name = "gauntlet"
    title = "gauntlet"
    Options = GauntletOptions

    def meetings(self, teams: int) -> int:
        challengers = min(len(self.options.challengers), teams // 2)  # of more there are fewer others
        return challengers * (teams - challengers)

    def table(self, teams: Sequence[int]) -> Table:
        challengers = [team for team in self.options.challengers if team in teams]
        others = self.in_drawn_order(set(teams) - set(challengers))
        rounds: Table = [[] for _ in range(max(len(challengers), len(others)))]
        for row, challenger in enumerate(challengers):
            for column, other in enumerate(others):
                swapped = (row + column) % 2
                rounds[(row + column) % len(rounds)].append((other, challenger) if swapped else (challenger, other))
        return rounds
