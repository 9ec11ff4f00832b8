"""Opens a contest's database, of the kind that its address says.

A module of its own: `database`, which both kinds import, cannot import them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from getstep_server.config.database_address import DatabaseAddress, PostgresAddress

from .database import Database, StoreError


def open_database(address: DatabaseAddress, *, reading: bool) -> Database:
    """Open a database; create the tables of an empty one unless it is opened for reading.

    Raises:
        StoreError: it cannot be used.
    """
    if isinstance(address, PostgresAddress):
        with _psycopg_for(address):
            from .postgres import PostgresDatabase
        return PostgresDatabase(address, reading=reading)
    from .sqlite import SqliteDatabase

    return SqliteDatabase(address, reading=reading)


def database_exists(address: DatabaseAddress) -> bool:
    """Return True if there is a database.

    Raises:
        StoreError: its server does not answer.
    """
    if isinstance(address, PostgresAddress):
        with _psycopg_for(address):
            from .postgres import has_contest
        return has_contest(address)
    return address.exists()


@contextlib.contextmanager
def _psycopg_for(address: PostgresAddress) -> Iterator[None]:
    """Say how to install the library for PostgreSQL, which is an extra, if it cannot be imported."""
    try:
        yield
    except ImportError as error:
        raise StoreError(
            f"{address}: PostgreSQL needs psycopg ({error}); install it: pip install 'getstep-server[postgres]'"
        ) from error
