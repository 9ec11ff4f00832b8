"""The ratings of the levels: the sample bots that `getstep practice --level` plays against.

``python -m benchmarks.levels hop --pairs 40`` plays pairs of games between each level and the next one. Both games
of a pair begin with the same opening of the game's balanced book, with the sides changed. It prints a table in
Markdown: how many pairs gave the upper level 0, ½, 1, 1½ and 2 points, the difference in Elo with its 95 %
interval, the rating of each level above `greedy`, and the processor time of a move on this computer.

The time limit is a day, so a busy computer changes no result: the same pairs have the same results on each one.
`levels.jsonl` beside this file has the pairs that were played. The command plays those that are missing, and adds
them. With ``--pairs 0`` it prints the table of the file, which is that of docs/experiments.md. A change of the bots
or the books makes the file wrong: then delete it, and measure again.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import hypot, inf, isfinite
from pathlib import Path
from time import thread_time
from typing import Any, NamedTuple

from benchmarks.bots import A_DAY_MS, Bot, ask, bot
from getstep import Turn
from getstep.openings import BALANCED, Book, BookError, Opening, drawn, find_book, state_after
from getstep.samples import LEVELS, SAMPLES
from getstep.sprt import HALF_POINTS, PairOutcomes, elo_interval
from getstep_engines import GAMES, Player

PAIRS = Path(__file__).with_name("levels.jsonl")

OPENING_MOVES = 4
"""Random first moves in a game that comes without a book."""

ANCHOR = 2
"""The level with rating 0. `greedy` has no random choices, and wins against level 1 too often for a rating."""

HEAD = (
    "| game | level | bot | pairs | 0 ½ 1 1½ 2 points | Elo above the level below | Elo above greedy | ms a move |",
    "|---|--:|---|--:|--:|--:|--:|--:|",
)

Elo = tuple[float, float, float]
"""A difference, and the ends of its 95 % interval."""


class Pair(NamedTuple):
    """Two games of a level against the one below: the upper level's outcomes, its moves, and their seconds."""

    game: str
    level: int
    number: int
    outcomes: PairOutcomes
    moves: int
    seconds: float


def play_pair(game: str, level: int, number: int) -> Pair:
    """Play a pair of games of a level against the one below it."""
    upper, lower = (bot(SAMPLES[LEVELS[index]]) for index in (level - 1, level - 2))
    opening = drawn(_book(game), "levels", number)
    outcomes, moves, seconds = [], 0, 0.0
    for side in (0, 1):
        players = (upper, lower) if side == 0 else (lower, upper)
        winner, taken = _play(game, players, opening, 2 * number + side)
        outcomes.append("draw" if winner is None else "win" if winner == side else "loss")
        moves, seconds = moves + len(taken[side]), seconds + sum(taken[side])
    return Pair(game, level, number, (outcomes[0], outcomes[1]), moves, round(seconds, 3))


def _book(game: str) -> Book:
    try:
        return find_book(BALANCED, GAMES[game], {}, "", Path())
    except BookError:
        return find_book(OPENING_MOVES, GAMES[game], {}, "levels", Path())


def _play(
    game: str, players: Sequence[Bot], opening: Opening, number: int
) -> tuple[Player | None, tuple[list[float], list[float]]]:
    """Play a game; return its winner, and the processor time of each move of both players, in seconds."""
    state = state_after(GAMES[game], {}, opening)
    last: list[Any] = [None, None]
    taken: tuple[list[float], list[float]] = ([], [])
    turns = len(opening)
    while state.outcome is None:
        player = state.to_move
        turn = Turn(game, number, turns + 1, "a level", last[1 - player], A_DAY_MS)
        began = thread_time()
        last[player] = move = ask(players[player], state, turn)
        taken[player].append(thread_time() - began)
        state.play(move)
        turns += 1 + len(state.passed)
    return state.outcome.winner, taken


def read(path: Path) -> list[Pair]:
    """Return the pairs in a file; none if there is no such file."""
    kept = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Pair(**{**fields, "outcomes": tuple(fields["outcomes"])}) for fields in map(json.loads, kept)]


def table(games: Sequence[str], pairs: Sequence[Pair]) -> list[str]:
    """Return the lines of the table in Markdown."""
    return [*HEAD, *(line for game in games for line in lines(game, [pair for pair in pairs if pair.game == game]))]


def lines(game: str, pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield a game's rows of the table, a level each."""
    by_level: dict[int, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_level[pair.level].append(pair)
    steps = {level: elo_interval(pair.outcomes for pair in found) for level, found in by_level.items()}
    for level in range(1, len(LEVELS) + 1):
        found, step = by_level[level], steps.get(level)
        counts = Counter(sum(HALF_POINTS[one] for one in pair.outcomes) for pair in found)
        results = " ".join(str(counts[half]) for half in range(5)) if found else ""
        took = f"{1000 * sum(p.seconds for p in found) / sum(p.moves for p in found):.1f}" if found else ""
        above = elo_text(rating(level, steps)) if level != ANCHOR else "0"
        cells = [game, level, LEVELS[level - 1], len(found) or "", results, elo_text(step), above, took]
        yield f"| {' | '.join(map(str, cells))} |"


def rating(level: int, steps: dict[int, Elo | None]) -> Elo | None:
    """Return the rating of a level above the anchor: the sum of the steps between them; None if one is missing."""
    sign = 1 if level > ANCHOR else -1
    between = [steps.get(one) for one in range(min(level, ANCHOR) + 1, max(level, ANCHOR) + 1)]
    known = [step for step in between if step is not None]
    if len(known) < len(between) or not all(isfinite(value) for value, _, _ in known[:-1]):
        return None
    value = sum(step[0] for step in known)
    # the steps are measured in different games, so their errors are independent
    less, more = (hypot(*(step[end] - step[0] if isfinite(step[end]) else inf for step in known)) for end in (1, 2))
    low, high = value - less, value + more
    if not isfinite(value):  # all games of the last step were won: no error is known, so add the ends
        low, high = sum(step[1] for step in known), sum(step[2] for step in known)
    return (value, low, high) if sign > 0 else (-value, -high, -low)


def elo_text(elo: Elo | None) -> str:
    """Return a difference with its interval, such as ``"+120 [+60, +190]"``."""
    if elo is None:
        return ""
    ends = (f"{round(end):+d}" if isfinite(end) else f"{end:+}" for end in elo)
    value, low, high = (end.replace("inf", "∞").replace("-", "−") for end in ends)
    return f"{value} [{low}, {high}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", metavar="GAME", help="games (default: all that are installed)")
    parser.add_argument("--pairs", type=int, default=40, metavar="N", help="of each two levels (40)")
    parser.add_argument("--levels", type=int, nargs="+", default=range(2, len(LEVELS) + 1), metavar="N")
    parser.add_argument("--file", type=Path, default=PAIRS, metavar="FILE", help="where the pairs are kept")
    args = parser.parse_args()
    games = args.games or list(GAMES)
    pairs = read(args.file)
    there = {pair[:3] for pair in pairs}
    tasks = [(game, level, number) for level in args.levels for game in games for number in range(args.pairs)]
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for future in [pool.submit(play_pair, *task) for task in tasks if task not in there]:
            pairs.append(pair := future.result())
            with args.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(pair._asdict()) + "\n")
    print("\n".join(table(games, pairs)))


if __name__ == "__main__":
    main()
