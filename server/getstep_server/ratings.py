"""Ratings: how strong each team is, how sure that is, and what it is worth to be the first player.

The scale is Elo's: a team that is 400 points stronger wins ten times as often as it loses. Only differences mean
anything, so the mean is 0. The model is Davidson's (`_bradley_terry`, with its sources).

The prior is weak and can be said in games. Each team is taken to have played `PRIOR_GAMES` more, spread evenly over
the games it did play and over the colours, drawn as often as the games here are, otherwise half won and half lost.
And all together are taken to have played one more, of which half was drawn. So nobody is infinitely strong, and who
has played 78 games hardly notices.

The intervals are those of a parametric bootstrap: teams of the fitted strengths play the same games again a
thousand times, each time with a fit, and the middle 95 % of those is the interval. (To draw from the played games,
with replacement, would give a team that won them all an interval of no width.) Where no results could be better
than those seen, the bootstrap has nothing to say about how much better the truth is: there the interval's end is
that of the likelihood's curvature, if it is further out. The advantage's interval is the normal one with the
bootstrap's bias and standard error, the draws' comes from their conditional likelihood: what all teams share, many
strengths that each rest on a few games pull away from the truth. ``python -m benchmarks.ratings`` shows how often
the truth is inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from math import inf, log, sqrt
from statistics import NormalDist

from getstep_engines import Player

from ._bradley_terry import Model, sums
from ._numpy import Floats, np
from .contest_event import ContestEvent
from .results import Result
from .tournament import Tournament

ELO = 400 / log(10)
"""Elo points in one natural unit of strength."""

PRIOR_GAMES = 0.8
"""With 0.7 to 1 the intervals hold the truth as often as they say. With less, those of the best and the worst teams
are too far out; with more, too far in."""

REPLICATES = 1000
"""For as many as 64 teams: half a second for 40. With more teams there are fewer, so that it takes some seconds."""

FEWEST_REPLICATES = 200

UNSURE = (0.05, 0.95)
"""Where a likelihood of being stronger lies between these, the games have not told two teams apart."""

TAILS = (0.025, 0.975)
"""What the intervals leave out at either end."""


class Tally:
    """Who played whom, and how it ended: counts, to which a game is added at a time.

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
        self._results = np.zeros((3, len(self.teams), len(self.teams)))

    def add(self, first: int, second: int, winner: Player | None) -> None:
        """Count a game: ``winner`` is 0 if the first player won, 1 if the second did, None for a draw.

        Raises:
            ValueError: a team that is not in the tally, or against itself.
        """
        if first == second or first not in self._place or second not in self._place:
            raise ValueError(f"a game of {first!r} against {second!r}, expected two of the teams {self.teams!r}")
        result = 1 if winner is None else 2 * winner
        self._results[result, self._place[first], self._place[second]] += 1

    @property
    def results(self) -> Floats:
        """Counts, 3 × n × n: won by the first player, drawn, lost; [first, second], places as in ``teams``."""
        return self._results.copy()


def tally_of(teams: Sequence[int], results: Iterable[Result]) -> Tally:
    """The tally of results between ``teams``.

    Those without a turn are left out: a match that was lost by not being there says nothing of strength.
    """
    tally = Tally(teams)
    for result in results:
        if result.turns:
            tally.add(*result.match.teams, result.winner)
    return tally


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, and the interval that holds the truth in 95 of 100 contests."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Rating:
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
    """What the games say about who is how strong.

    ``table`` has the highest rating first, and those that have played nobody last. ``advantage`` is what it is
    worth to be the first player, in Elo. ``draw`` is how likely a draw is between two equals neither of whom has an
    advantage, 0 … 1. Both are None before the first game. ``covariance`` is that of the ratings' errors, n × n, in
    Elo², in the order of the table. ``replicates`` is how often the games were played again for the intervals.
    """

    table: tuple[Rating, ...]
    advantage: Estimate | None
    draw: Estimate | None
    covariance: Floats = field(repr=False)
    replicates: int = 0

    def stronger(self, team: int, other: int) -> float:
        """How likely it is that ``team`` is stronger than ``other``, 0 … 1; 0.5 if nothing compares them.

        Where it is `UNSURE` a host should not say that the games have told the two apart. (Their intervals do not
        show that: the errors of two ratings are not independent.)

        Raises:
            ValueError: there is no such team in the table.
        """
        i, j = self._place(team), self._place(other)
        one, two = self.table[i], self.table[j]
        if i == j or one.elo is None or two.elo is None or one.group != two.group:
            return 0.5
        variance = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        return NormalDist().cdf((one.elo.value - two.elo.value) / sqrt(variance))

    def leads(self) -> list[float | None]:
        """For each line of the table, how likely it is that its team is stronger than the next.

        None for the last line, and where nothing compares the two.
        """
        leads: list[float | None] = []
        for upper, lower in zip_longest(self.table, self.table[1:]):
            compared = lower and upper.elo and lower.elo and upper.group == lower.group
            leads.append(self.stronger(upper.team, lower.team) if compared else None)
        return leads

    def _place(self, team: int) -> int:
        teams = [rating.team for rating in self.table]
        if team not in teams:
            raise ValueError(f"team {team!r}, expected one of {teams!r}")
        return teams.index(team)


def rate(tally: Tally, *, replicates: int = REPLICATES, seed: int = 0) -> Ratings:
    """Fit the model to the games.

    Args:
        tally: the games.
        replicates: how often the bootstrap plays them again. 0 takes all ends of intervals from the likelihood's
            curvature, for live ratings: 2 ms for 40 teams, 50 ms for 256 (a thread's work). With 1,000 it is half a
            second for 40 teams, half a minute for 256.
        seed: the bootstrap's. The same games and seed give the same intervals.
    """
    results = tally.results
    if not results.any():
        unknown = (Rating(team, 0, place, None) for place, team in enumerate(tally.teams))
        return Ratings(tuple(unknown), None, None, np.zeros_like(results[0]))
    model, seen = Model(results.sum(0), _prior(results)), sums(results[None])
    point = model.fit(seen)[0]
    errors = model.covariance(point)
    triples = np.stack([point, *_around(point, np.sqrt(errors.diagonal()))], axis=-1)
    if replicates:
        again = model.bootstrap(point, replicates, np.random.default_rng(seed))
        triples[:-2, 1:] = _ends(again, triples, seen[0], results.sum(0))
        triples[-2, 1:] = _around(2 * point[-2] - again[:, -2].mean(), again[:, -2].std())
        triples[-1] = model.conditional_draw(seen, point)
    return replace(_in_elo(tally, model, triples, errors), replicates=replicates)


def replicates_for(teams: int) -> int:
    """How often the games of so many teams are played again."""
    return max(FEWEST_REPLICATES, min(REPLICATES, int(REPLICATES * (64 / max(teams, 1)) ** 2)))


def ratings_of(tournament: Tournament, event: ContestEvent, replicates: int | None = None) -> Ratings:
    """The ratings in an event, of all teams in its table, as `rate` makes them with the contest's seed.

    Without a number of ``replicates`` there are as many as `replicates_for` says.
    They are kept until there are new results. Another thread than the one that takes note of those may call this.
    """

    def make() -> Ratings:
        teams = sorted(row.team for row in tournament.table(event))  # the bootstrap's dice know their order
        results = (result for result in tournament.results if result.match.event == event.number)
        seed = tournament.contest.file.contest.seed
        times = replicates_for(len(teams)) if replicates is None else replicates
        return rate(tally_of(teams, results), replicates=times, seed=seed)

    return tournament.kept(event, ("ratings", replicates), make)


def _ends(again: Floats, triples: Floats, seen: Floats, games: Floats) -> Floats:
    """The strengths' ends, n × 2: the middle of a bootstrap, or those of ``triples`` where they are further out and
    no sums can be above or below those ``seen``."""
    low, high = np.quantile(again[:, :-2], TAILS, axis=0, method="weibull")
    most = (games.sum(0) + games.sum(1)) / 2
    low = np.where(seen[:-2] == -most, np.minimum(low, triples[:-2, 1]), low)
    return np.stack([low, np.where(seen[:-2] == most, np.maximum(high, triples[:-2, 2]), high)], axis=-1)


def _around(value: Floats, error: Floats) -> tuple[Floats, Floats]:
    """The ends of normal intervals."""
    reach = NormalDist().inv_cdf(TAILS[1]) * error
    return value - reach, value + reach


def _prior(results: Floats) -> Floats:
    """The games that everybody is taken to have played besides, 3 × n × n like ``results``."""
    games = results.sum(0)
    met = games + games.T
    share = met / np.maximum(1, met.sum(0))
    drawn = results[1].sum() / games.sum()
    of_each_team = PRIOR_GAMES / 4 * (share + share.T) * _as_results(drawn)
    of_all = met / met.sum() * _as_results(1 / 2)
    return np.asarray(of_each_team + of_all)


def _as_results(drawn: float) -> Floats:
    """Parts of a game that is ``drawn`` so often, and otherwise won as often as lost: 3 × 1 × 1."""
    return np.array([(1 - drawn) / 2, drawn, (1 - drawn) / 2])[:, None, None]


def _in_elo(tally: Tally, model: Model, triples: Floats, errors: Floats) -> Ratings:
    """The table, from the parameters with the ends of their intervals ((n + 2) × 3) and their covariance."""
    *strengths, advantage = (Estimate(*triple) for triple in (ELO * triples[:-1]).tolist())
    games = (model.games.sum(0) + model.games.sum(1)).astype(int).tolist()
    group = model.together.argmax(0).tolist()  # each is called by the place of its first member
    ratings = [
        Rating(team, games[place], group[place], strengths[place] if games[place] else None)
        for place, team in enumerate(tally.teams)
    ]
    order = sorted(range(len(ratings)), key=lambda place: _rank(ratings[place]))
    draws = np.exp(triples[-1])
    return Ratings(
        table=tuple(ratings[place] for place in order),
        advantage=advantage,
        draw=Estimate(*(draws / (2 + draws)).tolist()),
        covariance=ELO**2 * errors[np.ix_(order, order)],
    )


def _rank(rating: Rating) -> tuple[float, int]:
    return (inf if rating.elo is None else -rating.elo.value, rating.team)
