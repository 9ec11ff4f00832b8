"""Event throttling: a flood of events can fill neither the log nor the terminal.

Two rules. Of events that should not happen (incidents, faults), the 1st, 10th, 100th ... of a kind are published.
Of events that are normal in small numbers (arrivals and departures), the first few in a minute are published. The
last one follows with its count when the minute is over, so that the latest line is always true.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import trio

from getstep_server.events import (
    Event,
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
from getstep_server.incident import Incident
from getstep_server.limits import SERVER_FAULTS_KEPT, THROTTLE_PER_MINUTE

from .incidents import OTHERS, IncidentTally

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
            case TeamArrived(team) | TeamLeft(team):
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
        self._traces[kind] += 1
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
