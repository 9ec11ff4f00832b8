"""One run of a contest: open the store, listen, wait for the teams, play, say goodbye."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Protocol

import trio

from getstep.wire import Goodbye
from getstep_server.config.certificate import certificate_of
from getstep_server.config.contest import Contest, check_matches, check_teams
from getstep_server.events import (
    Bus,
    CertificateNews,
    ContestOver,
    DiskUsable,
    Event,
    Publish,
    TeamArrived,
    TeamLeft,
)
from getstep_server.incident import Incident
from getstep_server.net.certificate_watch import keep_current
from getstep_server.net.classic import ClassicConnection
from getstep_server.net.connection import SHUTDOWN_RETRY_MS
from getstep_server.net.listener import MakeConnection, accept_forever, open_ports
from getstep_server.net.registry import ConnectionRegistry
from getstep_server.net.seat import seats_of
from getstep_server.net.tls import TlsConnection
from getstep_server.net.wire_connection import WireConnection
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.scoresheet import ScoresheetStore
from getstep_server.standby.marks import check_fence, check_may_run, forget_copied_after
from getstep_server.standby.taking import TakeOver
from getstep_server.storage.contest_state import check_database, complete_tournament
from getstep_server.storage.database import DatabaseError, DatabaseProblem, ServerAwayError
from getstep_server.storage.disk import Disk
from getstep_server.storage.lock import ContestLock
from getstep_server.storage.store import Store
from getstep_server.tournament.tournament import Tournament

from .director import Director
from .fencing import Fencing
from .freeze_rule import FreezeRule
from .hosted import HostedPrograms
from .judges import JudgeProcesses, check_judges
from .publication_rule import PublicationRule
from .recorder import PutWorker
from .roster import Roster
from .run_log import RunLog
from .start import HostStart, StartCondition, expected_teams, wait_for_start
from .status_file import StatusFile
from .venue import ClusterProtocol

OVER = Goodbye("contest_over", "The contest is over. Thank you for playing.", None)
SHUTTING_DOWN = Goodbye(
    "shutting_down", "The host stopped the server; the contest goes on later.", SHUTDOWN_RETRY_MS
)


THREAD_TURN_SECONDS = 0.0005
"""The longest time for which another thread (pairings, tables, disk) keeps the event loop waiting.

With Python's default of 5 ms, each move of every match would be that much later while a Swiss round is paired.
"""


class RunningCluster(ClusterProtocol, Protocol):
    """A cluster that runs concurrently with the contest."""

    async def run(self, put_worker: PutWorker, changed: Callable[[], None]) -> None:
        """Run until cancelled; see `cluster.venue.ClusterVenue.run`."""


MakeCluster = Callable[[Contest, Tournament, HostedPrograms, Publish], RunningCluster]


class RunOutcome(Enum):
    FINISHED = "finished"
    STOPPED = "stopped"


def freeze_long_lived(_: Event) -> None:
    """Exempt all objects that exist now from garbage collection.

    Nearly all of them (modules, schemas, the tournament) live until the run ends. A full collection visits all
    other objects and stops the event loop. With 40 teams, and clients that keep connecting, it stops for 65 ms
    without this call and for 5 ms with it. Subscribe it only where a process runs a single contest: frozen garbage
    is never freed.
    """
    gc.freeze()


@dataclass(frozen=True)
class OpenContest:
    """A contest that this process may run: no other server can, and its records are read.

    ``page_port`` is the port of its live page, None without one.
    """

    contest: Contest
    store: Store
    tournament: Tournament
    page_port: int | None = None


@contextmanager
def open_contest(contest: Contest, take_over: TakeOver | None = None) -> Iterator[OpenContest]:
    """Lock a contest and its database, and read its records.

    Args:
        contest: the contest.
        take_over: take it over from another host first, which may take hours to be lost.

    Raises:
        ContestInUse: another server runs it.
        ConfigError: contest.toml no longer fits what is on record, the records are lost, or another host plays it.
        StoreError: the database cannot be used.
        RecordError: a record is damaged.
    """
    check_teams(contest)
    check_matches(contest)
    check_judges(contest)
    with ContestLock(contest.folder):
        (check_may_run if take_over is None else take_over.check)(contest)
        tournament = complete_tournament(contest)  # before an empty database is made, or a cut one is written
        with Store(contest.database) as store:
            if take_over is None:
                check_fence(contest, tournament.fence)
                store.claim()
            else:
                tournament = take_over(contest, store)
            with suppress(OSError):  # without the folder of the journal, there is nothing to forget
                forget_copied_after(contest.running, tournament.place)
            yield OpenContest(contest, store, tournament)


async def run_contest(
    contest: Contest,
    bus: Bus,
    when: StartCondition,
    make_cluster: MakeCluster | None = None,
    enough: trio.Event | None = None,
) -> RunOutcome:
    """Open a contest, and run it; see `open_contest` and `run_opened`."""
    with open_contest(contest) as opened:
        return await run_opened(opened, bus, when, make_cluster, enough)


async def run_opened(
    opened: OpenContest,
    bus: Bus,
    when: StartCondition,
    make_cluster: MakeCluster | None = None,
    enough: trio.Event | None = None,
) -> RunOutcome:
    """Run a contest, or the rest of it, to its end or to the host's Ctrl-C.

    Args:
        opened: the contest.
        bus: gets all events.
        when: the condition for the first match.
        make_cluster: makes the venue of matches between hosted programs; None if this machine plays them.
        enough: set when no more matches are needed; the run then stops as after Ctrl-C.

    Raises:
        ConfigError: a port is busy, or the log cannot be written.
        StoreError: the database cannot be used.
        JournalError, RecordError: the journal or a record of an earlier run is damaged.
        ContestStopped: a match could not be played or stored.
    """
    contest, store, tournament = opened.contest, opened.store, opened.tournament
    # the threads of tables and ratings hold the interpreter for so long; the default is 5 ms
    sys.setswitchinterval(THREAD_TURN_SECONDS)
    async with AsyncExitStack() as stack:
        certificate = await trio.to_thread.run_sync(certificate_of, contest)
        # First, so that a run that finds its port busy leaves nothing in contest.log.
        ports = stack.enter_context(open_ports(contest))
        disk = Disk(contest.folder, bus.publish)
        run_log = await stack.enter_async_context(RunLog(contest, store, bus))
        # After the log, so closed before it: the log tells a failure to close the journal.
        sheets = stack.enter_context(closing(ScoresheetStore(contest, disk)))
        hosted = HostedPrograms(contest, tournament, bus.publish)
        seats = {number: seats_of(team, hosted.seat_publish) for number, team in contest.teams.items()}
        scheduler = DeadlineScheduler()
        unfinished, cuts = sheets.unfinished(list(tournament.matches.values()), tournament.recorded)
        for cut in cuts:
            bus.publish(cut)
        begun = [*(result.match for result in tournament.results), *(sheet.match for sheet in unfinished)]
        seen_before = frozenset(team for match in begun for team in match.teams if team in seats)
        roster = Roster(contest, tournament, seats, bus, hosted.seat_publish)
        fencing = Fencing(contest, tournament.fence)
        registry = ConnectionRegistry(
            contest,
            seats,
            bus.publish,
            seen_before,
            sheets.batch,
            hosted=hosted.logins,
            page_port=opened.page_port,
            fence=fencing.fence,
        )
        begun_before = bool(tournament.recorded or unfinished)
        gather = not when.now and when.at is None
        judges = JudgeProcesses(contest, hosted, sheets, scheduler, bus.publish)
        elsewhere = [judges] if contest.file.server.judges > 1 else []
        cluster = None if make_cluster is None else make_cluster(contest, tournament, hosted, bus.publish)
        director = Director(
            contest,
            tournament,
            unfinished,
            seats,
            sheets,
            store,
            disk,
            scheduler,
            bus.publish,
            gather=gather,
            hosted=hosted,
            elsewhere=elsewhere,
            cluster=cluster,
        )
        await hosted.open(seats, ports.listening, unfinished, on_cluster=cluster is not None)
        outcome = RunOutcome.STOPPED
        async with registry.poller.open(), trio.open_nursery() as nursery:
            outside: MakeConnection = WireConnection if certificate is None else partial(TlsConnection, certificate)
            nursery.start_soon(accept_forever, ports.main, outside, registry, nursery)
            if ports.local is not None:
                nursery.start_soon(accept_forever, ports.local, WireConnection, registry, nursery)
            if ports.classic is not None:
                nursery.start_soon(accept_forever, ports.classic, ClassicConnection, registry, nursery)
            if certificate is not None:
                nursery.start_soon(keep_current, certificate, lambda news: bus.publish(CertificateNews(news)))
            nursery.start_soon(store.keep_claim)
            nursery.start_soon(scheduler.run)
            nursery.start_soon(run_log.run)
            nursery.start_soon(disk.run)
            nursery.start_soon(fencing.run)
            nursery.start_soon(StatusFile(contest.running, bus, seats, when.at).run)
            nursery.start_soon(FreezeRule(contest, tournament, bus, director.recorder.freeze).run)
            nursery.start_soon(hosted.watch, director.changed)
            nursery.start_soon(roster.run, director.changed)
            if cluster is not None:
                nursery.start_soon(cluster.run, director.recorder.put_worker, director.changed)
            decide = director.recorder.publish_program
            nursery.start_soon(PublicationRule(contest, tournament, decide, bus.publish).run)
            host = HostStart(contest.running, bus.publish, when.at)
            await nursery.start(host.read_requests)
            with trio.CancelScope() as playing:
                await nursery.start(_stop_on_signal, playing)
                if enough is not None:
                    nursery.start_soon(_stop_when, enough, playing)
                bus.publish(replace(ports.listening, fence=tournament.fence))
                hosted.begin()
                if when.on_enter:
                    nursery.start_soon(host.read_keys)
                nursery.start_soon(_begin_when_asked, host, director)
                nursery.start_soon(_begin_in_time, host, director)
                async with trio.open_nursery() as checking:
                    # Large databases take seconds to check: teams can log in during that time.
                    checking.start_soon(_check_database, contest, disk)
                    checking.start_soon(fencing.wait_for_word)
                    if elsewhere:
                        checking.start_soon(nursery.start, judges.run)
                    arena = any(event.format.pairs_present for event in contest.events)
                    # An arena pairs connected teams, and the director gathers the teams of a resumed contest.
                    if not arena and not (begun_before and gather):
                        async with trio.open_nursery() as waiting:
                            waiting.start_soon(director.recorder.watch)  # the host may add a team meanwhile
                            await wait_for_start(
                                when,
                                lambda: expected_teams(contest, tournament).difference(hosted.teams),
                                bus,
                                host,
                            )
                            waiting.cancel_scope.cancel()
                await roster.refresh()  # the last change of teams.toml before the first record
                # Not before: without an open match there is nothing to wake, and no scoresheet for an incident.
                bus.subscribe(lambda _: director.changed(), [TeamArrived, TeamLeft, DiskUsable])
                bus.subscribe(director.note, [Incident])
                await director.run(gather=begun_before and gather and not arena)
                outcome = RunOutcome.FINISHED
                bus.publish(ContestOver())
            if outcome is RunOutcome.STOPPED:
                ports.close()  # a client that reconnects at once gets no second goodbye
            # After the end they stay open: a client that was away for a moment is told that the contest is over.
            registry.shutdown(OVER if outcome is RunOutcome.FINISHED else SHUTTING_DOWN)
            await registry.wait_closed()
            nursery.cancel_scope.cancel()
        run_log.outcome = outcome.value
        return outcome


async def _check_database(contest: Contest, disk: Disk) -> None:
    """Check the database in a thread, while the teams arrive; wait for its server if that goes away.

    Raises:
        StoreError: it is damaged.
    """
    given_up = threading.Event()

    async def check() -> None:
        try:
            # a check of a large file takes a minute: Ctrl-C does not wait for it
            await trio.to_thread.run_sync(check_database, contest.database, given_up.is_set, abandon_on_cancel=True)
        except ServerAwayError as error:
            raise DatabaseError(str(error), DatabaseProblem.AWAY) from error

    try:
        await disk.retry_until_written(check)
    finally:
        given_up.set()  # nothing cancels a thread: it asks for this, and must not read on after the run


async def _stop_on_signal(
    scope: trio.CancelScope, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Cancel ``scope`` at the first Ctrl-C; raise KeyboardInterrupt at the second."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if scope.cancel_called:
                raise KeyboardInterrupt
            scope.cancel()


async def _stop_when(enough: trio.Event, scope: trio.CancelScope) -> None:
    await enough.wait()
    scope.cancel()


async def _begin_when_asked(host: HostStart, director: Director) -> None:
    while True:
        await host.pressed()
        director.enter()


async def _begin_in_time(host: HostStart, director: Director) -> None:
    """Let a resumed contest begin at the time of the start at the latest."""
    while True:
        await host.due()
        director.enter()
        await host.changed()
