"""Tables for the host's terminal, and the same as plain lines where there is none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from getstep_engines import Game

from .contest import Contest
from .results import Result
from .standings import Standing

PIPE_WIDTH = 200
"""Columns where there is no terminal: enough for the longest name, since no line is broken there."""


def console() -> Console:
    """The host's terminal. Names from outside never are markup, and no line is broken in a pipe."""
    plain = not sys.stdout.isatty()
    width = PIPE_WIDTH if plain else None
    return Console(markup=False, highlight=False, emoji=False, soft_wrap=plain, width=width)


def standings_table(
    contest: Contest, rows: Sequence[Standing], *, title: str | None = None, one_line_each: bool = False
) -> Table:
    """The standings. Where names do not fit they are broken, or cut if a team may have ``one_line_each``."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("team", min_width=8)
    columns = _columns(contest, rows)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        name = Text(contest.team_name(row.team), overflow="ellipsis" if one_line_each else "fold")
        name.no_wrap = one_line_each
        table.add_row(str(row.rank), name, *(show(row) for show in columns.values()))
    return table


def _columns(contest: Contest, rows: Sequence[Standing]) -> dict[str, Callable[[Standing], str]]:
    """What a line of the standings shows, by its heading; of the tie-breaks those that separated anybody."""
    points = ".2f" if contest.scoring.kind == "signed_roots" else "g"
    columns: dict[str, Callable[[Standing], str]] = {
        "played": lambda row: str(row.played),
        "won": lambda row: str(row.won),
        "drawn": lambda row: str(row.drawn),
        "lost": lambda row: str(row.lost),
        "points": lambda row: f"{row.points:{points}}",
        "diff": lambda row: f"{row.difference:+d}",
    }
    if any(row.direct is not None for row in rows):
        columns["direct"] = lambda row: "" if row.direct is None else f"{row.direct:{points}}"
    if any(row.lot is not None for row in rows):
        columns["lot"] = lambda row: "" if row.lot is None else str(row.lot)
    return columns


def result_line(result: Result, names: Callable[[int], str]) -> str:
    """One match in one line: who, result, why, how long; ``names`` gives a team's name."""
    first, second = (names(team) for team in result.match.teams)
    if result.winner is not None:
        who = f"{(first, second)[result.winner]} wins"
    else:
        who = "nobody came" if result.reason == "never_arrived" else "draw"
    why = result.detail if result.reason == "finished" else f"{result.reason}: {result.detail}"
    return f"{first} – {second}: {who} ({why}; {result.turns} turns, {result.seconds:.1f} s)"


def describe_limit(contest: Contest) -> str:
    """The time limit in words, allowance included."""
    return f"{contest.time_control}, and {contest.file.time.lag_ms} ms for lag"


def describe_game(game: Game, options: dict[str, int]) -> str:
    """The game's name with its options."""
    chosen = ", ".join(f"{name} {value}" for name, value in options.items())
    return f"{game.name} ({chosen})" if chosen else game.name
