"""Tampering with a contest's records: what it takes to change a copied database, with or without new hashes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from getstep_server.records.record import FIRST, content_of, sealed

Turns = list[dict[str, Any]]


class Forged:
    """A copy of a contest's database that can be changed."""

    def __init__(self, original: Path, copy: Path) -> None:
        with sqlite3.connect(original) as source, sqlite3.connect(copy) as target:
            target.execute("PRAGMA synchronous = OFF")
            source.backup(target)
        source.close()
        target.close()
        self.path = copy
        self.db = sqlite3.connect(copy, isolation_level=None)
        self.db.text_factory = bytes
        self.sql("PRAGMA synchronous = OFF")  # nobody will miss it

    def close(self) -> None:
        self.db.close()

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self.db.execute(statement, values).fetchall()

    def place(self, match: int, attempt: int | None = None) -> int:
        """Return the place of the record of an attempt, by default of the last one."""
        found = "SELECT place FROM records WHERE number = ? AND ifnull(? = attempt, 1) ORDER BY attempt DESC"
        return int(self.sql(found, match, attempt)[0][0])

    @property
    def last(self) -> int:
        return int(self.sql("SELECT max(place) FROM records")[0][0])

    def head(self, place: int, change: Callable[[dict[str, Any]], object]) -> Self:
        """Change the fields of a record's head."""
        ((text,),) = self.sql("SELECT head FROM records WHERE place = ?", place)
        fields = json.loads(text)
        change(fields)
        return self.write(place, "head", _dumps(fields))

    def turns(self, match: int, change: Callable[[Turns], object]) -> Self:
        """Change the turns of a match's last attempt."""
        place = self.place(match)
        ((text,),) = self.sql("SELECT turns FROM records WHERE place = ?", place)
        turns = json.loads(b"[%b]" % text)
        change(turns)
        return self.write(place, "turns", _dumps(turns)[1:-1])

    def write(self, place: int, column: str, data: bytes) -> Self:
        """Put any bytes into a text column."""
        self.sql(f"UPDATE records SET {column} = CAST(? AS TEXT) WHERE place = ?", data, place)
        return self

    def column(self, match: int, **values: object) -> Self:
        """Change columns of a match's last record."""
        for name, value in values.items():
            self.sql(f"UPDATE records SET {name} = ? WHERE place = ?", value, self.place(match))
        return self

    def remove(self, place: int) -> Self:
        """Delete a record."""
        self.sql("DELETE FROM records WHERE place = ?", place)
        return self

    def repeat(self, place: int, **changes: object) -> Self:
        """Put a copy of a record at the end, with columns changed."""
        columns = ["place", "number", "event", "pairing", "leg", "attempt", "head", "turns", "previous", "hash"]
        values = dict(zip(columns, self.sql("SELECT * FROM records WHERE place = ?", place)[0], strict=True))
        values |= {"place": self.last + 1, **changes}
        self.sql(f"INSERT INTO records VALUES (?, ?, ?, ?, ?, ?{4 * ', CAST(? AS TEXT)'})", *values.values())
        return self

    def again(self, match: int) -> Self:
        """Put the last record of a match once more at the end, as its next attempt."""
        place = self.place(match)
        ((attempt,),) = self.sql("SELECT attempt FROM records WHERE place = ?", place)
        self.repeat(place, attempt=attempt + 1)
        return self.head(self.last, lambda head: head.update(attempt=attempt + 1))

    def pairings(self, change: Callable[[list[dict[str, Any]]], object]) -> Self:
        """Change the matches of the pairings."""
        return self.head(1, lambda head: change(head["matches"]))

    def reorder(self, change: Callable[[list[int]], object] = lambda _: None) -> Self:
        """Give the records consecutive places, in the order that ``change`` makes of theirs."""
        self.sql("UPDATE records SET place = place + 1000")
        order = [place for (place,) in self.sql("SELECT place FROM records ORDER BY place")]
        change(order)
        for new, old in enumerate(order, start=1):
            self.sql("UPDATE records SET place = ? WHERE place = ?", new, old)
        return self

    def reseal(self, *places: int, count: bool = True) -> Self:
        """Recompute the hashes of these records, or of all; ``count``: the database's own count as well."""
        previous, place = FIRST, 0
        rows = "SELECT place, number, head, turns, hash FROM records ORDER BY place"
        for place, number, head, turns, digest in self.sql(rows):
            if not places or place in places:
                content = content_of(head, turns, game=number is not None)
                _, new = sealed(content, place, previous)
                digest = new.encode()
                values = (previous, new, place)
                self.sql("UPDATE records SET previous = ?, hash = ? WHERE place = ?", *values)
            previous = digest.decode()
        if count:
            self.sql("UPDATE chain SET length = ?, hash = ?", place, previous)
        return self


def _dumps(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def swap(items: list[Any], one: int, other: int) -> None:
    items[one], items[other] = items[other], items[one]
