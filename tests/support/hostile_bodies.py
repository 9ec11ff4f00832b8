"""Frame bodies that no peer may send, each with the code it earns, and some that look like them and are fine.

They are written as bytes, so that they do not depend on what msgpack would rather encode.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import msgpack

from getstep.wire import MAX_ARRAY, MAX_CLIENT_FRAME, MAX_DEPTH, MAX_MAP, MAX_TEXT_BYTES


def pack(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value)
    return packed


def answer(move: bytes) -> bytes:
    """Return the answer to question 31, with any bytes as its move."""
    return b"\x83" + pack("type") + pack("step") + pack("id") + b"\x1f" + pack("move") + move


def keyed(key: bytes) -> bytes:
    """Return an answer with one more key, which is any bytes."""
    return b"\x84" + answer(b"\x00")[1:] + key + b"\x00"


def chain(opener: bytes, depth: int, core: bytes) -> bytes:
    """Return an answer with ``depth`` containers inside each other, its own map included, around ``core``."""
    return answer(opener * (depth - 1) + core)


def sized(header: int, size: str, count: int, entries: bytes = b"") -> bytes:
    """Return an array, map or string that claims ``count``, whatever ``entries`` it has."""
    return bytes([header]) + struct.pack(size, count) + entries


def entries(count: int, value: bytes = b"\x00") -> bytes:
    return b"".join(pack(str(number)) + value for number in range(count))


MANY = b"\x9e" + b"\x90" * 13
"""Thirteen values of an array of fourteen: too many containers to spare the codec its walk."""

OPENERS = {  # a container, up to its last value
    "fixarray": b"\x91",
    "array16": b"\xdc\x00\x01",
    "array32": b"\xdd\x00\x00\x00\x01",
    "fixmap": b"\x81\xa0",
    "map16": b"\xde\x00\x01\xa0",
    "map32": b"\xdf\x00\x00\x00\x01\xa0",
    "second entry": b"\x82\xa0\xc0\xa1k",
    "second element": b"\x92\x07",
}
EMPTY = {
    "fixarray": b"\x90",
    "array16": b"\xdc\x00\x00",
    "array32": b"\xdd\x00\x00\x00\x00",
    "fixmap": b"\x80",
    "map16": b"\xde\x00\x00",
    "map32": b"\xdf\x00\x00\x00\x00",
}
FORBIDDEN = {
    "bin8, empty": b"\xc4\x00",
    "bin8": b"\xc4\x01x",
    "bin16, empty": b"\xc5\x00\x00",
    "bin16": b"\xc5\x00\x01x",
    "bin32, empty": b"\xc6\x00\x00\x00\x00",
    "bin32": b"\xc6\x00\x00\x00\x01x",
    "bin32, claimed": b"\xc6\xff\xff\xff\xff",
    "ext8, empty": b"\xc7\x00\x05",
    "ext8": b"\xc7\x01\x05x",
    "ext16, empty": b"\xc8\x00\x00\x05",
    "ext32, empty": b"\xc9\x00\x00\x00\x00\x05",
    "ext32, claimed": b"\xc9\xff\xff\xff\xff\x05",
    "fixext1": b"\xd4\x05x",
    "fixext2": b"\xd5\x05xx",
    "fixext4": b"\xd6\x05" + b"x" * 4,
    "fixext8": b"\xd7\x05" + b"x" * 8,
    "fixext16": b"\xd8\x05" + b"x" * 16,
    "timestamp32": b"\xd6\xff" + b"\x00" * 4,
    "timestamp64": b"\xd7\xff" + b"\x00" * 8,
    "timestamp96": b"\xc7\x0c\xff" + b"\x00" * 12,
    "reserved": b"\xc1",
}
NOT_UTF8 = {
    "lone continuation": b"\xa1\x80",
    "overlong": b"\xa2\xc0\x80",
    "surrogate": b"\xa3\xed\xa0\x80",
    "cut short": b"\xa2\xe2\x82",
    "beyond unicode": b"\xa4\xf4\x90\x80\x80",
    "latin-1": b"\xd9\x03f\xfcr",
    "str16": b"\xda\x00\x01\xff",
    "str32": b"\xdb\x00\x00\x00\x01\xff",
}
TOO_LARGE = {
    "array16": sized(0xDC, ">H", MAX_ARRAY + 1, b"\x00" * (MAX_ARRAY + 1)),
    "array32": sized(0xDD, ">I", MAX_ARRAY + 1, b"\x00" * (MAX_ARRAY + 1)),
    "map16": sized(0xDE, ">H", MAX_MAP + 1, entries(MAX_MAP + 1)),
    "map32": sized(0xDF, ">I", MAX_MAP + 1, entries(MAX_MAP + 1)),
    "str16": sized(0xDA, ">H", MAX_TEXT_BYTES + 1, b"x" * (MAX_TEXT_BYTES + 1)),
    "str32": sized(0xDB, ">I", MAX_TEXT_BYTES + 1, b"x" * (MAX_TEXT_BYTES + 1)),
    "array16, claimed": sized(0xDC, ">H", 2**16 - 1),
    "array32, claimed": sized(0xDD, ">I", 2**32 - 1),
    "map16, claimed": sized(0xDE, ">H", 2**16 - 1),
    "map32, claimed": sized(0xDF, ">I", 2**32 - 1),
    "map32, half of its entries": sized(0xDF, ">I", 2**31),
    "str16, claimed": sized(0xDA, ">H", 2**16 - 1),
    "str32, claimed": sized(0xDB, ">I", 2**32 - 1),
}
BAD_KEYS = {
    "nil": b"\xc0",
    "int": b"\x01",
    "boolean": b"\xc3",
    "float": b"\xcb" + b"\x00" * 8,
    "array": b"\x91\x01",
    "map": b"\x80",
    "long array": b"\x91" + pack("\U0001f3b2" * 400),
}
NOT_MAPS = {
    "nil": b"\xc0",
    "int": b"\x01",
    "negative": b"\xff",
    "boolean": b"\xc2",
    "float": b"\xcb" + b"\x00" * 8,
    "text": pack("step"),
    "empty text": b"\xa0",
    "empty array": b"\x90",
    "array": pack(["type", "step"]),
    "pairs": pack([["type", "step"], ["id", 31], ["move", [0, 0]]]),
}
DUPLICATES = {
    "type": b"\x82" + 2 * (pack("type") + pack("step")),
    "another id": b"\x83" + pack("type") + pack("step") + pack("id") + b"\x1f" + pack("id") + b"\x20",
    "unknown": b"\x83" + pack("type") + pack("step") + 2 * (pack("x") + b"\xc0"),
    "inside": answer(b"\x82\xa1x\x00\xa1x\x01"),
    "deep inside": answer(b"\x91\x81\xa1y\x82\xa0\x00\xa0\x01"),
    "two encodings": answer(b"\x82\xa1x\x00\xd9\x01x\x00"),
    "long": answer(b"\x82" + 2 * (pack("\x00" * 900) + b"\x00")),
}
BEHIND = {
    "nil": b"\xc0",
    "map": b"\x80",
    "the same again": answer(b"\x00"),
    "bin": b"\xc4\x00",
    "reserved": b"\xc1",
}
UNKNOWN_TYPES = [None, 7, True, "", "ping", "Step", "step ", "STEP", ["step"], {"step": 1}, "x" * 2000]


def hostile() -> Iterator[tuple[str, bytes, str]]:
    """Name, body and code of each."""
    for name, value in FORBIDDEN.items():
        yield name, answer(value), "bad_msgpack"
        yield f"{name}, nested", answer(b"\x92\x01\x81\xa1k\x91" + value), "bad_msgpack"
        yield f"{name}, after many", answer(MANY + value), "bad_msgpack"
        yield f"{name}, as a key", keyed(value), "bad_msgpack"
        yield f"{name}, alone", value, "bad_msgpack"
    for name, value in SCALARS.items():
        yield f"bin behind {name}", answer(b"\x92" + value + b"\xc4\x00"), "bad_msgpack"
        yield f"deep behind {name}", answer(b"\x92" + value + b"\x91" * (MAX_DEPTH - 2) + b"\x90"), "too_deep"
    for name, value in NOT_UTF8.items():
        yield f"not UTF-8: {name}", answer(value), "bad_msgpack"
        yield f"not UTF-8: {name}, as a key", keyed(value), "bad_msgpack"
    for name, value in TOO_LARGE.items():
        yield f"too large: {name}", answer(value), "too_large"
        yield f"too large: {name}, after many", answer(MANY + value), "too_large"
        yield f"too large: {name}, alone", value, "too_large"
    for name, value in BAD_KEYS.items():
        yield f"key: {name}", keyed(value), "bad_key"
        yield f"key: {name}, nested", answer(b"\x91\x81" + value + b"\x00"), "bad_key"
    for name, body in DUPLICATES.items():
        yield f"twice: {name}", body, "duplicate_key"
    for name, body in NOT_MAPS.items():
        yield f"not a map: {name}", body, "not_a_map"
    for name, behind in BEHIND.items():
        yield f"behind the map: {name}", answer(b"\x00") + behind, "bad_msgpack"
        yield f"behind many: {name}", answer(MANY + b"\x90") + behind, "bad_msgpack"
    for cut in range(1, len(answer(b"\x92\x03\x04"))):
        yield f"map cut at {cut}", answer(b"\x92\x03\x04")[:cut], "bad_msgpack"
    for kind in UNKNOWN_TYPES:
        yield f"type: {kind!r:.20}", pack({"type": kind, "id": 31, "move": 0}), "unknown_type"
    yield "type: missing", pack({"id": 31, "move": 0}), "unknown_type"
    yield "type: nothing at all", b"\x80", "unknown_type"
    yield from _too_deep()


def _too_deep() -> Iterator[tuple[str, bytes, str]]:
    for name, opener in OPENERS.items():
        yield f"deep: {name}", chain(opener, MAX_DEPTH + 1, b"\x07"), "too_deep"
        yield f"deep: 600 times {name}", chain(opener, 600, b"\x07"), "too_deep"
        for empty, core in EMPTY.items():
            yield f"deep: {name} around an empty {empty}", chain(opener, MAX_DEPTH, core), "too_deep"
    yield "deep: after many", answer(MANY + b"\x91" * (MAX_DEPTH - 1) + b"\x07"), "too_deep"
    yield "deep: an array", b"\x91" * MAX_DEPTH + b"\x90", "too_deep"
    yield "deep: a key", keyed(b"\x91" * MAX_DEPTH + b"\x00"), "too_deep"
    yield "deep: unfinished", b"\x91" * MAX_CLIENT_FRAME, "too_deep"


SCALARS = {  # one of each encoding, made of bytes that would be containers, bin or ext if they were headers
    **{f"constant {byte:x}": bytes([byte]) for byte in (0x00, 0x7F, 0xE0, 0xFF, 0xC0, 0xC2, 0xC3)},
    **{
        f"number {byte:x}": bytes([byte]) + b"\xc4" * size
        for byte, size in zip(range(0xCA, 0xD4), (4, 8, 1, 2, 4, 8, 1, 2, 4, 8), strict=True)
    },
    "fixstr": b"\xa2\xc3\x91",
    "longest fixstr": b"\xbf" + b"\xc4\x91" * 15 + b"x",
    "str8": b"\xd9\x02\xc4\x91",
    "long str8": b"\xd9\xfe" + b"\xc4\x91" * 127,
    "str16": b"\xda\x00\x02\xc4\x91",
    "long str16": b"\xda\x03\xe8" + b"\xc4\x91" * 500,
    "str32": b"\xdb\x00\x00\x00\x02\xc4\x91",
    "long str32": b"\xdb\x00\x00\x03\xe8" + b"\xc4\x91" * 500,
}

HONEST = {
    "longest array16": sized(0xDC, ">H", MAX_ARRAY, b"\x00" * MAX_ARRAY),
    "longest array32, of containers": sized(0xDD, ">I", MAX_ARRAY, b"\x90" * MAX_ARRAY),
    "longest map16": sized(0xDE, ">H", MAX_MAP, entries(MAX_MAP)),
    "longest map32, of containers": sized(0xDF, ">I", MAX_MAP, entries(MAX_MAP, b"\x80")),
    "longest str16": sized(0xDA, ">H", MAX_TEXT_BYTES, b"x" * MAX_TEXT_BYTES),
    "longest str32": sized(0xDB, ">I", MAX_TEXT_BYTES, "é".encode() * (MAX_TEXT_BYTES // 2)),
    "longest fixarray": b"\x9f" + b"\x90" * 15,
    "longest fixmap": b"\x8f" + entries(15, b"\x80"),
    "longest fixstr": b"\xbf" + b"\xc2\xad" * 15 + b"x",
    **{f"{name} after many": MANY + value for name, value in SCALARS.items()},
    "many containers, none deep": b"\x9f" + b"\x92\x80\x91\x90" * 15,
    **{f"deepest {name}": opener * (MAX_DEPTH - 1) + b"\x07" for name, opener in OPENERS.items()},
    **{f"deepest empty {name}": b"\x91" * (MAX_DEPTH - 2) + core for name, core in EMPTY.items()},
    "deep twice": b"\x92" + 2 * (b"\x91" * (MAX_DEPTH - 3) + b"\x90"),
}
"""Moves that go to the very edge of what the wire carries."""
