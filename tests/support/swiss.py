"""Swiss events whose pairings are on record: made with version 0.1.0, which looked at all pairs at once.

``swiss_pairings.json`` holds the pairings, for each event and round: team ids, first player first; a bye is one id.
Running this module as a program prints what they are now.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from random import Random

from getstep_server.formats import Pairing, Played
from getstep_server.formats.swiss import Swiss

RECORDED = Path(__file__).with_name("swiss_pairings.json")


@dataclass(frozen=True)
class Event:
    """An event of which all but the pairings follows from the seed.

    Args:
        roots: points are signed roots of a difference, so that nearly every team has a score group to itself.
        moving: a team leaves after the second round, and another one comes after the third.
    """

    teams: int
    legs: int
    rounds: int
    seed: int
    roots: bool = False
    moving: bool = False

    @property
    def name(self) -> str:
        kind = f"{' roots' * self.roots}{' moving' * self.moving}"
        return f"{self.teams} teams, {self.rounds} rounds of {self.legs}, seed {self.seed}{kind}"

    def play(self) -> Iterator[list[Pairing]]:
        """Play it, and yield the pairings of each round."""
        format_ = Swiss(Swiss.Options(rounds=self.rounds, legs=self.legs), self.seed)
        chance = Random(f"results {self.seed}").random
        teams, games = list(range(self.teams)), list[Played]()
        for round_ in range(1, self.rounds + 1):
            if self.moving and round_ == 3:
                teams.pop(3)
            if self.moving and round_ == 4:
                teams.append(self.teams)
            pairings = format_.next_pairings(teams, games)
            yield pairings
            games += [Played(pairing, self._points(pairing, chance(), chance())) for pairing in pairings]

    def _points(self, pairing: Pairing, draw: float, win: float) -> tuple[float, float]:
        if pairing.second is None:
            return (0.0 if self.roots else 2.0, 0.0)
        first_wins = win < 0.5 + (pairing.second - pairing.first) / (2 * self.teams)
        if self.roots:
            root = sqrt(int(draw * 60))
            return (root, -root) if first_wins else (-root, root)
        if draw < 0.1:
            return (1.0, 1.0)
        return (2.0, 0.0) if first_wins else (0.0, 2.0)


EVENTS = (
    Event(7, 1, 6, 1),
    Event(16, 1, 12, 2),
    Event(24, 3, 9, 3, moving=True),
    Event(33, 1, 20, 4),
    Event(40, 2, 8, 5, roots=True),
    Event(63, 1, 8, 6, moving=True),
    Event(64, 1, 10, 7),
    Event(64, 2, 8, 8, roots=True),
    Event(64, 2, 7, 9),
    Event(128, 1, 5, 10),
    Event(128, 2, 3, 11, roots=True),
    Event(255, 2, 2, 12),
    Event(256, 1, 3, 13),
)


def main() -> None:
    made = {event.name: [[list(p.teams) for p in round_] for round_ in event.play()] for event in EVENTS}
    lines = (f"{json.dumps(name)}: {json.dumps(rounds, separators=(',', ':'))}" for name, rounds in made.items())
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
