"""One run of a contest: open the store, listen, wait for the teams, play, say goodbye."""

from __future__ import annotations

import errno
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

import trio

from getstep.wire import Goodbye

from ._toml import ConfigError, Location, Mistake, described
from .arrivals import stamps_supported
from .classic import ClassicLink
from .contest import Contest, contest_path
from .director import Director
from .disk import Disk
from .events import Bus, ContestOver, DiskUsable, Event, Incident, Listening, TeamArrived, TeamLeft
from .incidents import IncidentRow
from .journal import segments
from .limits import MAX_MATCHES
from .listening import accept_forever, open_listener
from .lock import ContestLock
from .records import Records
from .results import Result
from .scoresheet import Scoresheets
from .seats import seats_of
from .session import SHUTDOWN_RETRY_MS, House, WireLink
from .store import Store
from .timekeeper import Timekeeper
from .tournament import Tournament

OVER = Goodbye("contest_over", "The contest is over. Thank you for playing.", None)
SHUTTING_DOWN = Goodbye(
    "shutting_down", "The host stopped the server; the contest goes on later.", SHUTDOWN_RETRY_MS
)


THREAD_TURN_SECONDS = 0.0005
"""How long another thread (pairings, tables, the disk's) may keep the event loop waiting at once.

Python's own 5 ms would make each move of every match that much later while a Swiss round is being paired.
"""


class Ending(Enum):
    """How a run ended."""

    FINISHED = "finished"
    STOPPED = "stopped"


@dataclass(frozen=True)
class StartWhen:
    """When the first match begins: at once (``now``), at a time of day (``at``), else when all teams are there.

    ``on_enter``: the Enter key starts it as well.
    """

    now: bool = False
    at: datetime | None = None
    on_enter: bool = False


async def run_contest(contest: Contest, bus: Bus, when: StartWhen) -> Ending:
    """Run a contest, or the rest of it, to its end or to the host's Ctrl-C.

    Raises:
        ConfigError: another server runs it, a port is busy, or contest.toml no longer fits what is on record.
        StoreError: the database cannot be used.
        JournalError, RecordError: what an earlier run left behind is not what was written.
        ContestStopped: a match could not be played or stored.
    """
    check_teams(contest)
    check_matches(contest)
    sys.setswitchinterval(THREAD_TURN_SECONDS)
    with ContestLock(contest.folder), Store(contest.database) as store:
        tournament = load_tournament(contest, store)
        with open_ports(contest) as ports:
            sheets = Scoresheets(contest, Disk(contest.folder, bus.publish))
            async with Records(contest, store, bus) as records:
                with closing(sheets):
                    ending = await _run(contest, bus, when, store, tournament, ports, records, sheets)
                records.how = ending.value
                return ending


def check_teams(contest: Contest) -> None:
    """A contest needs two teams, and so does each of its events.

    Raises:
        ConfigError: there are fewer, or an event names one that is not there.
    """
    if len(contest.teams) < 2:
        raise ConfigError(
            f"{contest.folder / 'teams.toml'}: {len(contest.teams)} teams, expected at least 2;"
            f" add some with: getstep-server teams add {contest.folder} NAME"
        )
    strangers = [
        ((*where, place), team, "the id of a team in teams.toml")
        for where, teams in _named_teams(contest)
        for place, team in enumerate(teams)
        if team not in contest.teams
    ]
    if strangers:
        raise described(contest_path(contest.folder), strangers)


def check_matches(contest: Contest) -> None:
    """No event has more matches than a record of them can hold, before any is given out.

    Raises:
        ConfigError: the settings of one ask for more.
    """
    mistakes: list[Mistake] = []
    for place, event in enumerate(contest.events):
        most = event.format.most(len(event.teams))
        if most > MAX_MATCHES:
            wanted = f"at most {MAX_MATCHES} matches; with {len(event.teams)} teams these are up to {most}"
            mistakes.append((("event", place, "settings"), contest.file.event[place].settings, wanted))
    if mistakes:
        raise described(contest_path(contest.folder), mistakes)


def _named_teams(contest: Contest) -> Iterator[tuple[Location, list[int]]]:
    """Where contest.toml names teams."""
    for place, table in enumerate(contest.file.event):
        yield ("event", place, "teams"), table.teams or []
        yield ("event", place, "settings", "challengers"), table.settings.get("challengers", [])


def load_tournament(contest: Contest, store: Store) -> Tournament:
    """The contest as far as it has come.

    Raises:
        ConfigError: contest.toml has other events than those that were begun.
        StoreError: records are missing, or there are too many.
        RecordError: the records are not what was written.
    """
    store.check_end()
    tournament = Tournament(contest, store.heads())
    if misfit := tournament.misfit():
        raise ConfigError(f"{contest_path(contest.folder)}: {misfit}; put it back, or make a new contest folder")
    if not tournament.matches and segments(contest.running):
        raise ConfigError(
            f"{contest.database}: no matches in it, and there is a journal of some in {contest.running};"
            " put the database back, or delete that folder"
        )
    return tournament


class Ports:
    """The open listeners; a context manager that closes them."""

    def __init__(self, main: socket.socket, classic: socket.socket | None) -> None:
        self.main = main
        self.classic = classic

    def __enter__(self) -> Ports:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take no more connections; to be called again without harm."""
        for listener in (self.main, self.classic):
            if listener is not None and listener.fileno() != -1:
                trio.lowlevel.notify_closing(listener)
                listener.close()

    @property
    def listening(self) -> Listening:
        """Where they are, as an event."""
        host, port = self.main.getsockname()[:2]
        classic_port = None if self.classic is None else self.classic.getsockname()[1]
        return Listening(host, port, classic_port, stamped=stamps_supported())


def open_ports(contest: Contest) -> Ports:
    """Open the ports that contest.toml names.

    Raises:
        ConfigError: one is busy or not this machine's; the message says which setting to change.
    """
    server = contest.file.server
    main = _open(contest, server.port, "port")
    if server.classic_port is None:
        return Ports(main, None)
    try:
        return Ports(main, _open(contest, server.classic_port, "classic_port"))
    except ConfigError:
        main.close()
        raise


def _open(contest: Contest, port: int, setting: str) -> socket.socket:
    host = contest.file.server.host
    try:
        return open_listener(host, port)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host} port {port}: {error.strerror or error}. {_advice(error, setting)}"
            f" under [server] in {contest_path(contest.folder)}"
        ) from error


def _advice(error: OSError, setting: str) -> str:
    """What to do about a port that cannot be opened."""
    if error.errno == errno.EADDRNOTAVAIL:
        return "This machine has no such address. Give one of its own as --host, or change host"
    return f"Is another server running? Stop it, or change {setting} (or host)"


async def _run(
    contest: Contest,
    bus: Bus,
    when: StartWhen,
    store: Store,
    tournament: Tournament,
    ports: Ports,
    records: Records,
    sheets: Scoresheets,
) -> Ending:
    seats = {number: seats_of(team, bus.publish) for number, team in contest.teams.items()}
    timekeeper = Timekeeper()
    disk = sheets.disk
    unfinished, cuts = sheets.unfinished(list(tournament.matches.values()), tournament.recorded)
    for cut in cuts:
        bus.publish(cut)
    begun = [*(result.match for result in tournament.results), *(sheet.match for sheet in unfinished)]
    met = frozenset(team for match in begun for team in match.teams if team in seats)
    house = House(contest, seats, bus.publish, met=met)
    house.switchboard.before, house.switchboard.after = sheets.hold, sheets.commit
    director = Director(contest, tournament, unfinished, seats, sheets, store, disk, timekeeper, bus.publish)
    ending = Ending.STOPPED
    async with house.switchboard.open(), trio.open_nursery() as nursery:
        nursery.start_soon(accept_forever, ports.main, WireLink, house, nursery)
        if ports.classic is not None:
            nursery.start_soon(accept_forever, ports.classic, ClassicLink, house, nursery)
        nursery.start_soon(timekeeper.run)
        nursery.start_soon(records.run)
        nursery.start_soon(disk.run)
        with trio.CancelScope() as playing:
            await nursery.start(_stop_on_signal, playing)
            bus.publish(ports.listening)
            started = bool(tournament.recorded or unfinished)
            await wait_for_start(when, _expected(contest, tournament), bus, started=started)
            bus.subscribe(lambda _: director.changed(), [TeamArrived, TeamLeft, DiskUsable])
            bus.subscribe(director.note, [Incident])
            await director.run()
            ending = Ending.FINISHED
            bus.publish(ContestOver())
        if ending is Ending.STOPPED:
            ports.close()  # who comes back at once need not be told again
        house.close_all(OVER if ending is Ending.FINISHED else SHUTTING_DOWN)
        await house.all_gone()
        nursery.cancel_scope.cancel()
    return ending


async def _stop_on_signal(
    scope: trio.CancelScope, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """The first Ctrl-C stops cleanly, the second at once."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if scope.cancel_called:
                raise KeyboardInterrupt
            scope.cancel()


# --- waiting for the start -----------------------------------------------------------------------------------


def _expected(contest: Contest, tournament: Tournament) -> frozenset[int]:
    """The teams that take part, in any event."""
    numbers = [event.number for event in contest.events]
    return frozenset(team for team in contest.teams if not all(tournament.status(team, n) for n in numbers))


async def wait_for_start(when: StartWhen, teams: frozenset[int], bus: Bus, *, started: bool) -> None:
    """Return when the first match may begin: these ``teams`` are there, or another way was chosen.

    A contest that had begun before (``started``) goes on at once, unless a time was given: each match waits for its
    own missing team.
    """
    if when.now or (started and when.at is None):
        return
    ways: list[Callable[[], Awaitable[None]]] = []
    if when.at is not None:
        at = when.at
        ways.append(lambda: _until(at))
    else:
        ways.append(_all_here(teams, bus))
    if when.on_enter:
        ways.append(_enter_pressed)
    await _first_of(ways)


def _all_here(teams: frozenset[int], bus: Bus) -> Callable[[], Awaitable[None]]:
    """By name, never by counting connections: all ``teams``, at the same time; one bot of each will do."""
    here: set[int] = set()
    complete = trio.Event()

    def note(event: Event) -> None:
        if isinstance(event, TeamArrived):
            here.add(event.team)
        elif isinstance(event, TeamLeft) and not event.here:
            here.discard(event.team)
        if here >= teams:
            complete.set()

    bus.subscribe(note, [TeamArrived, TeamLeft])
    return complete.wait


async def _until(at: datetime) -> None:
    """Until a wall-clock time; looked up again every minute, so that a corrected clock is followed."""
    while (left := (at - datetime.now().astimezone()).total_seconds()) > 0:
        await trio.sleep(min(left, 60.0))


async def _enter_pressed() -> None:
    line = await trio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    if not line:  # closed: nobody is going to press a key
        await trio.sleep_forever()


async def _first_of(ways: list[Callable[[], Awaitable[None]]]) -> None:
    async def one(way: Callable[[], Awaitable[None]]) -> None:
        await way()
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for way in ways:
            nursery.start_soon(one, way)


def tournament_of(contest: Contest) -> Tournament:
    """What is on record so far; nothing if the contest has not run yet."""
    if not contest.database.exists():
        return Tournament(contest)
    with Store(contest.database) as store:
        return Tournament(contest, store.heads())


def tournament_to_go_on(contest: Contest) -> Tournament:
    """What a run would go on with, to be told before it does.

    Raises:
        ConfigError, StoreError, RecordError: as `load_tournament`.
    """
    if not (contest.database.exists() or segments(contest.running)):
        return Tournament(contest)
    with Store(contest.database) as store:
        return load_tournament(contest, store)


def results_of(contest: Contest) -> list[Result]:
    """The results stored so far; none if the contest has not run yet."""
    return tournament_of(contest).results


def incidents_of(contest: Contest) -> list[IncidentRow]:
    """The incidents of all runs so far."""
    if not contest.database.exists():
        return []
    with Store(contest.database) as store:
        return store.incidents()
