"""Reads rows out of the pages of an SQLite file without SQLite, so that a damaged page costs only the rows in it.

SQLite finds a row through the schema (page 1) and the inner pages of its table. If one of them is damaged, all rows
below it are out of reach, although they are intact. The shell's ``.recover`` looks for them page by page, but
Python's module has no such function. This module does the same for the little that is needed here. Every leaf page
of a table is decoded, whichever table it belongs to. A row that is found may be old or wrong, so its reader has to
prove it: a record does so by its hash.

The format is described in https://sqlite.org/fileformat.html; the numbers of sections below are of that page.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

Value: TypeAlias = int | float | bytes | None

_MAGIC = b"SQLite format 3\0"
_PAGE_BYTES = 4096
"""SQLite's default, for a file whose header is damaged: this program has never set another."""

_LEAF, _INDEX_LEAF, _INDEX_INNER = 0x0D, 0x0A, 0x02
_WAL_HEADER, _FRAME_HEADER = 32, 24  # sections 4.1 and 4.2
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_MAX_COLUMNS = 100  # ten times as many as any table here has: more is damage
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by serial type, section 2.1


class Row(NamedTuple):
    """A row of any table: its rowid and its columns. A text is bytes, and an INTEGER PRIMARY KEY is None.

    ``rowid`` is None for an entry of an index, whose last column it is.
    """

    rowid: int | None
    columns: tuple[Value, ...]


class _Damaged(Exception):  # noqa: N818 - it never leaves this module
    """Raised where the bytes of a page are not a row."""


def read_rows(path: Path) -> Iterator[Row]:
    """Yield all rows that can be decoded in a database file and in the log next to it.

    A row may come several times, in several versions. Missing files are empty.
    """
    with _mapped(path) as data, _mapped(path.with_name(f"{path.name}-wal")) as wal:
        size = _page_size(data, wal)
        log = _pages_in_log(wal, size)

        def old(number: int) -> bytes | None:
            return data[(number - 1) * size : number * size] if number else None

        def new(number: int) -> bytes | None:
            start = log.get(number)
            return old(number) if start is None else wal[start : start + size]

        numbers = range(1, len(data) // size + 1)
        versions = ((new, sorted({*numbers, *log})), (old, numbers)) if log else ((old, numbers),)
        for page_of, those in versions:
            for number in those:
                # Page 1 has the file's header before its own (section 1.3).
                yield from _rows_of_page(page_of(number) or b"", 100 if number == 1 else 0, page_of)


@contextlib.contextmanager
def _mapped(path: Path) -> Iterator[bytes | mmap.mmap]:
    """Map a file into memory: it may be larger than that. A missing or empty one gives ``b""``."""
    if not path.is_file() or not path.stat().st_size:
        yield b""
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        yield content


def _page_size(data: bytes | mmap.mmap, wal: bytes | mmap.mmap) -> int:
    sizes = []
    if data[: len(_MAGIC)] == _MAGIC:
        sizes.append(int.from_bytes(data[16:18], "big"))  # section 1.3.2
    if int.from_bytes(wal[:4], "big") in _WAL_MAGIC:
        sizes.append(int.from_bytes(wal[8:12], "big"))
    for size in sizes:
        size = 65536 if size == 1 else size  # 65,536 does not fit the two bytes of the header (section 1.3.2)
        if 512 <= size <= 65536 and size & (size - 1) == 0:  # a power of two; else the header is damaged
            return size
    return _PAGE_BYTES


def _pages_in_log(wal: bytes | mmap.mmap, size: int) -> dict[int, int]:
    """Return where in the log the latest version of each page is (section 4).

    Frames of an earlier use of the log have other salts. A damaged frame does not end the log here, as it does for
    SQLite: the frames behind it were committed as well.
    """
    pages: dict[int, int] = {}
    # If the header is damaged, the first frame has the same salts.
    salts = wal[16:24] if int.from_bytes(wal[:4], "big") in _WAL_MAGIC else wal[_WAL_HEADER + 8 : _WAL_HEADER + 16]
    for start in range(_WAL_HEADER, len(wal) - _FRAME_HEADER - size + 1, _FRAME_HEADER + size):
        if wal[start + 8 : start + 16] == salts:
            # of the page: a later frame replaces an earlier one
            number = int.from_bytes(wal[start : start + 4], "big")
            pages[number] = start + _FRAME_HEADER
    return pages


def _rows_of_page(page: bytes, start: int, page_of: Callable[[int], bytes | None]) -> Iterator[Row]:
    """Yield the rows of a leaf page of a table, and the entries of an index; none of another page (section 1.6)."""
    if len(page) < start + 12 or page[start] not in (_LEAF, _INDEX_LEAF, _INDEX_INNER):
        return
    kind = page[start]
    cells = int.from_bytes(page[start + 3 : start + 5], "big")  # the header of a page, section 1.6
    header = 12 if kind == _INDEX_INNER else 8
    for index in range(
        min(cells, len(page) // 4)
    ):  # a damaged count may be 65,535; a cell and its pointer take 4 bytes at least
        at = start + header + 2 * index
        cell = int.from_bytes(page[at : at + 2], "big")
        try:
            if kind == _LEAF:
                yield _row_at(page, cell, page_of)
            else:
                yield _entry_at(page, cell + (4 if kind == _INDEX_INNER else 0))  # before it: the page of its left
        except _Damaged:
            continue


def _entry_at(page: bytes, at: int) -> Row:
    """Return an entry of an index; those of this program are short, and have no overflow pages."""
    length, at = _varint(page, at)
    return Row(None, _columns(page[at : at + length]))


def _row_at(page: bytes, at: int, page_of: Callable[[int], bytes | None]) -> Row:
    length, at = _varint(page, at)
    rowid, at = _varint(page, at)
    # a varint has no sign: rowids are 64-bit two's complement
    return Row(rowid - (1 << 64) if rowid >= 1 << 63 else rowid, _columns(_payload(page, at, length, page_of)))


def _payload(page: bytes, at: int, length: int, page_of: Callable[[int], bytes | None]) -> bytes:
    """Return the content of a row, of which the end may be in a chain of overflow pages (section 1.6).

    If one of those is damaged, only the beginning is returned.
    """
    size = len(page)
    # X and M of section 1.6; this program reserves no bytes at the end of a page
    most, least = size - 35, (size - 12) * 32 // 255 - 23
    local = length
    if length > most:
        local = least + (length - least) % (size - 4)  # so that the overflow pages are full
        local = least if local > most else local
    content = page[at : at + local]
    if len(content) < local:
        raise _Damaged
    # the first overflow page
    following = int.from_bytes(page[at + local : at + local + 4], "big") if local < length else 0
    parts, found, seen = [content], local, set[int]()
    while found < length:
        overflow = page_of(following)
        if overflow is None or following in seen:  # a damaged chain may be a circle
            break
        seen.add(following)
        part = overflow[4 : 4 + length - found]
        parts.append(part)
        found += len(part)
        following = int.from_bytes(overflow[:4], "big")
    return b"".join(parts)


def _columns(payload: bytes) -> tuple[Value, ...]:
    """Return the values of a row (section 2.1), up to the first that is not complete."""
    end, at = _varint(payload, 0)
    types: list[int] = []
    while at < end:
        kind, at = _varint(payload, at)
        types.append(kind)
        if len(types) > _MAX_COLUMNS:
            raise _Damaged
    values: list[Value] = []
    for kind in types:
        try:
            value, at = _value(payload, at, kind)
        except _Damaged:
            break
        values.append(value)
    return tuple(values)


def _value(payload: bytes, at: int, kind: int) -> tuple[Value, int]:
    # from 12 on: even for bytes, odd for text
    size = (kind - 12) // 2 if kind >= 12 else {7: 8, **_INTEGER_BYTES}.get(kind, 0)
    content = payload[at : at + size]
    if len(content) < size or kind in (10, 11):  # 10 and 11 are for SQLite's own use, and never in a file
        raise _Damaged
    if kind >= 12:
        return content, at + size
    if kind == 7:  # a float of eight bytes
        (number,) = struct.unpack(">d", content)
        return float(number), at + size
    known: Mapping[int, Value] = {0: None, 8: 0, 9: 1}  # serial types without content
    return (known[kind] if kind in known else int.from_bytes(content, "big", signed=True)), at + size


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Return an integer of one to nine bytes, and the place behind it (section 1.6)."""
    value = 0
    for index in range(9):  # seven bits a byte, and all eight of the ninth
        if at >= len(content):
            raise _Damaged
        byte = content[at]
        at += 1
        if index == 8:  # the ninth byte
            return value << 8 | byte, at
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value, at
