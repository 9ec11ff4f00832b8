"""Ladder: each team plays its neighbours above and below, and changes places with one above that it beats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Literal

from msgspec import Meta

from ._format import Format, FormatOptions, Pairing, Played, last_round


class LadderOptions(FormatOptions, frozen=True, kw_only=True):
    """The settings of the event.

    The caller applies ``missed_limit``: the format treats matches that were lost by it like any others.
    """

    rounds: Annotated[
        int, Meta(ge=1, le=10_000, description="the number of rounds; raise it to continue the ladder")
    ] = 10
    games: Annotated[
        int,
        Meta(
            ge=2, le=1000, multiple_of=2, description="matches of every two neighbours in a round, an even number"
        ),
    ] = 10
    missed_limit: Annotated[
        Literal["game", "round"],
        Meta(
            description='what a missed limit loses: the match ("game"), or all matches of the team in the "round"'
        ),
    ] = "game"


class Ladder(Format[LadderOptions]):
    """In each round every team plays ``games`` matches against the one above and as many against the one below.

    Half of them are played as first player, so that colours are balanced in every pair. After the round, pairs are
    checked from the top: a team that won more of their matches than the one above it changes places with it. Two
    teams that have changed places did not play their new neighbours in that round, so a team moves by at most one
    place a round.

    - The ladder begins in the order of the seeding. A late team joins at the bottom when the next round begins,
      and so does one that comes back.
    - A team that withdraws leaves the ladder with the next round; those below it close up. The caller cancels or
      forfeits its matches of the round.
    - There are no byes: the top and the bottom have one neighbour only.
    - A cancelled match counts for neither team. A match in which both have the same points is won by neither.
    - With fewer than two teams, nothing is played.
    """

    name = "ladder"
    title = "ladder"
    late_team = "joins at the bottom when the next round begins"
    Options = LadderOptions
    settles = "round"
    gathers = True
    pair_in_thread = True

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        round_ = last_round(games)
        if round_ >= self.options.rounds or any(game.open for game in games):
            return []
        number = max((game.pairing.pairing for game in games), default=0)
        neighbours = pairwise(self.order(teams, games))
        return [
            # odd legs: the upper team has the first move
            Pairing(round_ + 1, number + place, leg, *((upper, lower) if leg % 2 else (lower, upper)))
            for place, (upper, lower) in enumerate(neighbours, start=1)
            for leg in range(1, self.options.games + 1)
        ]

    def max_matches(self, teams: int) -> int:
        return self.options.rounds * max(0, teams - 1) * self.options.games

    def remaining_estimate(self, teams: Sequence[int], games: Sequence[Played]) -> int:
        """Count the matches of all further rounds."""
        rounds = self.options.rounds - last_round(games)
        return max(0, rounds) * max(0, len(teams) - 1) * self.options.games

    def order(self, teams: Sequence[int], games: Sequence[Played]) -> list[int]:
        """Return the teams from the top down for the next round; during a round, the order in which it began."""
        climbed = _climbed(teams, games)
        return list(dict.fromkeys([*climbed, *teams]))

    def places(self, teams: Sequence[int], games: Sequence[Played]) -> Mapping[int, int]:
        return {team: place for place, team in enumerate(self.order(teams, games), start=1)}


def _climbed(teams: Sequence[int], games: Sequence[Played]) -> list[int]:
    """Return the active teams of the latest round from the top down, with places changed if it is over."""
    number, here = last_round(games), set(teams)
    latest = [game for game in games if game.pairing.round == number]
    began = dict.fromkeys(team for game in latest if game.pairing.leg == 1 for team in game.pairing.teams)
    rungs = [team for team in began if team in here]
    if any(game.open for game in latest):
        return rungs
    won = _won(latest)
    for place in range(len(rungs) - 1):
        upper, lower = rungs[place : place + 2]
        if won[lower, upper] > won[upper, lower]:
            rungs[place : place + 2] = [lower, upper]
    return rungs


def _won(games: Sequence[Played]) -> Counter[tuple[int, ...]]:
    """Return how many matches each team has won against each other one."""
    won = Counter[tuple[int, ...]]()
    for game in games:
        teams = game.pairing.teams
        won[teams] += game.won_by(teams[0])
        won[teams[::-1]] += game.won_by(teams[-1])
    return won
