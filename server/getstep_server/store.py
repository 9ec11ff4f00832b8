"""What must survive a crash: the chain of records and the counts of incidents, in SQLite.

One thread owns the connection and does all the writing, a transaction at a time, so that the event loop never waits
for a disk and SQLite never sees two threads. A record counts once `save` has returned: that is after COMMIT with
synchronous=FULL. What can be derived (schedule, results, standings, progress) is not stored beside the records.
"""

from __future__ import annotations

import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import trio

from ._text import LATEST_TIME
from .events import Incident
from .game_record import FIRST, Record, content_of, parse, sealed
from .incidents import IncidentRow

T = TypeVar("T")

SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE records (
    place INTEGER PRIMARY KEY,
    number INTEGER,
    event INTEGER,
    pairing INTEGER,
    leg INTEGER,
    attempt INTEGER,
    head TEXT NOT NULL,
    turns TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL,
    UNIQUE (event, pairing, leg, attempt)
) STRICT;
CREATE TABLE chain (length INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
INSERT INTO chain VALUES (0, '0000000000000000000000000000000000000000000000000000000000000000');
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

_READ_RECORDS = """
SELECT place, number, event, pairing, leg, attempt,
    CAST(ifnull(head, '') AS BLOB), CAST(ifnull(turns, '') AS BLOB),
    CAST(ifnull(previous, '') AS BLOB), CAST(ifnull(hash, '') AS BLOB)
FROM records WHERE place > ? AND (? IS NULL OR number = ?) ORDER BY place LIMIT 64
"""  # bytes as they are: a damaged text need not be UTF-8

_READ_END = """
SELECT count(*), ifnull(max(place), 0),
    (SELECT CAST(ifnull(hash, '') AS BLOB) FROM records ORDER BY place DESC LIMIT 1)
FROM records
"""


class StoreError(Exception):
    """The contest's database cannot be used; the message is for the host."""


class Overtaken(Exception):  # noqa: N818 - nothing is wrong
    """Another process has stored records since this one last looked: nothing was stored, `Store.news` has them."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as it is stored: its ``line`` as it was sealed, and what the table says of it beside that.

    ``number``, ``event``, ``pairing``, ``leg`` and ``attempt`` are None unless it is a game's.
    """

    place: int
    number: int | None
    event: int | None
    pairing: int | None
    leg: int | None
    attempt: int | None
    head: bytes
    previous: str
    hash: str
    line: bytes


class Store:
    """A contest's database. Use it as a context manager; its thread ends with it.

    Other processes may read and store as well. Who has read the `heads` stores nothing without knowing all.

    Raises:
        StoreError: the file is not a database of this program and version, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._database: sqlite3.Connection | None = None
        self._read: int | None = None  # so many records `heads` has found
        self._stored = 0  # so many were stored here since, and so many callers know that theirs is
        self._returned = 0
        self._taken = 0  # so many of other processes were handed out by `news` since
        self._returning = trio.lowlevel.ParkingLot()
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

    # --- reading: before the first match, when waiting disturbs nobody ---

    def heads(self) -> list[dict[str, Any]]:
        """All records without the turns of games, in the order in which they were stored."""
        self._read, heads = self._run(partial(self._read_heads, 0))
        self._stored = self._returned = self._taken = 0
        return list(map(parse, heads))

    def lines(self) -> Iterator[bytes]:
        """All records as they were sealed, in the order of their places, without line ends."""
        return (record.line for record in self.records())

    def records(self, match: int | None = None) -> Iterator[StoredRecord]:
        """All records in the order of their places, or those of one ``match``.

        They are read a few at a time: all of them may not fit into memory.
        """
        if match is not None and not 0 < match < 2**63:  # SQLite has no such number
            return
        last = -(2**63)
        while records := self._run(partial(self._read_records, last, match)):
            yield from records
            last = records[-1].place

    def chain(self) -> tuple[int, str]:
        """How many records there should be, and the hash of the last one.

        Raises:
            StoreError: the database does not know.
        """
        rows = self._run(
            lambda: self._db.execute("SELECT length, CAST(ifnull(hash, '') AS BLOB) FROM chain").fetchall()
        )
        if len(rows) != 1:
            raise StoreError(f"{self.path}: {len(rows)} rows in the table chain, expected one")
        length, digest = rows[0]
        return length, _text(digest)

    def check_end(self) -> None:
        """See whether the records end where the chain does; what is in them is for `verify`.

        Raises:
            StoreError: some are missing, or too many, or the last one is another.
        """
        with self.snapshot():
            length, digest = self.chain()
            count, place, last = self._run(lambda: self._db.execute(_READ_END).fetchone())
        found, expected = (count, place, FIRST if last is None else _text(last)), (length, length, digest)
        if found != expected:
            raise StoreError(
                f"{self.path}: {count} records up to place {place}, the last with hash {found[2]!r:.80},"
                f" expected {length} up to place {length} with {digest!r:.80}: so many the database has counted."
                f" verify says where they do not fit; put a copy of the contest back"
            )

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read in this block is of one moment, whatever another process stores meanwhile."""
        self._run(lambda: self._db.execute("BEGIN"))
        try:
            yield
        finally:
            self._run(lambda: self._db.rollback())

    def incidents(self) -> list[IncidentRow]:
        """The incidents of all runs."""
        return self._run(self._read_incidents)

    # --- while matches are being played ---

    @property
    def seen(self) -> int:
        """What `save` wants to know: how many records of other processes were known when a record was made."""
        return self._taken

    async def save(
        self, record: Record, after: Callable[[], None] = lambda: None, *, seen: int | None = None
    ) -> None:
        """Store one record at the end of the chain; it is on disk when this returns.

        Args:
            record: a game's, a decision's, or one of pairings.
            after: called in the thread once it is; an `OSError` of it is nobody's business.
            seen: of when the record was made; by default of now.

        Raises:
            Overtaken: it is not stored: it may not follow on what another process has stored meanwhile.
            sqlite3.Error: it is not stored: the disk is full or gone, or there is one of this attempt already.
        """

        known = self._taken if seen is None else seen

        def write() -> None:
            self._transact(partial(self._write_record, record, known))
            self._stored += 1
            with contextlib.suppress(OSError):
                after()

        await self._run_async(write)
        self._returned += 1
        self._returning.unpark_all()

    async def news(self) -> list[dict[str, Any]]:
        """The records that other processes have stored since the last look, as from `heads`. Now they are seen.

        Who has saved a record before them knows that when this returns: so all can be taken note of in their order.

        Raises:
            sqlite3.Error: they cannot be read.
            RecordError: they are none.
        """
        known, before = self._taken, 0
        found: list[bytes] = []

        def read() -> None:
            nonlocal before
            before = self._stored
            if self._read is not None and self._length() != self._read + before + known:
                found.extend(self._read_heads(self._read + before + known)[1])

        await self._run_async(read)
        while self._returned < before:
            await self._returning.park()
        news = found[self._taken - known :]  # somebody else may have asked meanwhile
        self._taken += len(news)
        return list(map(parse, news))

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
        _check_log(self.path)
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
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk has ended it already
                self._db.execute("ROLLBACK")
            raise

    def _write_record(self, record: Record, known: int) -> None:
        length, previous = self._db.execute("SELECT length, hash FROM chain").fetchone()
        _, digest = sealed(record.content(), length + 1, previous)
        if self._read is not None and length != self._read + self._stored + known:
            raise Overtaken(f"{length} records, expected {self._read + self._stored + known}")
        match, turns = record.match, b",".join(record.turns).decode()
        keys: tuple[int | None, ...] = (None,) * 5
        if match is not None:
            keys = (match.number, match.event, match.pairing, match.leg, record.attempt)
        row = (length + 1, *keys, record.head.decode(), turns, previous, digest)
        self._db.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._db.execute("UPDATE chain SET length = ?, hash = ?", (length + 1, digest))

    def _write_incidents(self, rows: list[IncidentRow]) -> None:
        def write() -> None:
            self._db.executemany(_COUNT_INCIDENTS, map(_incident_columns, rows))

        self._transact(write)

    def _read_heads(self, after: int) -> tuple[int, list[bytes]]:
        """How many records there are, and the heads of those behind this place."""
        with contextlib.nullcontext() if self._db.in_transaction else self._one_moment():
            length = self._length()
            rows = self._db.execute("SELECT head FROM records WHERE place > ? ORDER BY place", (after,)).fetchall()
        return length, [head.encode() for (head,) in rows]

    def _length(self) -> int:
        (length,) = self._db.execute("SELECT ifnull(max(length), 0) FROM chain").fetchone()
        return int(length)

    @contextlib.contextmanager
    def _one_moment(self) -> Iterator[None]:
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.rollback()

    def _read_records(self, after: int, match: int | None) -> list[StoredRecord]:
        return [_stored_record(*row) for row in self._db.execute(_READ_RECORDS, (after, match, match))]

    def _read_incidents(self) -> list[IncidentRow]:
        return [_incident_row(*row) for row in self._db.execute("SELECT * FROM incidents ORDER BY rowid")]


def _check_log(path: Path) -> None:
    """SQLite would throw away the log of a database that is gone, and with it all that is in the log alone."""
    log = path.with_name(f"{path.name}-wal")
    sizes = [file.stat().st_size if file.exists() else 0 for file in (path, log)]
    if sizes[1] and not sizes[0]:
        raise StoreError(
            f"{path}: empty or not there, and {log.name} beside it has {sizes[1]} bytes that belong to it;"
            f" put the database back, or delete {log.name}"
        )


def _incident_columns(row: IncidentRow) -> tuple[object, ...]:
    incident = row.incident
    kind = (incident.team, incident.address, incident.code)
    return (*kind, row.count, row.first, row.last, incident.detail, incident.first_bytes)


def _incident_row(
    team: int | None, address: str, code: str, count: int, first: float, last: float, detail: str, first_bytes: str
) -> IncidentRow:
    for name, seconds in {"first": first, "last": last}.items():
        if not 0 <= seconds < LATEST_TIME:
            raise StoreError(
                f"an incident {code!r:.80} with {name} = {seconds!r}, expected seconds from 1970 on and before 3000"
            )
    return IncidentRow(Incident(code, detail, address, team, first_bytes), count, first, last)


def _stored_record(
    place: int,
    number: int | None,
    event: int | None,
    pairing: int | None,
    leg: int | None,
    attempt: int | None,
    head: bytes,
    turns: bytes,
    previous: bytes,
    digest: bytes,
) -> StoredRecord:
    """A row of the table, with the hashes that are stored and not those that would fit."""
    if type(place) is not int:
        raise StoreError(f"a record at place {place!r:.80}, expected a whole number")
    content = content_of(head, turns, game=number is not None)
    line = b'%b,"place":%d,"previous":"%b","hash":"%b"}' % (content[:-1], place, previous, digest)
    return StoredRecord(place, number, event, pairing, leg, attempt, head, _text(previous), _text(digest), line)


def _text(stored: bytes) -> str:
    return stored.decode(errors="backslashreplace")
