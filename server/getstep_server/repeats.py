"""Which events are worth a line, where there may be very many: a flood can fill neither the log nor the terminal.

Two rules. Of what should not happen at all (incidents, faults) the first of a kind is told, then the tenth, the
hundredth, and so on. Of what is normal in small numbers (comings and goings) the first few in a minute are told,
and the last with its number when the minute is over, so that what is said last is true.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import trio

from .events import (
    Event,
    Incident,
    MatchCalledOff,
    MatchEnded,
    Noted,
    Publish,
    Repeatable,
    ServerFault,
    ServerLate,
    TeamArrived,
    TeamLeft,
    TurnFaulted,
    Waiting,
)
from .incidents import OTHERS, IncidentTally
from .limits import NOTED_PER_MINUTE, SERVER_FAULTS_KEPT

BURST_SECONDS = 60.0
"""The minute of NOTED_PER_MINUTE."""

_Kind: TypeAlias = int | type[Event]  # a team, or an event that is not about one


def is_milestone(count: int) -> bool:
    """Whether ``count`` is 1, 10, 100, …"""
    return str(count).rstrip("0") == "1"


@dataclass(slots=True)
class _Burst:
    began: float
    count: int = 0
    held: Repeatable | None = None


class Repeats:
    """A consumer of events that publishes those worth a line as `Noted`.

    Args:
        publish: where to.
        incidents: counts the incidents.
        clock: seconds that never go back.
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
        """Take note of an event."""
        match event:
            case Incident():
                self._counted(event, self._incidents.add(event))
            case TurnFaulted(match, player, code):
                kinds = self._faults[match.number]
                kinds[player, code] += 1
                self._counted(event, kinds[player, code])
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
        """Say what was held back in bursts whose minute is over; to be called every now and then."""
        self._end_bursts(began_by=self._clock() - BURST_SECONDS)

    def close(self) -> None:
        """Say all that is held back."""
        self._end_bursts(began_by=float("inf"))

    def _counted(self, event: Repeatable, count: int) -> None:
        if is_milestone(count):
            self._publish(Noted(event, count))

    def _count_trace(self, trace: str) -> int:
        """Faults are alike if they happened in the same place, in whatever match or connection."""
        kind = trace if trace in self._traces or len(self._traces) < SERVER_FAULTS_KEPT else OTHERS
        self._traces[kind] += 1
        return self._traces[kind]

    def _limited(self, event: Repeatable, kind: _Kind) -> None:
        burst = self._bursts.get(kind)
        if burst is None:
            burst = self._bursts[kind] = _Burst(self._clock())
        burst.count += 1
        if burst.count > NOTED_PER_MINUTE:
            burst.held = event
        else:
            self._publish(Noted(event, burst.count))

    def _end_bursts(self, began_by: float) -> None:
        over = {kind: burst for kind, burst in self._bursts.items() if burst.began <= began_by}
        for kind, burst in over.items():
            del self._bursts[kind]
            if burst.held is not None:
                self._publish(Noted(burst.held, burst.count))
