"""Incidents: traffic that broke the protocol or was refused, as the database of a contest counts it.

They are here and not in `events`, because `standings` reads the database, and the classes of all events take 20 ms
of CPU time to define.
"""

from __future__ import annotations

from msgspec import Struct


class Incident(Struct, frozen=True):
    """Hostile or refused traffic. ``team`` is None before a valid login; ``first_bytes`` are hexadecimal.

    ``match`` is the number of the match that is played over the connection, if there is one.
    """

    code: str
    detail: str
    address: str
    team: int | None
    first_bytes: str
    match: int | None = None


class IncidentRow(Struct, frozen=True):
    """Incidents alike in code, team and address.

    ``incident`` is the first of them, with its detail and its first bytes; ``count`` is at least 1; ``first`` and
    ``last`` are wall-clock times (seconds since the epoch).
    """

    incident: Incident
    count: int
    first: float
    last: float
