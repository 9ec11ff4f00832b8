"""Shared by the tests of every game: the games, the ways to start each, and random games."""

from __future__ import annotations

import pytest

from getstep_engines import GAMES
from getstep_engines.testing import Playout, playout, ways_to_start

STARTS = [(name, options) for name, game in GAMES.items() for options in ways_to_start(game)]
"""Each game with its options' defaults, and with each option's lowest and highest value."""

EVERY_GAME = pytest.mark.parametrize("name", GAMES)
EVERY_START = pytest.mark.parametrize(
    ("name", "options"), [pytest.param(n, o, id="-".join([n, *map(str, o.values())])) for n, o in STARTS]
)


def playout_of(name: str, seed: int, **options: int) -> Playout:
    """Return a random game. Do not play on its states: they are shared."""
    return playout(GAMES[name], seed, options)
