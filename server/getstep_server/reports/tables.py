"""Standings and results for people: on a terminal, as plain lines in a pipe, and in the report."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent
from getstep_server.formats import Rating
from getstep_server.records.reasons import Reason
from getstep_server.records.result import Result, winner_text
from getstep_server.text import cell_len, pluralize
from getstep_server.tournament.combined import Combined, Tables, as_shown
from getstep_server.tournament.estimate import Estimate
from getstep_server.tournament.standings import Standing, separating

from .text_table import NAME_LEAST, Column, TextTable, truncate_middle

EVENTS_SHOWN = 8
"""Events that have a column each in the combined table; with more, it would not fit 80 terminal columns."""

HEADING_CELLS, HEADING_LINES = 8, 2
"""Terminal cells and lines of an event's name above its column, so that five events fit 80 columns."""

PIPE_WIDTH = 200
"""Terminal columns to assume for a pipe: enough for the longest name, so that no line is broken."""


def all_tables(contest: Contest, tables: Tables, *, title: str) -> list[TextTable]:
    """Return each event's standings, then the combined table if there are several events.

    ``title`` stands above the first one.
    """
    if not tables.combined:
        return [standings_table(contest, contest.events[0], tables.events[1], title=title)]
    titles = [f"\n{event.number}. {event.heading}" for event in contest.events]
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
    elo: Mapping[int, Estimate] | None = None,
) -> TextTable:
    """Return an event's standings: a column for each tie-break, and a note with the order of the criteria.

    A tie-break that has separated no teams may be left out for lack of room, except wins and the score difference.

    Args:
        contest: for the names.
        event: for the scoring and the tie-breaks.
        rows: the standings.
        title: above the table.
        elo: a rating for each team, as two further columns; without room for the interval there is neither.
    """
    rows = as_shown(rows)
    columns = [*team_columns(contest, rows), *_columns(event, rows)]
    if elo:
        columns += _elo_columns(rows, elo)
    criteria = ["rating"] if event.format.rates else ["place"] if _ranked(rows) else []
    criteria += [points_column(event, ()).heading, *(_CRITERIA.get(name, name) for name in event.tie_breaks), "lot"]
    notes = [f"Order: {', '.join(criteria)}."]
    if event.format.bosses:
        notes.append("League: the number of bosses that a team is above.")
    return TextTable(columns, title, notes, why_spare="separates no teams")


def combined_table(
    contest: Contest, rows: Sequence[Combined], *, title: str | None = None, every: bool = False
) -> TextTable:
    """Return the combined table.

    It has a column for each event, headed by its name, if there are at most EVENTS_SHOWN, or if ``every`` is True.
    """
    rows = as_shown(rows)
    events = contest.events if every or len(contest.events) <= EVENTS_SHOWN else ()
    columns = [
        Column(
            event.heading,
            [_share(row, str(event.number)) for row in rows],
            folded_heading(event.heading),
            str(event.number),
        )
        for event in events
    ]
    columns.append(Column("total", [f"{row.total:.1f}" for row in rows]))
    columns.append(Column("firsts", [str(row.firsts) for row in rows], "1st"))
    lots = [None if row.waiting else row.lot for row in rows]
    if any(lot is not None for lot in lots):
        columns.append(Column("lot", list(map(_or_empty, lots))))
    key = ", ".join(f"{event.number} {event.heading}" for event in events)
    notes = ["Order: total, firsts, lot."]
    return TextTable([*team_columns(contest, rows), *columns], title, notes, key=f"Events: {key}." if key else "")


def folded_heading(name: str) -> str:
    """Return an event's name in at most HEADING_LINES lines of HEADING_CELLS cells, for a narrow terminal."""
    lines = [""]
    for part in re.split(r"(?<=[ _-])", name):
        if lines[-1] and cell_len(lines[-1] + part.rstrip()) > HEADING_CELLS:
            lines.append("")
        lines[-1] += part
    lines[HEADING_LINES - 1 :] = ["".join(lines[HEADING_LINES - 1 :])]
    return "\n".join(truncate_middle(line.strip(), HEADING_CELLS) for line in lines if line.strip())


def one_line_per_team(table: TextTable) -> TextTable:
    """Return the table with one line for each team, and without notes."""
    return replace(table, notes=(), key="", why_spare="", one_line_each=True)


def team_columns(contest: Contest, rows: Sequence[Standing] | Sequence[Combined]) -> list[Column]:
    """Return the first columns of every table: the rank and the team."""
    names = [name_with_status(contest, row) for row in rows]
    return [Column("#", list(map(rank_text, rows))), Column("team", names, names=True, justify="left")]


def rank_text(row: Standing | Combined) -> str:
    """Return a team's rank; a dash until its first result."""
    return "-" if row.waiting else str(row.rank)


def name_with_status(contest: Contest, row: Standing | Combined) -> str:
    """Return a team's name, and its status if it has withdrawn or is disqualified."""
    name = contest.team_name(row.team)
    return f"{name} ({row.status})" if row.status else name


_HEADINGS = {"difference": "diff", "direct": "DE", "buchholz": "Buchholz"}
"""Column headings of tie-breaks, where they differ from the name of the setting; DE is FIDE's direct encounter."""

_SHORT = {"buchholz": "buc."}
"""The same for narrow terminals."""

_CRITERIA = {**_HEADINGS, "direct": "direct encounter (DE)"}
"""Tie-breaks in the note under the table."""


def _ranked(rows: Sequence[Standing]) -> bool:
    """Return True if the format itself ranks the teams."""
    return len({row.place for row in rows}) > 1


def points_column(event: ContestEvent, rows: Sequence[Standing]) -> Column:
    """Return the column of points, written as the event's scoring requires."""
    heading = "%" if event.scoring.kind == "percentage" else "points"
    return Column(heading, [f"{row.points:{_POINTS[event.scoring.kind]}}" for row in rows])


_POINTS = {"signed_roots": ".2f", "percentage": ".1f", "points": "g"}
"""The formats of points, by the kind of scoring."""


def _columns(event: ContestEvent, rows: Sequence[Standing]) -> list[Column]:
    columns = []
    if event.format.rates:
        columns.append(Column("rating", ["" if row.rating is None else rating_text(row.rating) for row in rows]))
        if event.format.bosses:
            columns.append(Column("league", [_league(event, row) for row in rows]))
    elif _ranked(rows):
        columns.append(Column("place", [_or_empty(row.place) for row in rows], "pl."))
    for heading, short in (("played", "P"), ("won", "W"), ("drawn", "D"), ("lost", "L")):
        columns.append(Column(heading, [str(getattr(row, heading)) for row in rows], short))
    if any(row.byes for row in rows):
        columns.append(Column("byes", [str(row.byes) for row in rows], "B"))
    columns.append(points_column(event, rows))
    if event.scoring.kind == "percentage":
        columns += _percentages(event, rows)
    columns.append(Column("diff", [f"{row.difference:+d}" for row in rows]))
    columns += _tie_breaks(event, rows)
    lots = [None if row.waiting else row.lot for row in rows]
    if any(lot is not None for lot in lots):
        columns.append(Column("lot", list(map(_or_empty, lots))))
    return columns


def _league(event: ContestEvent, row: Standing) -> str:
    boss = event.format.bosses.get(row.team)
    return _or_empty(row.league) if boss is None else f"boss {boss}"


def _percentages(event: ContestEvent, rows: Sequence[Standing]) -> list[Column]:
    first, second = event.game.players
    return [
        Column(f"% {first}", [_percentage(row.percentage_as_first) for row in rows], "% 1st"),
        Column(f"% {second}", [_percentage(row.percentage_as_second) for row in rows], "% 2nd"),
    ]


def _tie_breaks(event: ContestEvent, rows: Sequence[Standing]) -> list[Column]:
    """Return the tie-breaks that are in points, in the event's order; spare if they have separated no teams."""
    needed, points = separating(rows, event.tie_breaks), _POINTS[event.scoring.kind]
    columns = []
    for name in event.tie_breaks:
        if name in ("direct", "buchholz"):
            cells = ["" if (value := getattr(row, name)) is None else f"{value:{points}}" for row in rows]
            columns.append(Column(_HEADINGS[name], cells, _SHORT.get(name, ""), spare=name not in needed))
    return columns


def _elo_columns(rows: Sequence[Standing], elo: Mapping[int, Estimate]) -> list[Column]:
    """Return the ratings and their intervals; spare, because a rating alone claims more than it knows."""
    found = [elo.get(row.team) for row in rows]
    return [
        Column("Elo", ["" if one is None else elo_text(one.value) for one in found], spare=True),
        Column("95 % interval", ["" if one is None else interval_text(one) for one in found], "95 %", spare=True),
    ]


def rating_text(rating: Rating) -> str:
    """Return a format's rating with its margin, such as "1612 ± 100"."""
    return f"{rating.value:.0f} ± {rating.margin:.0f}"


def interval_text(elo: Estimate) -> str:
    """Return the interval of a rating, such as "-30 to +270"."""
    return f"{elo_text(elo.low)} to {elo_text(elo.high)}"


def elo_text(value: float) -> str:
    """Return a rating as a whole number with its sign."""
    return f"{round(value):+d}"


def _share(row: Combined, event: str) -> str:
    return f"{row.shares[event]:.1f}" if event in row.shares else ""


def _percentage(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _or_empty(value: int | None) -> str:
    return "" if value is None else str(value)


def result_line(result: Result, names: Callable[[int], str]) -> str:
    """Return a match in one line: number, teams, result, reason, length.

    The number comes first: the end of a line may be cut off, and a host needs the number to correct a match.

    Args:
        result: of the match.
        names: returns a team's name.
    """
    first, second = (names(team) for team in result.match.teams)
    length = f"{pluralize(result.turns, 'turn')}, {result.seconds:.1f} s"
    winner = winner_text(result, names)
    return f"#{result.match.number} {first} – {second}: {winner} ({_reason(result)}; {length})"


def brief_result_line(result: Result, names: Callable[[int], str], cells: int, name_cells: int) -> str:
    """Return a match in one line, such as "#7 Ada 1–0 Blaise (Black has 6 pieces home)".

    Each team is named once, and long names are shortened before the reason is: a host can look up a name by the
    number. If the line is longer than ``cells`` even so, names keep ``name_cells``.

    Args:
        result: of the match.
        names: returns a team's name.
        cells: room for the line.
        name_cells: the most that a name takes.
    """
    number, middle, end = f"#{result.match.number} ", f" {score_text(result)} ", f" ({_reason(result)})"
    first, second = (truncate_middle(names(team), name_cells) for team in result.match.teams)
    room = cells - sum(map(cell_len, (number, middle, end)))
    if room >= 2 * NAME_LEAST:
        first, second = name_beside(first, second, room), name_beside(second, first, room)
    return f"{number}{first}{middle}{second}{end}"


def name_beside(name: str, other: str, room: int) -> str:
    """Return ``name`` so that both names fit ``room``: it has half of it, or all that the other one leaves."""
    return truncate_middle(name, max(NAME_LEAST, room // 2, room - cell_len(other)))


def score_text(result: Result) -> str:
    """Return the result of a match as chess and sports write it; the first player's side comes first."""
    if result.winner is not None:
        return ("1–0", "0–1")[result.winner]
    return "0–0" if result.outcome_for(0) == "loss" else "½–½"


def _reason(result: Result) -> str:
    return result.detail if result.reason == Reason.FINISHED else f"{result.reason}: {result.detail}"
