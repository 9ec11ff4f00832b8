"""The combined table of a contest with several events.

An event gives a team the share of its other teams, in percent, that it stands before in the event's table: the
first has 100, the last 0, whatever the number of teams, the format and the scoring. Teams that only the lot has
separated there are level: they get the mean of their shares. A team that is not in an event has 0 from it.

An event counts from its first result on: before that its table has an order (the seeding of a ladder, or a lot),
but nobody has earned it.

The shares are added up. Ties are broken by the number of events in which a team's share is 100, then by a lot drawn
from the seed. No two teams share a rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import fsum

from .formats import DIGITS
from .standings import Standing, draw_lots

WHOLE = 100.0
"""The share of a team that stands before all others."""


@dataclass(frozen=True, slots=True)
class Combined:
    """A team's line in the combined table.

    ``status`` is what the team is in all its events: "", "withdrawn" or "disqualified".

    ``shares`` are in percent by event, without those that the team is not in or that do not count yet; ``total`` is
    their sum and ``firsts`` the number of those that are 100. ``lot`` is None unless it was needed; the lowest is
    first.
    """

    rank: int
    team: int
    total: float
    shares: dict[str, float]
    firsts: int
    lot: int | None
    status: str = ""


@dataclass(frozen=True, slots=True)
class Tables:
    """All tables of a contest: each event's by its number, and the combined one, empty if there is one event.

    Those for a live view have two things more, in which tables do not differ: ``elo``, the ratings by team if there
    is one event, and how many matches are ``expected`` in all: those given out, and as far as the formats can tell,
    those to come.
    """

    events: dict[int, tuple[Standing, ...]]
    combined: tuple[Combined, ...] = ()
    elo: dict[int, float] = field(default_factory=dict, compare=False)
    expected: int = field(default=0, compare=False)


def combined(teams: Iterable[int], tables: Mapping[str, Sequence[Standing]], *, seed: int = 0) -> list[Combined]:
    """The combined table, best team first.

    Args:
        teams: the ids of all teams, those that are in no event included.
        tables: each event's standings, by its name; teams that are not in ``teams`` count as rivals only.
        seed: of the lot.
    """
    shares = {event: _shares(table) for event, table in tables.items() if any(row.played for row in table)}
    statuses: dict[int, set[str]] = {}
    for row in (row for table in tables.values() for row in table):
        statuses.setdefault(row.team, set()).add(row.status)
    rows = sorted((_row(team, shares, statuses.get(team, set())) for team in teams), key=_merit)
    ordered: list[Combined] = []
    for _, level in groupby(rows, _merit):
        ordered += _separated(list(level), len(ordered), seed)
    return ordered


def _shares(table: Sequence[Standing]) -> dict[int, float]:
    """Each team's share of its rivals that it stands before, in percent; of those that are level, half."""
    shares: dict[int, float] = {}
    for _, rows in groupby(table, lambda row: row.rank - (row.lot or 1)):  # the lot alone tells them apart
        level = [row.team for row in rows]
        behind = len(table) - len(shares) - len(level) + (len(level) - 1) / 2
        shares |= dict.fromkeys(level, WHOLE * behind / max(1, len(table) - 1))
    return shares


def _row(team: int, shares: Mapping[str, Mapping[int, float]], statuses: set[str]) -> Combined:
    own = {event: by_team[team] for event, by_team in shares.items() if team in by_team}
    total = round(fsum(own.values()), DIGITS)
    firsts = sum(share == WHOLE for share in own.values())
    status = statuses.pop() if len(statuses) == 1 else ""
    return Combined(0, team, total, own, firsts, None, status)


def _merit(row: Combined) -> tuple[float, int]:
    return -row.total, -row.firsts


def _separated(level: list[Combined], before: int, seed: int) -> list[Combined]:
    lots = draw_lots([row.team for row in level], seed)
    ordered = sorted(level, key=lambda row: lots[row.team])
    return [
        replace(row, rank=rank, lot=lots[row.team] if len(level) > 1 else None)
        for rank, row in enumerate(ordered, start=before + 1)
    ]
