"""Which matches a contest has: data, made up front from a seed, the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Match:
    """One match of the schedule: a leg of a pairing.

    ``number`` counts from 1 over the whole contest. ``first`` and ``second`` are team ids. A pairing's legs have
    the same ``pairing`` number and count from 1.
    """

    number: int
    round: int
    pairing: int
    leg: int
    first: int
    second: int
    game: str
    options: dict[str, int] = field(default_factory=dict, hash=False)

    @property
    def teams(self) -> tuple[int, int]:
        """The first player's team and the second's."""
        return (self.first, self.second)


def double_round_robin(teams: Sequence[int], seed: int, game: str, options: dict[str, int]) -> list[Match]:
    """Every pair of teams twice, each once as first player.

    Args:
        teams: at least two ids, none twice.
        seed: shuffles who meets whom when.

    Returns:
        The matches in playing order: in the first half's rounds every team plays at most once a round, with the
        first leg of each pairing; the second half repeats them with the other leg.
    """
    order = sorted(teams)
    random.Random(seed).shuffle(order)
    rounds = circle(order)
    numbers = {frozenset(pair): n for n, pair in enumerate((p for r in rounds for p in r), start=1)}
    matches: list[Match] = []
    for leg in (1, 2):
        for index, pairs in enumerate(rounds):
            for home, away in pairs:
                first, second = (home, away) if leg == 1 else (away, home)
                matches.append(
                    Match(
                        number=len(matches) + 1,
                        round=index + 1 + (leg - 1) * len(rounds),
                        pairing=numbers[frozenset((home, away))],
                        leg=leg,
                        first=first,
                        second=second,
                        game=game,
                        options=dict(options),
                    )
                )
    return matches


def circle(order: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Rounds in which every team meets every other once: the circle method, of which Berger tables are one form.

    The last team stays, the others turn; an odd number of teams gets a bye each round. Within the rounds each
    team's number of first places differs from its second places by at most one.
    """
    seats: list[int | None] = list(order)
    if len(seats) % 2:
        seats.append(None)
    half, rounds = len(seats) // 2, []
    for index in range(len(seats) - 1):
        pairs = [(seats[i], seats[-1 - i]) for i in range(half)]
        if index % 2:  # the fixed team alternates; the turning ones alternate by themselves
            pairs[0] = (pairs[0][1], pairs[0][0])
        pairs = [pair if i % 2 == 0 else (pair[1], pair[0]) for i, pair in enumerate(pairs)]
        rounds.append([(a, b) for a, b in pairs if a is not None and b is not None])
        seats = [seats[-2], *seats[:-2], seats[-1]]
    return rounds
