"""How often is the analysis of a game right? Two checks, each with a share and its 95 % interval.

    python -m benchmarks.analysis [--game linkage] [--positions 100] [--games 100] [--seconds 15]

1. Solved positions: does the analysis name a best move? The positions are near the end of games between two bots
   that search, and not all moves in them are equally good.
2. Games with a planted blunder: is it among the three turning points? In such a position one loses a game that was
   won. Then the bots play on, and may make blunders of their own.

What is a best move or a blunder comes from exhaustive searches of the positions after each move, with SOLVE_SECONDS
for all of them. In longest_path, pseudo_tonga, linkage and Othello, moves run out: the search goes to all ends,
from 4 to 10 turns before the last one. Chain Reaction and Hop cannot be searched to all ends. There a proof counts:
a move is best if it wins by force in a few moves; if none does, each move is best that does not lose by force in a
few moves. A planted blunder loses by force, and the bots win most games from the position before it.

The analysis gets ``--seconds`` of processor time for a whole game, of which its default is 60: less is the harder
check. Time is that of this process, so a busy computer gives the same figures.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from getstep.sprt import wilson
from getstep_bots.analysis import OutOfTimeError, TurnKind, judge, prove, solve, turning_points
from getstep_bots.mcts import A_FEW_MOVES, TO_THE_END, moves_run_out, search
from getstep_engines import GAMES, Game, State
from tests.support.plugins import installed, write_othello

BOT_SECONDS = 0.01
SOLVE_SECONDS = 10.0
PROOF_SECONDS = 4.0
"""The same where moves do not run out: a proof is found soon or not at all."""

AVERAGE_MOVES = 40
"""A position of the first check gets this part of the time for a game."""


def turns(moves: list[Any]) -> list[tuple[TurnKind, Any]]:
    """Return moves as the turns of a game."""
    return [("move", move) for move in moves]


def after(state: State, move: Any) -> State:
    """Return the position after a move."""
    later = state.copy()
    later.play(move)
    return later


def a_game(game: Game, begun: list[Any] | None = None) -> list[Any]:
    """Return the moves of a game between two bots that search, after the moves with which it began."""
    moves = list(begun or [])
    state = state_after(game, moves)
    style = TO_THE_END if moves_run_out(game.name) else A_FEW_MOVES
    while state.outcome is None:
        moves.append(search(state, BOT_SECONDS, style)[0])
        state.play(moves[-1])
    return moves


def value(state: State, player: int, seconds: float, runs_out: bool) -> int | None:
    """Return the exact value of a position for a player; None if it was not found."""
    if state.outcome is not None:
        return 0 if state.outcome.winner is None else 1 if state.outcome.winner == player else -1
    try:
        search = solve if runs_out else prove
        found, _ = search(state, time.process_time() + seconds, time.process_time)
    except OutOfTimeError:
        return None
    return found if state.to_move == player else -found


def solved_positions(game: Game, dice: Random) -> Iterator[tuple[list[Any], dict[Any, int]]]:
    """Yield the moves that lead to a position, and the value of each move there; not all are equal.

    Where moves do not run out, a move without a proof has the value 0. Nobody can win with the next move there, and
    some of the moves let the opponent do so.
    """
    runs_out = moves_run_out(game.name)
    while True:
        moves = a_game(game)
        places = range(4, 11) if runs_out else range(1, 25)
        for place in dice.sample(places, 3 if runs_out else 12):
            state = state_after(game, moves[:-place])
            player, found = state.to_move, {}
            later = {tuple(move): after(state, move) for move in state.legal_moves()}
            if not runs_out and (
                any(position.outcome is not None for position in later.values())
                or not 0 < sum(map(wins_at_once, later.values())) < len(later)
            ):
                continue
            seconds = SOLVE_SECONDS if runs_out else PROOF_SECONDS
            for move, position in later.items():
                exact = value(position, player, seconds / len(later), runs_out)
                if exact is None and runs_out:
                    break
                found[move] = exact or 0
            if len(found) == len(later) and len(set(found.values())) > 1:
                yield moves[:-place], found


def wins_at_once(state: State) -> bool:
    """Return True if the player on turn can win with the next move."""
    return any(value(after(state, move), state.to_move, 0, False) == 1 for move in state.legal_moves())


def planted(game: Game, dice: Random) -> Iterator[tuple[list[Any], int]]:
    """Yield the moves of a game with a planted blunder, and the number of its turn."""
    runs_out = moves_run_out(game.name)
    for moves, values in solved_positions(game, dice):
        lost = [move for move, found in values.items() if found == -1]
        if not lost or (max(values.values()) < 1 and (runs_out or not stands_well(game, moves))):
            continue
        yield a_game(game, [*moves, dice.choice(lost)]), len(moves) + 1


def stands_well(game: Game, moves: list[Any]) -> bool:
    """Return True if the player on turn wins most games that the bots play from here, without a proof."""
    begun = state_after(game, moves)
    return sum(value(state_after(game, a_game(game, moves)), begun.to_move, 0, False) == 1 for _ in range(4)) >= 3


def state_after(game: Game, moves: list[Any]) -> State:
    """Return the position after these moves."""
    state = game.start()
    for move in moves:
        state.play(move)
    return state


def told(what: str, right: int, count: int, longest: float) -> None:
    """Print a share with its interval."""
    low, high = wilson(right / count, count)
    share = f"{right} of {count} ({100 * low:.0f} to {100 * high:.0f} %)"
    print(f"  {what}: {share}; at most {longest:.1f} s of a core", flush=True)


def check_positions(game: Game, dice: Random, positions: int, seconds: float) -> None:
    """Print how often the analysis names a best move of a solved position."""
    right, count, longest = 0, 0, 0.0
    for (moves, values), _ in zip(solved_positions(game, dice), range(positions), strict=False):
        played = dice.choice(list(values))
        began = time.process_time()
        [judged] = judge(
            game,
            {},
            turns([*moves, played]),
            seconds=seconds / AVERAGE_MOVES,
            only=[len(moves) + 1],
            clock=time.process_time,
        )
        longest = max(longest, time.process_time() - began)
        best = max(values.values())
        right, count = right + (values[tuple(judged.best)] == best), count + 1
    told("names a best move of a solved position", right, count, longest)


def check_blunders(game: Game, dice: Random, games: int, seconds: float) -> None:
    """Print how often a planted blunder is among the three turning points."""
    right, count, longest = 0, 0, 0.0
    for (moves, number), _ in zip(planted(game, dice), range(games), strict=False):
        began = time.process_time()
        judged = judge(game, {}, turns(moves), seconds=seconds, clock=time.process_time)
        longest = max(longest, time.process_time() - began)
        right, count = right + any(move.number == number for move in turning_points(judged)), count + 1
    told("the planted blunder is among the three turning points", right, count, longest)


def main() -> None:
    """Run both checks."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        with_othello = installed(patch, *write_othello(Path(folder)))
        next(with_othello)
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--game", action="append", choices=list(GAMES), help="repeatable (default: all)")
        parser.add_argument(
            "--positions", type=int, default=100, help="for the first check, each game (default 100)"
        )
        parser.add_argument("--games", type=int, default=100, help="for the second check, each game (default 100)")
        parser.add_argument("--seconds", type=float, default=15.0, help="of the analysis for a game (default 15)")
        args = parser.parse_args()
        for name in args.game or list(GAMES):
            print(f"{name}, {args.seconds:g} s a game", flush=True)
            if args.positions:
                check_positions(GAMES[name], Random(name), args.positions, args.seconds)
            if args.games:
                check_blunders(GAMES[name], Random(f"{name} blunders"), args.games, args.seconds)


if __name__ == "__main__":
    main()
