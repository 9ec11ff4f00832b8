"""The incidents of a contest as a table and as JSON lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from getstep_server.config.contest import Contest
from getstep_server.incident import IncidentRow
from getstep_server.text import escape_control_chars, local_minute, utc_time

WIDTH = 80


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


def incidents_table(contest: Contest, rows: Iterable[IncidentRow], width: int) -> Table:
    """Return a table of at most ``width`` and 80 columns; longer cells are wrapped."""
    table = Table(box=None, pad_edge=False, width=min(width, WIDTH))
    table.add_column("team, address", overflow="fold", max_width=24)
    table.add_column("count", justify="right", no_wrap=True)
    table.add_column("first, last", no_wrap=True)
    table.add_column("what", overflow="fold", ratio=1)
    for row in rows:
        incident = row.incident
        who = [] if incident.team is None else [contest.team_name(incident.team)]
        what = f"{incident.code}: {incident.detail}"
        table.add_row(_cell(*who, incident.address), str(row.count), _cell(*_times(row)), _cell(what))
    return table


def _cell(*lines: str) -> Text:
    return Text("\n".join(map(escape_control_chars, lines)))


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
