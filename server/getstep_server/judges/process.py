"""A judge process: it judges the matches that the server lends to it, with the server's own modules."""

from __future__ import annotations

import contextlib
import socket
import traceback
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import trio

from getstep.wire import Goodbye, Notice
from getstep_server.children.channel import Channel
from getstep_server.config.contest import Contest, ContestFile, Team
from getstep_server.events import Event, MovePlayed, Publish, TeamArrived, TeamLeft
from getstep_server.incident import Incident
from getstep_server.limits import JUDGE_BACKLOG_BYTES
from getstep_server.net.classic import ClassicConnection
from getstep_server.net.connection import ClientConnection, SavedConnection
from getstep_server.net.registry import ConnectionRegistry
from getstep_server.net.seat import Peer, Seat, Shared
from getstep_server.net.wire_connection import WireConnection
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.judge import play_match
from getstep_server.play.pause import MatchPause
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.records.result import Result
from getstep_server.storage.disk import Disk
from getstep_server.storage.journal import Journal, tag_of
from getstep_server.validation import validated

from .messages import (
    Append,
    Back,
    Bring,
    Close,
    ConnectionEnded,
    Finish,
    LendMatch,
    LentSeat,
    LoanProgress,
    Note,
    Notify,
    PauseMatch,
    ProgressReport,
    Published,
    Returned,
    ReturnMatch,
    Setup,
    ToJudge,
)

PROGRESS_SECONDS = 0.5
"""The time between two reports to the server."""

_WIRES: dict[str, type[ClientConnection]] = {wire.__name__: wire for wire in (WireConnection, ClassicConnection)}
_NOT_PASSED_ON = (MovePlayed, TeamArrived, TeamLeft)
"""Moves cost too much, and travel as turns. The server itself publishes the coming and going of teams."""


async def run(sock: socket.socket) -> None:
    """Judge matches until the other end of ``sock`` is closed."""
    channel: Channel[ToJudge] = Channel(sock, ToJudge)
    async with contextlib.aclosing(channel.receive()) as messages:
        async for message in messages:
            if isinstance(message, Setup):
                await JudgeProcess(channel, message).run(messages)
    channel.close()


@dataclass
class _LentMatch:
    sheet: Scoresheet
    seats: tuple[Seat, Seat]
    told: int = 0
    """The number of turns and passes that the server knows."""
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    pause: MatchPause = field(default_factory=MatchPause)


class _ReportingSeat(Seat):
    """A seat for one match, which tells when a connection of it has ended."""

    def __init__(self, team: Team, publish: Publish, last_id: int, lost: Callable[[Peer, str], None]) -> None:
        super().__init__(team, publish, Shared(last_id=last_id))
        self._lost = lost

    def detach(self, connection: Peer, why: str) -> None:
        super().detach(connection, why)
        self._lost(connection, why)


class JudgeProcess:
    """The state of a judge process.

    Args:
        channel: to the server.
        setup: the first message.
    """

    def __init__(self, channel: Channel[ToJudge], setup: Setup) -> None:
        file = validated(ContestFile, setup.file)
        self._contest = Contest(Path(setup.folder), file, {})  # a seat that is lent brings its team
        self._channel = channel
        self._journal = Journal(self._contest.running, writer=setup.writer)
        self._disk = Disk(self._contest.folder, self._publish)
        self._scheduler = DeadlineScheduler()
        self._registry = ConnectionRegistry(self._contest, {}, self._publish, batch=self._journal.batch)
        self._matches: dict[int, _LentMatch] = {}
        self._connections: dict[ClientConnection, int] = {}
        """The connections that are served here, with their numbers."""

    async def run(self, messages: AsyncIterator[ToJudge]) -> None:
        """Do what ``messages`` ask for, to their end."""
        with contextlib.closing(self._journal):
            async with self._registry.poller.open(), trio.open_nursery() as nursery:
                nursery.start_soon(self._scheduler.run)
                nursery.start_soon(self._channel.run)
                nursery.start_soon(self._report_progress)
                async for message in messages:
                    self._do(message, nursery)
                nursery.cancel_scope.cancel()

    def _do(self, message: ToJudge, nursery: trio.Nursery) -> None:
        match message:
            case LendMatch():
                self._begin(message, nursery)
            case Bring():
                self._bring(message, nursery)
            case Close(number, reason, detail, retry_ms):
                for connection in [c for c, known in self._connections.items() if known == number]:
                    connection.close(Goodbye(reason, detail, retry_ms))
            case Note(number, incident) if number in self._matches:
                self._matches[number].sheet.incident(incident)
            case PauseMatch(number, pause) if number in self._matches:
                self._matches[number].pause.set(pause)
            case Notify(number, kind, about, text):
                for connection in [c for c, known in self._connections.items() if known == number]:
                    connection.send(Notice(kind, about, text))
            case ReturnMatch(number) if number in self._matches:
                self._matches[number].scope.cancel()
            case Append(tag, entries):
                with contextlib.suppress(OSError):  # the next line of any match writes it as well
                    self._journal.append(tag, *entries)
            case Finish(tag):
                nursery.start_soon(self._finish, tag)

    # --- matches ---

    def _begin(self, order: LendMatch, nursery: trio.Nursery) -> None:
        sheet = Scoresheet(order.head, self._journal, self._disk)
        sheet.restore(order.log)
        self._journal.follow(tag_of(order.match, sheet.attempt), order.lines)
        first, second = (self._seat(lent, nursery) for lent in order.seats)
        match = self._matches[order.match] = _LentMatch(sheet, (first, second), len(order.log.turns))
        match.pause.set(order.pause)
        nursery.start_soon(self._judge, order.match, match)

    def _seat(self, lent: LentSeat, nursery: trio.Nursery) -> Seat:
        seat = _ReportingSeat(lent.team, self._publish, lent.last_id, self._lost)
        seat.silence = lent.silence
        if lent.number is not None and lent.connection is not None:
            seat.connection = self._adopt(lent.number, lent.connection, seat, nursery)
        return seat

    def _adopt(self, number: int, saved: SavedConnection, seat: Seat, nursery: trio.Nursery) -> ClientConnection:
        sock = socket.socket(fileno=self._channel.take_file())
        connection = _WIRES[saved.wire](self._registry, sock, saved.address)
        connection.adopt(saved, seat)
        self._connections[connection] = number
        nursery.start_soon(connection.run)
        return connection

    def _bring(self, order: Bring, nursery: trio.Nursery) -> None:
        match = self._matches.get(order.match)
        if match is None:  # it has just been returned
            socket.socket(fileno=self._channel.take_file()).close()
            self._channel.send(Back(order.number, order.connection))
            return
        seat = match.seats[order.player]
        seat.attach(self._adopt(order.number, order.connection, seat, nursery))

    async def _judge(self, number: int, match: _LentMatch) -> None:
        """Judge a match to its end, or until it is stopped, and return it."""
        result: Result | None = None
        fault: str | None = None
        with match.scope:
            try:
                result = await play_match(match.sheet, match.seats, self._scheduler, self._publish, match.pause)
            except Exception:  # the server has to hear of it: it plays the match again
                fault = traceback.format_exc()
        del self._matches[number]  # from here on, messages about it come too late
        begun = match.seats[0].in_match  # before `release`, which ends it
        connections = []
        for seat in match.seats:
            seat.release()
            if isinstance(seat.connection, ClientConnection):
                connection, seat.connection = seat.connection, None
                connections.append((self._connections.pop(connection), connection.give_back()))
        log, totals = match.sheet.log, match.sheet.totals
        last_ids = match.seats[0].last_id, match.seats[1].last_id
        silences = match.seats[0].silence, match.seats[1].silence
        turns = log.turns[match.told :]
        self._channel.send(
            Returned(number, turns, totals, log.incidents, last_ids, silences, connections, begun, result, fault)
        )

    async def _finish(self, tag: bytes) -> None:
        with trio.CancelScope(shield=True), contextlib.suppress(OSError):  # a segment of the journal stays behind
            await trio.to_thread.run_sync(self._journal.finish, tag)

    # --- what the server hears ---

    async def _report_progress(self) -> None:
        """Report what has been played, at intervals, until cancelled."""
        while True:
            if self._channel.backlog < JUDGE_BACKLOG_BYTES:  # else later: the server does not keep up
                self._channel.send(ProgressReport([self._progress(*item) for item in self._matches.items()]))
            await trio.sleep(PROGRESS_SECONDS)

    def _progress(self, number: int, match: _LentMatch) -> LoanProgress:
        turns = match.sheet.turns_from(match.told)
        match.told += len(turns)
        first, second = match.seats
        return LoanProgress(
            number,
            list(turns),
            match.sheet.totals,
            (first.has_question, second.has_question),
            (_received_ns(first), _received_ns(second)),
        )

    def _lost(self, connection: Peer, why: str) -> None:
        number = self._connections.pop(connection, None) if isinstance(connection, ClientConnection) else None
        if number is not None:
            self._channel.send(ConnectionEnded(number, why))

    def _publish(self, event: Event) -> None:
        """Pass an event on to the server, and record an incident in the match that it happened in."""
        if isinstance(event, _NOT_PASSED_ON):
            return
        if isinstance(event, Incident):
            for match in self._matches_of(event):
                match.sheet.incident(event)
        if self._channel.backlog < JUDGE_BACKLOG_BYTES:
            self._channel.send(Published(type(event).__name__, msgspec.Raw(msgspec.msgpack.encode(event))))

    def _matches_of(self, incident: Incident) -> list[_LentMatch]:
        match = self._matches.get(incident.match or 0)
        if match is not None:
            return [match]
        return [match for match in self._matches.values() if incident.team in match.sheet.match.teams]


def _received_ns(seat: Seat) -> int:
    return 0 if seat.connection is None else seat.connection.last_received_ns
