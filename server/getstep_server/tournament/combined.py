"""The combined table of a contest with several events.

A team's share in an event is the percentage of the event's other teams that are below it in the table. The first
has 100 and the last 0, for any number of teams, format and scoring. Teams that are separated by lot alone are tied:
they get the mean of their shares. A team that is not in an event has 0 from it.

An event counts from its first result on. Before that, its table has an order that does not depend on play (the
seeding of a ladder, or a lot).

The shares are added up. Ties are broken by the number of events in which a team's share is 100, then by a lot drawn
from the seed. No two teams share a rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import fsum
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from getstep_server.formats import DIGITS
from getstep_server.records.reasons import TeamStatus

from .estimate import Estimate
from .standings import Standing, draw_lots

WHOLE = 100.0
"""The share of a team that is ranked above all others."""


class Combined(Struct, frozen=True):
    """A team's line in the combined table.

    ``status`` is the team's status if it is the same in all its events: "", "withdrawn" or "disqualified".

    ``shares`` are in percent by event, without those that the team is not in or that do not count yet; ``total`` is
    their sum and ``firsts`` the number of those that are 100. ``lot`` is None unless it was needed; the lowest is
    first. A team that is ``waiting`` does so in all its events.
    """

    rank: int
    team: int
    total: float
    shares: dict[str, float]
    firsts: int
    lot: int | None
    status: str = ""
    waiting: bool = False


class Tables(Struct, frozen=True):
    """All tables of a contest: each event's by its number, and the combined one, empty if there is one event.

    Tables for a live view have three more fields, which are ignored when tables are compared. ``elo`` has the
    ratings by team, with intervals, if there is one event.
    ``expected`` is the number of matches in all: the issued ones, and those to come as far as the formats can tell.
    ``remaining`` is the number of each team's open matches, running ones included.
    """

    events: dict[int, tuple[Standing, ...]]
    combined: tuple[Combined, ...] = ()
    elo: Mapping[int, Estimate] = field(default_factory=dict)
    expected: int = 0
    remaining: dict[int, int] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tables) and (self.events, self.combined) == (other.events, other.combined)

    __hash__ = None  # type: ignore[assignment]  # dicts cannot be hashed


def combined(teams: Iterable[int], tables: Mapping[str, Sequence[Standing]], *, seed: int = 0) -> list[Combined]:
    """Return the combined table, best team first.

    Args:
        teams: the ids of all teams, those that are in no event included.
        tables: each event's standings, by its name; teams that are not in ``teams`` count as rivals only.
        seed: the seed of the lots.
    """
    shares = {event: _shares(table) for event, table in tables.items() if any(row.played for row in table)}
    statuses: dict[int, set[str]] = {}
    waiting: dict[int, bool] = {}
    for row in (row for table in tables.values() for row in table):
        statuses.setdefault(row.team, set()).add(row.status)
        waiting[row.team] = waiting.get(row.team, True) and row.waiting
    unordered = (_row(team, shares, statuses.get(team, set()), waiting=waiting.get(team, False)) for team in teams)
    rows = sorted(unordered, key=_merit)
    ordered: list[Combined] = []
    for _, level in groupby(rows, _merit):
        ordered += _separated(list(level), len(ordered), seed)
    return ordered


Row = TypeVar("Row", bound=Standing | Combined)


def as_shown(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a table, of an event or combined, in the order for people: waiting teams last."""
    if not any(row.waiting for row in rows):
        return list(rows)
    ordered = sorted(rows, key=lambda row: (row.status == TeamStatus.DISQUALIFIED, row.waiting))
    return [replace(row, rank=rank) for rank, row in enumerate(ordered, start=1)]


def levels(table: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of a table in groups of equal teams: those that are separated by lot alone."""
    return [list(rows) for _, rows in groupby(table, lambda row: row.rank - (row.lot or 1))]


def _shares(table: Sequence[Standing]) -> dict[int, float]:
    """Return the percentage of rivals that each team is ranked above; a tied rival counts half."""
    shares: dict[int, float] = {}
    for rows in levels(table):
        level = [row.team for row in rows]
        # the teams of earlier levels are in `shares` already
        behind = len(table) - len(shares) - len(level) + (len(level) - 1) / 2
        shares |= dict.fromkeys(level, WHOLE * behind / max(1, len(table) - 1))
    return shares


def _row(team: int, shares: Mapping[str, Mapping[int, float]], statuses: set[str], *, waiting: bool) -> Combined:
    own = {event: by_team[team] for event, by_team in shares.items() if team in by_team}
    total = round(fsum(own.values()), DIGITS)
    firsts = sum(share == WHOLE for share in own.values())
    status = statuses.pop() if len(statuses) == 1 else ""
    return Combined(0, team, total, own, firsts, None, status, waiting)


def _merit(row: Combined) -> tuple[float, int]:
    return -row.total, -row.firsts


def _separated(level: list[Combined], before: int, seed: int) -> list[Combined]:
    lots = draw_lots([row.team for row in level], seed)
    ordered = sorted(level, key=lambda row: lots[row.team])
    return [
        replace(row, rank=rank, lot=lots[row.team] if len(level) > 1 else None)
        for rank, row in enumerate(ordered, start=before + 1)
    ]
