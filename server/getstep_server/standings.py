"""Standings: a pure function of the teams, the results and the rules of the event.

Who stands before whom is decided by one criterion after the other, each a column of the table:

1. whether it is disqualified: such teams are last;
2. the place, where the format itself ranks (knockout, ladder);
3. points, by the event's scoring;
4. the event's tie-breaks in its order, of these: ``won`` (matches won), ``difference`` (own score less the
   opponent's, over all matches), ``direct`` (points from the matches among the teams that are still level, if every
   two of them have met equally often), ``buchholz`` (the sum of the opponents' points, once for each match; a bye
   adds the team's own);
5. a lot, drawn from the seed for each team on its own, so that a team more or less changes nobody's.

No two teams share a rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, pairwise
from math import fsum, inf, sqrt
from random import Random
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from getstep_engines import Player

from ._toml import Misfit
from .formats import DIGITS, TieBreak
from .results import PLAYERS, Result

WITHDRAWN, DISQUALIFIED = "withdrawn", "disqualified"
"""What a team may be that takes no part any more; of one that is disqualified all matches are annulled."""

Number = Annotated[float, Field(allow_inf_nan=False)]


ScoringKind: TypeAlias = Literal["points", "signed_roots", "percentage"]


class Scoring(BaseModel):
    """How matches become points.

    ``kind``:

    - ``"points"``: a win ``win``, a draw ``draw``, a loss ``loss``; a bye is worth a win.
    - ``"signed_roots"``: sign(d)·√|d| of each match's score difference d, `pseudo_tonga`'s own ranking; a bye 0.
    - ``"percentage"``: 100 × matches won / played, the ladder's rating; a bye is no match.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    kind: ScoringKind = "points"
    win: Number = 2
    draw: Number = 1
    loss: Number = 0

    @model_validator(mode="after")
    def _ordered(self) -> Scoring:
        if not self.win >= self.draw >= self.loss:
            raise Misfit((("draw",), self.draw, f"a value from loss, {self.loss:g}, to win, {self.win:g}"))
        return self

    @property
    def bye(self) -> float:
        """The points of a bye, for each of its legs."""
        return self.win if self.kind == "points" else 0.0

    def points(self, result: Result) -> tuple[float, float]:
        """The first player's points for a match and the second's; of the percentage 1 for a win, else 0."""
        first, second = (self._points_for(result, player) for player in PLAYERS)
        return first, second

    def total(self, points: Iterable[float], played: int, byes: int) -> float:
        """A team's points in the table."""
        total = fsum([*points, byes * self.bye])
        if self.kind == "percentage":
            total = 100 * total / played if played else 0.0
        return round(total, DIGITS)

    def _points_for(self, result: Result, player: Player) -> float:
        outcome = result.outcome_for(player)
        if self.kind == "percentage":
            return float(outcome == "win")
        if self.kind == "signed_roots":
            difference = result.difference_for(player)
            return sqrt(difference) if difference > 0 else -sqrt(-difference)
        return {"win": self.win, "draw": self.draw, "loss": self.loss}[outcome]


@dataclass(frozen=True, slots=True)
class Standing:
    """A team's line in the table.

    ``status`` is "" for a team that takes part, "withdrawn" or "disqualified". ``place`` is the format's own, None
    where it does not rank. ``byes`` count as ``Scoring`` says, and are not
    ``played``. ``direct``, ``buchholz`` and ``lot`` are None where they did not matter: ``buchholz`` unless it is a
    tie-break of the event, ``direct`` and ``lot`` unless they were needed to separate the team from others; the
    lowest lot is first.
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

    @property
    def percentage(self) -> float | None:
        """100 × won / played; None before the first match."""
        return _percentage(self.won, self.played)

    @property
    def percentage_as_first(self) -> float | None:
        """The percentage as first player alone (More, in `linkage`)."""
        return _percentage(self.won_as_first, self.played_as_first)

    @property
    def percentage_as_second(self) -> float | None:
        """The percentage as second player alone (Fewer, in `linkage`)."""
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
) -> list[Standing]:
    """The table, best team first.

    Args:
        teams: the ids of all that are shown, also of those that have not played or have left.
        results: of matches between these teams, in any order.
        scoring: by default 2 points a win, 1 a draw, 0 a loss.
        tie_breaks: the event's, in its order.
        seed: of the lot.
        byes: how many each team had that count.
        places: the format's own, from 1; a team without one comes after those that have one.
        statuses: which teams have withdrawn or are disqualified. The latter have no place, and leave none empty.
    """
    statuses = statuses or {}
    lines = _Lines(scoring or Scoring(), byes or {}, _places_left(places or {}, statuses), statuses)
    for team in teams:
        lines.add_team(team)
    for result in results:
        lines.add_result(result)
    levels = [lines.rows(buchholz="buchholz" in tie_breaks)]
    for criterion in ("status", "place", "points", *tie_breaks, "lot"):
        levels = [part for level in levels for part in _separated(level, criterion, lines, seed)]
    return [replace(row, rank=rank) for rank, level in enumerate(levels, start=1) for row in level]


def _places_left(places: Mapping[int, int], statuses: Mapping[int, str]) -> dict[int, int]:
    """The places of all that are not disqualified, who move up."""
    left = {team: place for team, place in places.items() if statuses.get(team) != DISQUALIFIED}
    if len(left) == len(places):
        return left
    return {team: 1 + sum(other < place for other in left.values()) for team, place in left.items()}


class _Line:
    """What a team's matches add up to."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.difference = 0
        self.played = [0, 0]
        self.won = [0, 0]
        self.points: dict[int, list[float]] = {}
        """By opponent, of each match."""

    def add(self, result: Result, player: Player, points: float) -> None:
        outcome = result.outcome_for(player)
        self.outcomes[outcome] += 1
        self.difference += result.difference_for(player)
        self.played[player] += 1
        self.won[player] += outcome == "win"
        self.points.setdefault(result.match.teams[1 - player], []).append(points)


class _Lines:
    def __init__(
        self, scoring: Scoring, byes: Mapping[int, int], places: Mapping[int, int], statuses: Mapping[int, str]
    ) -> None:
        self._scoring = scoring
        self._byes = byes
        self._places = places
        self._statuses = statuses
        self._lines: dict[int, _Line] = {}

    def add_team(self, team: int) -> None:
        self._lines[team] = _Line()

    def add_result(self, result: Result) -> None:
        points = self._scoring.points(result)
        for player in PLAYERS:
            self._lines[result.match.teams[player]].add(result, player, points[player])

    def rows(self, *, buchholz: bool) -> list[Standing]:
        rows = [self._row(team, line) for team, line in self._lines.items()]
        if not buchholz:
            return rows
        points = {row.team: row.points for row in rows}
        return [replace(row, buchholz=self._buchholz(row, points)) for row in rows]

    def direct(self, teams: Sequence[int]) -> dict[int, float]:
        """Points from the matches among these teams; none unless every two have met, and all equally often."""
        pairs = combinations(teams, 2)
        meetings = {len(self._lines[one].points.get(other, ())) for one, other in pairs}
        if len(meetings) != 1 or 0 in meetings:
            return {}
        return {team: self._points_against(team, set(teams)) for team in teams}

    def _points_against(self, team: int, opponents: set[int]) -> float:
        by_opponent = self._lines[team].points
        return round(fsum(value for opponent in opponents for value in by_opponent.get(opponent, ())), DIGITS)

    def _row(self, team: int, line: _Line) -> Standing:
        played, byes = line.outcomes.total(), self._byes.get(team, 0)
        points = [value for values in line.points.values() for value in values]
        return Standing(
            rank=0,
            team=team,
            played=played,
            won=line.outcomes["win"],
            drawn=line.outcomes["draw"],
            lost=line.outcomes["loss"],
            points=self._scoring.total(points, played, byes),
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
    "status": lambda row: row.status == DISQUALIFIED,
    "place": lambda row: inf if row.place is None else row.place,
    "points": lambda row: -row.points,
    "won": lambda row: -row.won,
    "difference": lambda row: -row.difference,
    "direct": lambda row: -(row.direct or 0),
    "buchholz": lambda row: -(row.buchholz or 0),
    "lot": lambda row: row.lot or 0,
}
"""For each criterion what is smaller the better a team is."""


def _separated(level: list[Standing], criterion: str, lines: _Lines, seed: int) -> list[list[Standing]]:
    """Teams that were level so far, in order and apart as far as the criterion says."""
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
    """Which criteria tell two neighbours in the table apart: of each two, the first one in which they differ."""
    criteria = ("status", "place", "points", *tie_breaks, "lot")
    differing = ([name for name in criteria if _KEYS[name](a) != _KEYS[name](b)] for a, b in pairwise(rows))
    return {names[0] for names in differing if names}


def _with_lots(level: Sequence[Standing], seed: int) -> list[Standing]:
    lots = draw_lots([row.team for row in level], seed)
    return [replace(row, lot=lots[row.team]) for row in level]


def draw_lots(teams: Iterable[int], seed: int) -> dict[int, int]:
    """Each team's lot, from 1."""
    drawn = sorted(teams, key=lambda team: (Random(f"lot {seed} {team}").random(), team))
    return {team: lot for lot, team in enumerate(drawn, start=1)}
