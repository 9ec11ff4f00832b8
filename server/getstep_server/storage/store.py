"""The contest's database: the chain of records and the counts of incidents, in SQLite or PostgreSQL.

Theory of operation
-------------------

*What is stored.* Only what cannot be derived: settings, pairings, games and decisions, each a JSON text.
Schedule, results, standings and progress are computed from the records, so they cannot contradict them.

*The chain.* A record names its place and the hash of the record before it, and ends with the SHA-256 of its own
text (`record.sealed`). Both are known only inside the transaction that inserts the record, so the record is
sealed there. The table ``chain`` holds the length and the last hash: a start detects missing records without
reading all of them.

*Durability.* SQLite's database is in WAL mode with ``synchronous=FULL``. A result is announced only after
`Store.save` has returned, which is after COMMIT. So a power cut takes back nothing that a client was told. A
commit takes 300 µs with FULL, of which ``fdatasync`` takes 195 µs. With NORMAL it takes 15 µs, but SQLite then
syncs only at a checkpoint and a power cut loses the latest commits. FULL is affordable because turns do not go
through here: the journal keeps them until their match is over. Records that are saved together share one commit.
`postgres` says how it keeps the same promises.

*One thread.* One thread owns the connection and runs jobs in the order of their arrival, one transaction at a
time. The event loop never waits for the disk, and SQLite never sees two threads. A caller that waits for a write
cannot be cancelled, because it would not know whether the record is stored.

*Several writers.* A command of the host appends decisions to the same file while the server runs; ``BEGIN
IMMEDIATE`` lets one process write at a time. A record depends on all records before it, so this is optimistic
concurrency control:

1. A writer applies all records to its tournament, builds a record from that state, and passes the number of
   applied records to `save` as ``based_on``.
2. `save` compares it, inside the transaction, with the length of the chain. If the chain is longer, `save` stores
   nothing and raises `Conflict`.
3. The writer reads the records behind ``based_on`` with `tail`, applies them, builds its record again, and saves
   that.

The store does not know which records are whose, or what a writer has seen: ``based_on`` says all of that. Inside
the server, `runtime.recorder` lets one task save at a time, so only another process can cause a conflict.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from getstep_server.config.database_address import DatabaseAddress, PostgresAddress
from getstep_server.incident import Incident, IncidentRow
from getstep_server.records.lost import link_of
from getstep_server.records.record import FIRST, Record, content_of, hash_of, parse, sealed
from getstep_server.text import LATEST_TIME

from .database import (
    Database,
    DatabaseError,
    IncidentColumns,
    RecordRow,
    StoreError,
    advice,
    damaged,
)
from .opening import open_database

T = TypeVar("T")

KEEP_CLAIM_SECONDS = 2.0
"""The interval at which a server shows that it still runs: a fifth of the lease."""


class Conflict(Exception):  # noqa: N818 - nothing is wrong
    """Raised when a record was built from fewer records than the chain has; nothing was stored.

    Unlike `StoreError` and `DatabaseError`, nothing is wrong: apply `Store.tail` and build the record again.
    """


class StoredRecord(Struct, frozen=True):
    """A row of the table: the sealed ``line`` of a record, and its further columns.

    ``number``, ``event``, ``pairing``, ``leg`` and ``attempt`` are None unless the record is a game's.
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
    """A contest's database, as a context manager that also ends the writer thread.

    Other processes may read and store at the same time.

    Args:
        address: of the database: its file, or its schema in a PostgreSQL server.
        reading: open it to read only; a file may be on a disk that cannot be written.

    Raises:
        StoreError: it is not a database of this program and version, or cannot be written or read.
    """

    def __init__(self, address: DatabaseAddress, *, reading: bool = False) -> None:
        self.path = address
        self._reading = reading
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._database: Database | None = None
        # a daemon: a command that fails before `close` must still end
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)
        self._is_open = False

    def __enter__(self) -> Store:
        self._thread.start()
        self._is_open = True
        try:
            self._run(self._open)
        except StoreError:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish what is queued, close the file, end the thread."""
        self._is_open = False
        self._jobs.put(self._close)
        self._jobs.put(None)
        self._thread.join()

    def claim(self) -> None:
        """Take the lock of the server that runs the contest, until the end; the folder's own lock is `lock`'s.

        Raises:
            ContestInUse: another server has it.
        """
        self._run(lambda: self._db.claim())

    async def keep_claim(self) -> None:
        """Keep the lock of `claim` until cancelled; a process that hangs may lose it."""
        import trio  # as in `_run_async`

        if not isinstance(self.path, PostgresAddress):
            return  # the lock on a file ends with its process only
        while True:
            await trio.sleep(KEEP_CLAIM_SECONDS)
            with contextlib.suppress(DatabaseError):  # away: a task that reads or writes says so
                await self._run_async(self._chain)  # any question does

    # --- reading: these block, so call them before the first match or without an event loop ---

    def record_headers(self) -> list[dict[str, Any]]:
        """Return all records without the turns of games, in the order of the chain."""
        return list(map(parse, self._run(partial(self._read_headers, 0))))

    def lines(self) -> Iterator[bytes]:
        """Return all records as they were sealed, in the order of their places, without line ends."""
        return (record.line for record in self.records())

    def records(self, match: int | None = None) -> Iterator[StoredRecord]:
        """Yield all records in the order of their places, or those of one ``match``.

        They are read 64 at a time: all of them may not fit into memory.
        """
        if match is not None and not 0 < match < 2**63:  # the range of SQLite's integers
            return
        last = -(2**63)  # below every place that a database can hold
        while records := self._run(partial(self._read_records, last, match)):
            yield from records
            last = records[-1].place

    def chain(self) -> tuple[int, str]:
        """Return the expected number of records, and the expected hash of the last one.

        Raises:
            StoreError: the table ``chain`` does not have exactly one row.
        """
        return self._run(self._chain)

    def check_end(self) -> None:
        """Check that the records end where the chain does; `verify` checks their contents.

        Raises:
            StoreError: records are missing, there are too many, or the last one has another hash.
        """
        with self.snapshot():
            length, digest = self.chain()
            count, place, last = self._run(lambda: self._db.end())
        found, expected = (count, place, FIRST if last is None else _text(last)), (length, length, digest)
        if found != expected:
            raise StoreError(
                f"{self.path}: {count} records up to place {place}, the last with hash {found[2]!r:.80},"
                f" expected {length} up to place {length} with {digest!r:.80}: so many the database has counted."
                f" {advice(self.path)}"
            )

    def newest(self, count: int) -> list[StoredRecord]:
        """Return the ``count`` newest records, or all if there are fewer."""
        return self._run(lambda: self._read_records(self._chain()[0] - count, None))

    def check_pages(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Check the pages of the file; `verify` checks the records in them.

        Args:
            stop: called every few milliseconds; the check ends early once it returns True.

        Raises:
            StoreError: a page is damaged.
        """
        if damage := self._run(lambda: self._db.damage(stop)):
            raise damaged(self.path, damage)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Make all reads in this block see one state of the database, whatever another process stores
        concurrently."""
        self._run(lambda: self._db.begin())
        try:
            yield
        finally:
            self._run(lambda: self._db.rollback())

    def incidents(self) -> list[IncidentRow]:
        return self._run(self._read_incidents)

    # --- copying: these block, too ---

    def rows(self) -> Iterator[Sequence[RecordRow]]:
        """Yield the rows of all records in the order of their places, 64 at a time."""
        # below every place that a database can hold
        last = -(2**63)
        while rows := self._run(partial(self._read_rows, last)):
            yield rows
            last = rows[-1][0]

    def rows_after(self, place: int) -> Sequence[RecordRow]:
        """Return the rows of the records behind ``place`` in the order of the chain, 64 at most."""
        return self._run(partial(self._read_rows, place))

    def extend(self, rows: Sequence[RecordRow]) -> None:
        """Append rows of another database with the same chain, all of them or none; return once they are durable.

        Raises:
            StoreError: they do not continue this chain, or are not what was sealed.
            DatabaseError: they cannot be written.
        """

        def write() -> None:
            place, link = self._tip()
            for row in rows:
                place, record = place + 1, stored_record(row)
                if (record.place, record.previous, record.hash) != (place, link, hash_of(record.line)):
                    raise StoreError(f"{self.path}: record {record.place} does not continue the {place - 1} here")
                link = link_of(record.head, record.hash)
                self._db.append(row)

        self._run(lambda: self._db.transact(write))

    def replace(self, rows: Sequence[tuple[RecordRow, bytes]]) -> None:
        """Put rows in the places of those whose hashes are beside them; the chain must stay as it is.

        Raises:
            StoreError: a row does not have the hash of its text.
            DatabaseError: they cannot be written; nothing was stored.
        """

        def write() -> None:
            for row, instead in rows:
                record = stored_record(row)
                if record.hash != hash_of(record.line):
                    raise StoreError(f"{self.path}: record {record.place} is not what was sealed")
                self._db.replace(row, instead)

        self._run(lambda: self._db.transact(write))

    def shrink(self) -> None:
        """Give the disk back what is free in the database. No server may run the contest.

        Raises:
            DatabaseError: it cannot be written; everything is stored as it was.
        """
        self._run(lambda: self._db.shrink())

    def _read_rows(self, after: int) -> Sequence[RecordRow]:
        return self._db.records(after, None)

    def fill(self, batches: Iterable[Sequence[RecordRow]], incidents: Sequence[IncidentRow]) -> None:
        """Write rows and counts of incidents into an empty database, all of them or none.

        Raises:
            DatabaseError: they cannot be written; nothing was stored.
        """

        def write() -> None:
            for rows in batches:
                for row in rows:
                    self._db.append(row)
            self._db.count_incidents(list(map(_incident_columns, incidents)))

        self._run(lambda: self._db.transact(write))

    # --- while matches are being played ---

    async def save(
        self, *records: Record, based_on: int | None = None, after: Callable[[], None] = lambda: None
    ) -> None:
        """Append records to the chain in order, all of them or none; return once they are durable.

        Args:
            records: records of settings, pairings, games or decisions.
            based_on: the number of records in the chain from which these were built; None: append to any chain.
            after: called in the writer thread after COMMIT; an `OSError` raised by it is ignored.

        Raises:
            Conflict: the chain does not have ``based_on`` records; nothing was stored.
            DatabaseError: the disk is full or gone, or an attempt has a record already; nothing was stored.
        """

        def write() -> None:
            self._db.transact(partial(self._write_records, records, based_on))
            # the records are durable: a retry would store them twice
            with contextlib.suppress(OSError):
                after()

        await self._run_async(write)

    async def tail(self, place: int) -> list[bytes]:
        """Return the records behind ``place`` in the order of the chain: their JSON without the turns of games.

        Raises:
            DatabaseError: the database cannot be read.
        """
        return await self._run_async(partial(self._read_headers, place))

    async def after(self, place: int) -> list[StoredRecord]:
        """Return the records behind ``place`` in the order of the chain, 64 at most; [] if there are none yet.

        Raises:
            DatabaseError: the database cannot be read.
        """
        return await self._run_async(partial(self._read_records, place, None))

    async def is_current(self) -> bool:
        """Return False once another database has taken the place of this one."""
        return await self._run_async(lambda: self._db.is_current())

    async def count_incidents(self, rows: list[IncidentRow], instead_of: Sequence[IncidentRow] = ()) -> None:
        """Add the counts of ``rows`` to those stored, in one transaction, and delete the rows ``instead_of``.

        Raises:
            DatabaseError: the disk is full or gone; no count was stored.
        """
        await self._run_async(lambda: self._write_incidents(rows, instead_of))

    # --- the thread ---

    def _put(self, job: Callable[[], None]) -> None:
        """Queue a job. Nothing would ever do it without the thread, and the caller would never return."""
        if not self._is_open:
            raise ValueError(f"{self.path}: the store is not open; use it in a with statement")
        self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _run(self, function: Callable[[], T]) -> T:
        """Call ``function`` in the writer thread and block until it returns."""
        answer: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

        def job() -> None:
            try:
                answer.put((function(), None))
            except Exception as error:  # raised again in the thread that asked
                answer.put((None, self._converted(error)))

        self._put(job)
        value, error = answer.get()
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # None only if function returned it

    async def _run_async(self, function: Callable[[], T]) -> T:
        """Call ``function`` in the writer thread and wait for it without blocking the event loop."""
        import trio  # only where something is stored: it takes 0.1 s, and most commands only read

        done = trio.Event()
        token = trio.lowlevel.current_trio_token()
        returned: list[T] = []
        failure: list[Exception] = []

        def job() -> None:
            try:
                returned.append(function())
            except Exception as error:  # raised again below: the thread has to survive it
                failure.append(self._converted(error))
            token.run_sync_soon(done.set)

        self._put(job)
        with trio.CancelScope(shield=True):  # a cancelled caller would not know whether its record is stored
            await done.wait()
        if failure:
            raise failure[0]
        return returned[0]

    @property
    def _db(self) -> Database:
        if self._database is None:
            raise StoreError(f"{self.path}: used before it was opened")
        return self._database

    def _open(self) -> None:
        self._database = open_database(self.path, reading=self._reading)

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()

    def _converted(self, error: Exception) -> Exception:
        """Return an exception of the database's library as a `DatabaseError` or a `StoreError`."""
        if self._database is None or not isinstance(error, self._database.errors):
            return error
        converted = self._database.error(error)
        # for the traceback: the error crosses threads, so `raise ... from` is not possible here
        converted.__cause__ = error
        return converted

    def _chain(self) -> tuple[int, str]:
        rows = self._db.chain()
        if len(rows) != 1:
            raise StoreError(f"{self.path}: {len(rows)} rows in the table chain, expected one; {advice(self.path)}")
        length, digest = rows[0]
        return length, _text(digest)

    def _tip(self) -> tuple[int, str]:
        """Return the length of the chain, and the hash that the next record names."""
        length, digest = self._chain()
        last = self._read_records(length - 1, None) if length else []
        return length, link_of(last[0].head, digest) if last else digest

    def _write_records(self, records: Sequence[Record], based_on: int | None) -> None:
        length, previous = self._tip()
        if based_on not in (None, length):
            raise Conflict(f"{length} records, expected {based_on}")
        for place, record in enumerate(records, start=length + 1):
            previous = self._write_record(record, place, previous)

    def _write_record(self, record: Record, place: int, previous: str) -> str:
        _, digest = sealed(record.content(), place, previous)
        match, turns = record.match, b",".join(record.turns)
        texts = (record.header, turns, previous.encode(), digest.encode())
        if match is None:
            self._db.append((place, None, None, None, None, None, *texts))
        else:
            keys = (match.number, match.event, match.pairing, match.leg, record.attempt)
            self._db.append((place, *keys, *texts))
        return digest

    def _write_incidents(self, rows: list[IncidentRow], instead_of: Sequence[IncidentRow]) -> None:
        columns = list(map(_incident_columns, rows))
        kinds = [(one.incident.code, one.incident.team, one.incident.address) for one in instead_of]

        def write() -> None:
            self._db.forget_incidents(kinds)
            self._db.count_incidents(columns)

        self._db.transact(write)

    def _read_headers(self, place: int) -> list[bytes]:
        return self._db.headers(place)

    def _read_records(self, after: int, match: int | None) -> list[StoredRecord]:
        return [stored_record(row) for row in self._db.records(after, match)]

    def _read_incidents(self) -> list[IncidentRow]:
        return [incident_row(*row) for row in self._db.incidents()]


def _incident_columns(row: IncidentRow) -> IncidentColumns:
    incident = row.incident
    kind = (incident.team, incident.address, incident.code)
    return (*kind, row.count, row.first, row.last, incident.detail, incident.first_bytes)


def incident_row(
    team: int | None, address: str, code: str, count: int, first: float, last: float, detail: str, first_bytes: str
) -> IncidentRow:
    for name, seconds in {"first": first, "last": last}.items():
        if not 0 <= seconds < LATEST_TIME:
            raise StoreError(
                f"an incident {code!r:.80} with {name} = {seconds!r}, expected seconds from 1970 on and before 3000"
            )
    return IncidentRow(Incident(code, detail, address, team, first_bytes), count, first, last)


def stored_record(row: RecordRow) -> StoredRecord:
    """Return a row of the table, with the hashes as stored; `verify` compares them with the computed ones."""
    place, number, event, pairing, leg, attempt, head, turns, previous, digest = row
    if type(place) is not int:
        raise StoreError(f"a record at place {place!r:.80}, expected a whole number")
    content = content_of(head, turns, game=number is not None or bool(turns))
    line = b'%b,"place":%d,"previous":"%b","hash":"%b"}' % (content[:-1], place, previous, digest)
    return StoredRecord(place, number, event, pairing, leg, attempt, head, _text(previous), _text(digest), line)


def _text(stored: bytes) -> str:
    return stored.decode(errors="backslashreplace")


# --- copying ----------------------------------------------------------------------------------------------------


def copy_records(source: Store, target: Store, progress: Callable[[int, int], None]) -> tuple[int, str]:
    """Copy everything into an empty database, all of it or nothing, and return its length and its last hash.

    Args:
        source: the records.
        target: an empty database.
        progress: called after each part with the place of its last record and the number of records.

    Raises:
        StoreError: the records do not end where their chain does, or the target is not empty.
    """
    source.check_end()
    with source.snapshot():
        total, digest = source.chain()
        if target.chain()[0] or target.incidents():
            raise StoreError(f"{target.path}: it has records; give a database or a schema without any")

        target.fill(_counted(source, progress, total), source.incidents())
    target.check_end()
    if target.chain() != (total, digest):
        raise StoreError(f"{target.path}: the copy ends with another hash; it must not be used")
    return total, digest


def _counted(source: Store, progress: Callable[[int, int], None], total: int) -> Iterator[Sequence[RecordRow]]:
    for rows in source.rows():
        yield rows
        progress(rows[-1][0], total)
