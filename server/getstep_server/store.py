"""What must survive a crash: the schedule, the results and the record of incidents, in SQLite.

One thread owns the connection and does all the writing, a transaction at a time, so that the event loop never waits
for a disk and SQLite never sees two threads. A result counts once `save` has returned: that is after COMMIT with
synchronous=FULL. What can be derived (standings, progress) is not stored.
"""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import trio

from .events import Incident
from .incidents import IncidentRow
from .results import Result
from .schedule import Match

T = TypeVar("T")

SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE schedule (
    number INTEGER PRIMARY KEY,
    round INTEGER NOT NULL,
    pairing INTEGER NOT NULL,
    leg INTEGER NOT NULL,
    first INTEGER NOT NULL,
    second INTEGER NOT NULL,
    game TEXT NOT NULL,
    options TEXT NOT NULL,
    UNIQUE (pairing, leg)
) STRICT;
CREATE TABLE results (
    place INTEGER PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE REFERENCES schedule (number),
    winner INTEGER CHECK (winner IN (0, 1)),
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    scores TEXT,
    turns INTEGER NOT NULL,
    thought_first REAL NOT NULL,
    thought_second REAL NOT NULL,
    faults_first INTEGER NOT NULL,
    faults_second INTEGER NOT NULL,
    started REAL NOT NULL,
    seconds REAL NOT NULL
) STRICT;
CREATE TABLE incidents (
    team INTEGER,
    address TEXT NOT NULL,
    code TEXT NOT NULL,
    count INTEGER NOT NULL,
    first REAL NOT NULL,
    last REAL NOT NULL,
    detail TEXT NOT NULL,
    first_bytes TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX incident_kinds ON incidents (code, ifnull(team, -1), address);
"""

_COUNT_INCIDENTS = """
INSERT INTO incidents VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (code, ifnull(team, -1), address)
DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)
"""


class StoreError(Exception):
    """The contest's database cannot be used; the message is for the host."""


class Store:
    """A contest's database. Use it as a context manager; its thread ends with it.

    Raises:
        StoreError: the file is not a database of this program and version, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._database: sqlite3.Connection | None = None
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)

    def __enter__(self) -> Store:
        self._thread.start()
        try:
            self._run(self._open)
        except sqlite3.Error as error:
            self.close()
            raise StoreError(f"{self.path}: {error}") from error
        except StoreError:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish what is queued, close the file, end the thread."""
        self._jobs.put(self._close)
        self._jobs.put(None)
        self._thread.join()

    # --- reading and the schedule: before the first match, when waiting disturbs nobody ---

    def schedule(self) -> list[Match]:
        """The stored schedule, in playing order; empty if there is none yet."""
        return self._run(self._read_schedule)

    def results(self) -> list[Result]:
        """All results, in the order they were stored."""
        return self._run(self._read_results)

    def seed(self) -> int | None:
        """The seed that the stored schedule was made from."""
        row = self._run(lambda: self._db.execute("SELECT value FROM meta WHERE key = 'seed'").fetchone())
        return int(row[0]) if row else None

    def save_schedule(self, matches: list[Match], seed: int) -> None:
        """Store the schedule, in place of one of which nothing is played."""
        self._run(lambda: self._write_schedule(matches, seed))

    def incidents(self) -> list[IncidentRow]:
        """The incidents of all runs."""
        return self._run(self._read_incidents)

    # --- while matches are being played ---

    async def save(self, result: Result) -> None:
        """Store one result; it is on disk when this returns.

        Raises:
            sqlite3.Error: it is not stored: the disk is full or gone, or the match has a result already.
        """
        await self._run_async(lambda: self._write_result(result))

    async def count_incidents(self, rows: list[IncidentRow]) -> None:
        """Add the counts of ``rows`` to those stored, in one transaction.

        Raises:
            sqlite3.Error: none is stored: the disk is full or gone.
        """
        await self._run_async(lambda: self._write_incidents(rows))

    # --- the thread ---

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _run(self, function: Callable[[], T]) -> T:
        """Have the thread call ``function`` and wait for it."""
        answer: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

        def job() -> None:
            try:
                answer.put((function(), None))
            except Exception as error:
                answer.put((None, error))

        self._jobs.put(job)
        value, error = answer.get()
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # None only if function returned it

    async def _run_async(self, write: Callable[[], None]) -> None:
        """Have the thread call ``write`` and wait for it without blocking the event loop."""
        done = trio.Event()
        token = trio.lowlevel.current_trio_token()
        failure: list[BaseException] = []

        def job() -> None:
            try:
                write()
            except Exception as error:  # whatever it is, the thread has to go on
                failure.append(error)
            token.run_sync_soon(done.set)

        self._jobs.put(job)
        with trio.CancelScope(shield=True):  # stored or not stored: a cancelled wait would not know
            await done.wait()
        if failure:
            raise failure[0]

    @property
    def _db(self) -> sqlite3.Connection:
        if self._database is None:
            raise StoreError(f"{self.path}: used before it was opened")
        return self._database

    def _open(self) -> None:
        self._database = sqlite3.connect(self.path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._transact(self._create)
        elif version != SCHEMA_VERSION:
            raise StoreError(f"{self.path}: made by another version (schema {version}, expected {SCHEMA_VERSION})")

    def _create(self) -> None:
        for statement in _SCHEMA.split(";\n"):
            self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()

    def _transact(self, function: Callable[[], None]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            function()
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _write_schedule(self, matches: list[Match], seed: int) -> None:
        def write() -> None:
            self._db.execute("DELETE FROM schedule")
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('seed', ?)", (str(seed),))
            self._db.executemany(
                "INSERT INTO schedule VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (m.number, m.round, m.pairing, m.leg, m.first, m.second, m.game, json.dumps(m.options))
                    for m in matches
                ],
            )

        self._transact(write)

    def _write_result(self, r: Result) -> None:
        scores = None if r.scores is None else json.dumps(r.scores)
        row = (
            r.match.number,
            r.winner,
            r.reason,
            r.detail,
            scores,
            r.turns,
            *r.thought,
            *r.faults,
            r.started,
            r.seconds,
        )
        marks = ", ".join("?" * len(row))

        def write() -> None:
            self._db.execute(f"INSERT INTO results VALUES (NULL, {marks})", row)  # noqa: S608 - only marks

        self._transact(write)

    def _write_incidents(self, rows: list[IncidentRow]) -> None:
        def write() -> None:
            self._db.executemany(_COUNT_INCIDENTS, map(_incident_columns, rows))

        self._transact(write)

    def _read_schedule(self) -> list[Match]:
        rows = self._db.execute("SELECT * FROM schedule ORDER BY number")
        return [_match(*row) for row in rows]

    def _read_results(self) -> list[Result]:
        matches = {match.number: match for match in self._read_schedule()}
        rows = self._db.execute("SELECT * FROM results ORDER BY place")
        return [_result(matches[number], columns) for _, number, *columns in rows]

    def _read_incidents(self) -> list[IncidentRow]:
        return [_incident_row(*row) for row in self._db.execute("SELECT * FROM incidents ORDER BY rowid")]


def _incident_columns(row: IncidentRow) -> tuple[object, ...]:
    incident = row.incident
    kind = (incident.team, incident.address, incident.code)
    return (*kind, row.count, row.first, row.last, incident.detail, incident.first_bytes)


def _incident_row(
    team: int | None, address: str, code: str, count: int, first: float, last: float, detail: str, first_bytes: str
) -> IncidentRow:
    return IncidentRow(Incident(code, detail, address, team, first_bytes), count, first, last)


def _match(
    number: int, round_: int, pairing: int, leg: int, first: int, second: int, game: str, options: str
) -> Match:
    return Match(number, round_, pairing, leg, first, second, game, json.loads(options))


def _result(match: Match, columns: list[Any]) -> Result:
    winner, reason, detail, scores, turns, *rest = columns
    thought_first, thought_second, faults_first, faults_second, started, seconds = rest
    return Result(
        match=match,
        winner=winner,
        reason=reason,
        detail=detail,
        scores=None if scores is None else _as_scores(json.loads(scores)),
        turns=turns,
        thought=(thought_first, thought_second),
        faults=(faults_first, faults_second),
        started=started,
        seconds=seconds,
    )


def _as_scores(scores: list[Any]) -> tuple[Any, Any]:
    first, second = (tuple(score) if isinstance(score, list) else score for score in scores)
    return (first, second)
