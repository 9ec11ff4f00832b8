"""Ratings: each team's strength with its interval, and the advantage of the first player.

The scale is Elo's: a team that is 400 points stronger wins ten times as often as it loses. Only differences mean
anything, so the mean is 0. The model is Davidson's (`_bradley_terry`, with its sources).

The prior is weak and is expressed in games. Each team is taken to have played `PRIOR_GAMES` more, spread evenly
over its real games and over the colours, drawn as often as the games here are, otherwise half won and half lost.
All teams together are taken to have played one more, of which half was drawn. So no team is infinitely strong, and
the prior hardly changes the rating of a team with 78 games.

The intervals are those of a parametric bootstrap. Teams of the fitted strengths play the same games again a
thousand times, each time with a fit, and the middle 95 % of the fits is the interval. (Resampling the played games
would give a team that won all of them an interval of no width.) Where no results could be better than the observed
ones, the bootstrap cannot say how much better the truth is. There the interval's end is that of the likelihood's
curvature, if it is further out.

The advantage's interval is the normal one with the bootstrap's bias and standard error. The interval of the draws
comes from their conditional likelihood. Both are common to all teams, and many strengths that are each fitted to a
few games would bias them. ``python -m benchmarks.ratings`` shows how often the intervals contain the truth. The
probability that one team is stronger than another does not come from the ratings, but from `_superiority`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from math import inf
from statistics import NormalDist

from getstep_engines import Player
from getstep_server.config.event import ContestEvent
from getstep_server.records.result import Result

from ._bradley_terry import ELO as ELO
from ._bradley_terry import Model, as_results, sums
from ._numpy import Floats, np
from ._superiority import Superiority
from .estimate import Estimate
from .tournament import Tournament

PRIOR_GAMES = 0.8
"""With 0.7 to 1 the intervals contain the truth as often as they claim.

With less, those of the best and the worst teams are too far out; with more, too far in."""

REPLICATES = 1000
"""The replicates for up to 64 teams: half a second for 40 teams.

With more teams there are fewer replicates, so that the computation takes only some seconds."""

FEWEST_REPLICATES = 200
"""The fewest replicates, if there are any: 2.5 % of 200 are five, so no end of an interval is one outlier."""

MOST_REPLAYED = 256
"""With more teams than this there are no replicates: 200 of 1,024 teams would take ten minutes.

Without them, intervals of 40 teams with nine games each contain the truth in 97 % of cases instead of 95, and that
of the draws in 87 %."""

UNSURE = (0.05, 0.95)
"""If the probability of being stronger lies between these, the games have not separated two teams."""

TAILS = (0.025, 0.975)
"""The quantiles at which the intervals end."""


class Tally:
    """Counts of games by first player, second player and outcome, to which games are added one at a time.

    Args:
        teams: their ids.

    Raises:
        ValueError: a team is named twice.
    """

    def __init__(self, teams: Sequence[int]) -> None:
        self.teams = tuple(teams)
        self._place = {team: place for place, team in enumerate(self.teams)}
        if len(self._place) != len(self.teams):
            raise ValueError(f"teams {self.teams!r}, expected none twice")
        self._results = np.zeros((3, len(self.teams), len(self.teams)))  # won by the first player, drawn, lost

    def add(self, first: int, second: int, winner: Player | None, times: int = 1) -> None:
        """Count games: ``winner`` is 0 if the first player won, 1 if the second did, None for a draw.

        Raises:
            ValueError: a team that is not in the tally, or against itself.
        """
        if first == second or first not in self._place or second not in self._place:
            raise ValueError(f"a game of {first!r} against {second!r}, expected two of the teams {self.teams!r}")
        result = 1 if winner is None else 2 * winner
        self._results[result, self._place[first], self._place[second]] += times

    @property
    def results(self) -> Floats:
        """Return the counts, 3 × n × n: won by the first player, drawn, lost.

        [first, second], places as in ``teams``.
        """
        return self._results.copy()  # a copy: games are added to the tally later


def tally_of(teams: Sequence[int], results: Iterable[Result]) -> Tally:
    """Return the tally of results between ``teams``.

    Results without a turn are left out: a match that was lost by absence says nothing about strength.
    """
    tally = Tally(teams)
    games = Counter((*result.match.teams, result.winner) for result in results if result.turns)
    for game, times in games.items():
        tally.add(*game, times)
    return tally


@dataclass(frozen=True, slots=True)
class TeamRating:
    """A team's strength in Elo, 0 being the mean of its ``group``, from so many ``games``.

    Teams that no chain of games connects are in different groups, and their ratings say nothing about each other.
    ``elo`` is None for a team that has played nobody.
    """

    team: int
    games: int
    group: int
    elo: Estimate | None


@dataclass(frozen=True)
class Ratings:
    """The ratings of all teams, and what else the games show.

    ``table`` has the highest rating first, and teams without a game last. ``advantage`` is the first player's
    advantage, in Elo. ``draw`` is the probability of a draw between two equals neither of whom has an advantage, 0
    … 1. Both are None before the first game. ``results`` counts the games as `Tally` does, in the order of the
    table. ``replicates`` is how often the bootstrap simulated the games for the intervals.
    """

    table: tuple[TeamRating, ...]
    advantage: Estimate | None
    draw: Estimate | None
    results: Floats = field(repr=False)
    replicates: int = 0

    def stronger(self, team: int, other: int) -> float:
        """Return the probability that ``team`` is stronger than ``other``, 0 … 1; 0.5 if nothing compares them.

        If it is in the range `UNSURE`, a host should not say that one of them is stronger. (Their intervals do not
        show that: the errors of two ratings are not independent.)

        Raises:
            ValueError: there is no such team in the table.
        """
        i, j = self._place(team), self._place(other)
        one, two = self.table[i], self.table[j]
        if i == j or one.elo is None or two.elo is None or one.group != two.group:
            return 0.5  # no chain of matches compares them, so neither is likelier
        return self._superiority.stronger(i, j)

    @cached_property
    def _superiority(self) -> Superiority:
        """Computed on demand: it takes five times as long as a fit, and live ratings do not need it."""
        strengths = [0.0 if rating.elo is None else rating.elo.value / ELO for rating in self.table]
        return Superiority(self.results, np.array(strengths))

    @cached_property
    def leads(self) -> Sequence[float | None]:
        """For each row of the table, the probability that its team is stronger than the next.

        None for the last row, and where nothing compares the two.
        """
        leads: list[float | None] = []
        for upper, lower in zip_longest(self.table, self.table[1:]):  # the last row has no next one
            compared = lower and upper.elo and lower.elo and upper.group == lower.group
            leads.append(self.stronger(upper.team, lower.team) if compared else None)
        return leads

    def _place(self, team: int) -> int:
        if team not in self._places:
            raise ValueError(f"team {team!r}, expected one of {list(self._places)!r}")
        return self._places[team]

    @cached_property
    def _places(self) -> dict[int, int]:
        return {rating.team: place for place, rating in enumerate(self.table)}


def rate(tally: Tally, *, replicates: int = REPLICATES, seed: int = 0) -> Ratings:
    """Fit the model to the games.

    Args:
        tally: the games.
        replicates: how often the bootstrap simulates them. With 0, all intervals come from the likelihood's
            curvature, as live ratings need it: 2 ms for 40 teams, 50 ms for 256 (in a thread). With 1,000 it takes
            half a second for 40 teams, and half a minute for 256.
        seed: the bootstrap's. The same games and seed give the same intervals.
    """
    results = tally.results
    if not results.any():
        unknown = (TeamRating(team, 0, place, None) for place, team in enumerate(tally.teams))
        return Ratings(tuple(unknown), None, None, results)
    model, seen = Model(results.sum(0), _prior(results)), sums(results[None])
    point = model.fit(seen)[0]
    errors = np.sqrt(model.covariance(point).diagonal())
    triples = np.stack([point, *_around(point, errors)], axis=-1)
    if replicates:
        again = model.bootstrap(point, replicates, np.random.default_rng(seed))
        triples[:-2, 1:] = _ends(again, triples, seen[0], results.sum(0))
        # The mean of the bootstrap is as far from the fit as the fit is from the truth: subtract this bias.
        triples[-2, 1:] = _around(2 * point[-2] - again[:, -2].mean(), again[:, -2].std())
        triples[-1] = model.conditional_draw(seen, point)
    return replace(_in_elo(tally, model, triples), replicates=replicates)


def largest_group(games: Sequence[tuple[int, int, Player | None]]) -> list[tuple[int, float]]:
    """Return teams and Elo of the largest group that games connect, as `rate` has them, without intervals.

    Args:
        games: first team, second team and winner of each.
    """
    if not games:
        return []
    tally = Tally(sorted({team for first, second, _ in games for team in (first, second)}))
    for game, times in Counter(games).items():
        tally.add(*game, times)
    results = tally.results
    model = Model(results.sum(0), _prior(results))
    elos = (ELO * model.fit(sums(results[None]))[0, :-2]).tolist()
    members = model.together[model.together.sum(0).argmax()].tolist()
    return [(team, elo) for team, elo, is_member in zip(tally.teams, elos, members, strict=True) if is_member]


def replicates_for(teams: int) -> int:
    """Return how often the bootstrap simulates the games of so many teams."""
    if teams > MOST_REPLAYED:
        return 0
    # A replicate's arrays are n × n, so twice the teams take four times as long.
    return max(FEWEST_REPLICATES, min(REPLICATES, int(REPLICATES * (64 / max(teams, 1)) ** 2)))


def ratings_of(tournament: Tournament, event: ContestEvent, replicates: int | None = None) -> Ratings:
    """Return the ratings in an event, of all teams in its table, as `rate` makes them with the contest's seed.

    By default there are as many ``replicates`` as `replicates_for` says. The ratings are cached until there are
    new results. A thread other than the one that applies records may call this.
    """

    def make() -> Ratings:
        teams = sorted(
            row.team for row in tournament.table(event)
        )  # the bootstrap's random numbers depend on the order
        results = (result for result in tournament.results if result.match.event == event.number)
        seed = tournament.contest.file.contest.seed
        times = replicates_for(len(teams)) if replicates is None else replicates
        return rate(tally_of(teams, results), replicates=times, seed=seed)

    return tournament.cached(event, ("ratings", replicates), make)


def _ends(again: Floats, triples: Floats, seen: Floats, games: Floats) -> Floats:
    """Return the ends of the strengths' intervals, n × 2.

    They are the middle of a bootstrap, or those of ``triples`` where they are further out and no sums can be above
    or below those ``seen``.
    """
    low, high = np.quantile(again[:, :-2], TAILS, axis=0, method="weibull")
    most = (games.sum(0) + games.sum(1)) / 2  # what `sums` has for a team that won all its games: half a point each
    low = np.where(seen[:-2] == -most, np.minimum(low, triples[:-2, 1]), low)
    return np.stack([low, np.where(seen[:-2] == most, np.maximum(high, triples[:-2, 2]), high)], axis=-1)


def _around(value: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Return the ends of normal intervals."""
    reach = NormalDist().inv_cdf(TAILS[1]) * error
    return value - reach, value + reach


def _prior(results: Floats) -> Floats:
    """Return the games that each team is taken to have played besides, 3 × n × n like ``results``."""
    games = results.sum(0)
    met = games + games.T
    share = met / np.maximum(1, met.sum(0))
    drawn = results[1].sum() / games.sum()
    of_each_team = PRIOR_GAMES / 4 * (share + share.T) * as_results(drawn)  # / 4: two teams, each with both colours
    of_all = met / met.sum() * as_results(1 / 2)
    return np.asarray(of_each_team + of_all)


def _in_elo(tally: Tally, model: Model, triples: Floats) -> Ratings:
    """Return the table, from the parameters with the ends of their intervals, (n + 2) × 3."""
    *strengths, advantage = (Estimate(*triple) for triple in (ELO * triples[:-1]).tolist())
    games = (model.games.sum(0) + model.games.sum(1)).astype(int).tolist()
    group = model.together.argmax(0).tolist()  # a group's number is the place of its first member
    ratings = [
        TeamRating(team, games[place], group[place], strengths[place] if games[place] else None)
        for place, team in enumerate(tally.teams)
    ]
    order = sorted(range(len(ratings)), key=lambda place: _rank(ratings[place]))
    draws = np.exp(triples[-1])
    return Ratings(
        table=tuple(ratings[place] for place in order),
        advantage=advantage,
        draw=Estimate(*(draws / (2 + draws)).tolist()),
        results=tally.results[np.ix_(range(3), order, order)],  # both axes in the order of the table
    )


def _rank(rating: TeamRating) -> tuple[float, int]:
    # Equal teams are listed by their ids. The last digits of a fit differ between processors.
    return (inf if rating.elo is None else -round(rating.elo.value, 6), rating.team)
