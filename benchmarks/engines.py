"""The speed of the engines, compared with the same rules on plain lists.

``python -m benchmarks.engines`` prints, for each game, the time of its hot operations in microseconds, the time on
nested lists (`benchmarks.plain`), and the number of random games a second that a bot plays through the public
interface. Times are processor times, each the best of several runs: other programs can only make a run slower.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from time import process_time
from timeit import Timer

from benchmarks import plain
from getstep_engines import GAMES, State
from getstep_engines.hop import HopState
from getstep_engines.longest_path import LongestPathState
from getstep_engines.longest_path import score as longest_path_score
from getstep_engines.pseudo_tonga import PseudoTongaState
from getstep_engines.pseudo_tonga import score as pseudo_tonga_score

RUNS = 7
POSITIONS = 20
HOP_PATH = [(3, 1), (3, 3), (1, 3), (1, 5), (3, 5)]


@dataclass(frozen=True)
class Row:
    """An operation, and its time in µs with the engine and on plain lists."""

    game: str
    operation: str
    us: float
    plain: float

    def __str__(self) -> str:
        ratio = self.plain / self.us
        return f"{self.game:<15} {self.operation:<46} {self.us:>9.2f} {self.plain:>10.1f} {ratio:>6.1f}"


def us(function: Callable[[], object], count: int = 1) -> float:
    """Return the shortest time of ``function`` in microseconds, divided by its ``count`` of operations."""
    timer = Timer(function, timer=process_time)
    number, seconds = timer.autorange()
    return min(seconds, *timer.repeat(RUNS, number)) / number / count * 1e6


def random_game(state: State, dice: Random, moves: int = 1000) -> int:
    """Play at most ``moves`` random moves; return their number."""
    for played in range(moves):
        if state.outcome:
            return played
        legal = list(state.legal_moves())
        state.play(legal[int(dice.random() * len(legal))])
    return moves


def positions(game: str, moves: int, **options: int) -> list[State]:
    """Return positions after ``moves`` random moves."""
    states = [GAMES[game].start(**options) for _ in range(POSITIONS)]
    for seed, state in enumerate(states):
        random_game(state, Random(seed), moves)
    return states


# --- the operations ---------------------------------------------------------------------------------------------


def chain_reaction_move() -> Row:
    start = GAMES["chain_reaction"].start()
    moves = sum(random_game(start.copy(), Random(seed)) for seed in range(POSITIONS))
    engine = us(lambda: [random_game(start.copy(), Random(seed)) for seed in range(POSITIONS)], moves)
    moves = sum(plain_game(Random(seed)) for seed in range(POSITIONS))
    return Row(
        "chain_reaction",
        "a move of a random game, cascades included",
        engine,
        us(lambda: [plain_game(Random(seed)) for seed in range(POSITIONS)], moves),
    )


def plain_game(dice: Random) -> int:
    """Play a random game of chain_reaction on plain lists; return its number of moves."""
    board, player, moves, won = [[0] * 8 for _ in range(8)], 0, 0, False
    while not won:
        sign = 1 - 2 * player
        legal = [(r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if cell * sign >= 0]
        won = plain.play_chain_reaction(board, player, legal[int(dice.random() * len(legal))])
        player, moves = 1 - player, moves + 1
    return moves


def hop_position() -> HopState:
    """Return a position in which ``HOP_PATH`` is legal: over an own piece and three enemy pieces."""
    board = GAMES["hop"].start().board()
    for row, column, cell in [(3, 1, 1), (3, 2, 1), (2, 3, 2), (1, 4, 2), (2, 5, 2), (3, 3, 0), (3, 5, 0)]:
        board[row][column] = cell
    state = GAMES["hop"].from_board(board, True)
    assert isinstance(state, HopState)
    assert state.is_legal(HOP_PATH)
    return state


def hop_is_legal() -> Row:
    state = hop_position()
    board = state.board()
    return Row(
        "hop",
        "is_legal of a path of four hops",
        us(lambda: state.is_legal(HOP_PATH)),
        us(lambda: plain.hop_is_legal(board, 0, HOP_PATH)),
    )


def hop_has_move() -> Row:
    states = [state for state in positions("hop", 60) if isinstance(state, HopState)]
    boards = [state.board() for state in states]
    return Row(
        "hop",
        "whether a player has any legal move",
        us(lambda: [state.has_move(0) for state in states], len(states)),
        us(lambda: [plain.hop_has_move(board, 0) for board in boards], len(boards)),
    )


def longest_path_scoring() -> Row:
    states = [state for state in positions("longest_path", 121) if isinstance(state, LongestPathState)]
    boards = [state.board() for state in states]
    return Row(
        "longest_path",
        "scoring a full random board",
        us(lambda: [longest_path_score(*state.pieces) for state in states], len(states)),
        us(lambda: [plain.longest_path_counts(board) for board in boards], len(boards)),
    )


def pseudo_tonga_scoring() -> Row:
    states = [state for state in positions("pseudo_tonga", 256, size=16) if isinstance(state, PseudoTongaState)]
    boards = [state.board() for state in states]
    return Row(
        "pseudo_tonga",
        "scoring a full random 16×16 board",
        us(lambda: [[pseudo_tonga_score(own, 16) for own in state.pieces] for state in states], len(states)),
        us(lambda: [plain.pseudo_tonga_points(board) for board in boards], len(boards)),
    )


def linkage_moves() -> Row:
    states = positions("linkage", 10)
    boards = [state.board() for state in states]
    return Row(
        "linkage",
        "all legal moves of a position after 10 moves",
        us(lambda: [list(state.legal_moves()) for state in states], len(states)),
        us(lambda: [list(plain.linkage_moves(board)) for board in boards], len(boards)),
    )


OPERATIONS = (
    longest_path_scoring,
    chain_reaction_move,
    pseudo_tonga_scoring,
    hop_is_legal,
    hop_has_move,
    linkage_moves,
)


def playouts() -> Iterator[tuple[str, float]]:
    """Yield, for each game, the random games a second from its start: copy the state, then list and play moves."""
    for name, game in GAMES.items():
        start = game.start()
        dice = Random(name)
        each = us(lambda start=start, dice=dice: [random_game(start.copy(), dice) for _ in range(50)], 50)  # type: ignore[misc]  # mypy does not infer the type of a lambda with a default
        yield name, 1e6 / each


def main() -> None:
    argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__).parse_args()
    print(f"{'game':<15} {'operation':<46} {'µs':>9} {'plain µs':>10} {'ratio':>6}")
    for operation in OPERATIONS:
        print(operation(), flush=True)
    print()
    print(f"{'game':<15} random games a second through copy(), legal_moves() and play()")
    for name, a_second in playouts():
        print(f"{name:<15} {a_second:,.0f}", flush=True)


if __name__ == "__main__":
    main()
