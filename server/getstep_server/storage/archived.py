"""Games whose turns are in an archive: the records that stay, and the files with the whole ones.

Theory of operation
-------------------

*What stays.* In the place of a game's record stands a *shortened* one: all of it but the turns, and as
``instead_of`` the hash of the whole record (`records.lost`). Results, pairings, ratings and decisions are computed
from what stays. The next record names the hash of the whole record, and so does the shortened one: the chain stays
as it is.

*What proves it.* The whole record is a line of the file, as `export --matches` writes it, and has the hash that the
chain names. So a record of the file proves itself in years, too, and `verify --archive` replays its game. Without
the file, a decision on record says what has to be in these places: ``kept`` is the SHA-256 of the hashes of all
shortened records in their order, from the place behind the decision before it up to ``through``. A shortened record
that is changed later does not fit that hash, which the chain covers.

`archive` moves the turns, and `verify` checks what is here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from getstep_server.errors import UsageError
from getstep_server.records.lost import INSTEAD_OF, is_archived, link_of
from getstep_server.records.record import content_of, parse, sealed

from .database import RecordRow
from .exported import exported_row
from .store import Store, StoredRecord, stored_record


def shortened(row: RecordRow) -> RecordRow:
    """Return the row of a game without its turns, as it stands in the place of the whole one."""
    place, *_, head, _, previous, digest = row
    is_match = row[1] is not None
    # a friendly match has no key columns: without a turn in its own column, the key must be in its head
    turns = b"" if is_match else b',"turns":[]'
    short = b'%b%b,"%b":"%b"}' % (head[:-1], turns, INSTEAD_OF.encode(), digest)
    _, own = sealed(content_of(short, b"", game=is_match), place, previous.decode())
    found: RecordRow = (place, *row[1:6], short, b"", previous, own.encode())
    return found


def rows_between(store: Store, after: int, through: int) -> Iterator[RecordRow]:
    """Yield the rows behind the place ``after``, up to the place ``through``."""
    while after < through and (rows := store.rows_after(after)):
        yield from (row for row in rows if row[0] <= through)
        after = rows[-1][0]


def kept_of(store: Store, after: int, through: int) -> tuple[int, str]:
    """Return how many games between two places have turns here or in an archive, and ``kept`` of a decision.

    Raises:
        StoreError: the records cannot be read.
        RecordError: a record is damaged.
    """
    games, digest = 0, hashlib.sha256()
    for row in rows_between(store, after, through):
        if row[7]:  # the turns
            digest.update(shortened(row)[9])
        elif _is_shortened(row):
            digest.update(row[9])
        else:
            continue
        games += 1
    return games, digest.hexdigest()


def _is_shortened(row: RecordRow) -> bool:
    own = row[9].decode(errors="replace")
    return link_of(row[6], own) != own and is_archived(parse(row[6]))


class ArchiveFiles:
    """The records in files of archives, found by their places."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read where each record is.

        Raises:
            OSError: a file cannot be read.
            UsageError: a line is not a whole record.
        """
        self._found: dict[int, tuple[Path, int]] = {}
        for path in paths:
            with path.open("rb") as file:
                at = 0
                for number, line in enumerate(file, start=1):
                    row = exported_row(line.rstrip(b"\r\n"))
                    if row is None:
                        raise UsageError(f"{path}:{number}: not a whole record, expected a file of archive")
                    self._found[row[0]] = path, at
                    at += len(line)

    def __len__(self) -> int:
        return len(self._found)

    def rows(self) -> Iterator[RecordRow]:
        """Yield the whole records, in the order of their places."""
        for place in sorted(self._found):
            if (row := self.find(place)) is not None:
                yield row

    def find(self, place: int) -> RecordRow | None:
        """Return the whole record of a place; None if no file has it."""
        if place not in self._found:
            return None
        path, at = self._found[place]
        with path.open("rb") as file:
            file.seek(at)
            return exported_row(file.readline().rstrip(b"\r\n"))

    def whole(self, stored: StoredRecord) -> StoredRecord:
        """Return the whole record in whose place a shortened one stands; the record itself if no file has it."""
        row = self.find(stored.place)
        if row is None or shortened(row)[9].decode() != stored.hash:
            return stored
        return stored_record(row)
