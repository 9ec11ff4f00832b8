"""How often estimates of both bots would have ended a game with the wrong result, and how many turns that saves.

``python -m benchmarks.agreement [--count N] [GAME ...]`` plays games of the sample bot mcts against
itself, each two from a position of the balanced book, to their end. Then it asks each of `RULES` when it would have
ended each of these games, and compares. The same games serve all rules. It prints a table.

Games of another package have no book here: they begin with four random moves.

A busy computer makes mcts play worse, and changes nothing else.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import getstep
from getstep.adjudication import AgreementCheck
from getstep.local_matches.results import recorded_turn
from getstep.openings import BALANCED, BookError, find_book
from getstep.referee import Agreement
from getstep.sprt import share_text
from getstep_engines import GAMES

GAMES_BY_DEFAULT = ("hop", "linkage", "longest_path", "pseudo_tonga", "chain_reaction")
RULES = tuple(Agreement(resign, agree=agree) for resign in (0.2, 0.5, 0.8, 0.95) for agree in (3, 6)) + tuple(
    Agreement(draw=draw, agree=6, draw_from=20) for draw in (0.02, 0.05, 0.1)
)
LIMITS = {"move": 0.25, "budget": 2.0}
"""Seconds, by the kind of limit: mcts then thinks for 50 ms, so that 100 games take some minutes."""

AT_ONCE = 10
"""Games that a process plays."""


def counted(game: str, games: int, seed: int) -> list[AgreementCheck]:
    """Play games, and return the check of each rule."""
    rules = GAMES[game]
    results = getstep.practice(
        "mcts",
        game,
        "mcts",
        games,
        limit=LIMITS[rules.time_control.kind],
        seed=seed,
        openings=_book(game),
        quiet=True,
    )
    checks = [AgreementCheck(rule) for rule in RULES]
    for match in results.matches:
        for check in checks:
            if match.outcome is not None:
                check.add(map(recorded_turn, match.turns), match.outcome.winner)
    return checks


def _book(game: str) -> str | int:
    try:
        find_book(BALANCED, GAMES[game], {}, "", Path())
    except BookError:
        return 4
    return BALANCED


def table(games: Sequence[str], count: int) -> list[str]:
    """Return the table's lines in Markdown."""
    tasks = [(game, min(AT_ONCE, count - first), first) for game in games for first in range(0, count, AT_ONCE)]
    lines = ["| game | rule | ended early | turns saved | wrong |", "|---|---|--:|--:|---|"]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(counted, *zip(*tasks, strict=True)))
    for game in games:
        parts = [checks for checks, task in zip(found, tasks, strict=True) if task[0] == game]
        for rule, checks in zip(RULES, zip(*parts, strict=True), strict=True):
            kind = "drawn" if rule.resign is None else "won"
            matches, ended, wrong = (
                sum(getattr(check, name) for check in checks) for name in ("matches", kind, f"{kind}_wrongly")
            )
            saved = sum(check.turns_saved for check in checks) / sum(check.turns for check in checks)
            share = f"{wrong} ({share_text(wrong, ended)})" if ended else "–"
            drawn = f"--draw {rule.draw:g} --draw-from {rule.draw_from}" if rule.draw is not None else ""
            words = drawn or f"--resign {rule.resign:g}"
            lines.append(
                f"| {game} | `{words} --agree {rule.agree}` | {ended} of {matches} | {saved:.0%} | {share} |"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", metavar="GAME", default=GAMES_BY_DEFAULT)
    parser.add_argument("--count", type=int, default=100, metavar="N", help="games of each game (default: 100)")
    args = parser.parse_args()
    print("\n".join(table(args.games, args.count)))


if __name__ == "__main__":
    main()
