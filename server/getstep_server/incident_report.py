"""The record of incidents as the host reads it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from ._text import local_minute, printable, utc_time
from .contest import Contest
from .incidents import IncidentRow

WIDTH = 80


def by_culprit(rows: Iterable[IncidentRow]) -> list[IncidentRow]:
    """Known teams first, then strangers by address; the busiest first, and of each its most frequent rows."""
    rows = list(rows)
    totals: Counter[tuple[int | None, str]] = Counter()
    for row in rows:
        totals[_culprit(row)] += row.count

    def place(row: IncidentRow) -> tuple[object, ...]:
        team, address = _culprit(row)
        incident = row.incident
        return (team is None, -totals[team, address], team, address, -row.count, incident.code, incident.address)

    return sorted(rows, key=place)


def _culprit(row: IncidentRow) -> tuple[int | None, str]:
    """A team, wherever it plays from, or a stranger's address."""
    team = row.incident.team
    return (None, row.incident.address) if team is None else (team, "")


def incidents_table(contest: Contest, rows: Iterable[IncidentRow], width: int) -> Table:
    """A table that fits ``width`` columns, 80 at most; what is too long goes on in the next line."""
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
    return Text("\n".join(map(printable, lines)))


def _times(row: IncidentRow) -> list[str]:
    """In the host's own time, to the minute."""
    return list(dict.fromkeys(map(local_minute, (row.first, row.last))))


def as_json(contest: Contest, row: IncidentRow) -> str:
    """One row as a line of JSON in ASCII; times in UTC."""
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
