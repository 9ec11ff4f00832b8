"""Two bots compared by pairs of matches: a sequential test of which is stronger, Elo with its interval, the words.

In: the outcomes of each pair. Out: numbers, and the lines about them that `getstep practice` and the host's duel
print. It must not know who plays the matches, or how.

`Sprt` tests whether one team is stronger than another, and stops as soon as it has a verdict. It is a sequential
probability ratio test (A. Wald, "Sequential Tests of Statistical Hypotheses", 1945) of

    H0: the team is ``elo0`` Elo stronger than the other,      H1: it is ``elo1`` stronger,

on *pairs* of games with colours swapped: what it is worth to be the first player cancels in their sum. A pair has
five results, from no point to two ("pentanomial"). How often each of them occurs is not known, so the ratio is that
of two largest likelihoods, each among all distributions with the mean that its hypothesis says (X. Li, J. Liu and
Z. Ying, "Generalized sequential probability ratio test for separate families of hypotheses", Sequential Anal. 33,
2014; for the largest likelihood M. Van den Bergh, https://www.cantate.be/Fishtest/support_MLE_multinomial.pdf).

`Selection` finds the best of several bots with such tests.

Pairs are taken to be independent. Two bots that never vary play the same pair again and again: only the first one
is evidence, and the test cannot detect that. `copies` does, from the moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations
from math import inf, isclose, log, log1p, log10, sqrt
from typing import Literal

Verdict = Literal["H0", "H1"]

PairOutcomes = tuple[str, str]
"""``"win"``, ``"draw"`` or ``"loss"`` of the first of two teams in a pair's two matches."""

HALF_POINTS = {"win": 2, "draw": 1, "loss": 0}

DEFAULTS = {"elo0": 0.0, "elo1": 50.0, "alpha": 0.05, "beta": 0.05}
"""The settings of a test, and their defaults."""

MEANINGS = {
    "elo0": "the Elo difference of A to B under H0",
    "elo1": "the Elo difference of A to B under H1",
    "alpha": "the probability of the verdict H1 if H0 is true",
    "beta": "the probability of the verdict H0 if H1 is true",
}
"""What each setting is, for the helps of the commands."""

MOST_PAIRS = 1000
"""The most pairs of a test unless others are asked for: seven times as many as 0 and 50 Elo take on average."""

MAX_ELO = 2000.0
"""The largest difference: a score of 99.999 %, too close to 1 for a contest to test."""

UNSEEN = 1e-3
"""The count that replaces 0 for a result that has not occurred: with 0, no distribution could have every mean."""

TILT_STEPS = 60
"""The most steps to a tilt. Most need five to ten."""

TILT_ERROR = 1e-12
"""The last relative step to a tilt. The ratio is flat around the right one: its error is the square of this."""

REMEMBERED = 16_384
"""The size of the cache of ratios: each question how a test stands counts all its pairs from the first one."""

_Z = 1.96  # of the normal distribution, for 95 %

MORE_LIKELY = 1.92
"""The log by which the likeliest mean may be likelier than one in its interval: half of chi-square's 95 %."""

MEAN_BISECTIONS = 20
"""Halvings to find the end of an interval. They make it exact to less than an Elo point."""


class Sprt:
    """One test of a team against another.

    Elo is that of the mean score over both colours: 100 is 64 %, 200 is 76 %, 400 is 91 %. (Two ratings need to be
    further apart for the same score where many games are drawn, or the first player mostly wins.)

    The closer ``elo0`` and ``elo1``, the longer it takes: with both errors at 0.05 about 32 pairs for 0 and 100,
    and four times as many for half the distance. If the truth lies in between, either verdict may come, and later.

    Args:
        elo0: how much stronger the team is under H0, -2000 … 2000.
        elo1: the same under H1, more than ``elo0``.
        alpha: how likely the verdict H1 may be where H0 is true, between 0 and 0.5.
        beta: how likely the verdict H0 may be where H1 is true, between 0 and 0.5.

    Raises:
        ValueError: values outside these ranges.
    """

    def __init__(self, elo0: float, elo1: float, alpha: float = 0.05, beta: float = 0.05) -> None:
        if not -MAX_ELO <= elo0 < elo1 <= MAX_ELO:
            raise ValueError(f"elo0 = {elo0!r}, elo1 = {elo1!r}, expected -2000 ≤ elo0 < elo1 ≤ 2000")
        for name, value in (("alpha", alpha), ("beta", beta)):
            if not 0 < value < 0.5:  # from 0.5 on, both verdicts would be due at once
                raise ValueError(f"{name} = {value!r}, expected more than 0 and less than 0.5")
        self.elo0, self.elo1, self.alpha, self.beta = elo0, elo1, alpha, beta
        self.bounds = (log(beta / (1 - alpha)), log((1 - beta) / alpha))
        self.llr = 0.0
        self.verdict: Verdict | None = None
        self._counts = [0] * 5  # by half points: 0 to 4
        self._means = (score_of(elo0), score_of(elo1))

    @property
    def counts(self) -> tuple[int, ...]:
        """Return how many pairs gave the team 0, ½, 1, 1½ and 2 points."""
        return tuple(self._counts)

    def add(self, one: str, other: str) -> None:
        """Count a pair: the team's ``"win"``, ``"draw"`` or ``"loss"`` in each of the two matches.

        The ratio ``llr`` changes. Once it is outside ``bounds`` there is a ``verdict``. Further pairs do not change
        the verdict.

        Raises:
            ValueError: another outcome.
        """
        if one not in HALF_POINTS or other not in HALF_POINTS:
            raise ValueError(f"a pair of {one!r} and {other!r}, expected outcomes of {tuple(HALF_POINTS)!r}")
        self._counts[HALF_POINTS[one] + HALF_POINTS[other]] += 1
        self.llr = _ratio(self.counts, *self._means)
        if self.verdict is None and self.llr <= self.bounds[0]:
            self.verdict = "H0"
        elif self.verdict is None and self.llr >= self.bounds[1]:
            self.verdict = "H1"


class Selection:
    """The search for the best of several bots, which play pairs of games against each other in rounds.

    In each round every two of the remaining bots play a pair. Between every two, an `Sprt` tests whether the one
    or the other is ``elo`` stronger, with both errors at ``alpha`` / (bots - 1). The bot that it finds weaker is
    eliminated, and plays no more. The search ends when one bot is left.

    If one bot is ``elo`` stronger than each other one, it is eliminated with at most the probability ``alpha``: one
    of its bots - 1 tests would have to be wrong (Bonferroni's inequality). If several are about equally strong,
    any of them may be left. (E. Paulson, "A sequential procedure for selecting the population with the largest
    mean from k normal populations", Ann. Math. Statist. 35, 1964, eliminates in the same way.)

    Args:
        bots: their ids, at least two, none twice.
        elo: the difference that matters, more than 0, at most 2000.
        alpha: the probability that the best bot may be eliminated, between 0 and 0.5.

    Raises:
        ValueError: values outside these ranges.
    """

    def __init__(
        self, bots: Iterable[int], elo: float = DEFAULTS["elo1"], alpha: float = DEFAULTS["alpha"]
    ) -> None:
        self.remaining = list(bots)
        """The bots that are not eliminated, in their first order."""
        if len(self.remaining) < 2 or len({*self.remaining}) < len(self.remaining):
            raise ValueError(f"bots = {self.remaining!r}, expected two or more, none twice")
        error = alpha / (len(self.remaining) - 1)
        self._new_test = partial(Sprt, -elo, elo, error, error)
        self.tests: dict[tuple[int, int], Sprt] = {}
        """The test between two bots that have played a pair; H1 is that the first is stronger."""
        self.rounds = 0
        self.eliminated: dict[int, int] = {}
        """The round in which each bot was eliminated."""

    @property
    def couples(self) -> list[tuple[int, int]]:
        """The two bots of each pair of the next round; none if the search is over."""
        return [] if self.in_circle else list(combinations(self.remaining, 2))

    @property
    def in_circle(self) -> bool:
        """True if each remaining bot is weaker than another one, as with rock, paper and scissors: none is best."""
        return len(self.remaining) > 1 and {*self.remaining} <= self._weaker()

    def add_round(self, pairs: Mapping[tuple[int, int], PairOutcomes]) -> None:
        """Count a round, and eliminate the bots that it shows to be weaker than a remaining one.

        Args:
            pairs: the outcomes of the first bot of two, by both; a pair that was cancelled is missing.
        """
        self.rounds += 1
        for two, outcomes in pairs.items():
            self.tests.setdefault(two, self._new_test()).add(*outcomes)
        if not self.in_circle:
            weaker = self._weaker()
            self.eliminated |= {bot: self.rounds for bot in self.remaining if bot in weaker}
            self.remaining = [bot for bot in self.remaining if bot not in weaker]

    def _weaker(self) -> set[int]:
        here = {*self.remaining}
        decided = [(two, test.verdict) for two, test in self.tests.items() if test.verdict and here.issuperset(two)]
        return {two[verdict == "H1"] for two, verdict in decided}


def score_of(elo: float) -> float:
    """Return the mean score, 0 … 1, of a team that is ``elo`` stronger."""
    return 1 / (1 + 10 ** (-elo / 400))  # the definition of Elo: 400 points are odds of ten to one


def mean_interval(counts: Sequence[int]) -> tuple[float, float, float]:
    """Return the likeliest mean score, and the interval around it that contains the true one in 95 of 100 cases.

    Args:
        counts: pairs with 0, ½, 1, 1½ and 2 points, at least one.

    Returns:
        Mean, low and high, 0 … 1. If all pairs were won, the mean and the high end are 1, but not the low one.
    """
    weights = _weights(counts)
    mean = sum(weight * result / 4 for result, weight in enumerate(weights)) / sum(weights)
    low, high = (_end(weights, mean, out) for out in (0.0, 1.0))  # from the mean towards each end of the scale
    points = sum(count * result / 4 for result, count in enumerate(counts)) / sum(counts)
    # With all pairs won (or lost) the weights of the unseen results would keep the end off 1 (or 0).
    return points, low if points else 0.0, high if points < 1 else 1.0


def _end(weights: Sequence[float], inside: float, outside: float) -> float:
    """Return the last mean that is not too unlikely, between a likely one and an unlikely one."""
    for _ in range(MEAN_BISECTIONS):
        mean = (inside + outside) / 2
        if _less_likely(weights, mean) < MORE_LIKELY:
            inside = mean
        else:
            outside = mean
    return inside


@lru_cache(maxsize=REMEMBERED)
def _ratio(counts: tuple[int, ...], mean0: float, mean1: float) -> float:
    """Return the log of the largest likelihood of the results with the mean ``mean1`` over that with ``mean0``."""
    weights = _weights(counts)
    return _less_likely(weights, mean0) - _less_likely(weights, mean1)


def _weights(counts: Sequence[int]) -> list[float]:
    return [count or UNSEEN for count in counts]


def _less_likely(weights: Sequence[float], mean: float) -> float:
    """Return the log of the largest likelihood of all, over the largest with this mean."""
    tilt = _tilt(weights, mean)
    # `log1p`: near the mean the tilt is tiny, and 1 + x would lose its digits
    return sum(weight * log1p(tilt * (result / 4 - mean)) for result, weight in enumerate(weights))


def _tilt(weights: Sequence[float], mean: float) -> float:
    """Return the x for which probabilities weight / (1 + x·(result - mean)) have that mean.

    These probabilities are then the likeliest. The sum has to be 0. It falls as x grows, between the two x where a
    probability would be infinite.
    """
    # a pair has five results: 0, 1/4, ... 1
    offsets = [(weight, result / 4 - mean) for result, weight in enumerate(weights)]
    low, high = -1 / (1 - mean), 1 / mean
    x = 0.0
    for _ in range(TILT_STEPS):
        value = slope = 0.0
        for weight, offset in offsets:
            share = offset / (1 + x * offset)
            value += weight * share
            slope += weight * share * share
        if value > 0:
            low = x
        else:
            high = x
        # Newton's step; if it leaves the interval, which it does only near its ends, bisect
        following = x + value / slope
        if not low < following < high:
            following = (low + high) / 2
        if isclose(following, x, rel_tol=TILT_ERROR):
            break
        x = following
    return following


# --- Elo, and the words -----------------------------------------------------------------------------------------


def elo_interval(pairs: Iterable[PairOutcomes]) -> tuple[float, float, float] | None:
    """Return the Elo difference of the first team and the ends of its 95 % interval; None without a pair."""
    points = [0] * 5  # pairs by half points of the team, 0 to 4
    for pair, count in Counter(pairs).items():
        points[sum(HALF_POINTS[outcome] for outcome in pair)] += count
    return elo_of_counts(points) if any(points) else None


def elo_of_counts(counts: Sequence[int]) -> tuple[float, float, float]:
    """Return the Elo difference and the ends of its 95 % interval.

    Args:
        counts: pairs with 0, ½, 1, 1½ and 2 points, at least one.
    """
    value, low, high = map(elo_of, mean_interval(counts))
    return value, low, high


def wilson(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share of ``count`` games: (0, 1) of none."""
    if not count:
        return 0.0, 1.0
    spread = _Z * sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2))
    middle, scale = share + _Z**2 / (2 * count), 1 + _Z**2 / count
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def share_text(points: float, count: int) -> str:
    """Return a share of ``count`` games with its 95 % interval, such as ``"70 %, 95 % interval 40 to 89 %"``."""
    share = points / count
    low, high = wilson(share, count)
    return f"{100 * share:.0f} %, 95 % interval {100 * low:.0f} to {100 * high:.0f} %"


def elo_of(score: float) -> float:
    """Return how much stronger a team with this mean score is: the inverse of `score_of`."""
    if score in (0, 1):
        return inf if score else -inf
    return -400 * log10(1 / score - 1)


def score_line(pairs: Collection[PairOutcomes], test: Sprt | None = None) -> str:
    """Return the score of the first team: pairs, matches, Elo with its interval, and how the test stands."""
    outcomes = Counter[str]()
    for pair, count in Counter(pairs).items():
        for outcome in pair:
            outcomes[outcome] += count
    share = (outcomes["win"] + outcomes["draw"] / 2) / max(1, sum(outcomes.values()))
    counts = f"{outcomes['win']} won, {outcomes['draw']} drawn, {outcomes['loss']} lost"
    parts = [f"{_pairs(len(pairs))}: {counts} ({share:.1%})"]
    if elo := elo_interval(pairs):
        parts.append(elo_text(elo))
    if test is not None:
        parts.append(llr_text(test))
    return ", ".join(parts)


def elo_text(elo: tuple[float, float, float]) -> str:
    """Return an Elo difference with its interval, such as ``"Elo +120 [+60, +190]"``."""
    value, low, high = map(_signed, elo)
    return f"Elo {value} [{low}, {high}]"


def llr_text(test: Sprt) -> str:
    """Return the log of the ratio with its bounds."""
    return f"LLR {test.llr:.2f} [{test.bounds[0]:.2f}, {test.bounds[1]:.2f}]"


def verdict_text(test: Sprt, pairs: int, name: str, opponent: str) -> str:
    """Return the conclusion of a test from this many pairs as a sentence."""
    if test.verdict is None:
        return f"Not decided after {_pairs(pairs)}: the LLR is still between its bounds."
    less, more = test.elo0, test.elo1
    if test.verdict == "H1":
        claim = "stronger" if less >= 0 else "not weaker" if more > 0 else "not much weaker"
        odds = f"{more:+g} Elo rather than {less:+g}; {test.alpha:.0%} of such tests are wrong"
    else:
        claim = "weaker" if more <= 0 else "not stronger" if less <= 0 else "not much stronger"
        odds = f"{less:+g} Elo rather than {more:+g}; {test.beta:.0%} of such tests are wrong"
    return f"{test.verdict} after {_pairs(pairs)}: {name} is {claim} than {opponent} ({odds})."


def copies(pairs: Iterable[object]) -> str | None:
    """Return a warning if at most half of the pairs are different, move for move; else None.

    Args:
        pairs: the moves of both matches of each pair that is over, with a ``repr`` that is the same for the same
            moves.
    """
    texts = [repr(pair) for pair in pairs]  # the moves are lists, which no set can hold
    different = len(set(texts))
    if len(texts) < 2 or 2 * different > len(texts):
        return None
    few = _pairs(different)
    return (
        f"All {len(texts)} pairs are copies of {few}, move for move. Bots that hardly vary cannot be tested:"
        f" the numbers above overstate what {few} can show."
    )


def _pairs(count: int) -> str:
    return f"{count} pair{'' if count == 1 else 's'}"


def _signed(elo: float) -> str:
    if abs(elo) == inf:
        return "+∞" if elo > 0 else "-∞"
    return f"{round(elo):+d}"
