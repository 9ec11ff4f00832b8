"""The incidents of a contest as a table and as JSON lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from getstep_server.config.contest import Contest
from getstep_server.incident import IncidentRow
from getstep_server.text import escape_control_chars, local_minute, utc_time

from .text_table import Column, TextTable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

WIDTH = 80
"""The most columns of the table on a terminal: wider lines are hard to read."""


def sorted_by_sender(rows: Iterable[IncidentRow]) -> list[IncidentRow]:
    """Return the rows of teams, then those of unauthenticated addresses.

    In each part the sender with the most incidents is first, and of a sender its most frequent incident.
    """
    rows = list(rows)
    totals: Counter[tuple[int | None, str]] = Counter()
    for row in rows:
        totals[_sender(row)] += row.count

    def place(row: IncidentRow) -> tuple[object, ...]:
        team, address = _sender(row)
        incident = row.incident
        return (team is None, -totals[team, address], team, address, -row.count, incident.code, incident.address)

    return sorted(rows, key=place)


def _sender(row: IncidentRow) -> tuple[int | None, str]:
    """Return a team without its address, or the address of an unauthenticated connection."""
    team = row.incident.team
    return (None, row.incident.address) if team is None else (team, "")


class IncidentsView(Struct, frozen=True):
    """Incidents as a table of at most 80 columns on a terminal, where long cells are wrapped."""

    contest: Contest
    rows: Sequence[IncidentRow]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, width=min(options.max_width, WIDTH))
        # an IPv6 address takes two lines of 24 cells
        table.add_column("team, address", overflow="fold", max_width=24)
        table.add_column("count", justify="right", no_wrap=True)
        table.add_column("first, last", no_wrap=True)
        table.add_column("what", overflow="fold", ratio=1)
        for row in self.rows:
            cells = "\n".join(self._who(row)), str(row.count), "\n".join(_times(row)), _what(row)
            table.add_row(*map(Text, cells))
        yield table

    def plain(self) -> str:
        """Return the table as plain lines, one for each row."""
        columns = [
            Column("team, address", [", ".join(self._who(row)) for row in self.rows], justify="left"),
            Column("count", [str(row.count) for row in self.rows]),
            Column("first, last", [", ".join(_times(row)) for row in self.rows], justify="left"),
            Column("what", [_what(row) for row in self.rows], justify="left"),
        ]
        return TextTable(columns).plain()

    def _who(self, row: IncidentRow) -> list[str]:
        incident = row.incident
        team = [] if incident.team is None else [self.contest.team_name(incident.team)]
        return [escape_control_chars(part) for part in (*team, incident.address)]


def _what(row: IncidentRow) -> str:
    return escape_control_chars(f"{row.incident.code}: {row.incident.detail}")


def _times(row: IncidentRow) -> list[str]:
    """Return the first and the last time in the host's time zone, to the minute; one if they are the same."""
    return list(dict.fromkeys(map(local_minute, (row.first, row.last))))


def incident_as_json(contest: Contest, row: IncidentRow) -> str:
    """Return a row as a line of JSON in ASCII, with times in UTC."""
    incident = row.incident
    fields = {
        "team": incident.team,
        "name": None if incident.team is None else contest.team_name(incident.team),
        "address": incident.address,
        "code": incident.code,
        "count": row.count,
        "first": utc_time(row.first),
        "last": utc_time(row.last),
        "detail": incident.detail,
        "first_bytes": incident.first_bytes,
    }
    return json.dumps(fields)
