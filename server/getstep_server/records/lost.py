"""Records in the place of others: of one that is lost, or of a game whose turns are in an archive.

`storage.rescue` puts the first kind into a chain that it saves from a damaged database. `storage.archive` puts the
second kind in the place of an old game's record: all of it but the turns. Both have a hash of their own, and as
``instead_of`` that of the other record, which the next record names.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from getstep_server.config.contest import Contest
from getstep_server.text import utc_time

from .challenge import FRIENDLY
from .record import SOFTWARE, Head, Record, RecordError, as_json, parse, plain, read
from .values import BoundedLine, BoundedText, Number, Sha256, Time

LOST = "lost"
INSTEAD_OF = "instead_of"
"""The key of a record in the place of another: the hash of that one, or null if it is unknown."""

_KEY = b'"instead_of":"'


class LostRecord(Head, frozen=True, kw_only=True):
    """A record in the place of a lost one.

    ``match`` and ``attempt`` are those of the lost game, if they are known. ``why`` says what happened, for people.
    """

    type: str = LOST
    match: Number | UnsetType = UNSET
    attempt: Number | UnsetType = UNSET
    why: BoundedText
    at: Time
    software: BoundedLine
    instead_of: Sha256 | None


def record_of_lost(
    contest: Contest, why: str, instead_of: str | None, game: tuple[int, int] | None = None
) -> Record:
    """Return the record in the place of a lost one; ``game`` is its match and attempt, if it was a game's."""
    match, attempt = (UNSET, UNSET) if game is None else game
    record = LostRecord(
        contest=contest.name,
        seed=contest.file.contest.seed,
        match=match,
        attempt=attempt,
        why=why,
        at=utc_time(time.time()),
        software=SOFTWARE,
        instead_of=instead_of,
    )
    return Record(plain(record))


def lost_of(fields: Mapping[str, Any]) -> LostRecord:
    """Return a validated record of a lost one.

    Raises:
        RecordError: a field is missing or invalid.
    """
    as_json(fields)
    return read(LostRecord, fields)


def link_of(head: bytes, digest: str) -> str:
    """Return the hash that the next record must name as ``previous``.

    It is the record's own hash ``digest``, or that of the record in whose place it stands.
    """
    if _KEY not in head:  # quotes inside a text have a backslash before them: this is a key
        return digest
    try:
        fields = parse(head)
    except RecordError:
        return digest
    instead_of = fields.get(INSTEAD_OF)
    return instead_of if isinstance(instead_of, str) else digest


def is_archived(fields: Mapping[str, Any]) -> bool:
    """Return True if the turns of a game are in an archive; its record has none then."""
    return fields.get("type") in ("game", FRIENDLY) and INSTEAD_OF in fields
