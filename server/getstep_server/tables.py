"""Tables for the host's terminal, and the same as plain lines where there is none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from getstep_engines import Game

from .combined import Combined, Tables
from .contest import Contest
from .contest_event import ContestEvent
from .results import Result
from .standings import Standing

EVENTS_SHOWN = 8
"""Columns for events in the combined table, so that it fits 80 columns."""

PIPE_WIDTH = 200
"""Columns where there is no terminal: enough for the longest name, since no line is broken there."""


def console() -> Console:
    """The host's terminal. Names from outside never are markup, and no line is broken in a pipe."""
    plain = not sys.stdout.isatty()
    width = PIPE_WIDTH if plain else None
    return Console(markup=False, highlight=False, emoji=False, soft_wrap=plain, width=width)


def all_tables(contest: Contest, tables: Tables, *, title: str) -> list[Table]:
    """Each event's standings, then the combined table if there are several; ``title`` is over the first."""
    if not tables.combined:
        return [standings_table(contest, contest.events[0], tables.events[1], title=title)]
    found = [
        standings_table(contest, event, tables.events[event.number], title=f"\n{event.number}. {event.name}")
        for event in contest.events
    ]
    found[0].title = f"{title}{found[0].title}"
    return [*found, combined_table(contest, tables.combined, title="\nAll events")]


def standings_table(
    contest: Contest,
    event: ContestEvent,
    rows: Sequence[Standing],
    *,
    title: str | None = None,
    one_line_each: bool = False,
) -> Table:
    """An event's standings. Where names do not fit they are broken, or cut if a team may have ``one_line_each``."""
    columns = {heading: [show(row) for row in rows] for heading, show in _columns(event, rows).items()}
    ranks = [(row.rank, contest.team_name(row.team)) for row in rows]
    return _table(ranks, columns, title=title, one_line_each=one_line_each)


def combined_table(
    contest: Contest, rows: Sequence[Combined], *, title: str | None = None, one_line_each: bool = False
) -> Table:
    """The combined table; a column for each event, by its number, as long as there are not too many of them."""
    numbers = [str(event.number) for event in contest.events] if len(contest.events) <= EVENTS_SHOWN else []
    columns = {
        number: [f"{row.shares[number]:.1f}" if number in row.shares else "" for row in rows] for number in numbers
    }
    columns["total"] = [f"{row.total:.1f}" for row in rows]
    columns["firsts"] = [str(row.firsts) for row in rows]
    if any(row.lot is not None for row in rows):
        columns["lot"] = ["" if row.lot is None else str(row.lot) for row in rows]
    ranks = [(row.rank, contest.team_name(row.team)) for row in rows]
    return _table(ranks, columns, title=title, one_line_each=one_line_each)


def _table(
    ranks: Sequence[tuple[int, str]],
    columns: Mapping[str, Sequence[str]],
    *,
    title: str | None,
    one_line_each: bool,
) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("team", min_width=8)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for (rank, team), *cells in zip(ranks, *columns.values(), strict=True):
        name = Text(team, overflow="ellipsis" if one_line_each else "fold")
        name.no_wrap = one_line_each
        table.add_row(str(rank), name, *cells)
    return table


def _columns(event: ContestEvent, rows: Sequence[Standing]) -> dict[str, Callable[[Standing], str]]:
    """What a line of the standings shows, by its heading; of the tie-breaks those that separated anybody."""
    points = {"signed_roots": ".2f", "percentage": ".1f", "points": "g"}[event.scoring.kind]
    columns: dict[str, Callable[[Standing], str]] = {}
    if len({row.place for row in rows}) > 1:
        columns["place"] = lambda row: "" if row.place is None else str(row.place)
    columns |= {
        "played": lambda row: str(row.played),
        "won": lambda row: str(row.won),
        "drawn": lambda row: str(row.drawn),
        "lost": lambda row: str(row.lost),
    }
    if any(row.byes for row in rows):
        columns["byes"] = lambda row: str(row.byes)
    columns["%" if event.scoring.kind == "percentage" else "points"] = lambda row: f"{row.points:{points}}"
    if event.scoring.kind == "percentage":
        first, second = event.game.players
        columns[f"% {first}"] = lambda row: _percentage(row.percentage_as_first)
        columns[f"% {second}"] = lambda row: _percentage(row.percentage_as_second)
    columns["diff"] = lambda row: f"{row.difference:+d}"
    if any(row.direct is not None for row in rows):
        columns["direct"] = lambda row: "" if row.direct is None else f"{row.direct:{points}}"
    if any(row.buchholz is not None for row in rows):
        columns["buchh."] = lambda row: "" if row.buchholz is None else f"{row.buchholz:{points}}"
    if any(row.lot is not None for row in rows):
        columns["lot"] = lambda row: "" if row.lot is None else str(row.lot)
    return columns


def _share(row: Combined, event: str) -> str:
    return f"{row.shares[event]:.1f}" if event in row.shares else ""


def _percentage(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def result_line(result: Result, names: Callable[[int], str]) -> str:
    """One match in one line: who, result, why, how long; ``names`` gives a team's name."""
    first, second = (names(team) for team in result.match.teams)
    if result.winner is not None:
        who = f"{(first, second)[result.winner]} wins"
    else:
        who = "nobody came" if result.reason == "never_arrived" else "draw"
    why = result.detail if result.reason == "finished" else f"{result.reason}: {result.detail}"
    return f"{first} – {second}: {who} ({why}; {result.turns} turns, {result.seconds:.1f} s)"


def describe_event(event: ContestEvent, lag_ms: int) -> str:
    """An event in words: its game, its format, and the time limit, allowance included."""
    named = f"{event.name}: " if event.name != event.game.name else ""
    game = describe_game(event.game, event.options)
    return f"{named}{game}, {event.format.title}, {event.time_control} and {lag_ms} ms for lag"


def describe_game(game: Game, options: dict[str, int]) -> str:
    """The game's name with its options."""
    chosen = ", ".join(f"{name} {value}" for name, value in options.items())
    return f"{game.name} ({chosen})" if chosen else game.name
