"""Duel (format ``match``): two teams play pairs of matches, a fixed number or until a sequential test ends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from getstep.referee import Agreement
from getstep.referee.agreement import MEANINGS, MOST_MOVES, MOST_TURNS, MOVES
from getstep.sprt import MAX_ELO, PairOutcomes, Sprt
from getstep_server.validation import Mistake, wrong

from ._format import Format, FormatOptions, Pairing, Played

MOST_PAIRS = 5_000
"""The most pairs of a duel: the cache of ratios (`getstep.sprt.REMEMBERED`) holds those of three such duels."""

MOST_AT_ONCE = 1000
"""The most pairs of a duel that are issued at the same time: a cluster may have as many cores."""

Elo = Annotated[float, Meta(ge=-MAX_ELO, le=MAX_ELO)]
Error = Annotated[float, Meta(gt=0, lt=0.5)]  # from 0.5 on, a coin would decide as well


class AgreementOptions(FormatOptions, frozen=True, kw_only=True):
    """When the estimates of both bots end a match: see `Agreement`. They decide nothing by default.

    Only formats that compare bots of one host have these settings. In a contest, two teams could agree on draws.
    """

    resign: Annotated[
        Annotated[float, Meta(gt=0, le=1)] | None, Meta(description=MEANINGS["resign"], examples=[0.95])
    ] = None
    draw: Annotated[
        Annotated[float, Meta(ge=0, lt=1)] | None, Meta(description=MEANINGS["draw"], examples=[0.05])
    ] = None
    agree: Annotated[int, Meta(ge=1, le=MOST_MOVES, description=MEANINGS["agree"])] = MOVES
    draw_from: Annotated[int, Meta(ge=0, le=MOST_TURNS, description=MEANINGS["draw_from"])] = 0

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        resign, draw = fields.get("resign"), fields.get("draw")
        if resign is not None and draw is not None and draw >= resign:
            yield wrong(("draw",), draw, f"less than resign, which is {resign!r}")

    @property
    def agreement(self) -> Agreement | None:
        """When the estimates of both bots end a match; None if they decide nothing."""
        if self.resign is None and self.draw is None:
            return None
        return Agreement(self.resign, self.draw, self.agree, self.draw_from)


class DuelOptions(AgreementOptions, frozen=True, kw_only=True):
    """The number of pairs, and the sequential test: see `Sprt`."""

    pairs: Annotated[int, Meta(ge=1, le=MOST_PAIRS, description="pairs of matches, colours swapped, at most")] = 100
    at_once: Annotated[int, Meta(ge=1, le=MOST_AT_ONCE, description="pairs that are issued at the same time")] = 1
    elo0: Annotated[
        Elo | None,
        Meta(description="with elo1, a sequential test ends the duel; the Elo difference under H0", examples=[0]),
    ] = None
    elo1: Annotated[
        Elo | None,
        Meta(description="the Elo difference of the first team under H1", examples=[50]),
    ] = None
    alpha: Annotated[Error, Meta(description="the probability of the verdict H1 if H0 is true")] = 0.05
    beta: Annotated[Error, Meta(description="the probability of the verdict H0 if H1 is true")] = 0.05

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        yield from super().mistakes(fields)
        if not {"elo0", "elo1"} <= fields.keys():
            return
        elo0, elo1 = fields["elo0"], fields["elo1"]
        if (elo0 is None) != (elo1 is None):
            yield wrong(("elo1",), elo1, f"elo0 and elo1 or neither; elo0 = {elo0!r}")
        elif elo0 is not None and elo1 <= elo0:
            yield wrong(("elo1",), elo1, f"more than elo0, which is {elo0!r}")

    def test(self, pairs: Iterable[PairOutcomes | None]) -> Sprt | None:
        """Return the sequential test with all pairs that it has counted; None if these settings have no test.

        It counts pairs in the order in which they were issued, and waits for the first one that is still being
        played (None). If it counted them in the order in which they end, pairs that end quickly would weigh more.
        """
        if self.elo0 is None or self.elo1 is None:
            return None
        test = Sprt(self.elo0, self.elo1, self.alpha, self.beta)
        for pair in pairs:
            if pair is None:
                break
            test.add(*pair)
        return test


class Duel(Format[DuelOptions]):
    """The first two teams of the seeding play pairs of matches, colours swapped within a pair.

    With a sequential test no more pairs are issued once it has a verdict. Pairs that are being played then are
    played to their end, and do not change the verdict.

    - Other teams play nothing, and neither do late ones.
    - When one of the two withdraws, the duel is over. The caller cancels or forfeits the issued matches.
    - A pair with a cancelled match counts for nothing, and another one may replace it. A match in which both have
      the same points is a draw.
    """

    name = "match"
    title = "match"
    Options = DuelOptions
    pairs_after_each_result = True

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        # The two that have begun, also if the order of teams.toml has changed since.
        match = games[0].pairing.teams if games else tuple(teams[:2])
        if len(match) < 2 or not set(match) <= set(teams):
            return []
        pairs = pairs_of(games)
        being_played = sum(any(game.open for game in pair) for pair in pairs)
        valid = [pair for pair in pairs if not any(game.cancelled for game in pair)]
        count = min(self.options.at_once - being_played, self.options.pairs - len(valid))
        if count < 1 or self._decided(valid, match[0]):
            return []
        one, other = match
        return [
            Pairing(number, number, leg, *players)
            for number in range(len(pairs) + 1, len(pairs) + count + 1)
            for leg, players in enumerate(((one, other), (other, one)), start=1)
        ]

    def max_matches(self, teams: int) -> int:
        return 2 * self.options.pairs if teams > 1 else 0

    def remaining_estimate(self, teams: Sequence[int], games: Sequence[Played]) -> int:
        """Count the matches of all further pairs; 0 if a test may have a verdict after any of them."""
        if self.options.elo1 is not None or len(teams) < 2:
            return 0
        valid = sum(not any(game.cancelled for game in pair) for pair in pairs_of(games))
        return 2 * max(0, self.options.pairs - valid)

    def _decided(self, pairs: Iterable[Sequence[Played]], team: int) -> bool:
        test = self.options.test(pair_outcomes(pair, team) for pair in pairs)
        return test is not None and test.verdict is not None


def pairs_of(games: Sequence[Played]) -> list[list[Played]]:
    """Return the matches of each pair, in the order of the pairs' numbers."""
    pairs: dict[int, list[Played]] = {}
    for game in games:
        pairs.setdefault(game.pairing.pairing, []).append(game)
    return list(pairs.values())


def pair_outcomes(pair: Sequence[Played], team: int) -> PairOutcomes | None:
    """Return the outcomes of ``team`` in both matches; None unless both are over and count."""
    if not all(game.counts for game in pair):
        return None
    one, other = (_outcome(game, team) for game in pair)
    return one, other


def _outcome(game: Played, team: int) -> str:
    if game.won_by(team):
        return "win"
    return "loss" if any(game.won_by(opponent) for opponent in game.pairing.teams) else "draw"
