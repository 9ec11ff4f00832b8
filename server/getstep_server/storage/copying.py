"""Copies a contest's records and incidents to another database, hash for hash."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .database import RecordRow, StoreError
from .store import Store


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
