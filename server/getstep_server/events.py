"""Typed events of a running contest, consumed by the progress view, the log and the tests.

Consumers are called in the event loop, in the order in which they subscribed, and must return at once. An exception
in a consumer does not reach the publisher, which may be a match or a connection and is not responsible for it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, get_args

from getstep_engines import Player
from getstep_server.addresses import local_host
from getstep_server.incident import Incident
from getstep_server.records.decision import Decision
from getstep_server.records.match import Match
from getstep_server.records.result import Result
from getstep_server.text import local_minute, pluralize

MakeTables: TypeAlias = Callable[[], Any]
"""Returns the current `getstep_server.tournament.combined.Tables`; any thread may call it.

An event does not know the tournament: its type is on a higher floor than a room of plain data may import.
"""


class Names(Protocol):
    """Names for people, as a consumer shows them: whole, or shortened to fit."""

    def team(self, team: int) -> str:
        """Return the name of a team."""

    def match(self, match: Match) -> str:
        """Return a match with its number and its teams, such as "#7 Ada – Blaise"."""


Level: TypeAlias = Literal["info", "warning", "error"]


class Notice:
    """An event that says itself what is logged and shown of it: it needs no edit of a consumer.

    contest.log gets ``level``, ``logged`` as the name, and all fields.
    """

    __slots__ = ()

    level: ClassVar[Level] = "info"
    logged: ClassVar[str]
    whole: ClassVar[bool] = False
    """True if the line is shown whole in the live view, although it takes two lines of the terminal."""

    def text(self, _: Names, /) -> str | None:
        """Return the line for people; None if there is none."""
        return None


@dataclass(frozen=True, slots=True)
class Listening:
    """The server accepts connections at ``host``:``port``; ``classic_port`` is None if there is none.

    ``stamped``: the kernel timestamps received data; otherwise the time of the read counts. ``local_port``: the
    port on the loopback interface for programs of this machine, if ``port`` speaks TLS. ``fence``: the server's
    fencing number, 0 for none.
    """

    host: str
    port: int
    classic_port: int | None
    stamped: bool
    local_port: int | None = None
    fence: int = 0

    @property
    def local_address(self) -> tuple[str, int]:
        """The host and the port for processes on this machine, without TLS."""
        if self.local_port is not None:
            return "127.0.0.1", self.local_port
        return local_host(self.host), self.port


@dataclass(frozen=True, slots=True)
class PageEnded(Notice):
    """The process of the live page has ended with exit ``code``; it is started again in ``again_in`` seconds."""

    level = "warning"
    logged = "page_ended"
    whole = True

    code: int
    again_in: float

    def text(self, _: Names, /) -> str:
        return f"! The live page ended with code {self.code}; it starts again in {self.again_in:g} s"


@dataclass(frozen=True, slots=True)
class CertificateNews(Notice):
    """The TLS certificate was replaced, could not be replaced, or expires soon; ``why`` is a sentence."""

    level = "warning"
    logged = "certificate"
    whole = True

    why: str

    def text(self, _: Names, /) -> str:
        return f"! {self.why}"


@dataclass(frozen=True, slots=True)
class JudgeEnded(Notice):
    """A judge process has ended with exit ``code``; it is started again in ``again_in`` seconds."""

    level = "warning"
    logged = "judge_ended"
    whole = True

    code: int
    again_in: float

    def text(self, _: Names, /) -> str:
        return (
            f"! A judge process ended with code {self.code}; its matches are played again, and it starts again"
            f" in {self.again_in:g} s"
        )


@dataclass(frozen=True, slots=True)
class HouseBotEnded(Notice):
    """The process of a house bot has ended with exit ``code``; it is started again in ``again_in`` seconds."""

    level = "warning"
    logged = "house_bot_ended"
    whole = True

    team: int
    code: int
    again_in: float

    def text(self, names: Names, /) -> str:
        return f"! {names.team(self.team)} ended with code {self.code}; it starts again in {self.again_in:g} s"


@dataclass(frozen=True, slots=True)
class Announced(Notice):
    """The contest is announced on the local network with this name."""

    logged = "announced"

    name: str

    def text(self, _: Names, /) -> str:
        return f"Announced on this network: getstep login finds {self.name!r}."


@dataclass(frozen=True, slots=True)
class AnnouncedAsAnother(Notice):
    """A computer at the addresses ``taken_by`` announces the contest's name, so the contest has this ``name``."""

    level = "warning"
    logged = "announced"
    whole = True

    name: str
    taken_by: str

    def text(self, _: Names, /) -> str:
        return (
            f"! Another computer ({self.taken_by}) announces a contest with this name. Yours is announced as"
            f" {self.name!r}. Tell the contestants your address; getstep login asks them which one it is"
        )


@dataclass(frozen=True, slots=True)
class NotAnnounced(Notice):
    """The contest is not announced on the local network, and why."""

    level = "warning"
    logged = "not_announced"

    why: str

    def text(self, _: Names, /) -> str:
        return f"! Not announced on this network, contestants type the address: {self.why}"


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
class ClusterConnected(Notice):
    """There is a connection to the scheduler of a cluster at ``where``; its workers follow."""

    logged = "cluster_connected"

    where: str

    def text(self, _: Names, /) -> str:
        return f"Connected to the Dask scheduler at {self.where}"


@dataclass(frozen=True, slots=True)
class ClusterChanged(Notice):
    """A cluster has so many ``workers`` now, which play ``slots`` matches at once."""

    logged = "cluster_changed"
    whole = True

    workers: int
    slots: int

    def text(self, _: Names, /) -> str:
        at_once = pluralize(self.slots, "match")
        return f"The cluster has {pluralize(self.workers, 'worker')}, for {at_once} at once"


@dataclass(frozen=True, slots=True)
class WorkersRefused(Notice):
    """Workers of a cluster play no matches, and why."""

    level = "warning"
    logged = "workers_refused"

    names: tuple[str, ...]
    why: str

    def text(self, _: Names, /) -> str:
        who = f"Worker {self.names[0]} plays"
        if len(self.names) > 1:
            who = f"{len(self.names)} workers, such as {self.names[0]}, play"
        return f"! {who} no matches: {self.why}"


@dataclass(frozen=True, slots=True)
class ClusterTrouble(Notice):
    """A match was lost with its worker and is played again, or there is no connection. It costs no bot anything."""

    level = "warning"
    logged = "cluster_trouble"

    why: str

    def text(self, _: Names, /) -> str:
        return f"! Cluster: {self.why}"


@dataclass(frozen=True, slots=True)
class ServerLate:
    """The server itself was ``seconds`` late in a turn of ``match``: that time is given back to the player."""

    match: Match
    player: Player
    seconds: float


@dataclass(frozen=True, slots=True)
class StartAsked(Notice):
    """The host has asked from the console for the start: now (``at`` is None), or at this Unix time."""

    logged = "start_asked"

    by: str
    at: float | None

    def text(self, _: Names, /) -> str:
        when = "now" if self.at is None else f"at {local_minute(self.at)}"
        return f"Starts {when}, without teams that are missing: {self.by} has asked for it"


@dataclass(frozen=True, slots=True)
class ContestStarted:
    """The first match is about to begin; ``done`` of ``total`` matches were already played earlier.

    ``remaining_estimate`` further matches will be issued later, as far as the formats can tell. ``paused``: why the
    host has paused the contest; None if it is not paused.
    """

    done: int
    total: int
    remaining_estimate: int = 0
    paused: str | None = None


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
class BotHangs:
    """A connected bot of ``team`` has missed ``misses`` limits in a row in silence, the last in ``match``.

    The limits may be of several matches: in most games the first one ends the match.
    """

    team: int
    match: int
    misses: int


@dataclass(frozen=True, slots=True)
class BotAnswers:
    """A bot of ``team`` that has hung in ``match`` hangs no more, and ``why``: an answer, or its connection."""

    team: int
    match: int
    why: str


@dataclass(frozen=True, slots=True)
class MatchEnded:
    """A match is over and its result is on disk. ``tables`` makes the current tables; any thread may call it."""

    result: Result
    done: int
    total: int
    tables: MakeTables


@dataclass(frozen=True, slots=True)
class MatchCalledOff(Notice):
    """A decision of the host has superseded an attempt at a match that was running or had just ended."""

    logged = "match_called_off"
    whole = True

    match: Match
    why: str

    def text(self, names: Names, /) -> str:
        return f"{names.match(self.match)} is aborted."


@dataclass(frozen=True, slots=True)
class DecisionTaken:
    """A decision was recorded, about ``match`` if that is not None. The other fields are those of `MatchEnded`."""

    decision: Decision
    match: Match | None
    done: int
    total: int
    tables: MakeTables


@dataclass(frozen=True, slots=True)
class FriendlyStarted(Notice):
    """A friendly match of an arena has begun, which counts nowhere."""

    logged = "friendly_started"

    match: Match

    def text(self, names: Names, /) -> str:
        return f"Friendly match {names.match(self.match)}; it counts nowhere"


@dataclass(frozen=True, slots=True)
class FriendlyEnded(Notice):
    """A friendly match is over; ``how`` says how, or is empty if it was broken off."""

    logged = "friendly_ended"

    match: Match
    how: str


@dataclass(frozen=True, slots=True)
class TeamsChanged(Notice):
    """These teams are new, or have another name, token or number of seats, from now on."""

    logged = "teams_changed"

    teams: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TeamsUnreadable(Notice):
    """A changed teams.toml cannot be read: the teams stay as they were."""

    level = "warning"
    logged = "teams_unreadable"

    why: str

    def text(self, _: Names, /) -> str:
        return f"! The teams stay as they were: {self.why}"


@dataclass(frozen=True, slots=True)
class MatchNotResumed(Notice):
    """A match of an earlier run cannot go on; the attempt is void, and the match is played again."""

    level = "warning"
    logged = "match_not_resumed"

    match: Match
    why: str

    def text(self, names: Names, /) -> str:
        return f"! {names.match(self.match)} begins again: {self.why}"


@dataclass(frozen=True, slots=True)
class QuestionAsked(Notice):
    """A team has asked the host something; ``number`` is that of the question."""

    logged = "question"
    whole = True

    number: int
    team: int
    question: str

    def text(self, names: Names, /) -> str:
        return f"? {self.number}: {names.team(self.team)} asks: {self.question}"


@dataclass(frozen=True, slots=True)
class PauseComesLater(Notice):
    """The host has paused a match that a worker of a cluster plays: it is played to its end."""

    level = "warning"
    logged = "pause_comes_later"

    match: Match

    def text(self, names: Names, /) -> str:
        return (
            f"! {names.match(self.match)} is played to its end: a worker of the cluster plays it, and has its clock"
        )


@dataclass(frozen=True, slots=True)
class MatchParked(Notice):
    """A match is no longer played in this run: a process of its hosted programs has failed ``times`` times."""

    level = "error"
    logged = "match_parked"

    match: Match
    times: int
    why: str

    def text(self, names: Names, /) -> str:
        return f"! {names.match(self.match)} is parked after {self.times} failures; the others go on: {self.why}"


@dataclass(frozen=True, slots=True)
class JournalCut(Notice):
    """The last line of the journal was torn when the server died; it was cut off."""

    level = "warning"
    logged = "journal_cut"
    whole = True

    path: str
    line: int

    def text(self, _: Names, /) -> str:
        return f"! {self.path}: line {self.line} was incomplete after a crash; that turn is played again"


@dataclass(frozen=True, slots=True)
class DiskFull(Notice):
    """The disk of ``folder`` is full: no match starts until there is room again."""

    level = "error"
    logged = "disk_full"
    whole = True

    folder: str
    why: str

    def text(self, _: Names, /) -> str:
        wait = "no match starts, and running matches pause between two turns, until there is space"
        return f"! The disk of {self.folder} is full ({self.why}): {wait}. Nothing is lost; free some space."


@dataclass(frozen=True, slots=True)
class DiskLow(Notice):
    """The disk of ``folder`` has only ``free`` bytes left. Below ``least`` no match starts: the host makes room."""

    level = "warning"
    logged = "disk_low"
    whole = True

    folder: str
    free: int
    least: int

    def text(self, _: Names, /) -> str:
        least = f"below {self.least / 1e6:.0f} MB no match starts"
        return f"! The disk of {self.folder} has {self.free / 1e6:.0f} MB left; {least}. Make room in time."


@dataclass(frozen=True, slots=True)
class StandbyMissing(Notice):
    """Strict mode: no standby host has stored the record at ``place`` in time; it has those up to ``copied``."""

    level = "error"
    logged = "standby_missing"
    whole = True

    place: int
    copied: int

    def text(self, _: Names, /) -> str:
        return (
            f"! The contest stands still: no standby host has record {self.place} (it has {self.copied}). Running"
            " matches are played to their end; no result is announced and no match starts. Start getstep-server"
            " follow on the second computer, or go on without it: getstep-server standby CONTEST --strict off"
            " --why TEXT"
        )


@dataclass(frozen=True, slots=True)
class StandbyReady(Notice):
    """The contest goes on after `StandbyMissing`: a standby host has the record, or the host has decided so."""

    level = "info"
    logged = "standby_ready"
    whole = True

    place: int

    def text(self, _: Names, /) -> str:
        return f"The contest goes on: record {self.place} need no longer wait for a standby host."


@dataclass(frozen=True, slots=True)
class DatabaseLocked(Notice):
    """Another program keeps the database in ``folder`` locked: no match starts until it is unlocked."""

    level = "error"
    logged = "database_held"
    whole = True

    folder: str
    why: str

    def text(self, _: Names, /) -> str:
        wait = "no match starts and no result counts until the lock is released"
        return (
            f"! Another program has locked the database in {self.folder} ({self.why}): {wait}."
            " Nothing is lost; close that program."
        )


@dataclass(frozen=True, slots=True)
class DatabaseAway(Notice):
    """The server of the database of the contest in ``folder`` does not answer: no match starts until it does."""

    level = "error"
    logged = "database_away"
    whole = True

    folder: str
    why: str

    def text(self, _: Names, /) -> str:
        wait = "no match starts and no result counts until it does"
        return f"! The database's server does not answer ({self.why}): {wait}. Nothing is lost."


@dataclass(frozen=True, slots=True)
class DiskUsable(Notice):
    """The disk can be written again, after `DiskFull`, `DatabaseLocked` or `DatabaseAway`."""

    logged = "disk_usable"
    whole = True

    folder: str

    def text(self, _: Names, /) -> str:
        return "The disk and the database can be written again; the contest continues."


@dataclass(frozen=True, slots=True)
class Waiting:
    """No match can start: these teams have matches to play and are not connected.

    ``gathering``: all other matches wait for them, too, until all are present or the host presses Enter, but no
    longer than ``seconds``.
    """

    teams: tuple[int, ...]
    gathering: bool = False
    seconds: int | None = None


Repeatable: TypeAlias = (
    Incident
    | BotAnswers
    | BotHangs
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

    Consumers that write lines for people use this instead of ``event`` itself; see `runtime.run_log`.
    """

    event: Repeatable
    count: int


@dataclass(frozen=True, slots=True)
class ContestOver(Notice):
    """All matches are played and recorded. The clients now get their goodbye, which may take a while."""

    logged = "contest_over"


@dataclass(frozen=True, slots=True)
class IncidentsSummed:
    """The run is over: the ``total`` of incidents, and the ``most`` frequent kinds with their counts."""

    total: int
    most: tuple[tuple[Incident, int], ...]


Event: TypeAlias = (
    Listening
    | PageEnded
    | CertificateNews
    | JudgeEnded
    | HouseBotEnded
    | Announced
    | AnnouncedAsAnother
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
    | BotHangs
    | BotAnswers
    | MatchEnded
    | MatchCalledOff
    | DecisionTaken
    | FriendlyStarted
    | FriendlyEnded
    | TeamsChanged
    | TeamsUnreadable
    | MatchNotResumed
    | MatchParked
    | PauseComesLater
    | StartAsked
    | QuestionAsked
    | JournalCut
    | DiskFull
    | DatabaseAway
    | DatabaseLocked
    | DiskLow
    | DiskUsable
    | StandbyMissing
    | StandbyReady
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
        """Call ``consumer`` with each later event of these kinds."""
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
            except Exception:  # one consumer must not keep the others from an event
                if consumer not in self._failed:
                    self._failed.append(consumer)
                    faults.append(ServerFault(f"event consumer {_name(consumer)}", traceback.format_exc()))
        for fault in faults:
            self.publish(fault)


def _name(consumer: Publish) -> str:
    return str(getattr(consumer, "__name__", type(consumer).__name__))
