"""The log of one run: what is counted, what is throttled, and what reaches contest.log.

A flood of events can fill neither memory, nor the disk, nor the log, nor the terminal.

- `IncidentTally` counts incidents by code, team and address, and does not keep repeats. The counts are those of one
  run; the store adds them to those of earlier runs.
- `EventThrottle` says which events are worth a line. It has two rules. Of events that should not happen (incidents,
  faults), the 1st, 10th, 100th ... of a kind are published. Of events that are normal in small numbers (arrivals
  and departures), the first few in a minute are published. The last one follows with its count when the minute is
  over, so that the latest line is always true.
- `RunLog` sets both up with contest.log, around the run.
"""

from __future__ import annotations

import heapq
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TypeAlias

import trio
from msgspec.structs import replace

from getstep_server.config.contest import Contest
from getstep_server.events import (
    EXCEPT_MOVES,
    BotAnswers,
    BotHangs,
    Bus,
    Event,
    IncidentsSummed,
    MatchCalledOff,
    MatchEnded,
    PlayerAskedAgain,
    PlayerStalled,
    Publish,
    Repeatable,
    ServerFault,
    ServerLate,
    TeamArrived,
    TeamLeft,
    Throttled,
    TurnFaulted,
    Waiting,
)
from getstep_server.incident import Incident, IncidentRow
from getstep_server.limits import (
    INCIDENT_DETAIL_CHARS,
    INCIDENT_ROWS_KEPT,
    INCIDENT_ROWS_PER_TEAM,
    INCIDENTS_SAVED_EVERY_SECONDS,
    SERVER_FAULTS_KEPT,
    SUMMARY_ROWS,
    THROTTLE_PER_MINUTE,
    UNAUTHENTICATED_INCIDENT_ROWS,
)
from getstep_server.storage.database import DatabaseError, DatabaseProblem
from getstep_server.storage.store import Store
from getstep_server.text import escape_control_chars

from .contest_log import ContestLog

OTHERS = "(others)"
"""Code and address of the row that counts all incidents that exceed the limit of rows."""

Key: TypeAlias = tuple[str, int | None, str]


class IncidentTally:
    """Counts incidents by code, team and address.

    Each team has at most INCIDENT_ROWS_PER_TEAM rows. All unauthenticated connections together have at most
    UNAUTHENTICATED_INCIDENT_ROWS, so that they cannot use up a team's rows. One more row for each counts the rest.

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
        """Count an incident, and return how many of its kind were counted until now."""
        now, key, team = self._clock(), _key(incident), incident.team
        if key not in self._rows and self._rows_of[team] >= _room(team):
            key = OTHERS, team, OTHERS
        row = self._rows.get(key)
        if row is None:
            self._rows_of[team] += 1
            detail = escape_control_chars(incident.detail[:INCIDENT_DETAIL_CHARS])
            row = IncidentRow(replace(incident, code=key[0], address=key[2], detail=detail), 0, now, now)
        row = self._rows[key] = IncidentRow(row.incident, row.count + 1, row.first, now)
        self._unsaved[key] += 1
        self.total += 1
        return row.count

    def rows(self) -> Iterable[IncidentRow]:
        """Return all rows, in the order of their first incident."""
        return self._rows.values()

    def top(self, number: int) -> list[IncidentRow]:
        """Return the rows with the highest counts, highest first."""
        return heapq.nlargest(number, self._rows.values(), key=lambda row: row.count)

    def take_unsaved(self) -> list[IncidentRow]:
        """Return the incidents since the last call, as rows with only those in their ``count``."""
        rows = [replace(self._rows[key], count=count) for key, count in self._unsaved.items()]
        self._unsaved.clear()
        return rows

    def put_back(self, rows: Iterable[IncidentRow]) -> None:
        """Undo `take_unsaved` for rows that could not be saved."""
        for row in rows:
            self._unsaved[_key(row.incident)] += row.count


def _room(team: int | None) -> int:
    return UNAUTHENTICATED_INCIDENT_ROWS if team is None else INCIDENT_ROWS_PER_TEAM


def _oldest(rows: Iterable[IncidentRow]) -> list[IncidentRow]:
    """Return the rows of earlier runs that are too many, the oldest of each team."""
    by_team: defaultdict[int | None, list[IncidentRow]] = defaultdict(list)
    for row in rows:
        if row.incident.code != OTHERS:
            by_team[row.incident.team].append(row)
    kept = {team: INCIDENT_ROWS_KEPT * _room(team) for team in by_team}
    return [
        row
        for team, here in by_team.items()
        for row in sorted(here, key=lambda one: one.last)[: max(0, len(here) - kept[team])]
    ]


def _folded(rows: Iterable[IncidentRow]) -> list[IncidentRow]:
    """Return one row for each team, with the counts of all of its rows."""
    found: dict[int | None, IncidentRow] = {}
    for row in rows:
        team = row.incident.team
        one = found.get(team)
        if one is None:
            found[team] = IncidentRow(
                replace(row.incident, code=OTHERS, address=OTHERS), row.count, row.first, row.last
            )
        else:
            first, last = min(one.first, row.first), max(one.last, row.last)
            found[team] = IncidentRow(one.incident, one.count + row.count, first, last)
    return list(found.values())


def _key(incident: Incident) -> Key:
    return (incident.code, incident.team, incident.address)


# --- events worth a line ---

BURST_SECONDS = 60.0
"""The minute of THROTTLE_PER_MINUTE."""

_Kind: TypeAlias = int | type[Event]  # a team, or an event that is not about one


def is_milestone(count: int) -> bool:
    """Return True if ``count`` is 1, 10, 100, …"""
    return str(count).rstrip("0") == "1"


@dataclass(slots=True)
class _Burst:
    began: float
    count: int = 0
    held: Repeatable | None = None


class EventThrottle:
    """A consumer of events that publishes those worth a line as `Throttled`.

    Args:
        publish: called with each `Throttled` event.
        incidents: counts the incidents.
        clock: a monotonic clock, in seconds.
    """

    def __init__(
        self, publish: Publish, incidents: IncidentTally, clock: Callable[[], float] = trio.current_time
    ) -> None:
        self._publish = publish
        self._incidents = incidents
        self._clock = clock
        self._traces: Counter[str] = Counter()
        self._faults: defaultdict[int, Counter[tuple[int, str]]] = defaultdict(Counter)  # by match
        self._bursts: dict[_Kind, _Burst] = {}  # at most one a team, for a minute

    def __call__(self, event: Event) -> None:
        """Count an event, and publish it as `Throttled` if it is worth a line."""
        match event:
            case Incident():
                self._counted(event, self._incidents.add(event))
            case TurnFaulted(match, player, code):
                kinds = self._faults[match.number]
                kinds[player, code] += 1
                self._counted(event, kinds[player, code])
            case PlayerStalled(match, player) | PlayerAskedAgain(match, player):
                kind = player, type(event).__name__
                self._faults[match.number][kind] += 1
                self._counted(event, self._faults[match.number][kind])
            case MatchEnded(result):
                self._faults.pop(result.match.number, None)
            case MatchCalledOff(match):
                self._faults.pop(match.number, None)
            case ServerFault(_, trace):
                self._counted(event, self._count_trace(trace))
            case TeamArrived(team) | TeamLeft(team) | BotHangs(team) | BotAnswers(team):
                self._limited(event, team)
            case ServerLate() | Waiting():
                self._limited(event, type(event))

    def end_bursts(self) -> None:
        """Publish the last event of each burst whose minute is over. Call this about once a second."""
        self._end_bursts(began_by=self._clock() - BURST_SECONDS)

    def close(self) -> None:
        """Publish the last event of each burst."""
        self._end_bursts(began_by=float("inf"))

    def _counted(self, event: Repeatable, count: int) -> None:
        if is_milestone(count):
            self._publish(Throttled(event, count))

    def _count_trace(self, trace: str) -> int:
        """Count a fault. Faults with the same traceback are alike, in whatever match or connection."""
        kind = trace if trace in self._traces or len(self._traces) < SERVER_FAULTS_KEPT else OTHERS
        self._traces[kind] += 1  # the text of a trace may be long: only SERVER_FAULTS_KEPT of them stay in memory
        return self._traces[kind]

    def _limited(self, event: Repeatable, kind: _Kind) -> None:
        burst = self._bursts.get(kind)
        if burst is None:
            burst = self._bursts[kind] = _Burst(self._clock())
        burst.count += 1
        if burst.count > THROTTLE_PER_MINUTE:
            burst.held = event
        else:
            self._publish(Throttled(event, burst.count))

    def _end_bursts(self, began_by: float) -> None:
        over = {kind: burst for kind, burst in self._bursts.items() if burst.began <= began_by}
        for kind, burst in over.items():
            del self._bursts[kind]
            if burst.held is not None:
                self._publish(Throttled(burst.held, burst.count))


# --- the run ---


class RunLog:
    """The log and the incident counts of one run, as an async context manager around the run.

    However the run ends, the counts are stored, and the log is complete and closed afterwards. ``outcome`` is
    the outcome that the log states for an end without an error.

    Raises:
        ConfigError: the log cannot be written.
    """

    def __init__(self, contest: Contest, store: Store, bus: Bus) -> None:
        self.outcome = ""
        self._contest = contest
        self._store = store
        self._bus = bus
        self._incidents = IncidentTally()
        self._throttle = EventThrottle(bus.publish, self._incidents)

    async def __aenter__(self) -> RunLog:
        await self._fold()
        self._log = ContestLog(self._contest)
        self._bus.subscribe(self._throttle, EXCEPT_MOVES)
        self._bus.subscribe(self._log, EXCEPT_MOVES)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._throttle.close()  # before the sum, which is the last line about events
        most = tuple((row.incident, row.count) for row in self._incidents.top(SUMMARY_ROWS))
        self._bus.publish(IncidentsSummed(self._incidents.total, most))
        with trio.CancelScope(shield=True):  # Ctrl-C ends most runs; their counts are worth the wait
            await self._save(final=True)
            outcome = self.outcome if error is None else "".join(traceback.format_exception(error))
            await trio.to_thread.run_sync(self._log.close, outcome)

    async def _fold(self) -> None:
        """Add the oldest rows of earlier runs together: their number must not grow with the number of runs."""
        with suppress(DatabaseError):  # the next run does it
            rows = await trio.to_thread.run_sync(self._store.incidents)
            if old := _oldest(rows):
                await self._store.count_incidents(_folded(old), instead_of=old)

    async def run(self) -> None:
        """Store new counts and publish held-back events about once a second, until cancelled."""
        while True:
            await trio.sleep(INCIDENTS_SAVED_EVERY_SECONDS)  # together: a flood causes thousands a second
            self._throttle.end_bursts()
            await self._save()

    async def _save(self, *, final: bool = False) -> None:
        rows = self._incidents.take_unsaved()
        if not rows:
            return
        try:
            await self._store.count_incidents(rows)
        except Exception as error:  # a contest must not end because of this; the next call tries again
            self._incidents.put_back(rows)
            away = isinstance(error, DatabaseError) and error.problem is DatabaseProblem.AWAY
            if final or not away:  # the recorder reports once that the database is away
                self._bus.publish(ServerFault("the record of incidents", traceback.format_exc()))
