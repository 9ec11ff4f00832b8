"""The model behind the ratings, and its fit: Bradley–Terry with draws, and an advantage of the first player.

Sources: for the draws R. R. Davidson, "On extending the Bradley–Terry model to accommodate ties in paired
comparison experiments", JASA 65 (1970); for the advantage R. R. Davidson and R. J. Beaver, "On extending the
Bradley–Terry model to incorporate within-pair order effects", Biometrics 33 (1977). With strengths r in natural
units (a team that is 1 stronger wins e times as often as it loses), the advantage a and the draw parameter ν, a
game's results have the odds

    first wins : draw : second wins  =  exp(d / 2) : ν : exp(-d / 2),     d = r[first] - r[second] + a.

That is an exponential family in (r, a, log ν): the likelihood is concave, and largest where each team's expected
score, the first players' expected score and the expected number of draws are the observed ones. So a fit needs only
the schedule and these sums, and many replicates of a contest are fitted at once. Arrays of this module have a
leading axis of R replicates. Parameters are a vector of n + 2: r of each team, a, log ν.

In a large field most teams never meet. So what belongs to two teams is an array of the P pairs that have met, each
in both orders, instead of n × n.
"""

from __future__ import annotations

from math import log

from ._numpy import Bools, Floats, Integers, np

ELO = 400 / log(10)
"""Elo points in one natural unit of strength."""

TOLERANCE = 1e-3
"""The last step of Newton's method, in natural units. About its square is left after it: 0.0002 Elo."""

MAX_STEPS = 200
"""A contest takes about 6 steps. 256 teams, each of which has won 100 games from the next and no other, take 9."""

GRID = (-6, 6, 97)
"""The places at which a conditional likelihood is computed: from, to and their number, in standard errors.

Linear interpolation between two of them is correct to a thousandth."""

COARSE = 8
"""The likelihood is computed at each of so many of these places, and at all of them where it matters."""

CHI_SQUARED = 3.841
"""95 % of the squares of a standard normal variable are below it."""

SPARSE = 1000
"""With fewer pairs than n³ / SPARSE, a step is computed by conjugate gradients: a solution by elimination takes n³
operations for each replicate, an iteration some tens for each pair."""

RESIDUAL = 1e-2
"""The residual of these iterations, as a part of the first one. So the last step of Newton's method, of at most
TOLERANCE, is wrong by 0.002 Elo at most."""

CHUNK = 1 << 17
"""Numbers in one array of replicates: 1 MiB, so that several stay in a processor's cache."""


class Model:
    """A schedule, whose results can be fitted.

    Args:
        games: how many were played, n × n, [first, second].
        prior: results of further games, 3 × n × n (won by the first player, drawn, lost), in fractions. If each
            team has some wins over each of its opponents, and there are draws, then there is a fit to any results.
    """

    def __init__(self, games: Floats, prior: Floats) -> None:
        self.games = games
        self.together = _groups(games > 0)
        self._prior = sums(prior[None])
        weights = games + prior.sum(0)
        self._first, self._second = np.nonzero(weights + weights.T)  # ordered by the first team
        self._weights = weights[self._first, self._second]
        self._played = games[self._first, self._second] > 0
        self._swapped = np.lexsort((self._first, self._second))
        """The place of each pair with its teams swapped."""
        self._begins = np.flatnonzero(np.diff(self._first, prepend=-1))
        """The place of the first pair of each team that has one."""

    def fit(
        self,
        seen: Floats,
        start: Floats | None = None,
        *,
        draw_held: bool = False,
        precision: Floats | float = 0.0,
        near: Floats | None = None,
    ) -> Floats:
        """Return the parameters that make results likeliest, R × (n + 2). Each group's strengths have mean 0.

        Args:
            seen: the results' `sums`, R × (n + 2).
            start: parameters to begin with, n + 2 or R × (n + 2).
            draw_held: log ν stays as it was at the start.
            precision: the parameters have normal priors around 0 with this inverse variance, n + 2. Then the fit is
                the posterior's mode.
            near: the inverse of the information of parameters in the neighbourhood, (n + 2) × (n + 2). With it, and
                without priors, the steps are computed by `_conjugate_gradients`.

        The steps are Newton's, each times log(1 + δ) / δ with δ the most that it changes the log-odds in any game:
        then the likelihood rises in every step, from any start (T. Sun and Q. Tran-Dinh, "Generalized
        self-concordant functions", Mathematical Programming 178 (2019), with their ν = 2).
        """
        parameters = np.zeros_like(seen) + (0 if start is None else start)
        for _ in range(MAX_STEPS):
            half, draw = self._expected(parameters)
            missing = seen + self._prior - self._sums(self._weights * half, self._weights * draw)
            missing -= precision * parameters
            missing[:, -1] *= not draw_held
            if near is None:
                information = self._information(half, draw, draw_held=draw_held)
                information[:, range(seen.shape[-1]), range(seen.shape[-1])] += precision
                step = np.asarray(np.linalg.solve(information, missing[..., None]))[..., 0]
            else:
                step = self._conjugate_gradients(half, draw, missing, near, draw_held=draw_held)
            size = self._size(step)
            parameters += step * (np.log1p(size) / np.maximum(size, TOLERANCE))[:, None]
            if size.max() < TOLERANCE:
                return parameters
        raise ArithmeticError(f"no fit in {MAX_STEPS} steps; the last was {size.max()!r}, expected {TOLERANCE!r}")

    def bootstrap(self, parameters: Floats, replicates: int, random: np.random.Generator) -> Floats:
        """Simulate the games ``replicates`` times with ``parameters`` (n + 2), and fit: replicates × (n + 2)."""
        half, draw = (mean[0] for mean in self._expected(parameters[None]))
        first = np.clip((1 - draw) / 2 + half, 0, 1)
        odds = np.stack([first, draw, np.clip(1 - first - draw, 0, 1)], axis=-1)
        games, at_once = self.games[self._first, self._second].astype(np.int64), self._at_once
        fits, near = [], self._near(parameters)
        for done in range(0, replicates, at_once):
            results = random.multinomial(games, odds, size=(min(at_once, replicates - done), len(games)))
            seen = self._sums((results[..., 0] - results[..., 2]) / 2, results[..., 1].astype(np.float64))
            fits.append(self.fit(seen, parameters, near=near))
        return np.concatenate(fits)

    def covariance(self, parameters: Floats) -> Floats:
        """Return the covariance of the errors of fitted ``parameters``, (n + 2) × (n + 2).

        A strength is relative to its group's mean.
        """
        inverse = np.linalg.inv(self._information(*self._expected(parameters[None]))[0])
        inverse[:-2, :-2] -= self.together / self.together.sum(0) ** 2
        return np.asarray(inverse)

    def posterior(self, seen: Floats, precision: Floats) -> tuple[Floats, Floats, float]:
        """Return mode, covariance and log evidence with normal priors, by Laplace's approximation.

        The strengths' priors must all be equal. The evidence is correct up to a factor that does not depend on
        them. The covariance is correct for differences of strengths in a group; it says nothing about a group's
        mean.
        Args:
            seen: the results' `sums`, 1 × (n + 2).
            precision: the priors' inverse variances, n + 2.
        """
        mode = self.fit(seen, precision=precision)
        information = self._information(*self._expected(mode))
        information[:, range(len(precision)), range(len(precision))] += precision
        likelihood = mode @ (seen + self._prior)[0] - (self._weights * self._log_odds(mode)).sum(1)
        likelihood -= mode**2 @ precision / 2
        # The information that holds a group's mean does not come from the prior, so leave it out.
        size = self.together.sum(0)
        held = (np.log(size + precision[0]) / size).sum() + (1 - 1 / size).sum() * np.log(precision[0])
        evidence = likelihood + (held - np.linalg.slogdet(information)[1]) / 2
        return mode[0], np.asarray(np.linalg.inv(information)[0]), float(evidence[0])

    def conditional_draw(self, seen: Floats, point: Floats) -> tuple[float, float, float]:
        """Return log ν and the ends of its 95 % interval by its conditional likelihood.

        Many strengths, each fitted to a few games, make draws come out too likely. The likelihood conditional on
        the sums of all other parameters does not depend on those. This is its approximation: the profile
        likelihood times the root of the determinant of the others' information (O. Barndorff-Nielsen and D. R.
        Cox, "Edgeworth and saddle-point approximations with statistical applications", JRSS B 41, 1979).

        Args:
            seen: the results' `sums`, 1 × (n + 2).
            point: the fitted parameters, n + 2.
        """
        values = point[-1] + np.sqrt(self.covariance(point)[-1, -1]) * np.linspace(*GRID)
        near, merit = self._near(point, draw_held=True), np.full(len(values), np.nan)

        def compute(places: Integers) -> None:
            missing = places[np.isnan(merit[places])]
            for done in range(0, len(missing), self._at_once):
                chunk = missing[done : done + self._at_once]
                merit[chunk] = self._conditional(seen, point, values[chunk], near)

        # The likelihood rises to its top and falls from there: only around the top and the ends each place matters.
        every, coarse = np.arange(len(values)), np.arange(0, len(values), COARSE)
        compute(coarse)
        compute(every[np.abs(every - np.nanargmax(merit)) <= COARSE])
        best = int(np.clip(np.nanargmax(merit), 1, len(values) - 2))
        left, middle, right = merit[best - 1 : best + 2]
        least = middle - CHI_SQUARED / 2
        for place in coarse[:-1][np.diff(merit[coarse] < least)]:
            compute(every[place : place + COARSE])
        top = values[best] + (values[1] - values[0]) * (left - right) / (left - 2 * middle + right) / 2
        known = every[~np.isnan(merit)]
        below, above = known[known <= best], known[known >= best][::-1]
        low, high = (np.interp(least, merit[side], values[side]) for side in (below, above))
        return float(top), float(low), float(high)

    def _conditional(self, seen: Floats, point: Floats, values: Floats, near: Floats | None) -> Floats:
        """Return the logarithms of the conditional likelihood of R values of log ν."""
        starts = np.tile(point, (len(values), 1))
        starts[:, -1] = values
        parameters = self.fit(np.tile(seen, (len(values), 1)), starts, draw_held=True, near=near)
        half, draw = self._expected(parameters)
        likelihood = parameters @ (seen + self._prior)[0] - (self._weights * self._log_odds(parameters)).sum(1)
        return np.asarray(likelihood + np.linalg.slogdet(self._information(half, draw, draw_held=True))[1] / 2)

    def _information(self, half: Floats, draw: Floats, *, draw_held: bool = False) -> Floats:
        """Return Fisher's information, R × (n + 2) × (n + 2), from the results of `_expected`.

        The games say nothing about the mean of a group, so an information of its own holds it where it is. The
        same holds log ν if ``draw_held``.
        """
        teams = len(self.games)
        information = np.empty((len(half), teams + 2, teams + 2))
        between, information[:, -2], information[:, -1] = self._curvature(half, draw)
        information[:, :-2, :-2] = self.together
        information[:, self._first, self._second] -= between
        information[:, range(teams), range(teams)] += self._by_team(between)
        information[:, :-2, -2:] = information[:, -2:, :-2].swapaxes(-1, -2)
        if draw_held:
            information[:, -1, :-1] = information[:, :-1, -1] = 0
            information[:, -1, -1] = 1
        return information

    def _curvature(self, half: Floats, draw: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the information about two teams' difference, R × P, and the rows of a and log ν, R × (n + 2)."""
        # of half a point for a win, 0 for a draw and minus half a point for a loss
        variance = self._weights * ((1 - draw) / 4 - half * half)
        with_draw = self._weights * half * -draw
        between = variance + _at(variance, self._swapped)
        of_draw = self._sums(with_draw, self._weights * draw * (1 - draw))
        return between, self._sums(variance, with_draw), of_draw

    # --- arrays by pair -----------------------------------------------------------------------------------------

    def _near(self, parameters: Floats, *, draw_held: bool = False) -> Floats | None:
        """Return what `fit` takes to begin near ``parameters`` (n + 2); None if it solves its equations faster."""
        if not self._is_sparse:
            return None
        information = self._information(*self._expected(parameters[None]), draw_held=draw_held)[0]
        return np.asarray(np.linalg.inv(information))

    def _conjugate_gradients(
        self, half: Floats, draw: Floats, missing: Floats, near: Floats, *, draw_held: bool
    ) -> Floats:
        """Return the step whose product with the information is ``missing``, R × (n + 2), up to RESIDUAL.

        The iterations are those of the preconditioned method (Y. Saad, "Iterative Methods for Sparse Linear
        Systems", 2003, algorithm 9.1), with ``near`` as the preconditioner.
        """
        between, of_advantage, of_draw = self._curvature(half, draw)
        of_teams = self._by_team(between)
        step, rest = np.zeros_like(missing), missing.copy()
        direction = scaled = rest @ near
        merit = (rest * scaled).sum(1)
        least = RESIDUAL**2 * merit
        for _ in range(MAX_STEPS):
            if (merit <= least).all():
                return step
            teams = direction[:, :-2]
            product = of_advantage * direction[:, -2, None] + of_draw * direction[:, -1, None]
            product[:, :-2] += of_teams * teams - self._by_team(between * _at(teams, self._second))
            product[:, -2] += (of_advantage[:, :-2] * teams).sum(1)
            product[:, -1] += (of_draw[:, :-2] * teams).sum(1)
            product[:, -1] *= not draw_held
            # A replicate that is done stays as it is: rounding errors would be all that changes it.
            is_open, along = merit > least, (direction * product).sum(1)
            length = np.divide(merit, along, out=np.zeros_like(merit), where=is_open)[:, None]
            step += length * direction
            rest -= length * product
            scaled = rest @ near
            left = np.where(is_open, (rest * scaled).sum(1), merit)
            direction = (
                scaled + np.divide(left, merit, out=np.zeros_like(merit), where=is_open)[:, None] * direction
            )
            merit = left
        raise ArithmeticError(f"no step in {MAX_STEPS} iterations")

    @property
    def _at_once(self) -> int:
        """The number of replicates that are fitted at once."""
        # by pair there are four times as many arrays at a time
        return max(1, CHUNK // (4 * len(self._first) if self._is_sparse else self.games.size))

    @property
    def _is_sparse(self) -> bool:
        return SPARSE * len(self._first) <= len(self.games) ** 3

    def _by_team(self, pairs: Floats) -> Floats:
        """Return the sum over the pairs of which a team is the first, R × n, of values R × P."""
        if len(self._begins) == len(self.games):
            return np.asarray(np.add.reduceat(pairs, self._begins, axis=1))
        by_team = np.zeros((len(pairs), len(self.games)))
        if len(self._begins):
            by_team[:, self._first[self._begins]] = np.add.reduceat(pairs, self._begins, axis=1)
        return by_team

    def _sums(self, half: Floats, draws: Floats) -> Floats:
        """Return what `sums` does, from half of the first player's wins less its losses, and draws: R × P both."""
        vector = np.empty((len(half), len(self.games) + 2))
        vector[:, :-2] = self._by_team(half - _at(half, self._swapped))
        vector[:, -2] = half.sum(1)
        vector[:, -1] = draws.sum(1)
        return vector

    def _difference(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return r[first] - r[second] + a, R × P, and ν, R × 1."""
        first, second = _at(parameters, self._first), _at(parameters, self._second)
        return first - second + parameters[:, -2, None], np.exp(parameters[:, -1, None])

    def _expected(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return half of P(first wins) - P(second wins), and P(draw): R × P both."""
        difference, draw = self._difference(parameters)
        small = np.exp(np.abs(difference) / -2)  # at most 1, however far apart two teams are
        total = 1 + draw * small + small * small
        return np.copysign((1 - small * small) / (2 * total), difference), draw * small / total

    def _log_odds(self, parameters: Floats) -> Floats:
        """Return the logarithm of the sum of the odds of the three results, R × P."""
        difference, draw = self._difference(parameters)
        small = np.exp(np.abs(difference) / -2)
        return np.asarray(np.abs(difference) / 2 + np.log(1 + draw * small + small * small))

    def _size(self, step: Floats) -> Floats:
        """Return the most that a step (R × (n + 2)) changes the log-odds in a played game, for each replicate."""
        between = np.abs(_at(step, self._first) - _at(step, self._second)) * self._played
        return np.asarray(between.max(1, initial=0) + np.abs(step[:, -2]) + np.abs(step[:, -1]))


def sums(results: Floats) -> Floats:
    """Return the sufficient statistics of results: all that a fit needs.

    Args:
        results: counts of games, R × 3 × n × n: won by the first player, drawn, lost; [first, second].

    Returns:
        R × (n + 2): half of each team's wins less its losses, the same for the first players of all games, and the
        number of draws.
    """
    half, draws = (results[:, 0] - results[:, 2]) / 2, results[:, 1]
    vector = np.empty((len(half), half.shape[-1] + 2))
    vector[:, :-2] = half.sum(-1) - half.sum(-2)
    vector[:, -2] = half.sum((-1, -2))
    vector[:, -1] = draws.sum((-1, -2))
    return vector


def as_results(drawn: float) -> Floats:
    """Return the fractions of a game that is drawn with this probability, and otherwise half won, half lost.

    3 × 1 × 1.
    """
    return np.array([(1 - drawn) / 2, drawn, (1 - drawn) / 2])[:, None, None]


def _at(values: Floats, places: Integers) -> Floats:
    """Return ``values[:, places]``, twice as fast: "clip" needs no buffer, and no place is outside."""
    return values.take(places, axis=1, mode="clip")


def _groups(played: Bools) -> Bools:
    """Return which teams can be compared, n × n: those connected by a chain of games, whatever their results."""
    together = played | played.T | np.eye(len(played), dtype=bool)
    while True:
        further = together.astype(np.float32) @ together.astype(np.float32) > 0
        if np.array_equal(further, together):
            return together
        together = further
