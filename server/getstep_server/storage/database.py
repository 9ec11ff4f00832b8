"""The file of a contest's database: opens it to write or to read, and detects damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

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


_UNWRITABLE = frozenset([sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM])
_DAMAGE = frozenset([sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB])

_STEPS = 100_000
"""SQLite instructions between two calls of ``stop``: a few milliseconds."""


class StoreError(Exception):
    """Raised when the database file cannot be used; the message is for the host.

    Unlike `RecordError`, it is about the file, its pages and its tables, and not about the contents of a record.
    Unlike `JournalError`, it is not about the journal of running matches. A full disk stays a `sqlite3.Error`:
    the server waits and tries again.
    """


# --- opening ----------------------------------------------------------------------------------------------------


def database_to_write(path: Path) -> sqlite3.Connection:
    """Open a database to read and write; create the tables of an empty one.

    Raises:
        StoreError: another version made the file, or its log has no database.
        sqlite3.Error: the file cannot be used.
    """
    _check_log(path)
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
        if _is_empty(path, database):
            database.execute("BEGIN IMMEDIATE")
            _create(database)
            database.execute("COMMIT")
    except BaseException:
        database.close()
        raise
    return database


def database_to_read(path: Path) -> sqlite3.Connection:
    """Open a database to read; a missing or empty file is read as an empty database.

    The file may be on a disk that cannot be written. No other file is left behind.

    Raises:
        StoreError: like `database_to_write`, or the latest records cannot be read without writing.
        sqlite3.Error: the file cannot be used.
    """
    _check_log(path)
    if _size(path):
        database = _readable(path)
        try:
            if not _is_empty(path, database):
                return database
        except BaseException:
            database.close()
            raise
        database.close()
    database = sqlite3.connect(":memory:", isolation_level=None)
    _create(database)
    return database


def _readable(path: Path) -> sqlite3.Connection:
    """Return a connection that can read, opened in the first way that works.

    SQLite reads a database in WAL mode through a shared-memory file, which it creates beside the database. If it
    cannot be created, a running server of another user may have created it. If there is no log, no process has
    the database open, and the database file holds all records.
    """
    try:
        return _connected(path, "mode=rw")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _UNWRITABLE:
            raise
    log = _log_of(path)
    if not _size(log):
        return _connected(path, "mode=ro&immutable=1")
    try:
        return _connected(path, "mode=ro")
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"{path}: cannot be read here: the latest records are in {log.name}, and this disk cannot be written"
            f" ({error}); copy the whole folder to one that can, and read the copy"
        ) from error


def _connected(path: Path, query: str) -> sqlite3.Connection:
    database = sqlite3.connect(f"{path.absolute().as_uri()}?{query}", uri=True, isolation_level=None)
    try:
        database.execute("PRAGMA query_only = ON")
        database.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # SQLite opens the file only now
    except BaseException:
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
        raise StoreError(f"{path}: made by another version (schema {version}, expected {SCHEMA_VERSION})")
    return bool(version == 0)


def _create(database: sqlite3.Connection) -> None:
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
            f"{path}: empty or not there, and {log.name} beside it has {size} bytes that belong to it;"
            f" put the database back, or delete {log.name}"
        )


# --- damage -----------------------------------------------------------------------------------------------------


def page_damage(database: sqlite3.Connection, stop: Callable[[], bool]) -> str:
    """Return the first damage that SQLite's quick check finds; "" if there is none, or ``stop`` returned True."""
    database.set_progress_handler(lambda: int(stop()), _STEPS)
    try:
        (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_INTERRUPT:
            raise
        return ""
    finally:
        database.set_progress_handler(None, 0)
    return "" if found == "ok" else str(found).replace("\n", " ")


def is_damage(error: sqlite3.Error) -> bool:
    """Return True if an error means that the file is damaged."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in _DAMAGE


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    """Return an error of SQLite as a `StoreError`."""
    return damaged(path, str(error)) if is_damage(error) else StoreError(f"{path}: {error}")


def damaged(path: Path, what: str) -> StoreError:
    """Return the error for a damaged database, with advice."""
    return StoreError(f"{path}: damaged: {what}; {advice(path)}")


def advice(path: Path) -> str:
    """Return the advice for a damaged database."""
    return (
        "put a copy of the contest's folder back. Without a copy: getstep-server verify names the first record that"
        " does not fit, getstep-server export --matches writes the records before the damage, and"
        f" sqlite3 {path.name} .recover writes all that SQLite can still read"
    )
