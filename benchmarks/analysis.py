"""How often is the analysis of a game right? Two checks, each with a share and its 95 % interval.

    python -m benchmarks.analysis [--game linkage] [--positions 100] [--games 20] [--seconds 15]

1. Positions that an exhaustive search has solved: does the analysis name a best move? The positions are 4 to 9
   turns before the end of games between two bots that search, and not all moves in them are equally good.
2. Games with a planted blunder: is it among the three turning points? Two bots that search play; one of their moves
   is replaced by one that loses at least 0.8 of the value, as the same search says with four times the time.

The analysis gets ``--seconds`` for a whole game, of which its default is 60: less time is the harder check.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from random import Random
from typing import Any

from getstep.local_matches.results import wilson
from getstep_bots.analysis import OutOfTimeError, TurnKind, judge, solve, turning_points
from getstep_bots.mcts import A_FEW_MOVES, TO_THE_END, moves_run_out, search
from getstep_engines import GAMES, Game, State

BOT_SECONDS = 0.02
SOLVE_SECONDS = 10.0
LEAST_LOSS = 0.8


AVERAGE_MOVES = 40
"""A position of the first check gets this part of the time for a game."""


def turns(moves: list[Any]) -> list[tuple[TurnKind, Any]]:
    """Return moves as the turns of a game."""
    return [("move", move) for move in moves]


def style(game: Game) -> Any:
    """Return the style of the search for a game."""
    return TO_THE_END if moves_run_out(game.name) else A_FEW_MOVES


def after(state: State, move: Any) -> State:
    """Return the position after a move."""
    later = state.copy()
    later.play(move)
    return later


def a_game(game: Game, begun: list[Any] | None = None) -> list[Any]:
    """Return the moves of a game between two bots that search, after the moves with which it began."""
    moves, state = list(begun or []), game.start()
    for move in moves:
        state.play(move)
    while state.outcome is None:
        moves.append(search(state, BOT_SECONDS, style(game)))
        state.play(moves[-1])
    return moves


def solved_positions(game: Game, dice: Random) -> Iterator[tuple[list[Any], set[Any]]]:
    """Yield the moves that lead to a position, and its best moves; not all moves there are equally good."""
    while True:
        moves = a_game(game)
        place = len(moves) - dice.randint(4, min(9, len(moves)))
        state = game.start()
        for move in moves[:place]:
            state.play(move)
        deadline = time.perf_counter() + SOLVE_SECONDS
        try:
            values = {move: _value(after(state, move), state.to_move, deadline) for move in state.legal_moves()}
        except OutOfTimeError:
            continue
        best = {move for move, value in values.items() if value == max(values.values())}
        if len(best) < len(values):
            yield moves[: place + 1], best


def _value(state: State, player: int, deadline: float) -> int:
    if state.outcome is not None:
        return 0 if state.outcome.winner is None else 1 if state.outcome.winner == player else -1
    value, _ = solve(state, deadline)
    return value if state.to_move == player else -value


def with_blunder(game: Game, dice: Random) -> tuple[list[Any], int] | None:
    """Return the moves of a game with a planted blunder, and the number of that turn; None if none was found."""
    moves = a_game(game)
    place = dice.randint(len(moves) // 3, 5 * len(moves) // 6)
    state = game.start()
    for move in moves[:place]:
        state.play(move)
    candidates = dice.sample(found := list(state.legal_moves()), min(6, len(found)))
    for move in candidates:
        [judged] = judge(game, {}, turns([*moves[:place], move]), seconds=3.0, only=[place + 1])
        if judged.given_away.low >= LEAST_LOSS:
            return a_game(game, [*moves[:place], move]), place + 1
    return None


def told(what: str, right: int, count: int) -> None:
    """Print a share with its interval."""
    low, high = wilson(right / count, count)
    print(f"  {what}: {right} of {count} ({100 * low:.0f} to {100 * high:.0f} %)", flush=True)


def main() -> None:
    """Run both checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", action="append", choices=list(GAMES), help="repeatable (default: all)")
    parser.add_argument("--positions", type=int, default=100, help="for the first check, each game (default 100)")
    parser.add_argument("--games", type=int, default=20, help="for the second check, each game (default 20)")
    parser.add_argument("--seconds", type=float, default=15.0, help="of the analysis for a game (default 15)")
    args = parser.parse_args()
    for name in args.game or list(GAMES):
        game, dice = GAMES[name], Random(name)
        print(f"{name}, {args.seconds:g} s a game")
        if args.positions and moves_run_out(name):
            right, count = 0, 0
            for (moves, best), _ in zip(solved_positions(game, dice), range(args.positions), strict=False):
                each = args.seconds / AVERAGE_MOVES
                [judged] = judge(game, {}, turns(moves), seconds=each, only=[len(moves)])
                right, count = right + (judged.best in best), count + 1
            told("names a best move of a solved position", right, count)
        right, count = 0, 0
        while count < args.games:
            if found := with_blunder(game, dice):
                moves, number = found
                judged_moves = judge(game, {}, turns(moves), seconds=args.seconds)
                right += any(move.number == number for move in turning_points(judged_moves))
                count += 1
        if count:
            told("the planted blunder is among the three turning points", right, count)


if __name__ == "__main__":
    main()
