"""A msgpack encoder that can write every encoding of a value, also those that are longer than they need to be."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Raw:
    """Bytes that stand for a value as they are, valid or not."""

    data: bytes


@dataclass(frozen=True)
class Style:
    """The least width of what is written, in bytes; 0 for the shortest encoding.

    Attributes:
        integer: of an integer; the next wider encoding is used if it does not fit.
        signed: integers of 0 and more are written as signed ones.
        length: of the length of strings, arrays and maps.
    """

    integer: int = 0
    signed: bool = False
    length: int = 0


STYLES: Mapping[str, Style] = {
    "shortest": Style(),
    "uint8": Style(integer=1),
    "uint16": Style(integer=2),
    "uint32": Style(integer=4),
    "uint64": Style(integer=8),
    "int8": Style(integer=1, signed=True),
    "int16": Style(integer=2, signed=True),
    "int32": Style(integer=4, signed=True),
    "int64": Style(integer=8, signed=True),
    "length8": Style(length=1),
    "length16": Style(length=2),
    "length32": Style(length=4),
    "widest": Style(integer=8, signed=True, length=4),
}

_UNSIGNED = {1: (0xCC, ">B"), 2: (0xCD, ">H"), 4: (0xCE, ">I"), 8: (0xCF, ">Q")}
_SIGNED = {1: (0xD0, ">b"), 2: (0xD1, ">h"), 4: (0xD2, ">i"), 8: (0xD3, ">q")}
_TEXT = {0: (0xA0, 31), 1: (0xD9, 0xFF), 2: (0xDA, 0xFFFF), 4: (0xDB, 0xFFFFFFFF)}
_ARRAY = {0: (0x90, 15), 2: (0xDC, 0xFFFF), 4: (0xDD, 0xFFFFFFFF)}
_MAP = {0: (0x80, 15), 2: (0xDE, 0xFFFF), 4: (0xDF, 0xFFFFFFFF)}
_LENGTH = {1: ">B", 2: ">H", 4: ">I"}


def pack(value: Any, style: Style) -> bytes:
    """Return the encoding of a value that consists of dicts, lists, plain values and `Raw`."""
    match value:
        case Raw():
            return value.data
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return _integer(value, style)
        case float():
            return struct.pack(">Bd", 0xCB, value)
        case str():
            data = value.encode()
            return _header(_TEXT, len(data), style) + data
        case list() | tuple():
            return _header(_ARRAY, len(value), style) + b"".join(pack(item, style) for item in value)
        case dict():
            pairs = (pack(key, style) + pack(item, style) for key, item in value.items())
            return _header(_MAP, len(value), style) + b"".join(pairs)
    raise TypeError(f"{value!r:.80} has no encoding")


def _integer(value: int, style: Style) -> bytes:
    if not style.integer and -32 <= value < 128:
        return struct.pack(">b", value)
    encodings = _SIGNED if value < 0 or style.signed else _UNSIGNED
    for width, (header, form) in encodings.items():
        if width >= style.integer:
            try:
                return struct.pack(">B", header) + struct.pack(form, value)
            except struct.error:
                continue
    raise ValueError(f"{value} does not fit 64 bits")


def _header(encodings: Mapping[int, tuple[int, int]], count: int, style: Style) -> bytes:
    """Return the header of a string, an array or a map with ``count`` elements."""
    for width, (header, most) in encodings.items():
        if width >= style.length and count <= most:
            return bytes([header]) + struct.pack(_LENGTH[width], count) if width else bytes([header | count])
    raise ValueError(f"a length of {count} does not fit")
