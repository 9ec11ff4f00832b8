"""Tournaments without games: a host that issues the pairings of a format and makes up the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from msgspec.structs import replace

from getstep_server.formats import FORMATS, Format, Pairing, Played
from getstep_server.validation import validated

WIN, DRAW, LOSS, BOTH_LOST = (2.0, 0.0), (1.0, 1.0), (0.0, 2.0), (0.0, 0.0)
MOST_STEPS = 20_000

Points: TypeAlias = Callable[[Pairing], tuple[float, float]]


def make(name: str, seed: int = 0, **options: Any) -> Format[Any]:
    """Return a format by name."""
    return FORMATS[name](validated(FORMATS[name].Options, options), seed)


def by_chance(rng: Random) -> Points:
    """Return points by chance: any result, also a game that both have lost."""
    return lambda _: rng.choice([WIN, WIN, LOSS, LOSS, DRAW, BOTH_LOST])


def by_strength(order: Sequence[int]) -> Points:
    """Return points by which the team that is earlier in ``order`` wins."""
    return lambda pairing: WIN if order.index(pairing.first) < order.index(pairing.second or 0) else LOSS


@dataclass
class Tournament:
    """One event and its host.

    `issue_pairings` asks the format and checks what is true of the pairings of all formats.
    """

    format: Format[Any]
    teams: list[int]
    points: Points
    games: list[Played] = field(default_factory=list)

    def issue_pairings(self) -> list[Pairing]:
        before, teams = list(self.games), list(self.teams)
        new = self.format.next_pairings(self.teams, self.games)
        assert new == self.format.next_pairings(tuple(teams), tuple(before))
        assert (self.games, self.teams) == (before, teams)
        keys = Counter((pairing.pairing, pairing.leg) for pairing in new)
        assert set(keys.values()) <= {1}
        assert keys.keys().isdisjoint((game.pairing.pairing, game.pairing.leg) for game in self.games)
        for pairing in new:
            assert set(pairing.teams) <= set(self.teams), "a team that is not there"
            assert len(set(pairing.teams)) == (1 if pairing.is_bye else 2)
            assert min(pairing.round, pairing.pairing, pairing.leg) >= 1
        self.games += [Played(pairing, WIN if pairing.is_bye else None) for pairing in new]
        return new

    def finish(self, games: Iterable[int]) -> None:
        """Play the games at these places in the list."""
        for place in games:
            self.games[place] = replace(self.games[place], points=self.points(self.games[place].pairing))

    def open(self) -> list[int]:
        return [place for place, game in enumerate(self.games) if game.open]

    def withdraw(self, team: int, *, forfeit: bool = False) -> None:
        """Withdraw a team; its open games are cancelled, or lost."""
        self.teams.remove(team)
        for place in self.open():
            game = self.games[place]
            if team in game.pairing.teams and forfeit:
                self.games[place] = replace(game, points=LOSS if team == game.pairing.first else WIN)
            elif team in game.pairing.teams:
                self.games[place] = replace(game, cancelled=True)

    def play(self, after: Callable[[], None] = lambda: None, rng: Random | None = None) -> list[Played]:
        """Play to the end, a few open games at a time if there is an ``rng``, and call ``after`` between."""
        for _ in range(MOST_STEPS):
            new, open_ = self.issue_pairings(), self.open()
            if not open_ and not new:
                assert self.format.is_over(self.teams, self.games)
                return self.games
            assert not (open_ and self.format.is_over(self.teams, self.games))
            self.finish(open_ if rng is None else rng.sample(open_, rng.randint(min(1, len(open_)), len(open_))))
            after()
        raise AssertionError(f"not over after {MOST_STEPS} steps")


def colours(games: Iterable[Played]) -> Counter[int]:
    """Return each team's games as first player less those as second."""
    balance: Counter[int] = Counter()
    for game in games:
        if not game.pairing.is_bye and not game.cancelled:
            first, second = game.pairing.teams
            balance.update({first: 1})
            balance.subtract([second])
    return balance


def pairings_played(games: Iterable[Played]) -> dict[int, frozenset[int]]:
    """Return the teams of each pairing, without byes and pairings of which every match was cancelled."""
    return {
        game.pairing.pairing: frozenset(game.pairing.teams)
        for game in games
        if not game.pairing.is_bye and not game.cancelled
    }


def busiest(games: Iterable[Played]) -> int:
    """Return the largest number of pairings and byes of one team in a round."""
    appearances = {
        (game.pairing.round, game.pairing.pairing, team) for game in games for team in game.pairing.teams
    }
    return max(Counter((round_, team) for round_, _, team in appearances).values(), default=0)
