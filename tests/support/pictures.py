"""Pictures of each game for the tests of the renderers: the same moves in every run."""

from __future__ import annotations

from functools import cache
from typing import Any

from getstep.draw import Picture
from getstep_engines import GAMES, State


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
