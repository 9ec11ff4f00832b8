"""Making books: random legal play, and a search that throws out decided positions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from time import process_time
from typing import Any

from getstep_engines import Game, State

from ._moves import BookError, Opening, plain_move

_TRIES = 200
"""Random games for each opening that is looked for, before the game is taken to have too few."""

Board = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Making:
    """How a book is made.

    Args:
        plies: moves of each opening.
        count: openings to find.
        seed: of the random play.
        seconds: for the search of each position, on one core.
        most: the greatest value, from 0 to 1, at which a position is not decided. 0 is equal, 1 is won.
        candidates: random moves of which each move of an opening is one: that after which the game's own estimate
            is nearest to 0. 1 is plain random play. With more, also a game that favours one side has balanced
            positions.
    """

    plies: int = 4
    count: int = 200
    seed: int = 1
    seconds: float = 0.5
    most: float = 0.3
    candidates: int = 1


def random_lines(game: Game, options: Mapping[str, int], plies: int, seed: str, count: int) -> list[Opening]:
    """Return random openings with ``plies`` moves: ``count`` of them, or fewer if the game has fewer positions.

    Raises:
        BookError: the game is over before so many moves.
    """
    dice = Random(f"plies {seed}")
    lines = [line for line, _state in _distinct(game, options, plies, dice.random, count, _position)]
    if not lines:
        raise BookError(f"no game of {game.name} lasts {plies} moves and goes on")
    return lines


def searched(game: Game, making: Making) -> Callable[[State], float]:
    """Return a function for `make_book`: the value of a position for the first player, by a search."""
    from getstep_bots.analysis import evaluate  # here: a contest that has its book needs no search

    def value_of(state: State) -> float:
        # Of this process, whatever other programs do: a busy computer makes it slower, and not worse.
        found = evaluate(game, state, seconds=making.seconds, seed=making.seed, clock=process_time)
        return found.value if state.to_move == 0 else -found.value

    return value_of


def make_book(
    game: Game,
    options: Mapping[str, int],
    making: Making,
    value_of: Callable[[State], float],
    on_position: Callable[[Opening, float, int], None] = lambda _opening, _value, _kept: None,
) -> list[Opening]:
    """Return balanced openings: random, not decided, and none the mirror image of another one.

    Args:
        game: the rules.
        options: of the game.
        making: the settings.
        value_of: returns the value of a position for the first player, from -1 (lost) to 1 (won).
        on_position: called after each search with the opening, its value, and the openings that are kept by then.

    Raises:
        BookError: no position was kept.
    """
    kept: list[Opening] = []
    dice = Random(f"book {making.seed}")
    most = making.count * 20  # of 20 positions, at least one should not be decided
    for opening, state in _distinct(game, options, making.plies, dice.random, most, mirrored, making.candidates):
        value = value_of(state)
        if abs(value) <= making.most:
            kept.append(opening)
        on_position(opening, value, len(kept))
        if len(kept) == making.count:
            break
    if not kept:
        raise BookError(f"no position of {game.name} after {making.plies} moves is within {making.most:g} of 0")
    return kept


def _distinct(
    game: Game,
    options: Mapping[str, int],
    plies: int,
    chance: Callable[[], float],
    count: int,
    same: Callable[[Game, State], Hashable],
    candidates: int = 1,
) -> Iterator[tuple[Opening, State]]:
    """Yield random openings with the positions after them, no two of which are the ``same``."""
    seen: set[Hashable] = set()
    failed = 0
    while len(seen) < count and failed < _TRIES:
        state, moves = game.start(**options), list[Any]()
        while state.outcome is None and len(moves) < plies:
            legal = list(state.legal_moves())
            tried = [legal[int(chance() * len(legal))] for _ in range(candidates)]
            moves.append(tried[0] if candidates == 1 else min(tried, key=partial(_imbalance, state)))
            state.play(moves[-1])
        key = same(game, state)
        if state.outcome is not None or key in seen:
            failed += 1
            continue
        seen.add(key)
        failed = 0
        yield tuple(map(plain_move, moves)), state


def _imbalance(state: State, move: Any) -> float:
    after = state.copy()
    after.play(move)
    return abs(after.estimate())


def _position(game: Game, state: State) -> Hashable:
    return _board(game, state), state.to_move


def _board(game: Game, state: State) -> Board:
    return tuple(map(tuple, game.view(state)))


def mirrored(game: Game, state: State) -> Hashable:
    """Return what positions share that are equal up to a rotation or a reflection of the board.

    In a game with a direction, two of these positions may differ. Then the book lacks one of them, which costs
    nothing: it has others.
    """
    board, images = _board(game, state), []
    for _ in range(4):
        board = tuple(zip(*board[::-1], strict=True))
        images += [board, board[::-1]]
    return min(images), state.to_move
