"""The messages between the server and a judge process."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from getstep_server.config.contest import Team
from getstep_server.incident import Incident
from getstep_server.net.connection import SavedConnection
from getstep_server.net.seat import Silence
from getstep_server.play.scoresheet import Totals
from getstep_server.records.game import MatchLog
from getstep_server.records.pause import Pause
from getstep_server.records.result import Result


class Setup(Struct, frozen=True, tag=True):
    """The first message: the contest's folder and settings, and the number of the process's journal."""

    folder: str
    file: dict[str, Any]
    writer: int


class LentSeat(Struct, frozen=True):
    """A player's seat: its team, the id of its latest question, its silence, and its connection, if it has one.

    The connection has a number, by which both sides name it. Its descriptor travels with the message.
    """

    team: Team
    last_id: int
    silence: Silence
    number: int | None
    connection: SavedConnection | None


class LendMatch(Struct, frozen=True, tag=True):
    """Judge a match, or the rest of it. Its journal has ``lines`` lines until now."""

    match: int
    head: dict[str, Any]
    log: MatchLog
    lines: int
    seats: tuple[LentSeat, LentSeat]
    pause: Pause | None = None


class Bring(Struct, frozen=True, tag=True):
    """A connection has taken the seat of a player; its descriptor travels with the message."""

    match: int
    player: int
    number: int
    connection: SavedConnection


class Close(Struct, frozen=True, tag=True):
    """Close a connection with a goodbye."""

    number: int
    reason: str
    detail: str
    retry_ms: int | None


class Note(Struct, frozen=True, tag=True):
    """Record an incident that the server has noticed in a match."""

    match: int
    incident: Incident


class PauseMatch(Struct, frozen=True, tag=True):
    """Pause a match, or let it go on (None)."""

    match: int
    pause: Pause | None


class Notify(Struct, frozen=True, tag=True):
    """Send a notice on a connection."""

    number: int
    kind: str
    match: int | None
    text: str


class ReturnMatch(Struct, frozen=True, tag=True):
    """Return a match that is not over."""

    match: int


class Append(Struct, frozen=True, tag=True):
    """Write entries of a returned match to the journal."""

    tag: bytes
    entries: list[bytes]


class Finish(Struct, frozen=True, tag=True):
    """Forget a returned match in the journal: it is on record, or abandoned."""

    tag: bytes


ToJudge: TypeAlias = Setup | LendMatch | Bring | Close | Note | PauseMatch | Notify | ReturnMatch | Append | Finish


class LoanProgress(Struct, frozen=True, array_like=True):
    """The turns and passes of a match since the last message, and for each seat what the choice of a seat needs."""

    match: int
    turns: list[bytes]
    totals: Totals
    asked: tuple[bool, bool]
    """True for a player that owes an answer."""
    received_ns: tuple[int, int]
    """When something last arrived from each player, by `time.perf_counter_ns`; 0 without a connection."""


class ProgressReport(Struct, frozen=True, tag=True):
    """The process works; what has been played since the last message."""

    matches: list[LoanProgress]


class ConnectionEnded(Struct, frozen=True, tag=True):
    """A connection has ended, or was closed."""

    number: int
    why: str


class Back(Struct, frozen=True, tag=True):
    """A connection came when its match was over: the server serves it again."""

    number: int
    connection: SavedConnection


class Returned(Struct, frozen=True, tag=True):
    """A match is over if it has a ``result``. Otherwise the judge has failed, or was stopped.

    ``turns`` and ``totals`` are as in `LoanProgress`, ``incidents`` are all those of the match. ``fault`` is the
    traceback of a failure. ``last_ids`` are the ids of the latest questions, ``silences`` those of the seats.
    """

    match: int
    turns: list[bytes]
    totals: Totals
    incidents: list[dict[str, Any]]
    last_ids: tuple[int, int]
    silences: tuple[Silence, Silence]
    connections: list[tuple[int, SavedConnection]]
    begun: bool
    """True if the players know of the match."""
    result: Result | None
    fault: str | None


class Published(Struct, frozen=True, tag=True):
    """An event, by the name of its class."""

    kind: str
    event: msgspec.Raw


FromJudge: TypeAlias = ProgressReport | ConnectionEnded | Back | Returned | Published
