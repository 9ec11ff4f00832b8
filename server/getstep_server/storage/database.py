"""The interface of a contest's database, and its errors. `sqlite` and `postgres` implement it, `store` uses it.

All functions of a `Database` are called in one thread, and block it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum
from typing import Protocol, TypeAlias

from getstep_server.config.database_address import DatabaseAddress, PostgresAddress
from getstep_server.json_text import JsonError, decode
from getstep_server.records.record import needed_version

SCHEMA_VERSION = 1
"""The version of the tables.

A newer one keeps the columns `place` and `head` of `records`: an earlier program reads there what is needed.
"""

RecordRow: TypeAlias = tuple[
    int, int | None, int | None, int | None, int | None, int | None, bytes, bytes, bytes, bytes
]
"""A record: place, match number, event, pairing, leg, attempt, head, turns, previous hash, hash.

The texts are bytes: a damaged one need not be UTF-8.
"""

IncidentColumns: TypeAlias = tuple[int | None, str, str, int, float, float, str, str]
"""The counts of an incident: team, address, code, count, first, last, detail, first bytes."""


class StoreError(Exception):
    """Raised when the database cannot be used; the message is for the host.

    Unlike `RecordError`, it is about the database and its tables, and not about the contents of a record.
    Unlike `JournalError`, it is not about the journal of running matches. A `DatabaseError` is about one read or
    write, and the next one may succeed.
    """


def other_schema(place: object, schema: int, head: str | None) -> StoreError:
    """Return the error for a database of another version.

    Args:
        place: the database.
        schema: the version of its tables.
        head: the newest record in it; None if it cannot be read.
    """
    made = f"{place}: made by another version (schema {schema}, expected {SCHEMA_VERSION})"
    if schema < SCHEMA_VERSION:
        return StoreError(made)
    fields: object = None
    with suppress(JsonError):
        fields = decode((head or "").encode())
    return StoreError(made + needed_version(fields))


class ServerAwayError(StoreError):
    """Raised when the database is opened and its server does not answer."""


class DatabaseProblem(Enum):
    """Why a read or a write has failed. After all but OTHER the server waits, and tries again."""

    FULL = "full"  # the disk is full, fails, or cannot be written
    LOCKED = "locked"  # another program has locked the database
    AWAY = "away"  # the database's server does not answer
    OTHER = "other"


class DatabaseError(Exception):
    """Raised when a read or a write has failed; nothing was stored."""

    def __init__(self, message: str, problem: DatabaseProblem = DatabaseProblem.OTHER) -> None:
        super().__init__(message)
        self.problem = problem


class Database(Protocol):
    errors: type[Exception]
    """The exceptions that its functions raise; `error` converts them."""

    def error(self, error: Exception) -> Exception:
        """Return one of `errors` as a `DatabaseError`, or as a `StoreError` if the database is damaged."""

    def close(self) -> None:
        """Close it. An error is ignored."""

    def begin(self) -> None:
        """Begin a transaction in which all reads see one state."""

    def rollback(self) -> None:
        """End the transaction of `begin`."""

    def transact(self, write: Callable[[], None]) -> None:
        """Call ``write`` in a transaction that no other writer's overlaps, and make what it has written durable."""

    def chain(self) -> list[tuple[int, bytes]]:
        """Return the rows of the table with the length and the last hash of the chain: there should be one."""

    def end(self) -> tuple[int, int, bytes | None]:
        """Return how many records there are, the last place, and the hash of the record there."""

    def headers(self, place: int) -> list[bytes]:
        """Return the headers of the records behind ``place``."""

    def records(self, after: int, match: int | None) -> Sequence[RecordRow]:
        """Return up to 64 records behind the place ``after``, of one match or of all, in order."""

    def append(self, row: RecordRow) -> None:
        """Append a record, and count it in the chain. Call it in `transact`."""

    def replace(self, row: RecordRow, instead: bytes) -> None:
        """Put a row in the place of that with the same place and the hash ``instead``. Call it in `transact`."""

    def shrink(self) -> None:
        """Give the disk back what is free in the database, as far as that does not happen by itself."""

    def incidents(self) -> Sequence[IncidentColumns]:
        """Return all counts of incidents, in the order in which they came."""

    def count_incidents(self, rows: Sequence[IncidentColumns]) -> None:
        """Add counts to those that are there. Call it in `transact`."""

    def forget_incidents(self, kinds: Sequence[tuple[str, int | None, str]]) -> None:
        """Delete the counts of these kinds: code, team and address. Call it in `transact`."""

    def is_current(self) -> bool:
        """Return False once another database has taken the place of this one."""

    def claim(self) -> None:
        """Take the lock of the server that runs the contest, until `close`.

        Raises:
            ContestInUse: another server has it.
        """

    def damage(self, stop: Callable[[], bool]) -> str:
        """Return the first damage found by reading all pages; "" if there is none, or ``stop`` returned True."""


def not_there(address: DatabaseAddress) -> str:
    return f"{address}: no such {'schema' if isinstance(address, PostgresAddress) else 'file'}"


def damaged(address: DatabaseAddress, what: str) -> StoreError:
    return StoreError(f"{address}: damaged: {what}; {advice(address)}")


def advice(address: DatabaseAddress) -> str:
    if isinstance(address, PostgresAddress):
        return (
            "put a backup of its schema back. Without one: getstep-server verify names the first record that does"
            " not fit, and getstep-server export --matches writes the records before the damage"
        )
    return (
        "put a copy of the contest's folder back. Without a copy, save what is left into a new folder with:"
        f" getstep-server rescue {address.parent}"
    )
