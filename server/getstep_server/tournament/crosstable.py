"""The crosstable: the results of each pairing, with the teams in the order of the standings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from getstep_server.config.event import ContestEvent
from getstep_server.records.result import Result

from .points import points_of, total_points
from .standings import Standing
from .tournament import Tournament


class Crosstable:
    """The results of each pairing of an event.

    Args:
        event: for the scoring.
        rows: its standings, which give the order of rows and columns.
        results: the official results of the contest; those of other events are ignored.
    """

    def __init__(self, event: ContestEvent, rows: Sequence[Standing], results: Iterable[Result]) -> None:
        self.event = event
        self.rows = rows
        self._between: dict[tuple[int, int], list[Result]] = {}
        for result in (result for result in results if result.match.event == event.number):
            one, other = result.match.teams
            self._between.setdefault((min(one, other), max(one, other)), []).append(result)

    def points(self, team: int, opponent: int) -> float | None:
        """Return the points of ``team`` from its matches against ``opponent``; None if there are none."""
        results, scoring = self._results(team, opponent), self.event.scoring
        if not results:
            return None
        points = [points_of(scoring, result)[result.match.teams.index(team)] for result in results]
        return total_points(scoring, points, played=len(points), byes=0)

    def legs(self, team: int, opponent: int) -> list[str]:
        """Return "win", "draw" or "loss" of ``team`` for each match against ``opponent``, in playing order."""
        results = sorted(self._results(team, opponent), key=lambda result: result.match.number)
        return [result.outcome_for(0 if result.match.first == team else 1) for result in results]

    def numbers(self, team: int, opponent: int) -> list[int]:
        """Return the numbers of the matches of ``team`` against ``opponent``, in playing order."""
        return sorted(result.match.number for result in self._results(team, opponent))

    def _results(self, team: int, opponent: int) -> list[Result]:
        return self._between.get((min(team, opponent), max(team, opponent)), [])


def crosstable_of(tournament: Tournament, event: ContestEvent) -> Crosstable:
    return Crosstable(event, tournament.table(event), tournament.results)
