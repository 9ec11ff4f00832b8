"""Arbitrary bytes against a slow reader of msgpack that is written straight from protocol.md.

What it accepts, the codec decodes to the same map; what it refuses, the codec refuses with one of its codes.
"""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getstep.wire import (
    MAX_ARRAY,
    MAX_CLIENT_FRAME,
    MAX_DEPTH,
    MAX_MAP,
    MAX_TEXT_BYTES,
    RemoteProtocolError,
    _frames,
)
from getstep.wire._frames import NO_MOVE, decode, read_step
from tests.support.conversations import SAMPLES
from tests.support.hostile_bodies import EMPTY, HONEST, OPENERS, answer, hostile, pack
from tests.support.quick import each

CODES = {"bad_msgpack", "too_deep", "too_large", "not_a_map", "bad_key", "duplicate_key"}
PEAK_BYTES = 384 * 1024
"""A client frame full of empty maps becomes 4,096 dicts and takes 280 KiB; nothing takes more."""


# --- the slow reader -------------------------------------------------------------------------------------


class RefusedError(Exception):
    """The slow reader does not accept a body."""


NUMBERS = dict(zip(range(0xCA, 0xD4), "fdBHIQbhiq", strict=True))  # format characters of struct
CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
TEXTS = {0xD9: "B", 0xDA: "H", 0xDB: "I"}
ARRAYS = {0xDC: "H", 0xDD: "I"}
MAPS = {0xDE: "H", 0xDF: "I"}


class SlowReader:
    """A decoder that reads the values in order, and checks every rule when it reaches it."""

    def __init__(self, body: bytes) -> None:
        self.rest = body

    def take(self, count: int) -> bytes:
        if count > len(self.rest):
            raise RefusedError("cut short")
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def number(self, kind: str) -> Any:
        return struct.unpack(f">{kind}", self.take(struct.calcsize(kind)))[0]

    def value(self, inside: int) -> Any:
        """Return the next value, inside this many containers."""
        (byte,) = self.take(1)
        if byte < 0x80 or byte >= 0xE0:
            return byte if byte < 0x80 else byte - 0x100
        if byte < 0xA0:
            return self.array(byte & 0x0F, inside) if byte >= 0x90 else self.map(byte & 0x0F, inside)
        if byte < 0xC0:
            return self.text(byte & 0x1F)
        return self.long_value(byte, inside)

    def long_value(self, byte: int, inside: int) -> Any:
        if byte in CONSTANTS:
            return CONSTANTS[byte]
        if byte in NUMBERS:
            return self.number(NUMBERS[byte])
        if byte in TEXTS:
            return self.text(self.number(TEXTS[byte]))
        if byte in ARRAYS:
            return self.array(self.number(ARRAYS[byte]), inside)
        if byte in MAPS:
            return self.map(self.number(MAPS[byte]), inside)
        raise RefusedError("bin, ext or nothing at all")

    def text(self, size: int) -> str:
        if size > MAX_TEXT_BYTES:
            raise RefusedError("long text")
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as error:
            raise RefusedError("not UTF-8") from error

    def array(self, count: int, inside: int) -> list[Any]:
        if count > MAX_ARRAY or inside >= MAX_DEPTH:
            raise RefusedError("long or deep array")
        return [self.value(inside + 1) for _ in range(count)]

    def map(self, count: int, inside: int) -> dict[str, Any]:
        if count > MAX_MAP or inside >= MAX_DEPTH:
            raise RefusedError("large or deep map")
        result: dict[str, Any] = {}
        for _ in range(count):
            key = self.value(inside + 1)
            if type(key) is not str or key in result:
                raise RefusedError("key")
            result[key] = self.value(inside + 1)
        return result


def slowly(body: bytes) -> dict[str, Any] | None:
    """Return the map in ``body``, None if it is refused."""
    reader = SlowReader(body)
    try:
        value = reader.value(0)
    except RefusedError:
        return None
    return value if type(value) is dict and not reader.rest else None


def decoded(body: bytes) -> dict[str, Any] | None:
    try:
        return decode(body)
    except RemoteProtocolError as error:
        if error.code in CODES and len(error.detail) <= 200:
            return None
        raise


def compare(body: bytes) -> None:
    expected = slowly(body)
    assert repr(decoded(body)) == repr(expected)  # nan is nan, and 1 is not True
    move = read_step(len(body).to_bytes(4, "big") + body, _frames.STEP_HEAD % b"\x1f")
    if move is not NO_MOVE:
        assert repr(expected) == repr({"type": "step", "id": 31, "move": move})


# --- bodies ----------------------------------------------------------------------------------------------

HEADERS = [*OPENERS.values(), *EMPTY.values(), *(bytes([byte]) for byte in range(0x80, 0x100))]
SCRAPS = st.sampled_from([*HEADERS, b"\xa1k", b"\xa1x", b"\x00", b"\xa4mark", b"\xa3red"]) | st.binary(max_size=3)
BODIES = [body for _, body, _ in hostile()] + [answer(move) for move in HONEST.values()]
BODIES += [pack(sample.to_fields()) for sample in SAMPLES.values()]
BODIES += [pack({"notes": {"draw": [["mark", [0, n], str(n), "red"] for n in range(64)]}})]


HONEST_MOVES = {
    "hop, two squares": pack([[4, 2], [4, 3]]),
    "hop, a hundred squares": pack([[4, 2]] * 100),
    "a square": pack([3, 4]),
    "linkage": pack(["R", [0, 0], [0, 1]]),
}


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Return a body of one of the tables with some bytes replaced, removed or put in."""
    body = bytearray(draw(st.sampled_from(BODIES)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(body)))
        body[place : place + draw(st.integers(0, 2))] = draw(SCRAPS)
    return bytes(body)


@each("body", BODIES)
def test_slow_reader_knows_the_tables(body: bytes) -> None:
    compare(body)


BOTTOM = b"\x91" * (MAX_DEPTH - 2)  # with the answer's own map, all containers but one
SHAPES = {
    "empty arrays in a row at the bottom": answer(BOTTOM + b"\x9f" + b"\x90" * 15),
    "empty arrays in a long row at the bottom": answer(BOTTOM + b"\xdc\x00\x40" + b"\x90" * 64),
    "empty maps behind a run at the bottom": answer(BOTTOM + b"\xdc\x00\x40" + b"\x00" * 63 + b"\x80"),
    "a path": answer(b"\xdc\x00\x64" + b"\x92\x01\x02" * 100),
    "a path of empty arrays": answer(b"\xdc\x00\x64" + b"\x92\x90\x90" * 100),
    "a path, too deep": answer(BOTTOM[1:] + b"\xdc\x00\x64" + b"\x92\x90\x90" * 100),
    "arrays in a text in front of a deep one": answer(b"\x92\xa6" + b"\x91\x00" * 3 + b"\x91" * 8),
    "leaves cut by a text": answer(b"\x91" * 8 + b"\xa1\x92\x00\x00"),
    "leaves beside a text": answer(b"\x9f" + b"\x92\xa1\x91\x00" * 15),
    "a long text at the end, cut short": answer(b"\x92\x00\xda\xff\xffxx"),
    "rows": answer(b"\xdc\x00\x78" + (b"\xdc\x00\x1d" + b"\x00" * 29) * 120),
    "rows, cut short": answer(b"\xdc\x00\x80" + (b"\xdc\x00\x1d" + b"\x00" * 29) * 128)[:MAX_CLIENT_FRAME],
}
"""Bodies that the quick checks have to distinguish."""


@pytest.mark.parametrize("body", SHAPES.values(), ids=SHAPES)
def test_shapes(body: bytes) -> None:
    compare(body)


@each("body", [*BODIES, *SHAPES.values()])
def test_no_body_is_walked_twice(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    walks = count_walks(monkeypatch)
    decoded(body)
    assert len(walks) <= 1


@pytest.mark.parametrize("body", [answer(move) for move in HONEST_MOVES.values()], ids=HONEST_MOVES)
def test_a_move_is_not_walked(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    walks = count_walks(monkeypatch)
    assert decoded(body)
    assert walks == []


def count_walks(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the bodies that are walked from now on."""
    walks: list[bytes] = []
    real = _frames._walk

    def walk(body: bytes) -> None:
        walks.append(body)
        real(body)

    monkeypatch.setattr(_frames, "_walk", walk)
    return walks


@given(st.binary(max_size=64))
@settings(max_examples=300)
def test_any_bytes(body: bytes) -> None:
    compare(body)


@given(st.lists(SCRAPS, max_size=40).map(b"".join))
@settings(max_examples=500)
def test_scraps_of_msgpack(body: bytes) -> None:
    compare(body)
    compare(b"\x81\xa0" + body)
    compare(answer(body))


@given(damaged())
@settings(max_examples=500)
def test_damaged_bodies(body: bytes) -> None:
    compare(body)


# --- depth -----------------------------------------------------------------------------------------------

LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=5)
WRAPS: list[Callable[[Any, Any], Any]] = [
    lambda inner, leaf: [inner],
    lambda inner, leaf: [leaf, inner],
    lambda inner, leaf: [inner, [leaf]],
    lambda inner, leaf: {"k": inner},
    lambda inner, leaf: {"": [], "k": inner},
    lambda inner, leaf: {"k": inner, "l": leaf},
    lambda inner, leaf: [{}, [], inner, "\u07d4\u07d4"],
    lambda inner, leaf: [leaf] * 20 + [inner],
]


def depth(value: Any) -> int:
    """Return the number of containers inside each other."""
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@st.composite
def nests(draw: st.DrawFn) -> Any:
    value: Any = draw(LEAVES | st.just([]) | st.just({}))
    for wrap in draw(st.lists(st.sampled_from(WRAPS), min_size=4, max_size=11)):
        value = wrap(value, draw(LEAVES))
    return value


@given(nests())
@settings(max_examples=300)
def test_depth_of_honest_values(value: Any) -> None:
    compare(answer(pack(value)))
    body = msgpack.packb({"move": value})
    if depth(value) < MAX_DEPTH:
        assert repr(decode(body)) == repr({"move": value})
    else:
        with pytest.raises(RemoteProtocolError, match=r"^too_deep: "):
            decode(body)


# --- memory ----------------------------------------------------------------------------------------------


def filled(unit: bytes) -> bytes:
    """Return a client frame's worth of ``unit``, in arrays of 64."""
    row = b"\xdc\x00\x40" + unit * 64
    rows = (MAX_CLIENT_FRAME - len(answer(b"\xdc\x00\x00"))) // len(row)
    return answer(b"\xdc" + struct.pack(">H", rows) + row * rows)


UNITS = {
    "empty maps": b"\x80",
    "empty arrays": b"\x90",
    "maps of one": b"\x81\xa0\xc0",
    "arrays of one": b"\x91\xc0",
    "floats": b"\xcb" + b"\x01" * 8,
    "ints": b"\xcd\xff\xff",
    "texts": b"\xa4\xf0\x9f\x8e\xb2",
}
CLAIMS = {
    "arrays": answer(b"\xdc\x00\x80" * (MAX_DEPTH - 1)),
    "maps": answer(b"\xde\x00\x20\xa0" * (MAX_DEPTH - 1)),
    "deep arrays": answer(b"\xdc\x00\x80" * 1350),
    "deep maps": answer(b"\xde\x00\x20\xa0" * 1000),
    "huge arrays": answer(b"\xdd\xff\xff\xff\xff" * 800),
    "huge maps": answer(b"\xdf\xff\xff\xff\xff" * 800),
    "huge array of arrays": answer(b"\xdd\x80\x00\x00\x00" + b"\x90" * 4000),
    "huge text": answer(b"\xdb\xff\xff\xff\xff" + b"x" * 4000),
    "long key": b"\x81" + pack("\x00" * 2000) * 2,
    "bytes behind": answer(b"\x00") + b"\x00" * 4000,
}


def peak(body: bytes) -> int:
    """Return the most bytes that decoding a client's frame held at a time."""
    assert len(body) <= MAX_CLIENT_FRAME
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        with suppress(RemoteProtocolError):
            decode(body)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_memory_of_full_frames(unit: bytes) -> None:
    assert slowly(filled(unit)), "the worst case has to be one that is accepted"
    assert peak(filled(unit)) < PEAK_BYTES


@pytest.mark.parametrize("body", CLAIMS.values(), ids=CLAIMS)
def test_memory_of_claims(body: bytes) -> None:
    assert peak(body) < PEAK_BYTES // 8


@given(st.lists(SCRAPS, min_size=1, max_size=8).map(b"".join), st.integers(0, MAX_DEPTH))
@settings(max_examples=200)
def test_memory_of_anything(scraps: bytes, inside: int) -> None:
    body = answer(b"\xdc\x00\x80" * inside + (scraps or b"\x80") * MAX_CLIENT_FRAME)[:MAX_CLIENT_FRAME]
    assert peak(body) < PEAK_BYTES
    compare(body)


@given(st.binary(max_size=MAX_CLIENT_FRAME))
@settings(max_examples=50)
def test_memory_of_any_bytes(body: bytes) -> None:
    assert peak(body) < PEAK_BYTES
    compare(body)
