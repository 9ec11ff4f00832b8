"""Typed events of a running contest, consumed by the progress view, the log and the tests.

Consumers are called in the event loop, in the order in which they subscribed, and must return at once. An exception
in a consumer does not reach the publisher, which may be a match or a connection and is not responsible for it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, get_args

from getstep_engines import Player
from getstep_server.incident import Incident
from getstep_server.records.decision import Decision
from getstep_server.records.match import Match
from getstep_server.records.result import Result

MakeTables: TypeAlias = Callable[[], Any]
"""Returns the current `getstep_server.tournament.combined.Tables`; any thread may call it.

An event does not know the tournament: its type is on a higher floor than a room of plain data may import.
"""


@dataclass(frozen=True, slots=True)
class Listening:
    """The server accepts connections at ``host``:``port``; ``classic_port`` is None if there is none.

    ``stamped``: the kernel timestamps received data; otherwise the time of the read counts.
    """

    host: str
    port: int
    classic_port: int | None
    stamped: bool

    @property
    def local_host(self) -> str:
        """The address for processes on this machine."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - compared only


@dataclass(frozen=True, slots=True)
class PageEnded:
    """The process of the live page has ended with exit ``code``; it is started again in ``seconds``."""

    code: int
    seconds: float


@dataclass(frozen=True, slots=True)
class JudgeEnded:
    """A judge process has ended with exit ``code``; it is started again in ``seconds``."""

    code: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HouseBotEnded:
    """The process of a house bot has ended with exit ``code``; it is started again in ``seconds``."""

    team: int
    code: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Announced:
    """The contest is announced on the local network with this name.

    It is another one than the contest's if a computer at the addresses ``taken_by`` announces the contest's name.
    """

    name: str
    taken_by: str | None = None


@dataclass(frozen=True, slots=True)
class NotAnnounced:
    """The contest is not announced on the local network, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class TeamArrived:
    """A bot of a team has logged in; ``here`` of its bots are connected. ``again``: the seat was taken before."""

    team: int
    address: str
    client: str
    again: bool
    here: int = 1


@dataclass(frozen=True, slots=True)
class TeamLeft:
    """A connection of a team has ended; ``here`` of its bots are still connected. With none, the team has left."""

    team: int
    why: str
    here: int = 0


@dataclass(frozen=True, slots=True)
class ServerFault:
    """The server itself failed; ``trace`` is the traceback. No bot loses because of it."""

    where: str
    trace: str


@dataclass(frozen=True, slots=True)
class ClusterConnected:
    """There is a connection to the scheduler of a cluster at ``where``; its workers follow."""

    where: str


@dataclass(frozen=True, slots=True)
class ClusterChanged:
    """A cluster has so many ``workers`` now, which play ``slots`` matches at once."""

    workers: int
    slots: int


@dataclass(frozen=True, slots=True)
class WorkersRefused:
    """Workers of a cluster play no matches, and why."""

    names: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class ClusterTrouble:
    """A match was lost with its worker and is played again, or there is no connection. It costs no bot anything."""

    why: str


@dataclass(frozen=True, slots=True)
class ServerLate:
    """The server itself was ``seconds`` late in a turn of ``match``: that time is given back to the player."""

    match: Match
    player: Player
    seconds: float


@dataclass(frozen=True, slots=True)
class ContestStarted:
    """The first match is about to begin; ``done`` of ``total`` matches were already played earlier.

    ``remaining_estimate`` further matches will be issued later, as far as the formats can tell.
    """

    done: int
    total: int
    remaining_estimate: int = 0


@dataclass(frozen=True, slots=True)
class MatchStarted:
    """A match begins, or resumes after ``turns`` that were played in an earlier run.

    ``turns_now`` returns the current number of turns. ``head`` is the header of the match's record, and
    ``turns_from`` returns the turns as on record from the n-th on, 0 being the first. Any thread may call both.
    """

    match: Match
    turns: int = 0
    turns_now: Callable[[], int] = field(default=lambda: 0, compare=False)
    head: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    turns_from: Callable[[int], Sequence[bytes]] = field(default=lambda _: (), compare=False, repr=False)


class MovePlayed(NamedTuple):
    """A legal move. ``thought`` is the thinking time in seconds, by the receive timestamp or the wake-up.

    A tuple and not a dataclass, because there is one for each move: making it takes half the time.
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
class PlayerStalled:
    """A connected player has missed limits without an answer: its turns are skipped until it answers."""

    match: Match
    player: Player


@dataclass(frozen=True, slots=True)
class PlayerAskedAgain:
    """A stalled player is asked again after ``skipped`` turns: it has sent something, or lost its connection."""

    match: Match
    player: Player
    skipped: int


@dataclass(frozen=True, slots=True)
class MatchEnded:
    """A match is over and its result is on disk. ``tables`` makes the current tables; any thread may call it."""

    result: Result
    done: int
    total: int
    tables: MakeTables


@dataclass(frozen=True, slots=True)
class MatchCalledOff:
    """A decision of the host has superseded an attempt at a match that was running or had just ended."""

    match: Match
    why: str


@dataclass(frozen=True, slots=True)
class DecisionTaken:
    """A decision was recorded, about ``match`` if that is not None. The other fields are those of `MatchEnded`."""

    decision: Decision
    match: Match | None
    done: int
    total: int
    tables: MakeTables


@dataclass(frozen=True, slots=True)
class MatchNotResumed:
    """A match of an earlier run cannot go on; the attempt is void, and the match is played again."""

    match: Match
    why: str


@dataclass(frozen=True, slots=True)
class JournalCut:
    """The last line of the journal was torn when the server died; it was cut off."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class DiskFull:
    """The disk of ``folder`` is full: no match starts until there is room again."""

    folder: str
    why: str


@dataclass(frozen=True, slots=True)
class DatabaseLocked:
    """Another program keeps the database in ``folder`` locked: no match starts until it is unlocked."""

    folder: str
    why: str


@dataclass(frozen=True, slots=True)
class DatabaseAway:
    """The server of the database of the contest in ``folder`` does not answer: no match starts until it does."""

    folder: str
    why: str


@dataclass(frozen=True, slots=True)
class DiskUsable:
    """The disk can be written again, after `DiskFull`, `DatabaseLocked` or `DatabaseAway`."""

    folder: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """No match can start: these teams have matches to play and are not connected.

    ``gathering``: all other matches wait for them, too, until all are present or the host presses Enter.
    """

    teams: tuple[int, ...]
    gathering: bool = False


Repeatable: TypeAlias = (
    Incident
    | PlayerStalled
    | PlayerAskedAgain
    | ServerFault
    | ServerLate
    | TeamArrived
    | TeamLeft
    | TurnFaulted
    | Waiting
)
"""The events that can come in floods, and are therefore throttled."""


@dataclass(frozen=True, slots=True)
class Throttled:
    """``event`` is worth a line: it is the ``count``-th of its kind. Those in between are only counted.

    Consumers that write lines for people use this instead of ``event`` itself; see `runtime.throttle`.
    """

    event: Repeatable
    count: int


@dataclass(frozen=True, slots=True)
class ContestOver:
    """All matches are played and recorded. The clients now get their goodbye, which may take a while."""


@dataclass(frozen=True, slots=True)
class IncidentsSummed:
    """The run is over: the ``total`` of incidents, and the ``most`` frequent kinds with their counts."""

    total: int
    most: tuple[tuple[Incident, int], ...]


Event: TypeAlias = (
    Listening
    | PageEnded
    | JudgeEnded
    | HouseBotEnded
    | Announced
    | NotAnnounced
    | TeamArrived
    | TeamLeft
    | Incident
    | ServerFault
    | ServerLate
    | ClusterConnected
    | ClusterChanged
    | WorkersRefused
    | ClusterTrouble
    | ContestStarted
    | MatchStarted
    | MovePlayed
    | TurnFaulted
    | PlayerStalled
    | PlayerAskedAgain
    | MatchEnded
    | MatchCalledOff
    | DecisionTaken
    | MatchNotResumed
    | JournalCut
    | DiskFull
    | DatabaseAway
    | DatabaseLocked
    | DiskUsable
    | Waiting
    | Throttled
    | ContestOver
    | IncidentsSummed
)
Publish: TypeAlias = Callable[[Event], None]

EVERY: tuple[type[Event], ...] = get_args(Event)
EXCEPT_MOVES: tuple[type[Event], ...] = tuple(kind for kind in EVERY if kind is not MovePlayed)
"""All events but `MovePlayed`. A consumer that ignores moves subscribes to these, to save a call a move."""


class Bus:
    """An event bus, which passes each event to all subscribers."""

    def __init__(self) -> None:
        self._consumers: dict[type[Event], tuple[Publish, ...]] = {}
        self._failed: list[Publish] = []

    def subscribe(self, consumer: Publish, kinds: Iterable[type[Event]] = EVERY) -> None:
        """Call ``consumer`` with each event of these kinds from now on."""
        for kind in kinds:
            self._consumers[kind] = (*self._consumers.get(kind, ()), consumer)

    def publish(self, event: Event) -> None:
        """Pass ``event`` to all consumers of its kind. Never raises.

        A consumer that raises keeps getting events, because it may handle the next one. Only its first failure is
        published as a `ServerFault`.
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
