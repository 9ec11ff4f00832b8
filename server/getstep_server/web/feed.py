"""Reads a contest as it goes on: the records from the database, the turns from the journal, the run's status.

During a freeze there are two tournaments: `Feed.whole`, of all records, and `Feed.tournament`, of the records
before the freeze. Pages for spectators are made from the latter only, so they cannot tell what is hidden. No board
is shown either: the end of a game is its result.

In strict mode, records are read only once a standby host has them: see `tournament.strict`.

All of it is polled. A change of the database or of the journal wakes nobody in another process, on any system, and
a poll costs three system calls.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import trio

from getstep_server.config.contest import Contest, load_contest, teams_path
from getstep_server.config.toml_file import stamp_of
from getstep_server.errors import ConfigError
from getstep_server.records.game import is_void, result_of
from getstep_server.records.match import Match
from getstep_server.records.reasons import ROSTER_KINDS, DecisionKind
from getstep_server.records.record import parse
from getstep_server.records.result import Result
from getstep_server.standby.marks import copied_place
from getstep_server.storage.database import DatabaseError, DatabaseProblem, ServerAwayError
from getstep_server.storage.journal_tail import JournalTail
from getstep_server.storage.lock import server_of
from getstep_server.storage.opening import database_exists
from getstep_server.storage.run_status import RunStatus, read_status, status_stamp
from getstep_server.storage.store import Store
from getstep_server.tournament.forfeits import no_shows
from getstep_server.tournament.pace import PaceEstimator
from getstep_server.tournament.strict import announced_place
from getstep_server.tournament.tournament import Tournament

from .live import LiveMatch, LiveMatches, code_of

_Projection: TypeAlias = tuple[Tournament, Tournament, list[dict[str, Any]]]

POLL_SECONDS = 0.1
"""The interval at which the journal and the status are read: a spectator takes it for at once."""

RECORDS_EVERY = 3
"""The records are read at each third poll: results are rarer than moves."""

LATEST = 100
"""The results that are kept as the latest ones."""

SERVER_SECONDS = 2.0
"""The interval at which the contest's lock is tried, to see whether a server runs."""


class Feed:
    """A contest as it goes on.

    Args:
        folder: of the contest.
        clock: monotonic, in seconds.

    Raises:
        ConfigError: a file of the contest cannot be used.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self.clock = clock
        self.whole = Tournament(load_contest(folder))
        """The contest by all its records. Spectators must not see it during a freeze."""
        self.tournament = self.whole
        """The contest as spectators may see it: during a freeze, by the records before it."""
        self.live = LiveMatches(lambda attempt: attempt in self.whole.recorded)
        """All matches that are being played; spectators may know of those in `running`."""
        self.status: RunStatus | None = None
        self.server_runs = False
        self.pace = PaceEstimator(clock)
        self.played = 0
        """The matches that were played to an end while this process followed them; a forfeit is not played."""
        self.codes: Counter[str] = Counter()
        """The turns that were read from the journal: moves, passes, and the codes of faults and ends."""
        self.version: Counter[str] = Counter()
        """Counts changes of "records", "turns" and "status"."""
        self.latest: deque[Result] = deque(maxlen=LATEST)
        """The latest results of matches that were played, the last one first; some are no longer official."""
        self.store: Store | None = None
        self.opened = trio.Event()
        """Set when the records were read, or could not be: the contest has not begun, or its database is away."""
        self._hidden: dict[int, Match] = {}
        """The matches that have ended since the freeze, by number, in the order of their ends."""
        self._place = 0
        self._stamp: tuple[int, int] | None = None
        self._server_at = -SERVER_SECONDS
        self._teams_stamp = stamp_of(teams_path(folder))

    @property
    def contest(self) -> Contest:
        """The contest as its latest record of settings says."""
        return self.tournament.contest

    @property
    def frozen(self) -> bool:
        """True if results are hidden from spectators."""
        return self.whole.frozen_at is not None

    @property
    def hidden(self) -> list[Match]:
        """The matches that were played and whose results are hidden, in the order of their ends."""
        return [match for match in self._hidden.values() if self.whole.played_result(match) is not None]

    def is_hidden(self, match: Match) -> bool:
        """Return True if the match was played and its result is hidden."""
        return match.number in self._hidden and self.whole.played_result(match) is not None

    @property
    def running(self) -> Mapping[int, LiveMatch]:
        """The matches that spectators may know to be running, by number."""
        if not self.frozen:
            return self.live.running
        known = self.tournament.matches
        return {
            number: live
            for number, live in self.live.running.items()
            if number in known and self.tournament.is_open(known[number])
        }

    async def run(self, loaded: Callable[[], None]) -> None:
        """Follow the contest until cancelled.

        Args:
            loaded: called when all records were read, at first and after the database was replaced.

        Raises:
            ConfigError, StoreError, RecordError: the contest cannot be read.
        """
        while True:
            try:
                while not await trio.to_thread.run_sync(self._database_is_there):
                    self.opened.set()
                    self._poll_status()
                    await self._poll_teams()
                    await trio.sleep(1)  # the server makes the database when it starts
                await self._follow(loaded)
            except (DatabaseError, ServerAwayError) as error:
                if isinstance(error, DatabaseError) and error.problem is not DatabaseProblem.AWAY:
                    raise
                self.opened.set()
                await trio.sleep(1)  # the pages stay as they are until the database's server is back

    def _database_is_there(self) -> bool:
        address = self.contest.database
        # SQLite makes its file some milliseconds before the tables.
        return database_exists(address) and not (isinstance(address, Path) and address.stat().st_size == 0)

    async def _follow(self, loaded: Callable[[], None]) -> None:
        """Follow one database until it is replaced."""
        contest = load_contest(self.folder)
        with Store(contest.database, reading=True) as store:
            self._take(await trio.to_thread.run_sync(_project, contest, store))
            self.store = store
            self.live.running.clear()
            tail = JournalTail(contest.running)
            self.pace.set_paused(paused=self.whole.pauses.contest is not None)
            self.pace.begin()
            loaded()
            self.opened.set()
            round_ = 0
            try:
                # as often as the records: the question goes to the database's thread, and maybe to its server
                while round_ % RECORDS_EVERY or await store.is_current():
                    self._poll_turns(tail)
                    if round_ % RECORDS_EVERY == 0:  # a file's end is cheap to look at; the database is not
                        await self._poll_records(store)
                        await self._poll_teams()
                    self._poll_status()
                    round_ += 1
                    await trio.sleep(POLL_SECONDS)  # nothing tells this process that a file has grown
            finally:
                self.store = None

    def _poll_turns(self, tail: JournalTail) -> None:
        lines = tail.poll()
        at = min(time.time(), tail.written_at)
        for line in lines:
            if code := code_of(line.entry):
                self.codes[code] += 1
            begun = self.live.add(line, at)
            if begun is not None:
                self._pause(begun)
                self.pace.start(begun.match, lambda live=begun: live.played)  # type: ignore[misc]  # mypy does not infer the type of a lambda with a default
        self.version["turns"] += bool(lines)

    def _pause(self, live: LiveMatch) -> None:
        """Note that a match which begins, or which this process has just read, is paused."""
        if self.whole.pauses:
            latest = max(_time_of(one.at) for one in self.whole.pauses.decisions)
            live.set_pause(self.whole.pauses.of(live.match), latest)

    async def _poll_records(self, store: Store) -> None:
        tail = [parse(header) for header in await store.tail(self._place)]
        announced = announced_place(self.whole.is_strict, tail, self._place, copied_place(self.contest.running))
        for fields in tail[: announced - self._place]:
            frozen_at = self.whole.frozen_at
            if fields["type"] == "settings" or fields.get("decision") in ROSTER_KINDS:
                # the tokens are in teams.toml alone, which is written before the record
                files = await trio.to_thread.run_sync(load_contest, self.folder)
                self.whole.settings.files.take_teams(files.teams)
            self.whole.apply(fields)
            self._place += 1
            self.pace.set_paused(paused=self.whole.pauses.contest is not None)
            if fields.get("decision") in (DecisionKind.PAUSE, DecisionKind.RESUME):
                for live in self.live.running.values():
                    live.set_pause(self.whole.pauses.of(live.match), _time_of(fields["at"]))
                self.version["turns"] += 1  # their boards are drawn anew
            self.version["records"] += 1
            if self.whole.frozen_at != frozen_at:  # `tournament` must not be the one that goes on
                contest = load_contest(self.folder)
                self._take(await trio.to_thread.run_sync(_project, contest, store, self._place))
            if self.frozen:
                self._hide(fields)
            if fields.get("type") == "game":
                self._end(fields)

    async def _poll_teams(self) -> None:
        """Read teams.toml again if it has changed. Once something is on record, the records say when."""
        stamp = stamp_of(teams_path(self.folder))
        if self.whole.place or stamp == self._teams_stamp:
            return
        self._teams_stamp = stamp
        with suppress(ConfigError):  # the host is writing it
            files = await trio.to_thread.run_sync(load_contest, self.folder)
            self.whole.settings.files.take_teams(files.teams)
            self.version["records"] += 1

    def _take(self, projection: _Projection) -> None:
        self.whole, self.tournament, later = projection
        self._place = self.whole.place
        self._hidden.clear()
        for fields in later:
            self._hide(fields)
        played = (result for result in reversed(self.tournament.results) if not no_shows(result))
        self.latest = deque(islice(played, LATEST), LATEST)

    def _hide(self, fields: Mapping[str, Any]) -> None:
        """Note the match that a record gives a result during a freeze."""
        decided = fields.get("decision") == DecisionKind.ADJUDICATE
        if decided or (fields.get("type") == "game" and not is_void(result_of(fields))):
            match = self.tournament.matches.get(fields["match"])
            if match is not None and self.tournament.is_open(match):
                self._hidden.pop(match.number, None)  # a match that was played again is at the end of the order
                self._hidden[match.number] = match

    def _end(self, fields: dict[str, Any]) -> None:
        result = result_of(fields)
        was_played = not is_void(result) and not no_shows(result)
        if was_played and not self.frozen:
            self.latest.appendleft(result)
        live = self.live.end(result)
        if live is None:
            return
        if self.whole.final_result(result.match) is None:
            self.pace.abandon(result.match)
        else:
            self.pace.end(result.match)
            self.played += was_played

    def _poll_status(self) -> None:
        running, now = self.contest.running, self.clock()
        stamp = status_stamp(running)
        if stamp != self._stamp:
            self._stamp = stamp
            self.status = read_status(running)
            self.version["status"] += 1
        if now >= self._server_at + SERVER_SECONDS:
            self._server_at = now
            runs = server_of(self.folder) is not None
            self.version["status"] += runs != self.server_runs
            self.server_runs = runs


def _time_of(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _project(contest: Contest, store: Store, last: int | None = None) -> _Projection:
    """Return the tournament on record up to the place ``last``, the one before a freeze, and the records behind it.

    Without a freeze both are the same object.
    """
    headers = store.record_headers()
    strict = Tournament(contest).is_strict
    announced = announced_place(strict, headers, 0, copied_place(contest.running)) if last is None else last
    headers = headers[:announced]
    whole = Tournament(contest, headers)
    if whole.frozen_at is None:
        return whole, whole, []
    return whole, Tournament(contest, headers[: whole.frozen_at]), headers[whole.frozen_at :]
