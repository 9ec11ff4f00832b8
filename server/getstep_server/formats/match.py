"""Match: two teams play pairs of games, as many as there are to be, or until a sequential test has a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, TypeAlias

from pydantic import Field, ValidationInfo, field_validator

from ._format import Format, FormatOptions, Pairing, Played
from .sprt import MAX_ELO, Sprt

MOST_PAIRS = 5_000
Elo = Annotated[float, Field(ge=-MAX_ELO, le=MAX_ELO)]
Error = Annotated[float, Field(gt=0, lt=0.5)]

PairOutcomes: TypeAlias = tuple[str, str]
"""``"win"``, ``"draw"`` or ``"loss"`` of the match's first team in a pair's two games."""


class MatchOptions(FormatOptions):
    """How many pairs there are, and when the games have told: see `Sprt`."""

    pairs: Annotated[int, Field(ge=1, le=MOST_PAIRS, description="pairs of games, colours swapped, at most")] = 100
    at_once: Annotated[int, Field(ge=1, le=100, description="pairs that are given out at a time")] = 1
    elo0: Annotated[
        Elo | None,
        Field(description="a sequential test ends the match: by so much is the first team stronger,", examples=[0]),
    ] = None
    elo1: Annotated[
        Elo | None,
        Field(validate_default=True, description="or by so much; elo0 and elo1, or neither", examples=[50]),
    ] = None
    alpha: Annotated[Error, Field(description="how often the test may take elo1 for true where elo0 is")] = 0.05
    beta: Annotated[Error, Field(description="how often it may take elo0 for true where elo1 is")] = 0.05

    @field_validator("elo1")
    @classmethod
    def _above(cls, elo1: float | None, info: ValidationInfo) -> float | None:
        elo0 = info.data.get("elo0")
        if (elo0 is None) != (elo1 is None):
            raise ValueError(f"elo0 and elo1 or neither; elo0 = {elo0!r}")
        if elo0 is not None and elo1 is not None and elo1 <= elo0:
            raise ValueError(f"more than elo0, which is {elo0!r}")
        return elo1

    def test(self, pairs: Iterable[PairOutcomes | None]) -> Sprt | None:
        """The sequential test, as far as it has come; None if there is none.

        It takes pairs in the order in which they were given out, and waits for the first one that is still being
        played (None): in the order in which they end, those that end quickly would weigh more.
        """
        if self.elo0 is None or self.elo1 is None:
            return None
        test = Sprt(self.elo0, self.elo1, self.alpha, self.beta)
        for pair in pairs:
            if pair is None:
                break
            test.add(*pair)
        return test


class MatchPlay(Format[MatchOptions]):
    """The first two teams of the seeding play pairs of games, colours swapped within a pair.

    With a sequential test no more pairs are given out once it has a verdict; those that are being played then are
    played to their end, and do not change it.

    - Other teams play nothing, and so do late ones.
    - When one of the two withdraws, the match is over. The games given out are the caller's to cancel or to
      forfeit.
    - A pair of which a game is cancelled counts for nothing, and there may be another one in its place. A game in
      which both have the same points is a draw.
    """

    name = "match"
    title = "match"
    Options = MatchOptions
    by_result = True

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        match = games[0].pairing.teams if games else tuple(teams[:2])
        if len(match) < 2 or not set(match) <= set(teams):
            return []
        pairs = _pairs(games)
        going_on = sum(any(game.open for game in pair) for pair in pairs)
        lasting = [pair for pair in pairs if not any(game.cancelled for game in pair)]
        count = min(self.options.at_once - going_on, self.options.pairs - len(lasting))
        if count < 1 or self._decided(lasting, match[0]):
            return []
        one, other = match
        return [
            Pairing(number, number, leg, *players)
            for number in range(len(pairs) + 1, len(pairs) + count + 1)
            for leg, players in enumerate(((one, other), (other, one)), start=1)
        ]

    def most(self, teams: int) -> int:
        return 2 * self.options.pairs if teams > 1 else 0

    def to_come(self, teams: Sequence[int], games: Sequence[Played]) -> int:
        """The games of all further pairs; none where a test may have a verdict after any of them."""
        if self.options.elo1 is not None or len(teams) < 2:
            return 0
        lasting = sum(not any(game.cancelled for game in pair) for pair in _pairs(games))
        return 2 * max(0, self.options.pairs - lasting)

    def _decided(self, pairs: Iterable[Sequence[Played]], team: int) -> bool:
        test = self.options.test(_outcomes(pair, team) for pair in pairs)
        return test is not None and test.verdict is not None


def _pairs(games: Sequence[Played]) -> list[list[Played]]:
    """The games of each pair, in the order of the pairs' numbers."""
    pairs: dict[int, list[Played]] = {}
    for game in games:
        pairs.setdefault(game.pairing.pairing, []).append(game)
    return list(pairs.values())


def _outcomes(pair: Sequence[Played], team: int) -> PairOutcomes | None:
    """How ``team`` fared in either game; None if they are not both over."""
    if any(game.open for game in pair):
        return None
    one, other = (_outcome(game, team) for game in pair)
    return one, other


def _outcome(game: Played, team: int) -> str:
    if game.won_by(team):
        return "win"
    return "loss" if any(game.won_by(opponent) for opponent in game.pairing.teams) else "draw"
