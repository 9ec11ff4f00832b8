"""Ladder: everybody plays the neighbours above and below, and moves up past whom it beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from ._format import Format, FormatOptions, Pairing, Played, last_round


class LadderOptions(FormatOptions):
    """Of the event.

    The caller sees to ``missed_limit``: the format is told of games that were lost so as of any others.
    """

    rounds: Annotated[
        int, Field(ge=1, le=10_000, description="how many there are; raise it when the ladder is to go on")
    ] = 10
    games: Annotated[
        int, Field(ge=2, le=1000, multiple_of=2, description="of each two neighbours in a round, an even number")
    ] = 10
    missed_limit: Annotated[
        Literal["game", "round"],
        Field(
            description='what a limit costs that loses the "game": that alone, or all of the team in the "round"'
        ),
    ] = "game"


class Ladder(Format[LadderOptions]):
    """In each round every team plays ``games`` games against the one above and as many against the one below.

    Half of them as first player, so that colours are balanced in every pair. After the round pairs are taken from
    the top: a team that won more of their games than the one above it changes places with it. Who has changed
    places has not met its new neighbour in that round, so nobody moves by more than one place a round.

    - The ladder begins in the order of the seeding. A late team joins at the bottom when the next round begins, and
      so does one that comes back.
    - A team that withdraws leaves the ladder with the next round; those below it close up. Its games of the round
      are the caller's to cancel or to forfeit.
    - There are no byes: the top and the bottom have one neighbour only.
    - A cancelled game counts for neither; a game in which both have the same points is won by nobody.
    - While fewer than two teams are there, there is nothing to play.
    """

    name = "ladder"
    title = "ladder"
    Options = LadderOptions
    slow = True

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        round_ = last_round(games)
        if round_ >= self.options.rounds or any(game.open for game in games):
            return []
        number = max((game.pairing.pairing for game in games), default=0)
        neighbours = pairwise(self.order(teams, games))
        return [
            Pairing(round_ + 1, number + place, leg, *((upper, lower) if leg % 2 else (lower, upper)))
            for place, (upper, lower) in enumerate(neighbours, start=1)
            for leg in range(1, self.options.games + 1)
        ]

    def most(self, teams: int) -> int:
        return self.options.rounds * max(0, teams - 1) * self.options.games

    def to_come(self, teams: Sequence[int], games: Sequence[Played]) -> int:
        """Those of all further rounds."""
        rounds = self.options.rounds - last_round(games)
        return max(0, rounds) * max(0, len(teams) - 1) * self.options.games

    def order(self, teams: Sequence[int], games: Sequence[Played]) -> list[int]:
        """The teams from the top down, as the next round would begin; while one is played, as it began."""
        climbed = _climbed(teams, games)
        return climbed + [team for team in teams if team not in set(climbed)]

    def places(self, teams: Sequence[int], games: Sequence[Played]) -> Mapping[int, int]:
        return {team: place for place, team in enumerate(self.order(teams, games), start=1)}


def _climbed(teams: Sequence[int], games: Sequence[Played]) -> list[int]:
    """Those of the latest round that are still here, from the top down, places changed if it is over."""
    number = last_round(games)
    latest = [game for game in games if game.pairing.round == number]
    began = dict.fromkeys(team for game in latest if game.pairing.leg == 1 for team in game.pairing.teams)
    rungs = [team for team in began if team in set(teams)]
    if any(game.open for game in latest):
        return rungs
    for place in range(len(rungs) - 1):
        upper, lower = rungs[place : place + 2]
        if _won(latest, lower, upper) > _won(latest, upper, lower):
            rungs[place : place + 2] = [lower, upper]
    return rungs


def _won(games: Sequence[Played], team: int, opponent: int) -> int:
    return sum(game.won_by(team) for game in games if set(game.pairing.teams) == {team, opponent})
