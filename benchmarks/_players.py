"""Simulated players of known strength."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from random import Random

from getstep_engines import Player
from getstep_server.tournament.ratings import ELO


@dataclass(frozen=True)
class Players:
    """The strengths in Elo, the first player's advantage in Elo, and the draw rate of equals: Davidson's model."""

    elo: tuple[float, ...]
    advantage: float
    draw: float

    def odds(self, first: int, second: int) -> tuple[float, float, float]:
        """Return the odds of a win of the first player, a draw, and a win of the second."""
        wins = exp((self.elo[first] - self.elo[second] + self.advantage) / ELO / 2)
        return wins, 2 * self.draw / (1 - self.draw), 1 / wins

    def play(self, first: int, second: int, dice: Random) -> Player | None:
        """Return the winner of a random game."""
        winner: Player | None = dice.choices((0, None, 1), self.odds(first, second))[0]
        return winner
