"""The probability that one team is stronger than another.

A fit to few games puts teams too far apart: a team that won a lot was mostly lucky as well. With its normal errors
alone, claims of 0.85 came true in 0.70 of small contests, and in a ladder of four games a pair claims of 0.92 in
0.71.

So strengths are taken to be drawn from a normal distribution, and its width is estimated from the games. The
posterior probability of each of `SPREADS` is the evidence of the results (by Laplace's approximation) times its
prior. Given the spread, the strengths' posterior is about normal around its mode. The probability of being stronger
is the mean over the spreads, so it is closer to 0.5 where the games say little about the spread.
``python -m benchmarks.ratings`` shows how often claims come true.

Sources: A. Gelman et al., "Bayesian Data Analysis" (3rd edition 2013), chapters 5 and 13; R. E. Kass and
D. Steffey, "Approximate Bayesian inference in conditionally independent hierarchical models", JASA 84 (1989).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import NormalDist

from ._bradley_terry import ELO, Model, as_results, sums
from ._numpy import Floats, np

SPREADS = (25.0, 50.0, 100.0, 150.0, 200.0, 300.0, 400.0, 600.0, 900.0)
"""Standard deviations of strengths that are considered, in Elo."""

USUAL_SPREAD, FACTOR = 200.0, 2.5
"""The prior of the spread: log-normal, two thirds of all contests between 80 and 500 Elo.

It matters only where two or three teams play a few games."""

ADVANTAGE_SPREAD = 200.0
"""The prior's standard deviation of the first player's advantage, in Elo: more than any of the games has shown."""

UNLIKELY = 6.0
"""Spreads that are less likely than the likeliest by this much, as a logarithm, are left out: 1 in 400."""


@dataclass(frozen=True)
class _Posterior:
    """Strengths, given the spread: mode and covariance; ``merit`` is the logarithm of the spread's likelihood."""

    mode: Floats
    covariance: Floats
    merit: float


class Superiority:
    """The probability that one team is stronger than another, for every two teams.

    Args:
        results: counts of games, 3 × n × n: won by the first player, drawn, lost; [first, second].
        strengths: a fit to them in natural units, n: the search for the spread begins there.
    """

    def __init__(self, results: Floats, strengths: Floats) -> None:
        met = results.sum(0) + results.sum(0).T
        self._model = Model(results.sum(0), met / met.sum() * as_results(1 / 2))
        self._seen = sums(results[None])
        self._posteriors = self._likely(float(strengths.std()) * ELO)

    def stronger(self, one: int, other: int) -> float:
        """Return the probability that the team at ``one`` is stronger than the one at ``other``, 0 … 1."""
        best = max(posterior.merit for posterior in self._posteriors)
        weights = [exp(posterior.merit - best) for posterior in self._posteriors]
        claims = [_positive(posterior, one, other) for posterior in self._posteriors]
        return sum(weight * claim for weight, claim in zip(weights, claims, strict=True)) / sum(weights)

    def _likely(self, about: float) -> list[_Posterior]:
        """Return the posteriors of all likely spreads, searched upwards and downwards from ``about``."""
        start = min(range(len(SPREADS)), key=lambda place: abs(SPREADS[place] - about))
        likely: list[_Posterior] = []
        for places in (range(start, len(SPREADS)), range(start - 1, -1, -1)):
            for place in places:
                likely.append(self._posterior(SPREADS[place]))
                best = max(posterior.merit for posterior in likely)
                if likely[-1].merit < best - UNLIKELY:
                    break
        return [posterior for posterior in likely if posterior.merit >= best - UNLIKELY]

    def _posterior(self, spread: float) -> _Posterior:
        teams = len(self._model.games)
        precision = np.zeros(teams + 2)  # the last one, of the probability of a draw, stays 0: it has no prior
        precision[:teams] = (ELO / spread) ** 2  # the inverse of the variance, in natural units
        precision[-2] = (ELO / ADVANTAGE_SPREAD) ** 2
        mode, covariance, merit = self._model.posterior(self._seen, precision)
        plausible = -((log(spread / USUAL_SPREAD) / log(FACTOR)) ** 2) / 2
        return _Posterior(mode[:teams], covariance[:teams, :teams], merit + plausible)


def _positive(posterior: _Posterior, one: int, other: int) -> float:
    """Return the probability that the difference of two strengths is positive."""
    errors = posterior.covariance
    variance = errors[one, one] + errors[other, other] - 2 * errors[one, other]
    return NormalDist().cdf((posterior.mode[one] - posterior.mode[other]) / sqrt(variance))
