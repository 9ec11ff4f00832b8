"""Tables for the host's terminal, and the same as plain lines where there is none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from rich.console import Console

from getstep_engines import Game

from ._text import counted
from .combined import Combined, Tables
from .contest import Contest
from .contest_event import ContestEvent
from .ratings import REPLICATES, UNSURE, Estimate, Ratings, ratings_of
from .results import ROUND_LOST, Result
from .standings import Standing, separating
from .text_table import Column, TextTable
from .tournament import Tournament

EVENTS_SHOWN = 8
"""Columns for events in the combined table, so that it fits 80 columns."""

PIPE_WIDTH = 200
"""Columns where there is no terminal: enough for the longest name, since no line is broken there."""


def console() -> Console:
    """The host's terminal. Names from outside never are markup, and no line is broken in a pipe."""
    plain = not sys.stdout.isatty()
    width = PIPE_WIDTH if plain else None
    return Console(markup=False, highlight=False, emoji=False, soft_wrap=plain, width=width)


def all_tables(contest: Contest, tables: Tables, *, title: str) -> list[TextTable]:
    """Each event's standings, then the combined table if there are several; ``title`` is over the first."""
    if not tables.combined:
        return [standings_table(contest, contest.events[0], tables.events[1], title=title)]
    titles = [f"\n{event.number}. {event.name}" for event in contest.events]
    titles[0] = f"{title}{titles[0]}"
    found = [
        standings_table(contest, event, tables.events[event.number], title=over)
        for event, over in zip(contest.events, titles, strict=True)
    ]
    return [*found, combined_table(contest, tables.combined, title="\nAll events")]


def standings_table(
    contest: Contest,
    event: ContestEvent,
    rows: Sequence[Standing],
    *,
    title: str | None = None,
    elo: Mapping[int, float] | None = None,
) -> TextTable:
    """An event's standings, with each tie-break as a column, and their order under it.

    Where there is no room, columns of tie-breaks that have separated nobody are left out, but for matches won and
    the difference. Ratings by team, ``elo``, are a column more.
    """
    columns = [*team_columns(contest, rows), *_columns(event, rows)]
    if elo:
        columns.append(Column("Elo", [_elo(elo[row.team]) if row.team in elo else "" for row in rows]))
    criteria = ["place"] if _ranked(rows) else []
    criteria += [points_column(event, ()).heading, *(_HEADINGS.get(name, name) for name in event.tie_breaks), "lot"]
    return TextTable(columns, title, [f"Order: {', '.join(criteria)}."], why_spare="separates nobody")


def combined_table(
    contest: Contest, rows: Sequence[Combined], *, title: str | None = None, named: bool = False
) -> TextTable:
    """The combined table; a column for each event, by its number, as long as there are not too many of them.

    Where there is room for all of them they are ``named``.
    """
    events = contest.events if named or len(contest.events) <= EVENTS_SHOWN else ()
    headings = {str(event.number): event.name if named else str(event.number) for event in events}
    columns = [Column(heading, [_share(row, number) for row in rows]) for number, heading in headings.items()]
    columns.append(Column("total", [f"{row.total:.1f}" for row in rows]))
    columns.append(Column("firsts", [str(row.firsts) for row in rows]))
    if any(row.lot is not None for row in rows):
        columns.append(Column("lot", [_or_empty(row.lot) for row in rows]))
    return TextTable([*team_columns(contest, rows), *columns], title, ["Order: total, firsts, lot."])


def ratings_table(tournament: Tournament, event: ContestEvent, *, title: str | None = None) -> TextTable:
    """An event's ratings, how sure they are, and who the games have not told apart."""
    names = {row.team: name_with_status(tournament.contest, row) for row in tournament.table(event)}
    ratings = ratings_of(tournament, event)
    table, leads = ratings.table, ratings.leads()
    columns = [
        Column("#", [str(rank) for rank in range(1, len(table) + 1)]),
        Column("team", [names[rating.team] for rating in table], names=True, justify="left"),
        Column("games", [str(rating.games) for rating in table]),
        Column("Elo", ["" if rating.elo is None else _elo(rating.elo.value) for rating in table]),
        Column("95 % interval", ["" if rating.elo is None else _interval(rating.elo) for rating in table]),
        Column("stronger", ["" if lead is None else likelihood_text(lead) for lead in leads]),
        Column("than the next", _marks(ratings), "", justify="left"),
    ]
    return TextTable(columns, title, list(_ratings_notes(ratings)))


def in_lines(table: TextTable) -> TextTable:
    """The same with a line for each team, and none under it."""
    return replace(table, notes=(), why_spare="", one_line_each=True)


def team_columns(contest: Contest, rows: Sequence[Standing] | Sequence[Combined]) -> list[Column]:
    """How every table begins."""
    names = [name_with_status(contest, row) for row in rows]
    return [Column("#", [str(row.rank) for row in rows]), Column("team", names, names=True, justify="left")]


def name_with_status(contest: Contest, row: Standing | Combined) -> str:
    """A team's name as a table has it, with what has become of the team."""
    name = contest.team_name(row.team)
    return f"{name} ({row.status})" if row.status else name


_HEADINGS = {"difference": "diff", "buchholz": "Buchholz"}
"""Of criteria, where it is not their name."""


def _ranked(rows: Sequence[Standing]) -> bool:
    """Whether the format itself ranks."""
    return len({row.place for row in rows}) > 1


def points_column(event: ContestEvent, rows: Sequence[Standing]) -> Column:
    """The points, as the event's scoring has them."""
    heading = "%" if event.scoring.kind == "percentage" else "points"
    return Column(heading, [f"{row.points:{_POINTS[event.scoring.kind]}}" for row in rows])


_POINTS = {"signed_roots": ".2f", "percentage": ".1f", "points": "g"}
"""How points are written, by the kind of scoring."""


def _columns(event: ContestEvent, rows: Sequence[Standing]) -> list[Column]:
    """What a line of the standings shows."""
    columns = [Column("place", [_or_empty(row.place) for row in rows], "pl.")] if _ranked(rows) else []
    for heading, short in (("played", "P"), ("won", "W"), ("drawn", "D"), ("lost", "L")):
        columns.append(Column(heading, [str(getattr(row, heading)) for row in rows], short))
    if any(row.byes for row in rows):
        columns.append(Column("byes", [str(row.byes) for row in rows], "B"))
    columns.append(points_column(event, rows))
    if event.scoring.kind == "percentage":
        columns += _percentages(event, rows)
    columns.append(Column("diff", [f"{row.difference:+d}" for row in rows]))
    columns += _tie_breaks(event, rows)
    if any(row.lot is not None for row in rows):
        columns.append(Column("lot", [_or_empty(row.lot) for row in rows]))
    return columns


def _percentages(event: ContestEvent, rows: Sequence[Standing]) -> list[Column]:
    first, second = event.game.players
    return [
        Column(f"% {first}", [_percentage(row.percentage_as_first) for row in rows], "% 1st"),
        Column(f"% {second}", [_percentage(row.percentage_as_second) for row in rows], "% 2nd"),
    ]


def _tie_breaks(event: ContestEvent, rows: Sequence[Standing]) -> list[Column]:
    """Those in points, in the order of the event; spare if they have separated nobody."""
    needed, points = separating(rows, event.tie_breaks), _POINTS[event.scoring.kind]
    columns = []
    for name in event.tie_breaks:
        if name in ("direct", "buchholz"):
            cells = ["" if (value := getattr(row, name)) is None else f"{value:{points}}" for row in rows]
            columns.append(Column(_HEADINGS.get(name, name), cells, name[:3] + ".", spare=name not in needed))
    return columns


def _interval(elo: Estimate) -> str:
    return f"{_elo(elo.low)} to {_elo(elo.high)}"


def _elo(value: float) -> str:
    return f"{round(value):+d}"


def likelihood_text(value: float) -> str:
    """A likelihood of 0.5 or more as it is shown: never a certainty."""
    return "> 99 %" if value > 0.99 else f"{100 * value:.0f} %"


def _marks(ratings: Ratings) -> list[str]:
    """Whether the games have told each team from the next."""
    marks = []
    for place, lead in enumerate(ratings.leads()):
        if lead is not None:
            marks.append("not separable" if UNSURE[0] < lead < UNSURE[1] else "")
        else:
            pair = ratings.table[place : place + 2]
            marks.append("not comparable" if len(pair) == 2 and all(one.games for one in pair) else "")
    return marks


def _ratings_notes(ratings: Ratings) -> Iterator[str]:
    if ratings.advantage is None or ratings.draw is None:
        yield "Nobody has a rating before the first match with a turn."
        return
    marks, advantage, draw = _marks(ratings), ratings.advantage, ratings.draw
    if "not separable" in marks:
        yield "Not separable: between 5 and 95 %, the matches do not say which is stronger."
    if "not comparable" in marks:
        yield "Not comparable: no chain of matches connects the two."
    yield f"First player's advantage: {_elo(advantage.value)} Elo, 95 % interval {_interval(advantage)}."
    ends = f"{100 * draw.low:.1f} to {100 * draw.high:.1f} %"
    yield f"A draw between equals: {100 * draw.value:.1f} %, 95 % interval {ends}."
    if ratings.replicates < REPLICATES:
        teams = len(ratings.table)
        yield f"With {teams} teams the intervals are of {ratings.replicates} replicates, not of {REPLICATES}."


def _share(row: Combined, event: str) -> str:
    return f"{row.shares[event]:.1f}" if event in row.shares else ""


def _percentage(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _or_empty(value: int | None) -> str:
    return "" if value is None else str(value)


def result_line(result: Result, names: Callable[[int], str]) -> str:
    """One match in one line: its number, who, result, why, how long; ``names`` gives a team's name.

    The number stands first because a line may be cut off at its end, and who corrects a match has to give it.
    """
    first, second = (names(team) for team in result.match.teams)
    why = result.detail if result.reason == "finished" else f"{result.reason}: {result.detail}"
    length = f"{counted(result.turns, 'turn')}, {result.seconds:.1f} s"
    return f"#{result.match.number} {first} – {second}: {winner_text(result, names)} ({why}; {length})"


def winner_text(result: Result, names: Callable[[int], str]) -> str:
    """Who won a match, as `result_line` says it."""
    if result.winner is not None:
        return f"{names(result.match.teams[result.winner])} wins"
    return {"never_arrived": "nobody came", ROUND_LOST: "both lose"}.get(result.reason, "draw")


def describe_event(event: ContestEvent, lag_ms: int) -> str:
    """An event in words: its game, its format, and the time limit, allowance included."""
    named = f"{event.name}: " if event.name != event.game.name else ""
    game = describe_game(event.game, event.options)
    return f"{named}{game}, {event.format.title}, {event.time_control} and {lag_ms} ms for lag"


def describe_game(game: Game, options: dict[str, int]) -> str:
    """The game's name with its options."""
    chosen = ", ".join(f"{name} {value}" for name, value in options.items())
    return f"{game.name} ({chosen})" if chosen else game.name
