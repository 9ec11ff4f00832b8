"""What openings change: how many games of bots differ, and how many pairs the side alone decides.

``python -m benchmarks.openings [--pairs N] [GAME ...]`` plays pairs of games between sample bots, with the sides
changed within a pair, once from the start of the game and once with the balanced book. It prints a table:

- of greedy against itself, which repeats its moves: the number of different games;
- of hesitant against itself, which plays half of its moves at random: the pairs in which the first player won both
  games, those in which the second one did, those in which one bot won both, and those with a draw.

No time counts here, so a busy computer changes nothing.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from getstep import Turn
from getstep.openings import BALANCED, Opening, drawn, find_book, state_after
from getstep_bots import greedy, hesitant
from getstep_engines import GAMES, Player

BOTS = {"greedy": greedy.get_step, "hesitant": hesitant.get_step}
GAMES_BY_DEFAULT = ("hop", "linkage", "longest_path", "pseudo_tonga", "chain_reaction")


class Played(NamedTuple):
    """A game: its winner, None for a draw, and its moves."""

    winner: Player | None
    moves: tuple[str, ...]


class Counts(NamedTuple):
    """What the pairs of a game have shown."""

    different: int
    first: int
    second: int
    one_bot: int
    drawn: int


def play(game: str, bot: str, opening: Opening, number: int) -> Played:
    """Play a game of a bot against itself; ``number`` seeds its random moves."""
    rules, moves, last, turns = GAMES[game], [], [None, None], len(opening)
    state = state_after(rules, {}, opening)
    while state.outcome is None:
        player = state.to_move
        turn = Turn(game, number, turns + 1, "itself", last[1 - player], 1000)
        last[player] = move = BOTS[bot](state.board(), player == 0, turn)
        state.play(move)
        turns += 1 + len(state.passed)
        moves.append(repr(move))
    return Played(state.outcome.winner, (repr(opening), *moves))


def count(game: str, pairs: int, openings: bool) -> Counts:
    """Play the pairs of a game with both bots."""
    book = find_book(BALANCED, GAMES[game], {}, "", Path()) if openings else None
    lines = [drawn(book, "benchmark", number) if book else () for number in range(pairs)]
    repeated = [play(game, "greedy", line, 0).moves for line in lines]  # both games of a pair are the same
    found = Counter(
        _kind(*(play(game, "hesitant", line, 2 * number + side).winner for side in (0, 1)))
        for number, line in enumerate(lines)
    )
    kinds = ("first", "second", "one bot", "drawn")
    return Counts(len(set(repeated)), *(found[kind] for kind in kinds))


def _kind(one: Player | None, other: Player | None) -> str:
    """Return who won a pair, from the winners of its two games: a side, or one bot, which has changed sides."""
    if one is None or other is None:
        return "drawn"
    return "one bot" if one != other else ("first", "second")[one]


def table(games: Sequence[str], pairs: int) -> list[str]:
    """Return the table's lines in Markdown."""
    tasks = [(game, openings) for game in games for openings in (False, True)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(count, *zip(*[(game, pairs, openings) for game, openings in tasks], strict=True))
        lines = [
            f"| game | openings | different, of {2 * pairs} | first side | second side | 2–0 | with a draw |",
            "|---|---|--:|--:|--:|--:|--:|",
        ]
        for (game, openings), counts in zip(tasks, found, strict=True):
            cells = [game, BALANCED if openings else "none", *map(str, counts)]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", metavar="GAME", default=GAMES_BY_DEFAULT)
    parser.add_argument("--pairs", type=int, default=100, metavar="N")
    args = parser.parse_args()
    print("\n".join(table(args.games, args.pairs)))


if __name__ == "__main__":
    main()
