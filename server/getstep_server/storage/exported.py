"""Records that come from a file: each proves itself by its hash."""

from __future__ import annotations

from typing import Any

from getstep_server.records.challenge import FRIENDLY
from getstep_server.records.game import match_of
from getstep_server.records.lost import is_archived
from getstep_server.records.record import RecordError, content_of, hash_of, parse

from .database import RecordRow

HASH_CHARS = 64  # SHA-256 in hexadecimal digits
_NO_COLUMNS = (None,) * 5  # the key columns of records that are not a game's
_TURNS, _PLACE = b',"turns":[', b',"place":'


def exported_row(line: bytes) -> RecordRow | None:
    """Return the record in a line of an export or an archive; None if it does not prove itself."""
    try:
        fields = parse(line)
        content = line[: line.rindex(_PLACE)] + b"}"
        place, previous, digest = int(fields["place"]), str(fields["previous"]), str(fields["hash"])
        keys: Any = _NO_COLUMNS
        head, turns = content, b""
        if fields["type"] == "game" or (fields["type"] == FRIENDLY and not is_archived(fields)):
            start = content.index(_TURNS)
            head, turns = content[:start] + b"}", content[start + len(_TURNS) : -2]
        if fields["type"] == "game":
            match = match_of(fields)
            keys = (match.number, match.event, match.pairing, match.leg, fields["attempt"])
    except (RecordError, KeyError, ValueError, TypeError):
        return None
    row: Any = (place, *keys, head, turns, previous.encode(), digest.encode())
    return row if is_proved(row) else None


def is_proved(row: RecordRow) -> bool:
    """Return True if a record has the hash of its text."""
    line, digest = _line_of(row), row[9]  # the last column
    return len(digest) == HASH_CHARS and hash_of(line).encode() == digest


def _line_of(row: RecordRow) -> bytes:
    place, number, *_, head, turns, previous, digest = row
    content = content_of(head, turns, game=number is not None or bool(turns))
    return b'%b,"place":%d,"previous":"%b","hash":"%b"}' % (content[:-1], place, previous, digest)
