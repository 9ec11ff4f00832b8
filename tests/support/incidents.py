"""Incidents of any time, and the counts that are stored of them."""

from __future__ import annotations

from typing import Any

from getstep_server.incident import Incident


def an_incident(
    code: str = "out_of_turn", team: int | None = 1, address: str = "10.0.0.1", detail: str = "an answer"
) -> Incident:
    return Incident(code, detail, address, team, "00 01")


def counts(rows: Any) -> dict[tuple[int | None, str, str], int]:
    return {(row.incident.team, row.incident.address, row.incident.code): row.count for row in rows}


class Clock:
    """A clock that the test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now
