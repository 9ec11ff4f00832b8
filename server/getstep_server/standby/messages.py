"""What the two computers say to each other, as msgpack inside of sealed frames."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from getstep_server.limits import MAX_STANDBYS
from getstep_server.storage.database import RecordRow

MAX_FILES = 3000
"""The files of which a copy says that it has them; others are sent again. Their digests take 54 kB."""

MAX_SEGMENTS = 200
"""The segments of a journal that are copied. Each judge process has one, or a few if a match takes days."""

CopyName: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$")]
Place: TypeAlias = Annotated[int, Meta(ge=0, lt=2**53)]
SegmentName: TypeAlias = Annotated[str, Meta(pattern=r"^segment-([1-9][0-9]{0,5}-)?[1-9][0-9]{0,11}\.journal$")]
_PROGRAM = r"programs/[0-9]{1,10}(/[A-Za-z0-9_+~-][A-Za-z0-9_.+~ -]{0,199}){1,12}"
_FILE = rf"^(contest\.toml|teams\.toml|invitations\.json|{_PROGRAM})$"
FileName: TypeAlias = Annotated[str, Meta(pattern=_FILE, max_length=1000)]
"""A file of a contest that is copied. No part begins with a dot, so none leads out of the folder."""


def is_copied(name: str) -> bool:
    """Return True if a file of a contest belongs to its copy, besides records and journal."""
    return re.fullmatch(_FILE, name) is not None


class Have(Struct, frozen=True, tag="have"):
    """What a copy has: its chain's length and last hash, and of each segment the size and a digest.

    ``files`` are digests of the names and contents of files that need not be sent. ``name`` is the same in all
    connections of one copy, and no other copy has it.
    """

    name: CopyName
    place: Place
    hash: Annotated[str, Meta(max_length=64)]
    segments: Annotated[dict[SegmentName, tuple[int, bytes]], Meta(max_length=MAX_SEGMENTS)]
    files: Annotated[list[bytes], Meta(max_length=MAX_FILES)]


class Ack(Struct, frozen=True, tag="ack"):
    """The copy has the records up to this place on its disk. In strict mode, the host waits for this."""

    place: Place


class TakenOver(Struct, frozen=True, tag="taken_over"):
    """Another computer plays the contest with this fencing number; ``port`` is its port for bots."""

    fence: Annotated[int, Meta(ge=1, lt=2**31)]
    port: Annotated[int, Meta(ge=0, le=65535)]


class Begin(Struct, frozen=True, tag="begin"):
    """The first frame of a stream: the contest's name, its fencing number, and the length of its chain."""

    contest: str
    fence: Place
    place: Place


class Standbys(Struct, frozen=True, tag="standbys"):
    """The rank of this copy among those that follow the host, 0 for the first, and the addresses of the others.

    It comes after `Begin`, and again after each change. No two copies have the same rank.
    """

    rank: Annotated[int, Meta(ge=0, lt=MAX_STANDBYS)] = 0
    others: Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=MAX_STANDBYS)] = ()


class FilePart(Struct, frozen=True, tag="file"):
    """The next part of a file; the first part has offset 0, and the last part completes the file."""

    name: FileName
    offset: Place
    data: bytes
    last: bool


class SegmentPart(Struct, frozen=True, tag="segment"):
    """Bytes of a segment of the journal. Offset 0 begins it anew."""

    name: SegmentName
    offset: Place
    data: bytes


class Rows(Struct, frozen=True, tag="rows"):
    """Records, as the database has them: see `storage.database.RecordRow`."""

    rows: Annotated[list[RecordRow], Meta(min_length=1)]


class Kept(Struct, frozen=True, tag="kept"):
    """The segments of the journal that are still needed. The others belong to matches on record."""

    segments: Annotated[list[SegmentName], Meta(max_length=MAX_SEGMENTS)]


class Tick(Struct, frozen=True, tag="tick"):
    """Everything up to now was sent: ``place`` records. It comes at least once a second."""

    place: Place


FromHost: TypeAlias = Begin | Standbys | FilePart | SegmentPart | Rows | Kept | Tick
FromCopy: TypeAlias = Have | Ack | TakenOver

encode = msgspec.msgpack.Encoder().encode
_from_host = msgspec.msgpack.Decoder(FromHost)
_from_copy = msgspec.msgpack.Decoder(FromCopy)


def decode_from_host(data: bytes) -> FromHost:
    """Return a message of the first host. Raises `msgspec.DecodeError`."""
    message: FromHost = _from_host.decode(data)
    return message


def decode_from_copy(data: bytes) -> FromCopy:
    """Return a message of the copy. Raises `msgspec.DecodeError`."""
    message: FromCopy = _from_copy.decode(data)
    return message


def digest_of(name: str, content: bytes) -> bytes:
    """Return 16 bytes that tell two files apart, by name or content."""
    return hashlib.sha256(name.encode() + b"\0" + content).digest()[:16]
