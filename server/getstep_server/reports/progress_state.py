"""The state of a running contest as far as a progress display needs it, built from events."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from math import ceil

from getstep_server.config.contest import Contest
from getstep_server.events import (
    ContestStarted,
    DecisionTaken,
    Event,
    IncidentsSummed,
    MatchCalledOff,
    MatchEnded,
    MatchStarted,
    PlayerAskedAgain,
    PlayerStalled,
    TeamArrived,
    TeamLeft,
)
from getstep_server.records.match import Match
from getstep_server.records.reasons import PAUSE_KINDS, DecisionKind
from getstep_server.records.result import Result
from getstep_server.text import pluralize
from getstep_server.tournament.combined import Tables
from getstep_server.tournament.forfeits import no_shows
from getstep_server.tournament.pace import PaceEstimator


class ProgressState:
    """Teams that are connected, matches that run, and how much of the contest is left.

    The event loop calls `update`. Another thread may read everything at any time: each value is replaced in one
    step, so the worst that a reader sees is a number that is one event old.

    Args:
        contest: for the teams.
        clock: in seconds.
    """

    def __init__(self, contest: Contest, clock: Callable[[], float] = time.monotonic) -> None:
        self.contest = contest
        self.clock = clock
        self.connected: set[int] = set()
        self.running: dict[int, Match] = {}
        self.stalled: set[tuple[int, int]] = set()
        """Match number and team of each player that is stalled."""
        self.incidents = 0
        self.done = 0
        self.total = 0
        """Matches whose pairing is known."""
        self.expected = 0
        """Matches of the whole contest: `total`, and an estimate of those that formats will add."""
        self.tables: Callable[[], Tables] | None = None
        self.played = 0
        """The matches that were played to an end in this run; a forfeit is not played."""
        self.forfeits: dict[int, list[int]] = {}
        """The teams that did not come, for each match that was forfeited in this run."""
        self._pace = PaceEstimator(clock)
        self.pause: str | None = None
        """Why the host has paused the contest; None if it is not paused."""
        self._left: dict[int, int] = {}
        """Matches that each team still has to play, as far as the pairings are known."""

    def update(self, event: Event) -> None:
        """Apply an event. Events that change nothing here are ignored."""
        match event:
            case TeamArrived(team):
                self.connected.add(team)
            case TeamLeft(team, here=0):
                self.connected.discard(team)
            case IncidentsSummed(total):
                self.incidents = total
            case ContestStarted():
                self.done = event.done
                self.total = event.total
                self._expect(event.total + event.remaining_estimate)
                self._set_pause(event.paused)
                self._pace.begin()
            case MatchStarted(match, _, turns_now):
                self.running[match.number] = match
                self._pace.start(match, turns_now)
            case PlayerStalled(match, player):
                self.stalled.add((match.number, match.teams[player]))
            case PlayerAskedAgain(match, player):
                self.stalled.discard((match.number, match.teams[player]))
            case MatchCalledOff(match):
                self._pace.abandon(match)
                self._remove(match)
            case MatchEnded():
                self._pace.end(event.result.match)
                self._remove(event.result.match)
                self._note_absence(event.result)
                self._count(event, self.expected)
            case DecisionTaken(decision) if decision.kind in PAUSE_KINDS:
                if decision.event is None and decision.match is None:
                    self._set_pause(decision.why if decision.kind == DecisionKind.PAUSE else None)
            case DecisionTaken():  # a cancelled match is no longer expected
                self._count(event, self.expected + event.total - self.total)

    @property
    def missing(self) -> list[int]:
        """The teams that are not connected, in order."""
        return sorted(set(self.contest.teams) - self.connected)

    def absence(self) -> str:
        """Return how many matches were forfeited in this run, and by how many teams; "" if none."""
        return absence_text(self.forfeits.values(), self.contest.team_name)

    def use_estimates(self, tables: Tables) -> None:
        """Take the number of expected matches, and of each team's, from ``tables``."""
        self._expect(tables.expected)
        self._left = tables.remaining

    def count(self) -> str:
        """Return how many matches are over, such as "3/12", or "3 of about 12" if more pairings will follow."""
        exact = self.expected == self.total
        return f"{self.done}/{self.total}" if exact else f"{self.done} of about {self.expected}"

    def expected_end(self) -> str:
        """Return when the contest is expected to end; "" in an arena, and as long as its pace is unknown.

        In a pause of the contest, return why it is paused instead.
        """
        if self.pause is not None:
            return f"paused by the host: {self.pause}"
        if self.contest.is_open_ended:
            return ""
        seconds = self._pace.seconds_left(self.played, self.expected - self.done, self._left)
        return "" if seconds is None else expected_end(seconds, datetime.now())

    def _set_pause(self, why: str | None) -> None:
        self.pause = why
        self._pace.set_paused(paused=why is not None)

    def _note_absence(self, result: Result) -> None:
        teams, forfeits = no_shows(result), dict(self.forfeits)  # a copy: another thread reads it
        self.played += not teams
        forfeits.pop(result.match.number, None)
        self.forfeits = forfeits | ({result.match.number: teams} if teams else {})

    def _count(self, event: MatchEnded | DecisionTaken, expected: int) -> None:
        self.done, self.total, self.tables = event.done, event.total, event.tables
        self._expect(expected)

    def _expect(self, matches: int) -> None:
        """Set the number of expected matches; it is never below the number of known pairings."""
        self.expected = max(matches, self.total)

    def _remove(self, match: Match) -> None:
        self.running.pop(match.number, None)
        self.stalled.difference_update([(match.number, team) for team in match.teams])


def absence_text(forfeits: Collection[Sequence[int]], names: Callable[[int], str]) -> str:
    """Return forfeits in one line, such as "8 teams absent: 500 forfeits"; "" if there are none.

    Args:
        forfeits: the absent teams of each match.
        names: returns a team's name.
    """
    teams = {team for absent in forfeits for team in absent}
    who = pluralize(len(teams), "team") if len(teams) > 1 else "".join(map(names, teams))
    return f"{who} absent: {pluralize(len(forfeits), 'forfeit')}" if teams else ""


def expected_end(seconds: float, now: datetime) -> str:
    """Return when a contest ends that takes ``seconds`` more, such as "about 4 min left, expected end 15:42"."""
    end = now + timedelta(seconds=seconds)
    day = "" if end.date() == now.date() else f"{end:%a} "
    return f"about {duration(seconds)} left, expected end {day}{end:%H:%M}"


def duration(seconds: float) -> str:
    """Return a time such as "45 s", "10 min" or "2 h 5 min"."""
    if seconds < 60:
        return f"{ceil(seconds)} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
