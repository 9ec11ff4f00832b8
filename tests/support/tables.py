"""Tables of made up results, as the lines that are shown."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import combinations
from random import Random

from rich.cells import cell_len
from rich.console import Console, RenderableType

from getstep_engines import Player
from getstep_server.config.contest import Contest
from getstep_server.records.match import Match
from getstep_server.records.result import Result

WIDE = "寿限無寿限無五劫の擦り切れ海砂利水魚の水行末雲来末風来末"
NAMES = {
    "short": [f"Team {n}" for n in range(1, 41)],
    "long": [f"Die außerordentlich lange Mannschaft aus dem letzten Winkel {n}" for n in range(1, 41)],
    "unbroken": [f"{'x' * 60}{n}" for n in range(1, 41)],
    "wide": [f"{WIDE}{n}" for n in range(1, 41)],
    "emoji": [f"🦘🏆🚀❤️é̀ {n}" for n in range(1, 41)],
}


def shown(*tables: RenderableType, width: int = 80) -> list[str]:
    """Return the lines of tables on a terminal."""
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
    for table in tables:
        console.print(table)
    return file.getvalue().splitlines()


def widest(lines: Sequence[str]) -> int:
    return max(cell_len(line.rstrip()) for line in lines)


def played(contest: Contest, *, legs: int = 4) -> list[Result]:
    """Everybody against everybody, often, with high scores: wide columns."""
    rng, game = Random(1), contest.events[0].game.name
    winners: list[Player | None] = [0, 1, None]
    pairs = [pair for pair in combinations(contest.teams, 2) for _ in range(legs)]
    return [
        Result(
            match=Match(number, 1, number, 1, *(pair if number % 2 else pair[::-1]), game),
            winner=(winner := rng.choice(winners)),
            reason="finished",
            detail="",
            scores={0: (1900, 2), 1: (2, 1900), None: (3, 3)}[winner],
            turns=9,
            thought=(0.5, 0.25),
            faults=(0, 0),
            started=1.7e9,
            seconds=1.0,
        )
        for number, pair in enumerate(pairs, start=1)
    ]


SCORINGS = ["points", "signed_roots", "percentage"]
