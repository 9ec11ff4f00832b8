"""What happens in a contest, as typed events: published once, consumed by the progress view, the log and the tests.

A consumer is called in the event loop, in the order of subscribing, and must return at once. One that raises ends
nothing: an event is published in the middle of a match or of a connection, which has no part in it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, get_args

from getstep_engines import Player

from .combined import Tables
from .decisions import Decision
from .results import Result
from .schedule import Match


@dataclass(frozen=True, slots=True)
class Listening:
    """The server takes connections at ``host``:``port``; ``classic_port`` is None unless asked for.

    ``stamped``: arrivals are timed by the kernel; else by when the server woke up to read them.
    """

    host: str
    port: int
    classic_port: int | None
    stamped: bool


@dataclass(frozen=True, slots=True)
class TeamArrived:
    """A bot of a team has logged in: ``here`` are here now. ``again`` if one had sat there before."""

    team: int
    address: str
    client: str
    again: bool
    here: int = 1


@dataclass(frozen=True, slots=True)
class TeamLeft:
    """A connection of a team is gone; ``here`` of its bots are still here. With none the team has left."""

    team: int
    why: str
    here: int = 0


@dataclass(frozen=True, slots=True)
class Incident:
    """Hostile or refused traffic. ``team`` is None before a valid login; ``first_bytes`` are hexadecimal.

    ``match`` is the number of the match that is played over the connection, if there is one.
    """

    code: str
    detail: str
    address: str
    team: int | None
    first_bytes: str
    match: int | None = None


@dataclass(frozen=True, slots=True)
class ServerFault:
    """The server itself failed in one place; ``trace`` is the traceback. It is never a bot's loss."""

    where: str
    trace: str


@dataclass(frozen=True, slots=True)
class ServerLate:
    """The server itself was ``seconds`` late in a turn of ``match``: that time is not held against the player."""

    match: Match
    player: Player
    seconds: float


@dataclass(frozen=True, slots=True)
class ContestStarted:
    """The first match is about to begin; ``done`` of ``total`` matches were already played earlier.

    ``to_come``: so many more are going to be given out later, as far as the formats can tell.
    """

    done: int
    total: int
    to_come: int = 0


@dataclass(frozen=True, slots=True)
class MatchStarted:
    """A match begins, or goes on after ``turns`` that were played in an earlier run."""

    match: Match
    turns: int = 0


class MovePlayed(NamedTuple):
    """A legal move. ``thought`` is the thinking time in seconds, by the kernel's stamp or by our wake-up.

    A tuple, because there are many: it is made in half the time.
    """

    match: Match
    player: Player
    move: object
    thought: float
    stamped: bool


@dataclass(frozen=True, slots=True)
class TurnFaulted:
    """A turn that got the game's penalty; ``code`` is a turn code of protocol.md."""

    match: Match
    player: Player
    code: str
    detail: str
    thought: float


@dataclass(frozen=True, slots=True)
class MatchEnded:
    """A match is over and its result is on disk. Any thread may have ``tables`` make the tables of the moment."""

    result: Result
    done: int
    total: int
    tables: Callable[[], Tables]


@dataclass(frozen=True, slots=True)
class MatchCalledOff:
    """A match that was being played, or was just over, does not count by what the host has decided."""

    match: Match
    why: str


@dataclass(frozen=True, slots=True)
class DecisionTaken:
    """The host has decided something, about ``match`` if that is not None; the rest as with `MatchEnded`."""

    decision: Decision
    match: Match | None
    done: int
    total: int
    tables: Callable[[], Tables]


@dataclass(frozen=True, slots=True)
class JournalCut:
    """The last line of the journal was torn when the server died; it was cut off."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class DiskFull:
    """There is no room on the disk of ``folder``: no new match starts until there is."""

    folder: str
    why: str


@dataclass(frozen=True, slots=True)
class DatabaseHeld:
    """Another program does not let go of the database in ``folder``: the same until it does."""

    folder: str
    why: str


@dataclass(frozen=True, slots=True)
class DiskUsable:
    """Everything can be written again, and goes on."""

    folder: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """No match can start: these teams have matches to play and are not connected."""

    teams: tuple[int, ...]


Repeatable: TypeAlias = Incident | ServerFault | ServerLate | TeamArrived | TeamLeft | TurnFaulted | Waiting
"""What can come in floods."""


@dataclass(frozen=True, slots=True)
class Noted:
    """``event`` deserves a line: it is the ``count``-th one alike, and those in between are only counted.

    Whoever writes lines for people goes by this instead of by the event in it; `repeats` decides.
    """

    event: Repeatable
    count: int


@dataclass(frozen=True, slots=True)
class ContestOver:
    """All is played and on record; now everybody is told goodbye, which takes a while if somebody is away."""


@dataclass(frozen=True, slots=True)
class IncidentsSummed:
    """The run is over: the number of incidents, and of the ``most`` frequent kinds the first one and the count."""

    total: int
    most: tuple[tuple[Incident, int], ...]


Event: TypeAlias = (
    Listening
    | TeamArrived
    | TeamLeft
    | Incident
    | ServerFault
    | ServerLate
    | ContestStarted
    | MatchStarted
    | MovePlayed
    | TurnFaulted
    | MatchEnded
    | MatchCalledOff
    | DecisionTaken
    | JournalCut
    | DiskFull
    | DatabaseHeld
    | DiskUsable
    | Waiting
    | Noted
    | ContestOver
    | IncidentsSummed
)
Publish: TypeAlias = Callable[[Event], None]

EVERY: tuple[type[Event], ...] = get_args(Event)
SELDOM: tuple[type[Event], ...] = tuple(kind for kind in EVERY if kind is not MovePlayed)
"""All but what happens with every move, for who has nothing to say about that."""


class Bus:
    """Hands each event to every subscriber."""

    def __init__(self) -> None:
        self._consumers: dict[type[Event], tuple[Publish, ...]] = {}
        self._failed: list[Publish] = []

    def subscribe(self, consumer: Publish, kinds: Iterable[type[Event]] = EVERY) -> None:
        """Have ``consumer`` called with every event of these kinds from now on."""
        for kind in kinds:
            self._consumers[kind] = (*self._consumers.get(kind, ()), consumer)

    def publish(self, event: Event) -> None:
        """Hand ``event`` to every consumer of its kind; never raises.

        A consumer that raises keeps getting events, since the next one may suit it; the others are told of its
        first failure only.
        """
        faults = []
        for consumer in self._consumers.get(type(event), ()):
            try:
                consumer(event)
            except Exception:
                if consumer not in self._failed:
                    self._failed.append(consumer)
                    faults.append(ServerFault(f"event consumer {_name(consumer)}", traceback.format_exc()))
        for fault in faults:
            self.publish(fault)


def _name(consumer: Publish) -> str:
    return str(getattr(consumer, "__name__", type(consumer).__name__))
