"""Incident counts: hostile and refused traffic by code, team and address.

Repeats are counted and not kept, so that a flood can fill neither memory nor disk. The counts are those of one run;
the store adds them to those of earlier runs.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec.structs import replace

from getstep_server.incident import Incident, IncidentRow
from getstep_server.limits import INCIDENT_DETAIL_CHARS, INCIDENT_ROWS_PER_TEAM, UNAUTHENTICATED_INCIDENT_ROWS
from getstep_server.text import escape_control_chars

OTHERS = "(others)"
"""Code and address of the row that counts all incidents that exceed the limit of rows."""

Key: TypeAlias = tuple[str, int | None, str]


class IncidentTally:
    """Counts incidents by code, team and address.

    Each team has at most INCIDENT_ROWS_PER_TEAM rows. All unauthenticated connections together have at most
    UNAUTHENTICATED_INCIDENT_ROWS, so that they cannot use up a team's rows. One more row for each counts the rest.

    Args:
        clock: wall-clock time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.total = 0
        self._clock = clock
        self._rows: dict[Key, IncidentRow] = {}
        self._rows_of: Counter[int | None] = Counter()
        self._unsaved: Counter[Key] = Counter()

    def add(self, incident: Incident) -> int:
        """Count an incident, and return how many of its kind were counted until now."""
        now = self._clock()
        key = self._key_of(incident)
        row = self._rows.get(key)
        if row is None:
            row = self._new_row(incident, key, now)
        row = self._rows[key] = IncidentRow(row.incident, row.count + 1, row.first, now)
        self._unsaved[key] += 1
        self.total += 1
        return row.count

    def rows(self) -> Iterable[IncidentRow]:
        """Return all rows, in the order of their first incident."""
        return self._rows.values()

    def top(self, number: int) -> list[IncidentRow]:
        """Return the rows with the highest counts, highest first."""
        return heapq.nlargest(number, self._rows.values(), key=lambda row: row.count)

    def take_unsaved(self) -> list[IncidentRow]:
        """Return the incidents since the last call, as rows with only those in their ``count``."""
        rows = [replace(self._rows[key], count=count) for key, count in self._unsaved.items()]
        self._unsaved.clear()
        return rows

    def put_back(self, rows: Iterable[IncidentRow]) -> None:
        """Undo `take_unsaved` for rows that could not be saved."""
        for row in rows:
            self._unsaved[_key(row.incident)] += row.count

    def _key_of(self, incident: Incident) -> Key:
        key = _key(incident)
        room = UNAUTHENTICATED_INCIDENT_ROWS if incident.team is None else INCIDENT_ROWS_PER_TEAM
        if key in self._rows or self._rows_of[incident.team] < room:
            return key
        return (OTHERS, incident.team, OTHERS)

    def _new_row(self, incident: Incident, key: Key, now: float) -> IncidentRow:
        code, team, address = key
        self._rows_of[team] += 1
        detail = escape_control_chars(incident.detail[:INCIDENT_DETAIL_CHARS])
        return IncidentRow(replace(incident, code=code, address=address, detail=detail), 0, now, now)


def _key(incident: Incident) -> Key:
    return (incident.code, incident.team, incident.address)
