"""A contest's database as a file of SQLite: opens it to write or to read, and detects damage."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from getstep_server.file_lock import lock_byte

from .database import (
    SCHEMA_VERSION,
    DatabaseError,
    DatabaseProblem,
    IncidentColumns,
    RecordRow,
    StoreError,
    damaged,
    other_schema,
)

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


_UNWRITABLE = frozenset([sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM])
_DAMAGE = frozenset([sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB])
_PROBLEMS = {
    sqlite3.SQLITE_BUSY: DatabaseProblem.LOCKED,
    sqlite3.SQLITE_FULL: DatabaseProblem.FULL,
    sqlite3.SQLITE_IOERR: DatabaseProblem.FULL,
    sqlite3.SQLITE_READONLY: DatabaseProblem.FULL,
}

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
"""  # as bytes: a damaged text need not be UTF-8

_READ_HEADERS = "SELECT CAST(ifnull(head, '') AS BLOB) FROM records WHERE place > ? ORDER BY place"

_READ_END = """
SELECT count(*), ifnull(max(place), 0),
    (SELECT CAST(ifnull(hash, '') AS BLOB) FROM records ORDER BY place DESC LIMIT 1)
FROM records
"""

_CLAIMED_BYTE = (1 << 30) + 1024
"""In the page from byte 2**30 on there are never data. SQLite locks the first 512 bytes of it
(https://sqlite.org/fileformat.html, section 1.4)."""

_STEPS = 100_000
"""SQLite instructions between two calls of ``stop``: a few milliseconds."""


class SqliteDatabase:
    """A database in a file of SQLite; see `database.Database`.

    Args:
        path: the file's.
        reading: open the file to read only; it may be on a disk that cannot be written.

    Raises:
        StoreError: the file is not a database of this program and version, or cannot be written or read.
    """

    errors: type[Exception] = sqlite3.Error

    def __init__(self, path: Path, *, reading: bool) -> None:
        self._path = path
        self._claimed = -1
        try:
            self.connection = (_to_read if reading else _to_write)(path)
        except sqlite3.Error as error:
            raise _store_error(path, error) from error
        self._file = _file_id(path)

    def error(self, error: Exception) -> Exception:
        code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details of an extended code
        if code in _DAMAGE:
            return damaged(self._path, str(error))
        return DatabaseError(str(error), _PROBLEMS.get(code, DatabaseProblem.OTHER))

    def close(self) -> None:
        # everything is committed: an error of the disk here loses nothing
        with contextlib.suppress(sqlite3.Error):
            self.connection.close()
        if self._claimed >= 0:  # not before: it would release the locks of this process's connections, too
            os.close(self._claimed)
            self._claimed = -1

    def begin(self) -> None:
        self.connection.execute("BEGIN")

    def rollback(self) -> None:
        self.connection.rollback()

    def transact(self, write: Callable[[], None]) -> None:
        """Write and commit, or store nothing."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            write()
            self.connection.execute("COMMIT")
        except BaseException:  # Ctrl-C too: an open connection would keep its locks
            if self.connection.in_transaction:  # on a full disk SQLite has rolled back already
                self.connection.execute("ROLLBACK")
            raise

    def chain(self) -> list[tuple[int, bytes]]:
        return self.connection.execute("SELECT length, CAST(ifnull(hash, '') AS BLOB) FROM chain").fetchall()

    def end(self) -> tuple[int, int, bytes | None]:
        found: tuple[int, int, bytes | None] = self.connection.execute(_READ_END).fetchone()
        return found

    def headers(self, place: int) -> list[bytes]:
        return [header for (header,) in self.connection.execute(_READ_HEADERS, (place,))]

    def records(self, after: int, match: int | None) -> Sequence[RecordRow]:
        return self.connection.execute(_READ_RECORDS, (after, match, match)).fetchall()

    def append(self, row: RecordRow) -> None:
        *numbers, head, turns, previous, digest = row
        texts = [text.decode() for text in (head, turns, previous, digest)]
        self.connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*numbers, *texts))
        # in the same transaction: it counts the records that there are
        self.connection.execute("UPDATE chain SET length = ?, hash = ?", (row[0], texts[3]))

    def replace(self, row: RecordRow, instead: bytes) -> None:
        head, turns, _, digest = [text.decode() for text in row[6:]]
        self.connection.execute(
            "UPDATE records SET head = ?, turns = ?, hash = ? WHERE place = ? AND hash = ?",
            (head, turns, digest, row[0], instead.decode()),
        )

    def incidents(self) -> Sequence[IncidentColumns]:
        return self.connection.execute("SELECT * FROM incidents ORDER BY rowid").fetchall()

    def count_incidents(self, rows: Sequence[IncidentColumns]) -> None:
        self.connection.executemany(_COUNT_INCIDENTS, rows)

    def forget_incidents(self, kinds: Sequence[tuple[str, int | None, str]]) -> None:
        delete = "DELETE FROM incidents WHERE code = ? AND ifnull(team, -1) = ifnull(?, -1) AND address = ?"
        self.connection.executemany(delete, kinds)

    def is_current(self) -> bool:
        """Return False once the file was replaced."""
        return _file_id(self._path) == self._file

    def shrink(self) -> None:
        """Give free pages back to the disk: this writes the whole file once more, and needs the room for it."""
        self.connection.execute("VACUUM")
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def claim(self) -> None:
        """Lock a byte of the file that SQLite never reads or locks.

        The folder's lock is a file that can be renamed, and the same database may be linked from two folders.
        """
        try:
            self._claimed = os.open(self._path, os.O_RDWR)
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror or error}") from error
        try:
            lock_byte(self._claimed, _CLAIMED_BYTE)
        except OSError:
            from .lock import in_use  # here: it takes 2 ms to import, and tables claim nothing

            raise in_use(self._path, folder=self._path.parent) from None

    def damage(self, stop: Callable[[], bool]) -> str:
        """Return the first damage that SQLite's quick check finds."""
        # SQLite stops the statement if it returns not 0
        self.connection.set_progress_handler(lambda: int(stop()), _STEPS)
        try:
            (found,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()  # the first damage is enough
        except sqlite3.OperationalError as error:
            # the handler has stopped it: nothing was found by then
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_INTERRUPT:
                raise
            return ""
        finally:
            self.connection.set_progress_handler(None, 0)
        return "" if found == "ok" else str(found).replace("\n", " ")


def _file_id(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _store_error(path: Path, error: sqlite3.Error) -> StoreError:
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte: the rest is the extended code
    return damaged(path, str(error)) if code in _DAMAGE else StoreError(f"{path}: {error}")


# --- opening ----------------------------------------------------------------------------------------------------


def _to_write(path: Path) -> sqlite3.Connection:
    """Open a database to read and write; create the tables of an empty one.

    Raises:
        StoreError: another version made the file, or its log has no database.
        sqlite3.Error: the file cannot be used.
    """
    _check_log(path)
    database = sqlite3.connect(path, isolation_level=None)  # the module would begin transactions unasked
    try:
        database.execute("PRAGMA journal_mode = WAL")  # the page and the commands read while the server writes
        # with NORMAL, a power cut may take commits back that were announced
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
        if _is_empty(path, database):
            database.execute("BEGIN IMMEDIATE")
            _create(database)
            database.execute("COMMIT")
    except BaseException:  # Ctrl-C too, as in `transact`
        database.close()
        raise
    return database


def _to_read(path: Path) -> sqlite3.Connection:
    """Open a database to read; a missing or empty file is read as an empty database.

    The file may be on a disk that cannot be written. No other file is left behind.

    Raises:
        StoreError: like `_to_write`, or the latest records cannot be read without writing.
        sqlite3.Error: the file cannot be used.
    """
    _check_log(path)
    if _size(path):
        database = _readable(path)
        try:
            if not _is_empty(path, database):
                return database
        except BaseException:  # as above
            database.close()
            raise
        database.close()
    # nothing is left on the disk of somebody who only looks
    database = sqlite3.connect(":memory:", isolation_level=None)
    _create(database)
    return database


def _readable(path: Path) -> sqlite3.Connection:
    """Return a connection that can read, opened in the first way that works.

    SQLite reads a database in WAL mode through a shared-memory file, which it creates next to the database. If it
    cannot be created, a running server of another user may have created it. If there is no log, no process has
    the database open, and the database file holds all records.
    """
    log = _log_of(path)
    if not _size(log):
        try:
            return _connected(path, "mode=rw")  # it deletes on closing what it has created
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _UNWRITABLE:
                raise
        return _connected(path, "mode=ro&immutable=1")  # immutable: SQLite then needs no shared-memory file
    try:
        # Not to write: closing would delete the log of a server that was killed, with the frames behind a damaged
        # one. SQLite ignores them, and `rescue` does not.
        return _connected(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _UNWRITABLE:
            raise
        raise StoreError(
            f"{path}: cannot be read here: the latest records are in {log.name}, and this disk cannot be written"
            f" ({error}); copy the whole folder to one that can, and read the copy"
        ) from error


def _connected(path: Path, query: str) -> sqlite3.Connection:
    # a URI: only it can say `mode=ro`; no `isolation_level`: no transaction that nobody asked for
    database = sqlite3.connect(f"{path.absolute().as_uri()}?{query}", uri=True, isolation_level=None)
    try:
        database.execute("PRAGMA query_only = ON")
        database.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # SQLite opens the file only now
    except BaseException:  # Ctrl-C too, as in `transact`
        database.close()
        raise
    return database


def _is_empty(path: Path, database: sqlite3.Connection) -> bool:
    """Return True if the database has no tables yet.

    Raises:
        StoreError: another version made the tables.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version not in (0, SCHEMA_VERSION):
        head = None
        with contextlib.suppress(sqlite3.Error, TypeError):  # other tables, or no record in them
            (head,) = database.execute("SELECT head FROM records ORDER BY place DESC LIMIT 1").fetchone()
        raise other_schema(path, version, head if isinstance(head, str) else None)
    return bool(version == 0)


def _create(database: sqlite3.Connection) -> None:
    # not `executescript`, which commits first: all tables are made in the transaction of the caller, or none
    for statement in _SCHEMA.split(";\n"):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _check_log(path: Path) -> None:
    """Refuse a log without its database: SQLite would delete the log, and with it the records that only it has."""
    log = _log_of(path)
    size = _size(log)
    if size and not _size(path):
        raise StoreError(
            f"{path}: empty or not there, and {log.name} next to it has {size} bytes that belong to it;"
            f" put the database back, or save what is left with: getstep-server rescue {path.parent}"
        )
