"""Swiss: a few rounds for many teams; the pairings of a round depend on the points after the last one.

The pairings of a round are the cheapest perfect matching of the teams and, if their number is odd, the bye: see
`_matching`. Libraries that pair whole Swiss tournaments were considered and rejected. py4swiss 0.3 and
caissify-pairings 0.5 pair by FIDE's rules. They need the history of a tournament of single chess games, and support
neither pairings of several matches nor points such as a sum of roots. Besides, the first is C++, without builds for
Linux on ARM, and the second has 3,400 lines. swisspair 0.2 does not support colours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated

from msgspec import Meta

from ._format import DIGITS, Format, FormatOptions, Pairing, Played, last_round
from ._matching import Costs, cheapest_perfect_matching

MOST_COLOURS = 2
"""The difference between a team's matches as first and as second player that is exceeded only if necessary."""

LOTS = 2**32
"""The number of different lots, so large that there is one best way to pair a round, however it is found.

Two ways are equally good with a probability of at most n²/2 / LOTS for n teams (the isolation lemma): 1 in 8,000
for 1,024 teams."""


class SwissOptions(FormatOptions, frozen=True, kw_only=True):
    """The settings of the event and of a pairing."""

    rounds: Annotated[int, Meta(ge=1, le=1000, description="the number of rounds, at most")] = 5
    legs: Annotated[int, Meta(ge=1, le=1000, description="matches of a pairing, colours swapped each time")] = 2


class Swiss(Format[SwissOptions]):
    """In each round teams with about the same points are paired, and no two teams twice.

    A round is issued when the one before is over. Of all ways to pair it without a repeat, the best one is taken.
    These criteria are compared in this order, and the first difference decides:

    1. The bye goes to a team with the fewest byes yet.
    2. The bye goes to the last team by points and seeding.
    3. The fewest teams have a difference of more than 2 between their matches as first and as second player.
    4. The distances between score groups are smallest (the sum of their squares).
    5. The colours are balanced best.
    6. Within a score group, the upper half plays against the lower.
    7. A lot decides.

    - With an odd number of teams one has a bye: a pairing for each leg. The caller sets its points, those of a win
      as a rule.
    - A round in which more teams would have no opponent that they have not met is not played: the event is over.
      That cannot happen in the first half as many rounds as there are teams.
    - A late team begins with no points in the next round, and has nothing for the rounds it missed.
    - A team that withdraws is paired no more. The caller cancels or forfeits the matches that it still has.
    - Two teams whose matches were all cancelled may be paired again. A draw gives both what the event's scoring
      says.
    """

    name = "swiss"
    title = "Swiss"
    late_team = "plays from the next round on, with no points for the rounds that it missed"
    Options = SwissOptions
    tie_breaks = ("won", "difference", "direct", "buchholz")
    byes_count = True
    settles = "round"
    pair_in_thread = True

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        round_ = last_round(games) + 1
        if round_ > self.options.rounds or len(teams) < 2 or any(game.open for game in games):
            return []
        sides = _sides(teams, games)
        costs = _costs(sides, _opponents(games), self.options.legs, self.drawn(round_))
        matching = cheapest_perfect_matching(costs)
        if matching is None:
            return []
        tables: list[tuple[int, int | None]] = [
            self._seated(round_, sides[a], sides[b]) for a, b in matching if b < len(sides)
        ]
        tables += [(sides[rank].team, None) for rank, bye in matching if bye == len(sides)]
        number = max((game.pairing.pairing for game in games), default=0)
        return [
            _leg(round_, number + table, leg, *seats)
            for table, seats in enumerate(tables, start=1)
            for leg in range(1, self.options.legs + 1)
        ]

    def max_matches(self, teams: int) -> int:
        return self._most_rounds(teams) * ((teams + 1) // 2) * self.options.legs

    def _most_rounds(self, teams: int) -> int:
        """Return the number of rounds in which no two teams have to be paired twice."""
        # n teams have n - 1 rounds if n is even, and n with a bye in each if it is odd
        return max(0, min(self.options.rounds, teams - 1 + teams % 2))

    def remaining_estimate(self, teams: Sequence[int], games: Sequence[Played]) -> int:
        """Estimate the matches of all further rounds in which no two teams have to be paired twice."""
        rounds = self._most_rounds(len(teams)) - last_round(games)
        return max(0, rounds) * (len(teams) // 2) * self.options.legs

    def _seated(self, round_: int, upper: _Side, lower: _Side) -> tuple[int, int]:
        """Return the players of the first leg: first is the team that was less often first; else a lot decides."""
        # - 0.5: the sign decides by lot
        ahead = lower.colours - upper.colours or self.drawn(round_, upper.team)() - 0.5
        return (upper.team, lower.team) if ahead > 0 else (lower.team, upper.team)


def _leg(round_: int, number: int, leg: int, first: int, second: int | None) -> Pairing:
    if second is None or leg % 2:  # a bye has no second player to swap with
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
    """Return the teams grouped by points, the most points first, each group in the order of seeding."""
    # also teams that no longer take part
    points = dict.fromkeys([*teams, *(team for game in games for team in game.pairing.teams)], 0.0)
    for game in games:
        for team in game.pairing.teams:
            points[team] += game.points_of(team)
    groups: dict[float, list[int]] = {}
    for team in teams:
        groups.setdefault(round(points[team], DIGITS), []).append(team)
    return [groups[total] for total in sorted(groups, reverse=True)]


def _opponents(games: Sequence[Played]) -> defaultdict[int, set[int]]:
    """Return the opponents that each team has already met."""
    opponents = defaultdict[int, set[int]](set)
    for game in games:
        if not game.cancelled and not game.pairing.is_bye:
            first, second = game.pairing.teams
            opponents[first].add(second)
            opponents[second].add(first)
    return opponents


def _costs(
    sides: Sequence[_Side], opponents: Mapping[int, set[int]], legs: int, chance: Callable[[], float]
) -> Costs:
    """Return what each pairing costs, by rank and rank; the bye of an odd number of teams comes last.

    A pairing has several costs, of which the first counts most. They are combined into one number: the most that a
    whole round can cost in one of them is less than one unit of the cost before.
    """
    colours = max(abs(side.colours) for side in sides) + 1
    most = (2, sides[-1].group ** 2, 2 * colours**2, len(sides) ** 2, LOTS)
    bye, excess, apart, balance, half, lot = _units(most, len(sides) // 2)

    @cache  # sides have few distinct balances of colours, and n² pairs of them
    def of_colours(one: int, other: int) -> int:
        less, more = sorted((one, other))
        after = (less + legs % 2, more - legs % 2)
        return excess * sum(abs(c) > MOST_COLOURS for c in after) + balance * sum(c**2 for c in after)

    size = len(sides) + len(sides) % 2  # an empty place for the bye
    costs: list[list[int | None]] = [[None] * size for _ in range(size)]
    for upper in sides:
        for lower in sides[upper.rank + 1 :]:
            if lower.team in opponents[upper.team]:
                continue
            usual = upper.size // 2 if upper.group == lower.group else 0
            costs[upper.rank][lower.rank] = costs[lower.rank][upper.rank] = (
                of_colours(upper.colours, lower.colours)
                + apart * (lower.group - upper.group) ** 2
                + half * (lower.rank - upper.rank - usual) ** 2  # the upper half of a group meets its lower half
                + lot * int(LOTS * chance())
            )
    if size > len(sides):
        # the lowest team with fewest byes gets the cheapest one
        for place, side in enumerate(sorted(sides, key=lambda side: (side.byes, -side.rank))):
            costs[side.rank][-1] = costs[-1][side.rank] = bye * place
    return costs


def _units(most: Sequence[int], pairs: int) -> list[int]:
    """Return the weight of each cost. The first weight is that of a cost that counts more than all.

    Args:
        most: the largest value of each cost but the first, for one pairing.
        pairs: the number of pairings in a round.
    """
    units = [1]
    for limit in reversed(most):
        units.append(units[-1] * (limit * pairs + 1))  # Python's integers have no limit, so this is exact
    return units[::-1]
