"""The score of a duel: pairs of matches, the difference in Elo, and the sequential test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import inf, log10

from getstep_server.formats.duel import DuelOptions, PairOutcomes
from getstep_server.formats.sprt import HALF_POINTS, Sprt, mean_interval
from getstep_server.records.match import Match
from getstep_server.records.result import PLAYERS, Result
from getstep_server.text import pluralize

from .estimate import Estimate


class DuelScore:
    """The score of ``team`` against ``opponent``, updated result by result.

    Args:
        options: the event's options.
        team: the id and the name of the first of the two teams, whose score it is.
        opponent: the name of the other one.
    """

    def __init__(self, options: DuelOptions, team: tuple[int, str], opponent: str) -> None:
        self.options = options
        self.team, self.name = team
        self.opponent = opponent
        self.faults: Counter[int] = Counter()
        """The number of turns of each team that got the game's penalty."""
        self._outcomes: dict[int, dict[int, str]] = {}
        self._over: dict[int, PairOutcomes] = {}
        """The pairs that are over, by number; made once, because they are counted after each pair."""
        self._test = options.test([])
        self._tested = 0
        """The test has counted the pairs up to this number."""

    def take(self, result: Result) -> bool:
        """Count a result, and return True if it completes a pair."""
        match, pair = result.match, self._outcomes.setdefault(result.match.pairing, {})
        for player in PLAYERS:
            self.faults[match.teams[player]] += result.faults[player]
        won = result.winner is not None and match.teams[result.winner] == self.team
        pair[match.leg] = "draw" if result.winner is None else "win" if won else "loss"
        if len(pair) < 2:
            return False
        self._over[match.pairing] = (pair[1], pair[2])
        if match.pairing <= self._tested:  # it was played again
            self._test, self._tested = self.options.test([]), 0
        while self._test is not None and self._tested + 1 in self._over:
            self._tested += 1
            self._test.add(*self._over[self._tested])
        return True

    @property
    def over(self) -> list[PairOutcomes]:
        return list(self._over.values())

    @property
    def elo(self) -> Estimate | None:
        """The Elo difference of the team with its 95 % interval; None before the first pair is over."""
        points = [0] * 5  # pairs by half points of the team, 0 to 4
        for pair, count in Counter(self.over).items():
            points[sum(HALF_POINTS[outcome] for outcome in pair)] += count
        return Estimate(*map(_elo, mean_interval(points))) if any(points) else None

    def test(self) -> Sprt | None:
        """Return the sequential test, which counts pairs in order; None if the options have none."""
        return self._test

    def line(self) -> str:
        over, outcomes = self.over, Counter[str]()
        for pair, count in Counter(over).items():
            for outcome in pair:
                outcomes[outcome] += count
        games, elo, test = max(1, outcomes.total()), self.elo, self.test()
        share = (outcomes["win"] + outcomes["draw"] / 2) / games
        parts = [
            f"{pluralize(len(over), 'pair')}: {outcomes['win']} won, {outcomes['draw']} drawn,"
            f" {outcomes['loss']} lost ({share:.1%})"
        ]
        if elo is not None:
            parts.append(f"Elo {_signed(elo.value)} [{_signed(elo.low)}, {_signed(elo.high)}]")
        if test is not None:
            parts.append(f"LLR {test.llr:.2f} [{test.bounds[0]:.2f}, {test.bounds[1]:.2f}]")
        return ", ".join(parts)

    def verdict(self) -> str:
        """Return the conclusion from the matches as a sentence."""
        options, test, pairs = self.options, self.test(), pluralize(len(self.over), "pair")
        if test is None or options.elo0 is None or options.elo1 is None:
            return f"{len(self.over)} of {pluralize(options.pairs, 'pair')} played."
        if test.verdict is None:
            return f"Not decided after {pairs}: the LLR is still between its bounds."
        less, more = options.elo0, options.elo1
        if test.verdict == "H1":
            claim = "stronger" if less >= 0 else "not weaker" if more > 0 else "not much weaker"
            odds = f"{more:+g} Elo rather than {less:+g}; {options.alpha:.0%} of such tests are wrong"
        else:
            claim = "weaker" if more <= 0 else "not stronger" if less <= 0 else "not much stronger"
            odds = f"{less:+g} Elo rather than {more:+g}; {options.beta:.0%} of such tests are wrong"
        return f"{test.verdict} after {pairs}: {self.name} is {claim} than {self.opponent} ({odds})."


def copies(games: Mapping[int, object], matches: Mapping[int, Match]) -> str | None:
    """Return a warning if at most half of the pairs are different, move for move; else None.

    Args:
        games: the moves of each match, by its number.
        matches: the matches by their numbers.
    """
    pairs: dict[int, dict[int, object]] = {}
    for number, game in games.items():
        pairs.setdefault(matches[number].pairing, {})[matches[number].leg] = game
    # `repr`, because the moves are lists, which no set can hold.
    different = {repr(sorted(pair.items())) for pair in pairs.values() if len(pair) == 2}
    played = sum(len(pair) == 2 for pair in pairs.values())
    if played < 2 or 2 * len(different) > played:
        return None
    few = pluralize(len(different), "pair")
    return (
        f"All {played} pairs are copies of {few}, move for move. Bots that hardly vary cannot be tested:"
        f" the numbers above overstate what {few} can show."
    )


def _elo(score: float) -> float:
    if score in (0, 1):
        return inf if score else -inf
    return -400 * log10(1 / score - 1)  # the inverse of `sprt.score_of`


def _signed(elo: float) -> str:
    if abs(elo) == inf:
        return "+∞" if elo > 0 else "-∞"
    return f"{round(elo):+d}"
