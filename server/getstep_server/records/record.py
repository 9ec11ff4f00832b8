"""Records: the lines of JSON that a contest leaves behind, chained by their hashes. records.md describes them.

A record consists of texts that are encoded once: its header (everything but the turns), its turns as the journal
has them, and its seal (place and hashes). The seal is added in the transaction that stores the record.

Each kind of record is one class, in a module of its own: `settings`, `pairings`, `game`, `decision`; `turns` has
those of a turn. A record is written from its class (`plain`), so the order of its fields is the order of the keys,
which are hashed. A record that is read is validated against the same class (`read`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from getstep_server import __version__
from getstep_server.config.fields import Name
from getstep_server.json_text import JsonError, decode, encode
from getstep_server.text import version_numbers
from getstep_server.validation import Model, ValidationError, validated

from .match import Match
from .values import Count

M = TypeVar("M", bound=Model)

RECORD_VERSION = 1
_PROGRAM = "getstep-server"
SOFTWARE = f"{_PROGRAM} {__version__}"
FIRST = "0" * 64
"""The ``previous`` hash of the first record."""

_SEAL = b',"hash":"'
_SEAL_BYTES = len(_SEAL) + 64 + len(b'"}')  # 64 hexadecimal digits of SHA-256


class Head(Model, frozen=True, kw_only=True):
    """The fields that every record begins with. A kind of record says its ``type``, which stays in its place."""

    record: int = RECORD_VERSION
    type: str
    contest: Name
    seed: Count


class RecordError(Exception):
    """Raised when a text is not a valid record of this version, or contradicts the records before it.

    Unlike `StoreError`, which is about the database file, and `JournalError`, which is about a segment of the
    journal, it is about the contents of one record.
    """


class NewerRecordError(RecordError):
    """Raised when a newer version has written a record that this one cannot read: nothing is damaged."""


class Record(Struct, frozen=True):
    """A record that is not sealed yet.

    ``fields`` are all but the turns, ``header`` is their JSON, and ``turns`` are JSON objects. ``match`` is None
    and ``attempt`` is 0 unless the record is a game's.
    """

    fields: Mapping[str, Any]
    turns: Sequence[bytes] = ()
    match: Match | None = None
    attempt: int = 0
    header: bytes = b""

    def __post_init__(self) -> None:
        # Now, not when it is stored: a list in the fields may grow until then.
        force_setattr(self, "header", encode(self.fields))

    def content(self) -> bytes:
        """Return the text without the seal."""
        turns = b",".join(self.turns)
        return content_of(self.header, turns, game=self.match is not None or bool(turns))


def content_of(head: bytes, turns: bytes, *, game: bool) -> bytes:
    """Return a record's text without its seal, from the parts that are stored.

    ``game``: it has turns, or is of a match of the tournament, which may have none.
    """
    return b'%b,"turns":[%b]}' % (head[:-1], turns) if game else head


def sealed(content: bytes, place: int, previous: str) -> tuple[bytes, str]:
    """Return the line of the record at ``place``, without a line end, and its hash."""
    # Bytes are joined, not a dict encoded: the text that was hashed is the text that is stored, whatever the
    # encoder.
    body = b'%b,"place":%d,"previous":"%b"}' % (content[:-1], place, previous.encode())
    digest = _sha256(body)
    return b'%b%b%b"}' % (body[:-1], _SEAL, digest.encode()), digest


def hash_of(line: bytes) -> str:
    """Return the computed hash of the record in ``line``, whatever hash the line itself has."""
    return _sha256(line[:-_SEAL_BYTES] + b"}")


def quick_hash_of(line: bytes) -> str:
    """Return the same as `hash_of`, for a table that checks a few records only.

    OpenSSL takes 3 ms to load, which is 5 % of the whole command. The interpreter's own SHA-256 takes 0.4 ms, at a
    fifth of the speed.
    """
    try:
        # the module has another name since 3.12; not public, so `hashlib` is the way back
        own = import_module("_sha256" if sys.version_info < (3, 12) else "_sha2")
    except ImportError:
        return hash_of(line)
    digest: str = own.sha256(line[:-_SEAL_BYTES] + b"}").hexdigest()
    return digest


def _sha256(text: bytes) -> str:
    from hashlib import sha256  # here: tables compute no hash, and OpenSSL takes 3 ms to load

    return sha256(text).hexdigest()


def parse(line: bytes) -> dict[str, Any]:
    """Return the fields of a record.

    Raises:
        NewerRecordError: its version is newer than this one's.
        RecordError: the line is not a JSON object, or has another version.
    """
    try:
        fields = decode(line)
    except JsonError as error:
        raise RecordError(f"{line[:60]!r} is not JSON: {error}") from error
    if not isinstance(fields, dict) or fields.get("record") != RECORD_VERSION:
        version = fields.get("record") if isinstance(fields, dict) else None
        problem = f"{line[:60]!r}, expected a record of version {RECORD_VERSION}"
        if isinstance(version, int) and version > RECORD_VERSION:
            raise NewerRecordError(problem + needed_version(fields))
        raise RecordError(problem)
    return fields


def raise_if_newer(fields: Mapping[str, Any], error: RecordError) -> None:
    """Raise an error about a record again, with the program that is needed, if a newer version wrote the record.

    Raises:
        NewerRecordError: it did.
    """
    program, _, version = str(fields.get("software")).rpartition(" ")
    numbers, own = version_numbers(version), version_numbers(__version__)
    if program == _PROGRAM and numbers is not None and own is not None and numbers > own:
        raise NewerRecordError(f"{error}{needed_version(fields)}") from error


def needed_version(fields: object) -> str:
    """Return the end of an error about data of a newer version: the program that is needed.

    Args:
        fields: of a record in the data, which names the program that wrote it; anything else if there is none.
    """
    writer = fields.get("software") if isinstance(fields, dict) else None
    needs = f"{writer:.64}" if isinstance(writer, str) and writer.isprintable() else "the program that wrote it"
    return f"; it needs {needs} or a newer version, and this is {SOFTWARE}"


def read(model: type[M], fields: Mapping[str, Any]) -> M:
    """Return the fields of a record, or a part of one, as their class.

    Raises:
        RecordError: a field is missing or invalid.
    """
    try:
        return validated(model, fields)
    except ValidationError as error:
        raise RecordError(str(error.mistakes[0])) from error


def plain(model: Model) -> dict[str, Any]:
    """Return the fields of a record as they are written, in the order of its class."""
    fields: dict[str, Any] = msgspec.to_builtins(model)
    return fields


def as_json(value: object) -> bytes:
    """Return ``value`` as JSON text, in which 1, 1.0 and true differ, unlike in a comparison of Python objects.

    Raises:
        RecordError: JSON has nothing for the value.
    """
    try:
        return encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"something that cannot be written as JSON: {error}") from error
