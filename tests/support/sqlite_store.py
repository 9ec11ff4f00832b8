"""The inside of a store in a file of SQLite."""

from __future__ import annotations

import sqlite3

from getstep_server.storage.sqlite import SqliteDatabase
from getstep_server.storage.store import Store


def connection_of(store: Store) -> sqlite3.Connection:
    """Return the store's own connection, for `Store._run`."""
    database = store._db
    assert isinstance(database, SqliteDatabase)
    return database.connection
