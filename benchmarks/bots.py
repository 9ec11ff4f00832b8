"""The strength of one sample bot against another, without a network.

``python -m benchmarks.bots --game hop --games 40 --seconds 0.2`` plays the Monte Carlo bot against the greedy bot
in that game, half of the games as the first player, and prints its results. Without ``--game`` it plays all games.
Seconds are processor time, so that other programs do not shorten its search.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from inspect import signature
from time import perf_counter, process_time
from typing import Any

from getstep import Turn
from getstep_bots import mcts
from getstep_engines import GAMES, State

Bot = Callable[..., Any]

A_DAY_MS = 24 * 3600 * 1000


def bot(module: str) -> Bot:
    """Return the ``get_step`` of a sample bot."""
    get_step: Bot = import_module(f"getstep_bots.{module}").get_step
    return get_step


def play(game: str, first: Bot, second: Bot, time_left_ms: int = A_DAY_MS, **options: int) -> State:
    """Play a game between two bots that always have the same time left; return its last state.

    Raises:
        IllegalMove: a bot made an illegal move.
    """
    state = GAMES[game].start(**options)
    move_number, last_move = 1, None
    while state.outcome is None:
        player = state.to_move
        turn = Turn(game, 1, move_number, "a bot", last_move, time_left_ms, options)
        last_move = ask((first, second)[player], state, turn)
        state.play(last_move)
        move_number += 1 + len(state.passed)
        if state.to_move == player:
            last_move = None
    return state


def ask(get_step: Bot, state: State, turn: Turn) -> Any:
    """Return the move of a bot that takes two parameters or three."""
    arguments = (state.board(), state.to_move == 0, turn)
    return get_step(*arguments[: len(signature(get_step).parameters)])


def result(game: str, opponent: str, seconds: float, number: int) -> str:
    """Return the result of game ``number`` for the Monte Carlo bot, the first player in every other game."""
    mcts.LONGEST_THINK = seconds
    mcts.perf_counter = process_time  # type: ignore[attr-defined]  # the clock that the bot imports
    players = bot("mcts"), bot(opponent)
    outcome = play(game, *(players if number % 2 == 0 else players[::-1])).outcome
    assert outcome
    if outcome.winner is None:
        return "draw"
    return "won" if outcome.winner == number % 2 else "lost"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bots", description=__doc__)
    parser.add_argument("--game", choices=list(GAMES), help="one game only")
    parser.add_argument("--games", type=int, default=40, metavar="N", help="how many to play of each (40)")
    parser.add_argument("--seconds", type=float, default=0.2, metavar="S", help="of thinking for each move (0.2)")
    parser.add_argument("--opponent", metavar="MODULE", default="greedy", help="a sample bot (greedy)")
    parser.add_argument(
        "--processes", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="at once (2)"
    )
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.processes) as pool:
        for game in [arguments.game] if arguments.game else GAMES:
            opponent = arguments.opponent
            started = perf_counter()
            count = Counter(pool.map(partial(result, game, opponent, arguments.seconds), range(arguments.games)))
            print(
                f"{game}: mcts won {count['won']}, drew {count['draw']}, lost {count['lost']} of {arguments.games}"
                f" against {opponent} at {arguments.seconds:g} s a move ({perf_counter() - started:.0f} s)",
                flush=True,
            )


if __name__ == "__main__":
    main()
