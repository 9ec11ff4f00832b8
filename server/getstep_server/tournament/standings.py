"""Standings: a pure function of the teams, the results and the rules of the event.

Teams are ranked by these criteria in order, each a column of the table:

1. disqualification: disqualified teams are last;
2. the place, if the format itself ranks (knockout, ladder);
3. points, by the event's scoring;
4. the event's tie-breaks in its order, of these: ``won`` (matches won), ``difference`` (own score less the
   opponent's, over all matches), ``direct`` (points from the matches among the teams that are still tied, if every
   two of them have played equally often), ``buchholz`` (the sum of the opponents' points, once for each match; a
   bye adds the team's own);
5. a lot. Each team's lot is drawn from the seed separately, so it does not depend on which other teams there are.

No two teams share a rank. Until the event is over, a team that has not come to any match is `waiting`: it has no
result, or only forfeits. By these criteria a lot, or the losses of others, could make it the first.
`combined.as_shown` puts it last; exports keep the rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, groupby, pairwise
from math import fsum, inf

from msgspec import Struct
from msgspec.structs import replace

from getstep_engines import Player
from getstep_server.config.event import Scoring
from getstep_server.formats import DIGITS, Rating, TieBreak
from getstep_server.records.reasons import TeamStatus
from getstep_server.records.result import PLAYERS, Result
from getstep_server.tournament.forfeits import no_shows
from getstep_server.tournament.points import points_of, total_points


class Standing(Struct, frozen=True):
    """A team's line in the table.

    ``status`` is "" for a team that takes part, "withdrawn" or "disqualified". ``place`` is the format's own, None
    if it does not rank. ``byes`` count as ``Scoring`` says, and are not ``played``. ``buchholz`` is None unless it
    is a tie-break of the event. ``direct`` and ``lot`` are None unless they were needed to separate the team from
    others; the lowest lot is first. ``rating`` is the format's own, None if it does not rate. A team that is
    ``waiting`` has not come to any match yet, and its event is not over; see `combined.as_shown`.
    """

    rank: int
    team: int
    played: int
    won: int
    drawn: int
    lost: int
    points: float
    difference: int
    place: int | None = None
    byes: int = 0
    direct: float | None = None
    buchholz: float | None = None
    lot: int | None = None
    played_as_first: int = 0
    won_as_first: int = 0
    played_as_second: int = 0
    won_as_second: int = 0
    status: str = ""
    rating: Rating | None = None
    league: int | None = None
    waiting: bool = False

    @property
    def percentage_as_first(self) -> float | None:
        """100 × won / played as first player (the player More in `linkage`); None before the first match."""
        return _percentage(self.won_as_first, self.played_as_first)

    @property
    def percentage_as_second(self) -> float | None:
        """The same as second player (the player Fewer in `linkage`)."""
        return _percentage(self.won_as_second, self.played_as_second)


def _percentage(won: int, played: int) -> float | None:
    return 100 * won / played if played else None


def standings(
    teams: Iterable[int],
    results: Iterable[Result],
    *,
    scoring: Scoring | None = None,
    tie_breaks: Sequence[TieBreak] = ("won", "difference", "direct"),
    seed: int = 0,
    byes: Mapping[int, int] | None = None,
    places: Mapping[int, int] | None = None,
    statuses: Mapping[int, str] | None = None,
    under_way: bool = False,
) -> list[Standing]:
    """Return the table, best team first.

    Args:
        teams: the ids of all that are shown, also of those that have not played or have left.
        results: of matches between these teams, in any order.
        scoring: by default 2 points a win, 1 a draw, 0 a loss.
        tie_breaks: the event's, in its order.
        seed: the seed of the lots.
        byes: the number of each team's byes that count.
        places: the format's own, from 1; a team without one comes after those that have one.
        statuses: which teams have withdrawn or are disqualified. The latter have no place, and leave none empty.
        under_way: further results will follow, so that an absent team is not better than one that has lost.
    """
    statuses = statuses or {}
    lines = _StandingsBuilder(scoring or Scoring(), byes or {}, _places_left(places or {}, statuses), statuses)
    for team in teams:
        lines.add_team(team)
    for result in results:
        lines.add_result(result)
    rows = lines.rows(buchholz="buchholz" in tie_breaks)
    if under_way:
        rows = [replace(row, waiting=lines.is_waiting(row)) for row in rows]
    levels = [rows]
    for criterion in ("status", "place", "points", *tie_breaks, "lot"):
        levels = [part for level in levels for part in _separated(level, criterion, lines, seed)]
    return [replace(row, rank=rank) for rank, level in enumerate(levels, start=1) for row in level]


def _places_left(places: Mapping[int, int], statuses: Mapping[int, str]) -> dict[int, int]:
    """Return the places without disqualified teams; the teams behind them move up."""
    left = {team: place for team, place in places.items() if statuses.get(team) != TeamStatus.DISQUALIFIED}
    if len(left) == len(places):
        return left
    return {team: 1 + sum(other < place for other in left.values()) for team, place in left.items()}


class _TeamSums:
    """The sums over one team's matches."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.difference = 0
        self.has_come = False
        """True if the team was there for at least one of its matches."""
        self.played = [0, 0]
        self.won = [0, 0]
        self.points: dict[int, list[float]] = {}
        """The points of each match, by opponent."""

    def add(self, result: Result, player: Player, points: float) -> None:
        outcome = result.outcome_for(player)
        self.outcomes[outcome] += 1
        self.difference += result.difference_for(player)
        self.has_come = self.has_come or result.match.teams[player] not in no_shows(result)
        self.played[player] += 1
        self.won[player] += outcome == "win"
        self.points.setdefault(result.match.teams[1 - player], []).append(points)


class _StandingsBuilder:
    def __init__(
        self, scoring: Scoring, byes: Mapping[int, int], places: Mapping[int, int], statuses: Mapping[int, str]
    ) -> None:
        self._scoring = scoring
        self._byes = byes
        self._places = places
        self._statuses = statuses
        self._lines: dict[int, _TeamSums] = {}

    def add_team(self, team: int) -> None:
        self._lines[team] = _TeamSums()

    def add_result(self, result: Result) -> None:
        points = points_of(self._scoring, result)
        for player in PLAYERS:
            self._lines[result.match.teams[player]].add(result, player, points[player])

    def rows(self, *, buchholz: bool) -> list[Standing]:
        rows = [self._row(team, line) for team, line in self._lines.items()]
        if not buchholz:
            return rows
        points = {row.team: row.points for row in rows}
        return [replace(row, buchholz=self._buchholz(row, points)) for row in rows]

    def is_waiting(self, row: Standing) -> bool:
        """Return True if a team has not come to any match, and neither a bye nor the format ranks it."""
        come = self._lines[row.team].has_come or row.byes
        return row.place is None and not come and row.status != TeamStatus.DISQUALIFIED

    def direct(self, teams: Sequence[int]) -> dict[int, float]:
        """Return each team's points against the others; none unless all pairs have played equally often."""
        pairs = combinations(teams, 2)
        match_counts = {len(self._lines[one].points.get(other, ())) for one, other in pairs}
        # By rules.md the direct encounter decides only among teams that have all met, and equally often.
        if len(match_counts) != 1 or 0 in match_counts:
            return {}
        return {team: self._points_against(team, set(teams)) for team in teams}

    def _points_against(self, team: int, opponents: set[int]) -> float:
        by_opponent = self._lines[team].points  # `fsum`: the sum must not depend on the order of the results
        return round(fsum(value for opponent in opponents for value in by_opponent.get(opponent, ())), DIGITS)

    def _row(self, team: int, line: _TeamSums) -> Standing:
        played, byes = line.outcomes.total(), self._byes.get(team, 0)
        points = [value for values in line.points.values() for value in values]
        return Standing(
            rank=0,
            team=team,
            played=played,
            won=line.outcomes["win"],
            drawn=line.outcomes["draw"],
            lost=line.outcomes["loss"],
            points=total_points(self._scoring, points, played, byes),
            difference=line.difference,
            place=self._places.get(team),
            byes=byes,
            played_as_first=line.played[0],
            won_as_first=line.won[0],
            played_as_second=line.played[1],
            won_as_second=line.won[1],
            status=self._statuses.get(team, ""),
        )

    def _buchholz(self, row: Standing, points: Mapping[int, float]) -> float:
        opponents = self._lines[row.team].points.items()
        return round(fsum([row.byes * row.points, *(len(each) * points[team] for team, each in opponents)]), DIGITS)


# --- order ------------------------------------------------------------------------------------------------------

_KEYS: dict[str, Callable[[Standing], float]] = {
    "status": lambda row: row.status == TeamStatus.DISQUALIFIED,
    "place": lambda row: inf if row.place is None else row.place,
    "points": lambda row: -row.points,
    "won": lambda row: -row.won,
    "difference": lambda row: -row.difference,
    "direct": lambda row: -(row.direct or 0),
    "buchholz": lambda row: -(row.buchholz or 0),
    "lot": lambda row: row.lot or 0,
}
"""For each criterion a sort key, which is smaller for a better team."""


def _separated(level: list[Standing], criterion: str, lines: _StandingsBuilder, seed: int) -> list[list[Standing]]:
    """Split a group of tied teams by a criterion: groups in order, each of teams that are still tied."""
    if len(level) == 1:
        return [level]
    if criterion == "direct":
        direct = lines.direct([row.team for row in level])
        level = [replace(row, direct=direct.get(row.team)) for row in level]
    elif criterion == "lot":
        level = _with_lots(level, seed)
    ordered = sorted(level, key=_KEYS[criterion])
    return [list(rows) for _, rows in groupby(ordered, _KEYS[criterion])]


def separating(rows: Sequence[Standing], tie_breaks: Sequence[TieBreak]) -> set[str]:
    """Return the criteria that separate neighbours in the table: of each two, the first in which they differ."""
    criteria = ("status", "place", "points", *tie_breaks, "lot")
    differing = ([name for name in criteria if _KEYS[name](a) != _KEYS[name](b)] for a, b in pairwise(rows))
    return {names[0] for names in differing if names}


def _with_lots(level: Sequence[Standing], seed: int) -> list[Standing]:
    lots = draw_lots([row.team for row in level], seed)
    return [replace(row, lot=lots[row.team]) for row in level]


def draw_lots(teams: Iterable[int], seed: int) -> dict[int, int]:
    """Draw lots: return each team's lot, from 1, drawn from the seed."""
    from random import Random  # here: most tables draw no lots, and it takes 1 ms to import

    # a generator for each team: its number does not depend on which other teams are tied with it
    drawn = sorted(teams, key=lambda team: (Random(f"lot {seed} {team}").random(), team))
    return {team: lot for lot, team in enumerate(drawn, start=1)}
