"""Gauntlet: one team or a few against all the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from getstep.wire import MAX_TEAM
from getstep_server.validation import Check

from ._table import Table, TableFormat, TableOptions


def _once_each(teams: list[int]) -> list[int]:
    if len(set(teams)) < len(teams):
        raise ValueError("each team once")
    return teams


TeamId = Annotated[int, Meta(ge=0, le=MAX_TEAM)]


class GauntletOptions(TableOptions, frozen=True, kw_only=True):
    challengers: Annotated[
        list[TeamId],
        Check(
            _once_each,
            min_length=1,
            description="the ids of the teams that play all the others",
            examples=[[1]],
        ),
    ]


class Gauntlet(TableFormat[GauntletOptions]):
    """Every challenger plays every other team that is not a challenger, ``legs`` times, colours swapped each time.

    Challengers do not play each other, nor do the other teams. With an even number of legs each team is first as
    often as second; with an odd number the two differ by one.

    - A late team plays all challengers, and a late challenger all others, in rounds after the issued ones. With an
      odd number of legs, each may add one to a team's difference of colours.
    - A team that withdraws gets no further matches; the caller cancels or forfeits the issued ones. When all
      challengers have withdrawn, nothing is left to play.
    - There are no byes: a team without an opponent in a round does not play in it.
    - A cancelled match is not issued again. Equal points in a match, or none, change nothing.
    """

    name = "gauntlet"
    title = "gauntlet"
    late_team = "plays all challengers, in rounds after the issued ones"
    Options = GauntletOptions

    def pair_count(self, teams: int) -> int:
        # More challengers than half the teams make fewer pairs, because fewer others are left.
        challengers = min(len(self.options.challengers), teams // 2)
        return challengers * (teams - challengers)

    def table(self, teams: Sequence[int]) -> Table:
        challengers = [team for team in self.options.challengers if team in teams]
        others = self.in_drawn_order(set(teams) - set(challengers))
        rounds: Table = [[] for _ in range(max(len(challengers), len(others)))]
        for row, challenger in enumerate(challengers):
            for column, other in enumerate(others):
                swapped = (row + column) % 2  # as on a chessboard: each team has both colours about equally often
                rounds[(row + column) % len(rounds)].append((other, challenger) if swapped else (challenger, other))
        return rounds
