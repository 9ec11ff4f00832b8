"""Measure how strong the networks of a training are: ``python curve.py``, after or during ``python self_play.py``.

Some of the networks in ``checkpoints`` play pairs of games against the sample bots, as ``trained_bot.py`` does. The
two games of a pair begin with the same opening of the game's book, and the network is the first player in one of
them. The results are in ``curve.csv``, and drawn in ``curve.svg``. Two processes play, the last network first.

The sample bots are levels 1, 2 and 4 of `getstep practice --level`. None of them counts time, so other programs on
the machine make no bot weaker. The mean time of the network's bot for a move is printed.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import floor, log10
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from self_play import CHECKPOINTS, GAME, HERE, Network, best_move

from getstep import Turn
from getstep.openings import BALANCED, drawn, find_book, state_after
from getstep.sprt import mean_interval
from getstep_bots import greedy, random_bot, search_1000
from getstep_engines import GAMES

BOTS = {"random": random_bot, "greedy": greedy, "search_1000": search_1000}
COLOURS = {"random": "#56b4e9", "greedy": "#e69f00", "search_1000": "#009e73"}
DASHES = {"random": "2 4", "greedy": "9 4", "search_1000": "none"}
A_DAY_MS = 24 * 3600 * 1000
"""The time left that the bots are told: so much that none of them stops a search early."""

TABLE, PICTURE = HERE / "curve.csv", HERE / "curve.svg"


@dataclass(frozen=True)
class Point:
    """The results of one network against one bot; ``share`` is that of the games it won, with its 95 % interval."""

    minutes: float
    """Processor time of the training up to this network."""

    games: int
    bot: str
    pairs: int
    share: float
    low: float
    high: float


def play_pair(path: Path, bot: str, seed: int, number: int) -> tuple[int, float, int]:
    """Play a pair of games; return how many the network won, and the time and number of its moves."""
    network = Network.load(path)
    opening = drawn(find_book(BALANCED, GAMES[GAME], {}, "", HERE), str(seed), number)
    won, seconds, moves = 0, 0.0, 0
    for mine in (0, 1):
        state = state_after(GAMES[GAME], {}, opening)
        turn = len(opening)
        while state.outcome is None:
            turn += 1
            board, is_black = state.board(), state.to_move == 0
            if state.to_move == mine:
                start = process_time()
                move: Any = best_move(network, board, is_black)
                seconds, moves = seconds + process_time() - start, moves + 1
            else:
                match = 2 * (1000 * seed + number) + mine  # the random bot plays differently in another match
                move = BOTS[bot].get_step(board, is_black, Turn(GAME, match, turn, "network", None, A_DAY_MS))
            state.play(move)
        won += state.outcome.winner == mine
    return won, seconds, moves


def measure(path: Path, bot: str, pairs: int, seed: int, play: Callable[..., Any] = map) -> Point:
    """Play so many pairs of games and print the result; ``play`` is how to map `play_pair`, by default in order."""
    results = list(play(partial(play_pair, path, bot, seed), range(pairs)))
    counts = Counter(won for won, _, _ in results)
    share, low, high = mean_interval([counts[0], 0, counts[1], 0, counts[2]])
    with np.load(path) as file:
        point = Point(float(file["seconds"]) / 60, int(file["games"]), bot, pairs, share, low, high)
    mean = sum(seconds for _, seconds, _ in results) / sum(moves for _, _, moves in results)
    print(
        f"{point.minutes:5.1f} min {point.games:7,} games   {bot:11} {share:6.1%} of {2 * pairs} games"
        f" [{low:.1%}, {high:.1%}]   {1000 * mean:.0f} ms a move",
        flush=True,
    )
    return point


def draw(points: Sequence[Point]) -> str:
    """Return an SVG picture: the share of games won against each bot, by minutes of training."""
    width, height, left, top = 640, 300, 56, 40
    most = max(point.minutes for point in points) or 1.0

    def x(minutes: float) -> float:
        return left + minutes / most * width

    def y(share: float) -> float:
        return top + (1 - share) * height

    lines = [
        f'<svg viewBox="0 0 {width + 200} {height + 100}" xmlns="http://www.w3.org/2000/svg" role="img">',
        "<title>Share of games that the network wins against the sample bots, by minutes of training</title>",
        '<style>text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #c9d1d9; }</style>',
        f'<rect width="{width + 200}" height="{height + 100}" rx="8" fill="#161b22"/>',
        f'<text x="{left}" y="24">games won, with 95 % intervals</text>',
        f'<text x="{left}" y="{height + 86}">minutes of training, of one processor</text>',
    ]
    for step in range(5):
        share = step / 4
        lines += [
            f'<path d="M{left} {y(share):.1f}h{width}" stroke="#6e7681" stroke-width=".5"/>',
            f'<text x="{left - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>',
        ]
    step_minutes = 10 ** floor(log10(most)) / 2
    for step in range(int(most / step_minutes) + 1):
        minutes = step * step_minutes
        lines.append(f'<text x="{x(minutes):.1f}" y="{height + 62}" text-anchor="middle">{minutes:g}</text>')
    names = [name for name in BOTS if any(point.bot == name for point in points)]
    for row, name in enumerate(names):
        mine = [point for point in points if point.bot == name]
        beside = 4 * row  # so that no interval hides another one
        path = " ".join(f"{x(point.minutes) + beside:.1f},{y(point.share):.1f}" for point in mine)
        bars = "".join(f"M{x(point.minutes) + beside:.1f} {y(point.low):.1f}V{y(point.high):.1f}" for point in mine)
        stroke = f'fill="none" stroke="{COLOURS[name]}"'
        lines += [
            f'<polyline points="{path}" {stroke} stroke-width="2" stroke-dasharray="{DASHES[name]}"/>',
            f'<path d="{bars}" {stroke} stroke-width="1.5"/>',
            f'<path d="M{left + width + 10} {top + 150 + 24 * row}h24" {stroke} stroke-width="2"'
            f' stroke-dasharray="{DASHES[name]}"/>',
            f'<text x="{left + width + 40}" y="{top + 154 + 24 * row}">{name}</text>',
        ]
    return "\n".join([*lines, "</svg>\n"])


def write(points: Sequence[Point]) -> None:
    """Write the table and the picture."""
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(Point.__dataclass_fields__)
        writer.writerows(vars(point).values() for point in points)
    PICTURE.write_text(draw(points), encoding="utf-8")


def chosen(paths: Sequence[Path]) -> list[Path]:
    """Return the first path, the second, the third, the fifth, the ninth and so on, and the last."""
    numbers = {0, len(paths) - 1, *(2**power for power in range(20))}
    return [path for number, path in enumerate(paths) if number in numbers]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how strong the networks of a training are.")
    parser.add_argument("--pairs", type=int, default=20, metavar="N", help="pairs of games a network and bot (20)")
    parser.add_argument("--last-pairs", type=int, default=100, metavar="N", help="those of the last network (100)")
    parser.add_argument("--bots", nargs="+", choices=list(BOTS), default=list(BOTS), help="against these only")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the seed of the openings (1)")
    arguments = parser.parse_args()
    paths = chosen(sorted(CHECKPOINTS.glob("*.npz")))
    if not paths:
        parser.error(f"there is no network in {CHECKPOINTS}; train one with: python self_play.py")
    points: list[Point] = []
    with ProcessPoolExecutor(2) as pool:
        for path in reversed(paths):
            pairs = arguments.last_pairs if path == paths[-1] else arguments.pairs
            for bot in arguments.bots:
                point = measure(path, bot, pairs, arguments.seed, pool.map)
                points.insert(0, point)
                write(points)
    print(f"{TABLE.name} and {PICTURE.name} are in {HERE}")


if __name__ == "__main__":
    main()
