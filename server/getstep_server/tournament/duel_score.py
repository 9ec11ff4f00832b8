"""The score of a duel: pairs of matches, the difference in Elo, and the sequential test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from getstep.sprt import PairOutcomes, Sprt, copies, elo_interval, score_line, verdict_text
from getstep_server.formats.duel import DuelOptions
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
    def is_decided(self) -> bool:
        """True if the sequential test has its verdict."""
        return self._test is not None and self._test.verdict is not None

    @property
    def most(self) -> str:
        """The most that may be played, in words."""
        return f"at most {pluralize(self.options.pairs, 'pair')}"

    @property
    def over(self) -> list[PairOutcomes]:
        return list(self._over.values())

    @property
    def elo(self) -> Estimate | None:
        """The Elo difference of the team with its 95 % interval; None before the first pair is over."""
        elo = elo_interval(self.over)
        return None if elo is None else Estimate(*elo)

    def test(self) -> Sprt | None:
        """Return the sequential test, which counts pairs in order; None if the options have none."""
        return self._test

    def line(self) -> str:
        return score_line(self.over, self.test())

    def verdict(self) -> str:
        """Return the conclusion from the matches as a sentence."""
        test, over = self.test(), len(self._over)
        if test is None:
            return f"{over} of {pluralize(self.options.pairs, 'pair')} played."
        return verdict_text(test, over, self.name, self.opponent)


def copied_pairs(games: Mapping[int, object], matches: Mapping[int, Match]) -> str | None:
    """Return a warning if at most half of the pairs are different, move for move; else None.

    Args:
        games: the moves of each match, by its number.
        matches: the matches by their numbers.
    """
    pairs: dict[int, dict[int, object]] = {}
    for number, game in games.items():
        pairs.setdefault(matches[number].pairing, {})[matches[number].leg] = game
    return copies(sorted(pair.items()) for pair in pairs.values() if len(pair) == 2)
