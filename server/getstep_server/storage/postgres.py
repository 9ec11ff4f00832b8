"""A contest's database as a schema of a PostgreSQL server, which several contests share.

Theory of operation
-------------------

*The same promises as with SQLite.* ``synchronous_commit`` is on in each session, so COMMIT returns once the record
is in the server's log on disk. The row of ``chain`` is locked by each writer, so one process writes at a time and
the optimistic concurrency control of `store` holds. Texts are compared and hashed as the same bytes.

*A connection that is lost.* The next call connects again; until it succeeds, each call fails with AWAY and the
server of the contest waits, as for a full disk. If the connection is lost during COMMIT, it is unknown whether the
record is stored. Then `transact` asks again, for up to DATABASE_DOUBT_SECONDS, whether the chain has grown as
written: only this process can have written that hash. If that cannot be found out, the run ends, and the next run
reads the truth.

*One server for each contest.* The lock of the contest's folder does not see a second folder with the same schema.
So a writer that runs the contest also holds an advisory lock, `Database.claim`. Without the lock it reads, and does
not write.

*The lock is a lease.* It belongs to a session. PostgreSQL ends a session that has asked nothing for LEASE_SECONDS,
and the contest's server asks something every few seconds. So the lock is free again after that time, whatever has
happened: the process hangs, its computer is off, or the network is cut. A server that has only lost its connection
takes the lock again, unless another one has it.

*No commit after a loss.* A session that has ended cannot commit, and a new one needs the lock. If another server
has had the lock meanwhile, there are records of it. Then a commit fails, because it is based on fewer records than
there are (`store`), and `runtime.recorder` ends the run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any

import psycopg
from psycopg import errors, sql

from getstep_server.config.database_address import PostgresAddress
from getstep_server.limits import DATABASE_CONNECT_SECONDS, DATABASE_DOUBT_SECONDS
from getstep_server.records.record import FIRST

from .database import (
    SCHEMA_VERSION,
    DatabaseError,
    DatabaseProblem,
    IncidentColumns,
    RecordRow,
    ServerAwayError,
    StoreError,
    other_schema,
)
from .lock import in_use

_TABLES = """
CREATE TABLE records (
    place bigint PRIMARY KEY,
    number bigint,
    event bigint,
    pairing bigint,
    leg bigint,
    attempt bigint,
    head text NOT NULL,
    turns text NOT NULL,
    previous text NOT NULL,
    hash text NOT NULL,
    UNIQUE (event, pairing, leg, attempt)
);
CREATE INDEX records_of_a_match ON records (number, place);
CREATE TABLE chain (length bigint NOT NULL, hash text NOT NULL, version integer NOT NULL);
CREATE TABLE incidents (
    came bigint GENERATED ALWAYS AS IDENTITY,
    team bigint,
    address text NOT NULL,
    code text NOT NULL,
    count bigint NOT NULL,
    first double precision NOT NULL,
    last double precision NOT NULL,
    detail text NOT NULL,
    first_bytes text NOT NULL
);
CREATE UNIQUE INDEX incident_kinds ON incidents (code, coalesce(team, -1), address);
"""

_COUNT_INCIDENTS = """
INSERT INTO incidents AS old (team, address, code, count, first, last, detail, first_bytes)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (code, coalesce(team, -1), address)
DO UPDATE SET count = old.count + excluded.count, last = greatest(old.last, excluded.last)
"""
_READ_RECORDS = """
SELECT place, number, event, pairing, leg, attempt, head, turns, previous, hash FROM records
WHERE place > %(after)s AND (%(match)s::bigint IS NULL OR number = %(match)s) ORDER BY place LIMIT 64
"""
_READ_END = """
SELECT count(*), coalesce(max(place), 0), (SELECT hash FROM records ORDER BY place DESC LIMIT 1) FROM records
"""
_FULL = (errors.DiskFull, errors.OutOfMemory, errors.InsufficientResources, errors.IoError)
_RETRY_SECONDS = 0.5  # a server that restarts takes seconds
_KEEPALIVES: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}  # in seconds, and a number
_CLAIM_SECONDS = 2.0  # the server notices a moment later that a process has ended, and with it the lock

LEASE_SECONDS = 10
"""PostgreSQL ends the session with the lock if it gets no question for so long; `Store.keep_claim` asks one."""

_LEASE_VERSION = 140000
"""The first PostgreSQL with `idle_session_timeout`. An earlier one only notices that a computer does not answer."""


class PostgresDatabase:
    """A database in a schema of a PostgreSQL server; see `database.Database`.

    Args:
        address: the server's, and the schema.
        reading: read only; the schema must be there.

    Raises:
        ServerAwayError: the server does not answer.
        StoreError: the schema is not of this program and version.
    """

    errors: type[Exception] = psycopg.Error

    def __init__(self, address: PostgresAddress, *, reading: bool) -> None:
        self._address = address
        self._reading = reading
        self._claimed = False
        self._holds_lock = False
        """True if the current connection has the lock of `claim`."""
        self._in_transaction = False
        try:
            self._connection = _connected(address, reading=reading)
            try:
                if not reading:
                    self._create()
                self._check_version()
            except BaseException:  # also for KeyboardInterrupt: the server would keep the session for a while
                self._connection.close()
                raise
        except psycopg.Error as error:
            raise _unusable(address, error) from error

    # --- the connection ---

    def _create(self) -> None:
        """Create the tables, unless they are there."""
        with self._connection.transaction():
            key = f"create {self._address.schema}"
            # two servers may begin at once, and CREATE SCHEMA IF NOT EXISTS can still collide
            self._connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (key,))
            if _version(self._connection, self._address.schema) is None:
                self._connection.execute(
                    sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(self._address.schema))
                )
                self._connection.execute(_TABLES)
                self._connection.execute("INSERT INTO chain VALUES (0, %s, %s)", (FIRST, SCHEMA_VERSION))

    def _check_version(self) -> None:
        version = _version(self._connection, self._address.schema)
        if version is None:
            raise StoreError(f"{self._address}: no contest in it")
        if version != SCHEMA_VERSION:
            row = None
            with contextlib.suppress(psycopg.Error):  # other tables
                row = self._connection.execute("SELECT head FROM records ORDER BY place DESC LIMIT 1").fetchone()
            raise other_schema(self._address, version, str(row[0]) if row else None)

    def _open(self) -> psycopg.Connection[Any]:
        """Return the connection, a new one if the last was lost outside a transaction.

        In the middle of one, a new connection would commit each further statement separately.

        Raises:
            psycopg.OperationalError: it was lost in a transaction, or the server does not answer.
        """
        if self._connection.closed:
            if self._in_transaction:
                raise psycopg.OperationalError("the connection was lost in a transaction")
            self._connection = _connected(self._address, reading=self._reading)
            self._holds_lock = False
        return self._connection

    def _open_to_write(self) -> psycopg.Connection[Any]:
        """Return the connection of `_open`, with the lock if this is the contest's server.

        Raises:
            psycopg.OperationalError: as `_open`, or another session has the lock.
        """
        connection = self._open()
        if self._claimed and not self._holds_lock:
            if not _claim(connection, self._address.schema):
                raise psycopg.OperationalError(
                    "the lost connection, or another server, still has the lock of this contest"
                )
            self._holds_lock = True
        return connection

    def claim(self) -> None:
        """Take the lock of the server that runs this contest; it is held until `close`.

        Raises:
            ContestInUse: another server has it.
        """
        if not _claim(self._open(), self._address.schema):
            raise in_use(self._address)
        self._claimed = self._holds_lock = True

    def error(self, error: Exception) -> Exception:
        if isinstance(error, _FULL):
            problem = DatabaseProblem.FULL
        elif isinstance(error, errors.LockNotAvailable):
            problem = DatabaseProblem.LOCKED
        elif isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
            problem = DatabaseProblem.AWAY
        else:
            problem = DatabaseProblem.OTHER
        return DatabaseError(_words(error), problem)

    def close(self) -> None:
        with contextlib.suppress(psycopg.Error):  # the server may be gone, which is why it is closed
            self._connection.close()

    # --- transactions ---

    def begin(self) -> None:
        self._open().execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._in_transaction = True

    def rollback(self) -> None:
        self._in_transaction = False
        if not self._connection.closed:
            self._connection.execute("ROLLBACK")

    def transact(self, write: Callable[[], None]) -> None:
        """Write and commit, or store nothing.

        Raises:
            StoreError: it cannot be found out whether the commit has succeeded.
        """
        connection = self._open_to_write()
        connection.execute("BEGIN")
        self._in_transaction = True
        try:
            connection.execute("SELECT FROM chain FOR UPDATE")
            before = self.chain()
            write()
            written = self.chain()
        except BaseException:  # KeyboardInterrupt too: a connection in a transaction would hold its locks
            if not connection.closed:
                connection.execute("ROLLBACK")
            raise
        finally:
            self._in_transaction = False
        try:
            connection.execute("COMMIT")
        except psycopg.OperationalError:
            # The answer to COMMIT was lost, not the commit perhaps: to write the records again would fork the
            # chain.
            if before == written or not self._has_stored(written):
                raise

    def _has_stored(self, written: list[tuple[int, bytes]]) -> bool:
        """Return True if a commit whose answer was lost has succeeded: the chain has the hash that was written."""
        until = monotonic() + DATABASE_DOUBT_SECONDS
        ((place, digest),) = written
        while True:
            try:
                connection = self._open()
                connection.execute("SELECT FROM chain FOR UPDATE")  # waits until that commit has ended, either way
                row = connection.execute("SELECT hash FROM records WHERE place = %s", (place,)).fetchone()
            except psycopg.Error as error:
                if monotonic() > until:
                    raise StoreError(
                        f"{self._address}: the connection was lost while record {place} was stored, and the server"
                        f" does not answer ({_words(error)}): run the contest again when it does"
                    ) from error
                sleep(_RETRY_SECONDS)
            else:
                return row is not None and row[0].encode() == digest

    # --- reading and writing ---

    def chain(self) -> list[tuple[int, bytes]]:
        rows = self._open().execute("SELECT length, hash FROM chain").fetchall()
        return [(length, digest.encode()) for length, digest in rows]

    def end(self) -> tuple[int, int, bytes | None]:
        row = self._open().execute(_READ_END).fetchone()
        if row is None:
            raise StoreError(f"{self._address}: no answer to a count")
        count, place, digest = row
        return count, place, None if digest is None else digest.encode()

    def headers(self, place: int) -> list[bytes]:
        rows = self._open().execute("SELECT head FROM records WHERE place > %s ORDER BY place", (place,))
        return [head.encode() for (head,) in rows]

    def records(self, after: int, match: int | None) -> Sequence[RecordRow]:
        rows = self._open().execute(_READ_RECORDS, {"after": after, "match": match})
        # bytes as from SQLite: the hashes are over bytes
        return [(*row[:6], *(text.encode() for text in row[6:])) for row in rows]

    def append(self, row: RecordRow) -> None:
        texts = [text.decode() for text in row[6:]]  # bytes would become `bytea`
        self._connection.execute(
            "INSERT INTO records VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)", (*row[:6], *texts)
        )
        # in the same transaction: it counts the records that there are
        self._connection.execute("UPDATE chain SET length = %s, hash = %s", (row[0], texts[3]))

    def replace(self, row: RecordRow, instead: bytes) -> None:
        head, turns, _, digest = [text.decode() for text in row[6:]]
        self._connection.execute(
            "UPDATE records SET head = %s, turns = %s, hash = %s WHERE place = %s AND hash = %s",
            (head, turns, digest, row[0], instead.decode()),
        )

    def incidents(self) -> Sequence[IncidentColumns]:
        columns = "team, address, code, count, first, last, detail, first_bytes"
        return self._open().execute(f"SELECT {columns} FROM incidents ORDER BY came").fetchall()  # noqa: S608 - a literal

    def count_incidents(self, rows: Sequence[IncidentColumns]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_COUNT_INCIDENTS, rows)

    def shrink(self) -> None:
        """Do nothing: the server uses free pages again by itself."""

    def forget_incidents(self, kinds: Sequence[tuple[str, int | None, str]]) -> None:
        delete = "DELETE FROM incidents WHERE code = %s AND coalesce(team, -1) = coalesce(%s, -1) AND address = %s"
        with self._connection.cursor() as cursor:
            cursor.executemany(delete, kinds)

    def is_current(self) -> bool:
        """Return True: a schema that is dropped is missed by the next read."""
        return True

    def damage(self, stop: Callable[[], bool]) -> str:  # noqa: ARG002 - see below
        """Return "": the server checks its own pages, if it was made with checksums."""
        return ""


def has_contest(address: PostgresAddress) -> bool:
    """Return True if the schema has the tables of a contest.

    Raises:
        ServerAwayError: the server does not answer.
    """
    try:
        with _connected(address, reading=True) as connection:
            return _version(connection, address.schema) is not None
    except psycopg.Error as error:
        raise _unusable(address, error) from error


def _claim(connection: psycopg.Connection[Any], schema: str) -> bool:
    """Take the lock of the server that runs a contest, as a lease; return False if another session has it."""
    until = monotonic() + _CLAIM_SECONDS
    while True:
        # The second number, 2019, tells these locks from those that other programs take in the same database.
        found = connection.execute("SELECT pg_try_advisory_lock(hashtext(%s), 2019)", (f"run {schema}",)).fetchone()
        if found == (True,):
            # an answer that nobody reads ends the session, too
            limits = ["idle_in_transaction_session_timeout", "tcp_user_timeout"]
            limits += ["idle_session_timeout"] if connection.info.server_version >= _LEASE_VERSION else []
            for limit in limits:
                connection.execute(sql.SQL("SET {} TO {}").format(sql.Identifier(limit), 1000 * LEASE_SECONDS))
            return True
        if monotonic() > until:
            return False
        sleep(_RETRY_SECONDS)


def _connected(address: PostgresAddress, *, reading: bool) -> psycopg.Connection[Any]:
    connection = psycopg.connect(
        address.url,
        autocommit=True,
        connect_timeout=DATABASE_CONNECT_SECONDS,
        application_name="getstep-server",
        # A server that has vanished is noticed by the kernel, and not by a commit that waits for minutes.
        **_KEEPALIVES,
        tcp_user_timeout=1000 * DATABASE_CONNECT_SECONDS,
    )
    try:
        connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(address.schema)))
        # The setting may be off on the host's PostgreSQL. A result is announced only after it is durable.
        connection.execute("SET synchronous_commit TO on")
        # another session that hangs in a transaction must not hold up the server without a word
        connection.execute("SET lock_timeout TO '5s'")
        for setting, value in _KEEPALIVES.items():  # the same at the server's end: it holds this session's locks
            connection.execute(sql.SQL("SET {} TO {}").format(sql.Identifier(f"tcp_{setting}"), value))
        if reading:
            connection.execute("SET default_transaction_read_only TO on")
    # Ctrl-C too: the server would hold the session and its locks
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: psycopg.Connection[Any], schema: str) -> int | None:
    """Return the version of the tables in a schema; None if there are none."""
    there = connection.execute("SELECT to_regclass(%s)", (f"{schema}.chain",)).fetchone()
    if there is None or there[0] is None:
        return None
    row = connection.execute("SELECT version FROM chain").fetchone()
    return None if row is None else int(row[0])


def _unusable(address: PostgresAddress, error: psycopg.Error) -> StoreError:
    kind = ServerAwayError if isinstance(error, psycopg.OperationalError) else StoreError
    return kind(f"{address}: {_words(error)}")


def _words(error: Exception) -> str:
    """Return the first line of an error: the others are hints for programmers."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
