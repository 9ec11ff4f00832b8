"""The games, the ways to start each, random games, and pictures of each game."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from getstep.drawing import Picture
from getstep_conformance.games import Playout, playout, ways_to_start
from getstep_engines import GAMES, State

STARTS = [(name, options) for name, game in GAMES.items() for options in ways_to_start(game)]
"""Each game with its options' defaults, and with each option's lowest and highest value."""

EVERY_GAME = pytest.mark.parametrize("name", GAMES)
EVERY_START = pytest.mark.parametrize(
    ("name", "options"), [pytest.param(n, o, id="-".join([n, *map(str, o.values())])) for n, o in STARTS]
)


def playout_of(name: str, seed: int, **options: int) -> Playout:
    """Return a random game. Do not play on its states: they are shared."""
    return playout(GAMES[name], seed, options)


# --- pictures of each game for the tests of the renderers: the same moves in every run --------------------------


@cache
def played(name: str, moves: int) -> tuple[State, tuple[Any, ...]]:
    """Return the state after some moves that differ from each other, and the moves. Nobody may play on it."""
    state, made = GAMES[name].start(), []
    for number in range(moves):
        legal = list(state.legal_moves())
        made.append(legal[(number * 7 + 3) % len(legal)])
        state.play(made[-1])
    return state.copy(), tuple(made)


def picture(name: str, moves: int = 12) -> Picture:
    """Return the board after ``moves`` moves, with the marks of the last one."""
    _, made = played(name, moves)
    before, _ = played(name, moves - 1)
    return Picture.after(GAMES[name], GAMES[name].trace(before, made[-1]))
