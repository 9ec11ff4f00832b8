"""Players of known strength, whose games take no time."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from random import Random

from getstep_engines import Player
from getstep_server.ratings import ELO


@dataclass(frozen=True)
class Players:
    """What each has in Elo, what it is worth to be first, and how likely a draw of equals is: Davidson's model."""

    elo: tuple[float, ...]
    advantage: float
    draw: float

    def odds(self, first: int, second: int) -> tuple[float, float, float]:
        """That the first player wins, that neither does, that the second does."""
        wins = exp((self.elo[first] - self.elo[second] + self.advantage) / ELO / 2)
        return wins, 2 * self.draw / (1 - self.draw), 1 / wins

    def play(self, first: int, second: int, dice: Random) -> Player | None:
        """Who wins a game."""
        winner: Player | None = dice.choices((0, None, 1), self.odds(first, second))[0]
        return winner
