"""The judge processes of one run, as a venue: `[server] judges` in contest.toml. See `getstep_server.judges`.

`JudgeHandle` is one life of a process: what the server has lent to it, and what comes back. `JudgeProcesses` keeps
them running. A judge process that dies is the server's fault: its matches are void and played again, its teams
connect again, and it is started again after a pause. While none is there, the server judges itself.
"""

from __future__ import annotations

import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field
from functools import partial

import msgspec
import trio
from msgspec.structs import replace

from getstep.wire import Goodbye, Notice
from getstep_server.children.channel import Channel
from getstep_server.children.keeping import keep_running
from getstep_server.children.log import ChildLog
from getstep_server.children.process import kill, run, start
from getstep_server.config.contest import Contest
from getstep_server.errors import UsageError
from getstep_server.events import EVERY, Event, JudgeEnded, Publish, ServerFault
from getstep_server.incident import Incident
from getstep_server.judges.messages import (
    Append,
    Back,
    Bring,
    Close,
    ConnectionEnded,
    Finish,
    FromJudge,
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
)
from getstep_server.net.connection import ClientConnection, SavedConnection
from getstep_server.net.seat import REPLACED, Peer, Seat
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.judge import play_match, start_message
from getstep_server.play.scoresheet import Scoresheet, ScoresheetStore
from getstep_server.records.game import Programs
from getstep_server.records.result import PLAYERS, Result
from getstep_server.storage.journal import Journal, JournalError, JournalLine, WriteResult, tag_of
from getstep_server.storage.recovery import inherit

from .attempt import Attempt
from .hosted import HostedPrograms

ANSWER_SECONDS = 10.0
"""The time for a judge process to return a match that is stopped: then it hangs, and is killed."""

MATCH_QUESTIONS = 10_000
"""The ids of questions that a match reserves: a match of hop has at most 400 turns.

An id has 31 bits, and a team's first one is in their first half: enough for 100,000 matches of a team in one run.
"""

RETRY_MS = 1000
"""Clients whose judge process has died connect again after this pause."""

_EVENTS: dict[str, type[Event]] = {kind.__name__: kind for kind in EVERY}


class JudgeDied(Exception):  # noqa: N818 - an end of a process, as its code says
    """The process that judged a match has ended."""


@dataclass
class _Loan:
    attempt: Attempt
    sheet: Scoresheet
    reserved: tuple[int, int]
    """The last id of a question that each player may be asked."""
    over: trio.Event = field(default_factory=trio.Event)
    returned: Returned | None = None


class _LentJournal:
    """The journal of a lent match: its first lines are in the server's, the others in that of a judge process."""

    def __init__(self, own: Journal, process: JudgeHandle, token: trio.lowlevel.TrioToken) -> None:
        self._own = own
        self._process = process
        self._token = token

    def append(self, tag: bytes, *entries: bytes) -> WriteResult:
        """Write entries of a match that was returned."""
        self._process.append(tag, entries)
        return WriteResult.WRITTEN

    def flush(self) -> None:
        pass  # the other process writes

    def on_commit(self, _: Callable[[WriteResult], None]) -> None:
        raise RuntimeError("the turns of a lent match are written elsewhere")

    def finish(self, tag: bytes) -> None:
        """Forget a game in both journals; any thread may call this."""
        self._own.finish(tag)
        with suppress(trio.RunFinishedError):  # the run is over, and the process ends with its journal
            self._token.run_sync_soon(self._process.finish, tag)


class JudgeHandle:
    """One life of a judge process.

    Args:
        contest: the contest.
        sheets: has the journal of the server.
        writer: the number of the process's journal.
        publish: called with its events.
        changed: called when a connection is no longer lent.
    """

    def __init__(
        self,
        contest: Contest,
        sheets: ScoresheetStore,
        writer: int,
        publish: Publish,
        changed: Callable[[], None],
    ) -> None:
        self._contest = contest
        self._sheets = sheets
        self._writer = writer
        self._publish = publish
        self._changed = changed
        self.loans: dict[int, _Loan] = {}
        self._connections: dict[int, ClientConnection] = {}
        self._numbers: dict[Peer, int] = {}
        self._next_number = 0
        self._passing_on = False
        """True while an incident of the process is published: it has recorded it already."""
        self._unfinished: set[bytes] = set()
        """The matches that may have lines in the process's journal."""
        self._inherited: Journal | None = None
        self._is_ready = self._ended = False

    @property
    def works(self) -> bool:
        """True from its first message until the end of its channel."""
        return self._is_ready and not self._ended

    # --- the process ---

    async def run(self, ready: Callable[[], object]) -> int:
        """Run the process, and call ``ready`` when it works. If it ends, settle its matches and return its code.

        If this is cancelled, end the process.
        """
        ours, theirs = socket.socketpair()
        self._channel: Channel[FromJudge] = Channel(ours, FromJudge)
        try:
            with theirs:  # closed here: while this process holds that end, the channel never ends with the child
                command = [sys.executable, "-m", "getstep_server.judges", str(theirs.fileno())]
                self._process = await start(command, files=[theirs.fileno()])
        except BaseException as error:
            self._channel.close()
            if isinstance(error, OSError):  # no memory or no process left
                return -1
            raise
        code = -1
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._follow)
                nursery.start_soon(self._channel.run)
                self._channel.send(self._setup())
                await self._receive(ready)
                nursery.cancel_scope.cancel()
        finally:
            self._ended = True
            self._channel.close()  # also if the process has ended by itself: `run` has asked nobody to end then
            if self._process.returncode is not None:
                code = self._process.returncode
            # Shielded: connections and matches must not stay lent to a process that is gone.
            with trio.CancelScope(shield=True):
                await self._settle(code)
        return code

    async def _follow(self) -> None:
        with ChildLog(self._contest.folder / "judges.log", append=True) as log:
            await run(self._process, log, ask_to_end=self._channel.close)

    async def _receive(self, ready: Callable[[], object]) -> None:
        """Do what the messages say, to the end of the channel or to a message that cannot be handled."""
        async with aclosing(self._channel.receive()) as messages:
            try:
                async for message in messages:
                    self._take(message)
                    if not self._is_ready:
                        self._is_ready = True
                        ready()
            # a broken message ends this process's channel, and with it its loans, but not the run
            except Exception:
                self._publish(ServerFault("a message of a judge process", traceback.format_exc()))

    def _setup(self) -> Setup:
        file = msgspec.to_builtins(self._contest.file)
        return Setup(str(self._contest.folder), file, self._writer)

    # --- matches ---

    async def play(self, attempt: Attempt, sheet: Scoresheet) -> Result:
        """Let the process judge a match; see `JudgeProcesses.play`."""
        loan = self._lend(attempt, sheet)

        def pause() -> None:
            if not self._ended:
                self._channel.send(PauseMatch(sheet.match.number, attempt.pause.order))

        attempt.pause.follow(pause)
        try:
            await loan.over.wait()
        finally:
            attempt.pause.unfollow(pause)
            if not loan.over.is_set():
                await self._stop(loan)
        if loan.returned is None:
            raise JudgeDied(f"the process that judged match {sheet.match.number} has ended; judges.log may say why")
        if loan.returned.result is None:
            raise RuntimeError(loan.returned.fault)
        return replace(loan.returned.result, match=sheet.match)

    async def _stop(self, loan: _Loan) -> None:
        """Wait until a match that must not go on is returned; kill a process that does not return it."""
        self._channel.send(ReturnMatch(loan.sheet.match.number))
        # Shielded: the attempt is being cancelled, and its connections must come back first.
        with trio.move_on_after(ANSWER_SECONDS, shield=True):
            await loan.over.wait()
        if not loan.over.is_set():
            kill(self._process)  # it answers to nothing: its matches are void and played again
            with trio.CancelScope(shield=True):
                await loan.over.wait()

    def _lend(self, attempt: Attempt, sheet: Scoresheet) -> _Loan:
        match, clocks = sheet.match, sheet.match_state.clocks
        seats: list[LentSeat] = []
        files: list[int] = []
        for player, seat in zip(PLAYERS, attempt.seats, strict=True):
            opponent = attempt.seats[1 - player].team.name
            start = start_message(match, opponent, clocks.control, clocks.lag, is_black=player == 0)
            last_id = seat.lend(start, self, MATCH_QUESTIONS)
            number, saved = None, None
            if isinstance(seat.connection, ClientConnection):
                files.append(seat.connection.fileno())
                number, saved = self._lend_connection(seat.connection)
            seats.append(LentSeat(seat.team, last_id, seat.silence, number, saved))
        own, log = self._sheets.journal, sheet.log
        tag = tag_of(match.number, sheet.attempt)
        self._unfinished.add(tag)
        first, second = seats
        reserved = first.last_id + MATCH_QUESTIONS, second.last_id + MATCH_QUESTIONS
        loan = self.loans[match.number] = _Loan(attempt, sheet, reserved)
        lent = LendMatch(
            match.number, dict(sheet.head), log, own.lines_of(tag), (first, second), attempt.pause.order
        )
        self._channel.send(lent, files)
        token = trio.lowlevel.current_trio_token()
        sheet.lend(_LentJournal(own, self, token), lambda incident: self._note(match.number, incident))
        return loan

    def _lend_connection(self, connection: ClientConnection) -> tuple[int, SavedConnection]:
        self._next_number += 1
        number = self._next_number
        self._connections[number], self._numbers[connection] = connection, number
        return number, connection.lend(self)

    def _forget(self, number: int) -> ClientConnection | None:
        """Remove and return a connection that is no longer lent."""
        connection = self._connections.pop(number, None)
        if connection is not None:
            del self._numbers[connection]
            self._changed()
        return connection

    # --- for the seats, the scoresheet and its journal ---

    def bring(self, seat: Seat, connection: Peer) -> None:
        """Lend a connection that has come in mid-match; see `seat.Borrower`."""
        loan = self.loans.get(seat.match or 0)
        if loan is not None and isinstance(connection, ClientConnection):
            descriptor = connection.fileno()
            number, saved = self._lend_connection(connection)
            player = loan.attempt.seats.index(seat)
            self._channel.send(Bring(loan.sheet.match.number, player, number, saved), [descriptor])

    def close(self, connection: Peer, goodbye: Goodbye) -> None:
        """Close a lent connection; see `seat.Borrower`."""
        if connection in self._numbers:
            number = self._numbers[connection]
            self._channel.send(Close(number, goodbye.reason, goodbye.detail, goodbye.retry_ms))

    def notify(self, connection: Peer, notice: Notice) -> None:
        """Send a notice on a lent connection; see `seat.Borrower`."""
        if connection in self._numbers:
            number = self._numbers[connection]
            self._channel.send(Notify(number, notice.kind, notice.match, notice.text))

    def _note(self, match: int, incident: Incident) -> None:
        if not self._passing_on:
            self._channel.send(Note(match, incident))

    def append(self, tag: bytes, entries: Sequence[bytes]) -> None:
        """Write entries of a returned match to the process's journal."""
        if self._inherited is not None:
            with suppress(OSError):  # the next run plays the match again
                self._inherited.append(tag, *entries)
        elif not self._ended:
            self._channel.send(Append(tag, list(entries)))

    def finish(self, tag: bytes) -> None:
        """Forget a game in the process's journal."""
        self._unfinished.discard(tag)
        if self._inherited is not None:
            with suppress(OSError):  # a segment of the journal stays behind
                self._inherited.finish(tag)
        elif not self._ended:
            self._channel.send(Finish(tag))

    # --- what the process says ---

    def _take(self, message: FromJudge) -> None:
        match message:
            case ProgressReport(matches):
                for progress in matches:
                    self._note_progress(progress)
            case Returned():
                self._take_back(message)
            case ConnectionEnded(number, why):
                connection = self._forget(number)
                if connection is not None:
                    connection.lost(why)
            case Back(number, saved):
                connection = self._serve_again(number, saved)
                if connection is not None and connection.seat is not None:
                    connection.seat.inform(connection)
            case Published(kind, event):
                self._passing_on = True
                self._publish(msgspec.msgpack.decode(event, type=_EVENTS[kind]))
                self._passing_on = False

    def _note_progress(self, progress: LoanProgress) -> None:
        loan = self.loans[progress.match]
        loan.sheet.follow(progress.turns, progress.totals)
        parts = zip(loan.attempt.seats, progress.asked, progress.received_ns, strict=True)
        for seat, asked, received_ns in parts:
            seat.note_question(is_open=asked)
            if isinstance(seat.connection, ClientConnection) and seat.connection in self._numbers:
                seat.connection.note_received(received_ns)

    def _take_back(self, returned: Returned) -> None:
        loan = self.loans.pop(returned.match)
        for number, saved in returned.connections:
            self._serve_again(number, saved)
        states = zip(loan.attempt.seats, loan.reserved, returned.last_ids, returned.silences, strict=True)
        for seat, reserved, last_id, silence in states:
            seat.take_back(reserved, last_id, silence)
            if not returned.begun:
                seat.release()
        loan.sheet.follow(returned.turns, returned.totals)
        loan.sheet.take_back(returned.incidents)
        loan.returned = returned
        loan.over.set()

    def _serve_again(self, number: int, saved: SavedConnection) -> ClientConnection | None:
        """Take a connection back, and return it if it still has its seat."""
        connection = self._forget(number)
        if connection is not None:
            connection.take_back(saved)
            if connection.seated:
                return connection
            connection.close(REPLACED)  # while it was on its way
        return None

    # --- its end ---

    async def _settle(self, code: int) -> None:
        """Take over what a process that has ended leaves behind: its journal, its connections and its matches."""
        games: Mapping[bytes, Sequence[JournalLine]] = {}
        try:
            inherited, games = await trio.to_thread.run_sync(inherit, self._contest.running, self._writer)
            for tag in games.keys() - self._unfinished:  # the process had no time to do it
                await trio.to_thread.run_sync(inherited.finish, tag)
            self._inherited = inherited
        except (JournalError, OSError) as error:
            self._publish(ServerFault("the journal of a judge process", str(error)))
        loans, self.loans = self.loans, {}
        for loan in loans.values():
            for seat, reserved in zip(loan.attempt.seats, loan.reserved, strict=True):
                seat.take_back(reserved, reserved, seat.silence)
        for number in list(self._connections):
            connection = self._forget(number)
            if connection is not None:
                connection.take_back(None)
                detail = f"The server's judge has failed (code {code}); your match is played again."
                connection.close(Goodbye("shutting_down", detail, RETRY_MS))
        for number, loan in loans.items():
            lines = games.get(tag_of(number, loan.sheet.attempt), ())
            try:
                await trio.to_thread.run_sync(loan.sheet.recover, lines)
            except JournalError as error:
                self._publish(ServerFault("the journal of a judge process", str(error)))
            loan.over.set()  # last: the task that waits makes the record of the sheet


# --- all of them ---


def check_judges(contest: Contest) -> None:
    """Raise UsageError if this system cannot run as many judge processes as contest.toml asks for."""
    judges = contest.file.server.judges
    if judges > 1 and not hasattr(socket, "SCM_RIGHTS"):
        raise UsageError(
            f"[server] judges: {judges} judge processes need Linux or macOS; set judges = 1 in contest.toml"
        )


class JudgeProcesses:
    """The judge processes, as a venue that takes all matches while one of them is there.

    Args:
        contest: the contest.
        hosted: the programs that this machine runs.
        sheets: has the journal of the server.
        scheduler: wakes the judge of the server itself.
        publish: called with the events of the processes, and with failures.
    """

    def __init__(
        self,
        contest: Contest,
        hosted: HostedPrograms,
        sheets: ScoresheetStore,
        scheduler: DeadlineScheduler,
        publish: Publish,
    ) -> None:
        self._contest = contest
        self._hosted = hosted
        self._sheets = sheets
        self._scheduler = scheduler
        self._publish = publish
        self._processes: list[JudgeHandle] = []
        """Those that were ready. One that has ended stays here until all that it had is settled."""
        self._writer = 0
        self._returned = trio.Event()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep all processes running until cancelled. It has started when each is ready, or has failed once."""
        self._writer = self._sheets.journal.writer  # each life has a number of its own: no two append to one file
        (self._contest.folder / "judges.log").unlink(missing_ok=True)
        async with trio.open_nursery() as nursery:
            async with trio.open_nursery() as starting:
                for _ in range(self._contest.file.server.judges):
                    starting.start_soon(nursery.start, self._keep_process)
            task_status.started()

    async def _keep_process(self, task_status: trio.TaskStatus[None]) -> None:
        """Start a process, and start it again whenever it ends, until cancelled."""
        started = False

        def ready() -> None:
            nonlocal started
            if not started:
                task_status.started()
            started = True

        async def live() -> int:
            self._writer += 1
            process = JudgeHandle(self._contest, self._sheets, self._writer, self._publish, self._changed)
            try:
                return await process.run(partial(self._ready, process, ready))
            finally:
                with suppress(ValueError):  # it was never ready
                    self._processes.remove(process)

        def ended(code: int, pause: float) -> None:
            self._publish(JudgeEnded(code, pause))
            ready()

        await keep_running(live, ended)

    def _ready(self, process: JudgeHandle, then: Callable[[], None]) -> None:
        self._processes.append(process)
        then()

    def _changed(self) -> None:
        self._returned.set()
        self._returned = trio.Event()  # each of those that wait has the one before

    # --- the venue ---

    def takes(self, _: Attempt) -> bool:
        return any(process.works for process in self._processes)

    def prepare(self, attempt: Attempt, is_due: Callable[[], bool]) -> AbstractAsyncContextManager[Programs | None]:
        """Run the hosted programs of the match: to a judge process, too, they are clients as all others."""
        return self._hosted.playing(attempt, is_due)

    async def play(self, attempt: Attempt, sheet: Scoresheet) -> Result:
        """Let the process with the fewest matches judge the match.

        Raises:
            JudgeDied: the process has ended.
            RuntimeError: its judge has failed.
        """
        await sheet.retry_until_written()  # what the disk did not take when the match was resumed
        while any(_is_lent(seat) for seat in attempt.seats):  # it came when the match before was just over
            await self._returned.wait()
        working = [process for process in self._processes if process.works]
        if not working:
            return await play_match(sheet, attempt.seats, self._scheduler, self._publish, attempt.pause)
        return await min(working, key=lambda process: len(process.loans)).play(attempt, sheet)


def _is_lent(seat: Seat) -> bool:
    return isinstance(seat.connection, ClientConnection) and seat.connection.is_lent
