"""The expected time of a match, from those that were played before. No I/O, no clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from getstep_engines import TimeControl
from getstep_server.records.match import Match
from getstep_server.records.result import PLAYERS, Result

TURNS = 40
"""The turns of a player in a match of which nothing is known."""

SHARE = 0.25
"""The part of its limit that a player is expected to use then: most programs are much faster than they must be."""

RECENT = 16
"""The matches over which times are averaged. Programs change between versions."""


@dataclass(slots=True)
class _Mean:
    count: int = 0
    value: float = 0.0

    def add(self, seconds: float) -> None:
        self.count = min(self.count + 1, RECENT)
        self.value += (seconds - self.value) / self.count


class Durations:
    """The thinking time of each team in each event, and the time that a match takes beside it.

    A match takes as long as both players think. So the times of two teams that have not met say enough.
    """

    def __init__(self, results: Iterable[Result] = ()) -> None:
        self._thought: defaultdict[tuple[int, int], _Mean] = defaultdict(_Mean)
        self._beside: defaultdict[int, _Mean] = defaultdict(_Mean)
        for result in results:
            self.note(result)

    def note(self, result: Result) -> None:
        """Take a match into account; one without turns says nothing."""
        if not result.turns:
            return
        match = result.match
        for player in PLAYERS:
            self._thought[match.event, match.teams[player]].add(result.thought[player])
        self._beside[match.event].add(max(0.0, result.seconds - sum(result.thought)))

    def expected(self, match: Match, control: TimeControl) -> float:
        """Return the seconds that a match is expected to take."""
        thought = sum(self._expected_thought(match.event, team, control) for team in match.teams)
        beside = self._beside.get(match.event)
        return thought + (0.0 if beside is None else beside.value)

    def _expected_thought(self, event: int, team: int, control: TimeControl) -> float:
        mean = self._thought.get((event, team))
        if mean is not None:
            return mean.value
        turns = 1 if control.kind == "budget" else TURNS
        return SHARE * (control.seconds * turns + control.increment * TURNS)
