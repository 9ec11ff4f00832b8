"""The record of incidents: who did what how often.

Repeats are counted, not kept one by one, so that a flood can fill neither memory nor disk. What is counted here is
one run of the server; the store adds it to the runs before.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from ._text import printable
from .events import Incident
from .limits import INCIDENT_DETAIL_CHARS, INCIDENT_ROWS_OF_STRANGERS, INCIDENT_ROWS_PER_TEAM

OTHERS = "(others)"
"""Code and address of the row that counts whatever found no room for a row of its own."""

Key: TypeAlias = tuple[str, int | None, str]


@dataclass(frozen=True, slots=True)
class IncidentRow:
    """Incidents alike in code, team and address.

    ``incident`` is the first of them, with its detail and its first bytes; ``count`` is at least 1; ``first`` and
    ``last`` are wall-clock times (seconds since the epoch).
    """

    incident: Incident
    count: int
    first: float
    last: float


class IncidentTally:
    """Counts incidents by code, team and address.

    Every team has room for INCIDENT_ROWS_PER_TEAM rows, strangers for INCIDENT_ROWS_OF_STRANGERS together: what
    strangers do leaves no team's rows short. One more row for each counts the rest.

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
        """Count one; returns how many alike there have been."""
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
        """All rows, in the order of their first incident."""
        return self._rows.values()

    def most(self, number: int) -> list[IncidentRow]:
        """The rows with the highest counts, highest first."""
        return heapq.nlargest(number, self._rows.values(), key=lambda row: row.count)

    def take_unsaved(self) -> list[IncidentRow]:
        """What was added since the last call, as rows whose ``count`` is only that."""
        rows = [replace(self._rows[key], count=count) for key, count in self._unsaved.items()]
        self._unsaved.clear()
        return rows

    def put_back(self, rows: Iterable[IncidentRow]) -> None:
        """Undo `take_unsaved`: these could not be saved."""
        for row in rows:
            self._unsaved[_key(row.incident)] += row.count

    def _key_of(self, incident: Incident) -> Key:
        key = _key(incident)
        room = INCIDENT_ROWS_OF_STRANGERS if incident.team is None else INCIDENT_ROWS_PER_TEAM
        if key in self._rows or self._rows_of[incident.team] < room:
            return key
        return (OTHERS, incident.team, OTHERS)

    def _new_row(self, incident: Incident, key: Key, now: float) -> IncidentRow:
        code, team, address = key
        self._rows_of[team] += 1
        detail = printable(incident.detail[:INCIDENT_DETAIL_CHARS])
        return IncidentRow(replace(incident, code=code, address=address, detail=detail), 0, now, now)


def _key(incident: Incident) -> Key:
    return (incident.code, incident.team, incident.address)
