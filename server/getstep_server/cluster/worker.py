"""A worker: plays a match between two hosted programs that a host has ordered, with the same judge and sandbox.

Theory of operation
-------------------

*One match, one event loop.* `play_order` runs in a thread of a worker's process, and blocks it until the match is
over. It opens a listener on the loopback interface, seats, and a journal in a folder of its own, and calls
`play_match`, as a run of a contest does. So clocks, turns and incidents are those of the host. Several threads may
play at the same time.

*Cores.* A match waits until it has a processor core of its own (`machine.own_core`). While it waits it says so,
because a host gives up a worker that is silent.

*Faults.* What a program does wrong costs its turn. Anything else that goes wrong is a failure of the worker. The
report says so, and the host plays the match again.

*Ends.* The process that plays with a program ends, and the program with it, when its standard input does. So no
program outlives a worker that is killed. `play_order` itself ends at the order's deadline at the latest.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import trio

from getstep_server.bot_runner.program_seats import ProgramSeats, SeatedProgram
from getstep_server.config.contest import Contest, ContestFile, ContestTable, Team
from getstep_server.config.event import EventTable
from getstep_server.errors import BotFailed
from getstep_server.events import DiskFull, Event, Listening, Publish
from getstep_server.incident import Incident
from getstep_server.limits import MAX_ORDER_SECONDS, MAX_PROGRESS_BYTES
from getstep_server.net.listener import accept_forever, open_listener
from getstep_server.net.registry import ConnectionRegistry
from getstep_server.net.seat import seats_of
from getstep_server.net.timestamps import timestamps_supported
from getstep_server.net.wire_connection import WireConnection
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.judge import play_match
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.programs.playing import ProgramJob
from getstep_server.records.record import Record
from getstep_server.sandbox import Protections
from getstep_server.storage.disk import Disk
from getstep_server.storage.journal import Journal

from .machine import own_core, prove, shared_folder
from .order import (
    FAILURE_CHARS,
    MatchOrder,
    MatchProgress,
    MatchReport,
    OrderError,
    ReportedResult,
    decode_order,
    encode,
)
from .program_files import PackedFilesError, ProgramCache

PROGRESS_SECONDS = 1.0
"""The interval at which turns are passed on while a match is played. The live page of the host shows them."""

STOPPED = "the host has stopped the match"

TellProgress = Callable[[bytes], object]


def prove_worker() -> bytes:
    """Return the proof of this machine, an encoded `WorkerProof`. It takes some seconds.

    Raises:
        OSError: the folder of the workers cannot be used.
    """
    folder = shared_folder()
    # Workers that were killed have left these folders behind.
    home = folder / "matches"
    for path in home.glob("*"):
        with contextlib.suppress(OSError):  # another worker has deleted it
            if time.time() - path.stat().st_mtime > MAX_ORDER_SECONDS:  # else its match may still be played
                shutil.rmtree(path, ignore_errors=True)
    return encode(prove(folder))


def play_order(
    order: bytes,
    files: Mapping[str, bytes],
    progress: TellProgress | None = None,
    stop: threading.Event | None = None,
) -> bytes:
    """Play one match, and return its report, an encoded `MatchReport`. It blocks the thread, and raises nothing.

    Args:
        order: an encoded `MatchOrder`.
        files: packed files by their SHA-256, of those programs that the worker may not have yet.
        progress: called about once a second with an encoded `MatchProgress`, in another thread.
        stop: set if the host no longer needs the match.
    """
    try:
        report = _report(decode_order(order), files, progress, stop or threading.Event())
    except Exception as error:  # the host has to hear of it, whatever it is
        report = MatchReport(failure=_reason(error))
    return encode(report)


def _report(
    order: MatchOrder, files: Mapping[str, bytes], progress: TellProgress | None, stop: threading.Event
) -> MatchReport:
    until = time.monotonic() + order.deadline_seconds
    folder = shared_folder()
    cache = ProgramCache(folder / "programs")
    for name, packed in files.items():
        if cache.find(name) is None:
            cache.add(name, packed)
    homes = {program.files: cache.find(program.files) for program in order.programs}
    missing = tuple(name for name, home in homes.items() if home is None)
    if missing:
        return MatchReport(missing=missing)
    waiting = _WaitingForCore(progress, stop)
    with _folder_of_match(folder / "matches") as own, own_core(folder, until, waiting) as core:
        protections = Protections(order.settings.sandbox)
        jobs = [
            ProgramJob(program.convention, program.command, home, protections, core)
            for program in order.programs
            if (home := homes[program.files]) is not None
        ]
        record = trio.run(_play, order, jobs, own, progress, stop, until)
    fields = record.fields
    played = {name: fields[name] for name in ReportedResult.__struct_fields__ if name in fields}
    return MatchReport(
        played=ReportedResult(**played, turns=fields["turns_played"]),
        lines=[line.decode() for line in record.turns],
        incidents=fields["incidents"],
    )


class _WaitingForCore:
    """Tells the host that a match waits for a core."""

    def __init__(self, progress: TellProgress | None, stop: threading.Event) -> None:
        self._empty = MatchProgress(start=0, lines=[])
        self._progress = progress
        self._stop = stop
        self._said = time.monotonic()

    def __call__(self) -> None:
        """Say so once a second. Raises BotFailed if the match has to stop."""
        if self._stop.is_set():
            raise BotFailed(STOPPED)
        if time.monotonic() - self._said > PROGRESS_SECONDS:
            self._said = time.monotonic()
            _tell(self._progress, self._empty)


def _tell(progress: TellProgress | None, message: MatchProgress) -> None:
    if progress is not None:
        with contextlib.suppress(Exception):  # the report has all turns; only spectators miss these until then
            progress(encode(message))


@contextlib.contextmanager
def _folder_of_match(home: Path) -> Iterator[Path]:
    home.mkdir(mode=0o700, exist_ok=True)
    # a program may leave files that this user cannot delete
    with tempfile.TemporaryDirectory(dir=home, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _reason(error: BaseException) -> str:
    """Return the text of a failure: of one that is expected its message, else its traceback."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:  # each nursery adds one
        error = error.exceptions[0]
    if isinstance(error, BotFailed | OSError | OrderError | PackedFilesError):
        # the end: the last lines of what a program said tell most
        return str(error)[-FAILURE_CHARS:] or type(error).__name__
    return "".join(traceback.format_exception(error))[-FAILURE_CHARS:]


# --- the match ----------------------------------------------------------------------------------------------------


async def _play(
    order: MatchOrder,
    jobs: Sequence[ProgramJob],
    folder: Path,
    progress: TellProgress | None,
    stop: threading.Event,
    until: float,
) -> Record:
    """Play the match, and return its record.

    Raises:
        BotFailed: the worker has failed.
    """
    sheet: Scoresheet | None = None
    problems = []
    with trio.move_on_after(max(0.0, until - time.monotonic())) as scope:

        def publish(event: Event) -> None:
            if isinstance(event, Incident) and event.team is not None and sheet is not None:
                sheet.incident(event)
            elif isinstance(event, DiskFull):  # here nobody frees space: another worker may have some
                problems.append(f"{event.folder}: {event.why}")
                scope.cancel()

        sheet = Scoresheet(order.head, Journal(folder), Disk(folder, publish))
        await sheet.begin()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_pass_on, sheet, progress, stop, scope)
            record = await _play_at_seats(order, jobs, folder, sheet, publish)
            nursery.cancel_scope.cancel()
            return record
    if stop.is_set():
        raise BotFailed(STOPPED)
    # the first problem: the others follow from it
    raise BotFailed(*problems[:1] or [f"the match was not over after {order.deadline_seconds:g} s"])


async def _pass_on(
    sheet: Scoresheet, progress: TellProgress | None, stop: threading.Event, scope: trio.CancelScope
) -> None:
    """Pass on the turns while they are played; cancel ``scope`` if the match has to stop."""
    passed_on = 0
    while True:
        await trio.sleep(PROGRESS_SECONDS)  # `stop` is set by a thread that knows no trio
        if stop.is_set():
            scope.cancel()
        lines = sheet.turns_from(passed_on)
        if progress is None or not lines:
            continue
        told = [line.decode() for line in _first_of(lines)]
        message = MatchProgress(start=passed_on, lines=told)
        passed_on += len(told)
        await trio.to_thread.run_sync(_tell, progress, message)


def _first_of(lines: Sequence[bytes]) -> Sequence[bytes]:
    """Return as many turns as fit into a `MatchProgress`. The others follow later, or with the report."""
    # In it each turn is a JSON string: with quotes and a comma, and with twice the length if it is all quotes.
    sizes = accumulate(2 * len(line) + 3 for line in lines)
    return lines[: sum(size < MAX_PROGRESS_BYTES - 100 for size in sizes) or 1]  # 100 for the rest of the message


async def _play_at_seats(
    order: MatchOrder, jobs: Sequence[ProgramJob], folder: Path, sheet: Scoresheet, publish: Publish
) -> Record:
    """Start the programs, judge the match, and return its record once the programs have ended."""
    contest = _contest_of(order.head, folder)
    programs = ProgramSeats(folder / "playing", publish)
    seats = {number: seats_of(team, programs.seat_publish) for number, team in contest.teams.items()}
    programs.logins = dict.fromkeys(seats)
    registry = ConnectionRegistry(contest, seats, publish, hosted=programs.logins)
    scheduler = DeadlineScheduler()
    first, second = (seats[team][0] for team in sheet.match.teams)
    with contextlib.closing(open_listener("127.0.0.1", 0)) as listener:
        where = Listening("127.0.0.1", listener.getsockname()[1], None, stamped=timestamps_supported())
        async with registry.poller.open(), trio.open_nursery() as nursery:
            nursery.start_soon(accept_forever, listener, WireConnection, registry, nursery)
            nursery.start_soon(scheduler.run)
            seated = [
                SeatedProgram(replace(job, home=programs.home(seat.team.id)), seat, first=seat is first)
                for job, seat in zip(jobs, (first, second), strict=True)
            ]
            async with programs.playing(sheet.match.number, seated, where, order.settings.startup_seconds):
                result = await play_match(sheet, (first, second), scheduler, publish)
            nursery.cancel_scope.cancel()
    return sheet.record(result)


def _contest_of(head: Mapping[str, Any], folder: Path) -> Contest:
    """Return a contest of the two teams; nobody but this process knows their tokens."""
    event = EventTable(game=head["game"], options=head["options"])
    file = ContestFile(contest=ContestTable(name=head["contest"]), event=[event])
    # the contest's tokens never leave the host: these are for this match on loopback
    teams = [Team(id=team["id"], name=team["name"], token=secrets.token_hex(16)) for team in head["teams"]]
    return Contest(folder, file, {team.id: team for team in teams})
