"""Swiss: a few rounds for many teams; who meets whom depends on the points so far.

The pairing of a round is a matching of greatest weight, and networkx finds it. Libraries that pair whole Swiss
tournaments were weighed and left: py4swiss 0.3 and caissify-pairings 0.5, which pair by FIDE's rules, want the
history of a tournament of single chess games, and have no place for meetings of several games or for points such
as a sum of roots; besides the first is C++, without builds for Linux on ARM, and the second 3,400 lines. swisspair
0.2 knows no colours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, TypeAlias

from pydantic import Field

from ._format import DIGITS, Format, FormatOptions, Pairing, Played, last_round

MOST_COLOURS = 2
"""How many games more as first than as second player, or the reverse, a team has if it can be avoided."""

LOTS = 2**32
"""So many different lots that no two ways to pair a round have the same ones, but by a miracle."""

Pair: TypeAlias = tuple[int, int]
"""Ranks of two teams that meet, the better one first."""

Cost: TypeAlias = tuple[int, ...]
"""What speaks against a meeting, the most important first."""


class SwissOptions(FormatOptions):
    """Of the event, and of a meeting."""

    rounds: Annotated[int, Field(ge=1, le=1000, description="how many there are at most")] = 5
    legs: Annotated[
        int, Field(ge=1, le=1000, description="games of two teams that meet, colours swapped each time")
    ] = 2


class Swiss(Format[SwissOptions]):
    """In each round teams with about the same points meet, and no two teams meet twice.

    A round is given out when the one before is over. Of all ways to pair it without a repeat it is the best in the
    first of these respects in which they differ: the bye for who had the fewest so far; the bye for the last by
    points and seeding; the fewest teams with a difference of more than 2 between their games as first and as
    second player; the smallest distances between score groups (squares summed); the best balance of colours;
    within a score group the upper half against the lower; a lot.

    - With an odd number of teams one has a bye: a pairing for each leg, whose points are the caller's to give,
      those of a win as a rule.
    - A round in which more teams would have no opponent that they have not met is not played: the event is over.
      That cannot happen in the first half as many rounds as there are teams.
    - A late team begins with no points in the next round, and has nothing for the rounds it missed.
    - A team that withdraws is paired no more; the games it still has are the caller's to cancel or to forfeit.
    - Who met in cancelled games only may meet again. A draw gives both what the event's scoring says.
    """

    name = "swiss"
    title = "Swiss"
    Options = SwissOptions
    tie_breaks = ("won", "difference", "direct", "buchholz")
    byes_count = True
    slow = True

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        round_ = last_round(games) + 1
        if round_ > self.options.rounds or any(game.open for game in games):
            return []
        sides = _sides(teams, games)
        pairs = sorted(cheapest(_costs(sides, _met(games), self.options.legs, self.drawn(round_))))
        free = {side.rank for side in sides}.difference(*pairs)
        if not pairs or len(free) > 1:
            return []
        tables: list[tuple[int, int | None]] = [self._seated(round_, sides[a], sides[b]) for a, b in pairs]
        tables += [(sides[rank].team, None) for rank in free]
        number = max((game.pairing.pairing for game in games), default=0)
        return [
            _leg(round_, number + table, leg, *seats)
            for table, seats in enumerate(tables, start=1)
            for leg in range(1, self.options.legs + 1)
        ]

    def most(self, teams: int) -> int:
        return self._most_rounds(teams) * ((teams + 1) // 2) * self.options.legs

    def _most_rounds(self, teams: int) -> int:
        """As long as nobody need meet again."""
        return max(0, min(self.options.rounds, teams - 1 + teams % 2))

    def to_come(self, teams: Sequence[int], games: Sequence[Played]) -> int:
        """Those of all further rounds, as far as nobody need meet again."""
        rounds = self._most_rounds(len(teams)) - last_round(games)
        return max(0, rounds) * (len(teams) // 2) * self.options.legs

    def _seated(self, round_: int, upper: _Side, lower: _Side) -> tuple[int, int]:
        """Who is first in the first leg: the one that was less often; else it is drawn."""
        ahead = lower.colours - upper.colours or self.drawn(round_, upper.team)() - 0.5
        return (upper.team, lower.team) if ahead > 0 else (lower.team, upper.team)


def _leg(round_: int, number: int, leg: int, first: int, second: int | None) -> Pairing:
    if second is None or leg % 2:
        return Pairing(round_, number, leg, first, second)
    return Pairing(round_, number, leg, second, first)


@dataclass(frozen=True, slots=True)
class _Side:
    """A team before a round.

    ``rank`` counts from 0 by points and seeding; ``group`` is its score group, which has ``size`` teams.
    ``colours`` are its games as first player less those as second.
    """

    team: int
    rank: int
    group: int
    size: int
    byes: int
    colours: int


def _sides(teams: Sequence[int], games: Sequence[Played]) -> list[_Side]:
    """The teams by rank."""
    byes, colours = Counter[int](), Counter[int]()
    for game in (game for game in games if not game.cancelled):
        first, *second = game.pairing.teams
        byes[first] += game.pairing.is_bye
        colours[first] += not game.pairing.is_bye
        colours.subtract(second)
    sides: list[_Side] = []
    for group, members in enumerate(_score_groups(teams, games)):
        sides += [
            _Side(team, rank, group, len(members), byes[team], colours[team])
            for rank, team in enumerate(members, start=len(sides))
        ]
    return sides


def _score_groups(teams: Sequence[int], games: Sequence[Played]) -> list[list[int]]:
    """Teams with the same points together, the most points first, each group in the order of seeding."""
    points = dict.fromkeys([*teams, *(team for game in games for team in game.pairing.teams)], 0.0)
    for game in games:
        for team in game.pairing.teams:
            points[team] += game.points_of(team)
    groups: dict[float, list[int]] = {}
    for team in teams:
        groups.setdefault(round(points[team], DIGITS), []).append(team)
    return [groups[total] for total in sorted(groups, reverse=True)]


def _met(games: Sequence[Played]) -> set[frozenset[int]]:
    return {frozenset(game.pairing.teams) for game in games if not game.cancelled}


def _costs(
    sides: Sequence[_Side], met: set[frozenset[int]], legs: int, chance: Callable[[], float]
) -> dict[Pair, Cost]:
    """What each meeting that is possible costs; the lot leaves but one best way to pair, however it is found."""
    return {
        (upper.rank, lower.rank): (*_cost(upper, lower, legs), int(LOTS * chance()))
        for upper, lower in combinations(sides, 2)
        if frozenset((upper.team, lower.team)) not in met
    }


def _cost(upper: _Side, lower: _Side, legs: int) -> Cost:
    less, more = sorted((upper.colours, lower.colours))
    after = (less + legs % 2, more - legs % 2)
    usual = upper.size // 2 if upper.group == lower.group else 0
    return (
        -(upper.byes + lower.byes),  # who plays has no bye
        upper.rank + lower.rank,
        sum(abs(colours) > MOST_COLOURS for colours in after),
        (upper.group - lower.group) ** 2,
        sum(colours**2 for colours in after),
        (lower.rank - upper.rank - usual) ** 2,
    )


def cheapest(costs: Mapping[Pair, Cost]) -> list[Pair]:
    """As many pairs as possible, nobody twice, that cost least: first in the first column, then in the second, …"""
    import networkx  # takes 0.3 s, for which nobody should wait who plays no Swiss

    graph = networkx.Graph()
    graph.add_weighted_edges_from((*pair, -cost) for pair, cost in _in_one_number(costs).items())
    matching = networkx.max_weight_matching(graph, maxcardinality=True)
    return [(min(pair), max(pair)) for pair in matching]


def _in_one_number(costs: Mapping[Pair, Cost]) -> dict[Pair, int]:
    """Each cost as one number: a whole matching's worth of a column is less than one of the column before."""
    numbers, most_pairs = dict.fromkeys(costs, 0), len(set().union(*costs)) // 2
    for column in range(len(next(iter(costs.values()), ()))):
        values = [cost[column] for cost in costs.values()]
        least, size = min(values), (max(values) - min(values)) * most_pairs + 1
        numbers = {pair: number * size + costs[pair][column] - least for pair, number in numbers.items()}
    return numbers
