"""Bytes that no client sends: broken frames, other protocols, msgpack that is not what it should be.

They are written as bytes where msgpack would rather say it otherwise.
"""

from __future__ import annotations

import struct

import trio

from getstep.wire import MAX_ARRAY, MAX_CLIENT_FRAME, MAX_DEPTH, MAX_MAP
from getstep.wire._limits import MAX_TEXT_BYTES

from ._case import HARMLESS, TRUNCATED, VANISHES, Case, Expected, Who, by_stranger, hostile, sends
from ._line import frame, ints, message
from ._match import Actor

_TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + b"\x2a" * 200
_ANSWER = b"\x83\xa4type\xa4step\xa2id\x01\xa4move"
"""An answer up to its move, which is any bytes."""


def _move(value: bytes) -> bytes:
    return frame(_ANSWER + value)


def _sized(header: int, size: str, count: int, entries: bytes = b"") -> bytes:
    """An array, map or string that claims ``count``, whatever ``entries`` it has."""
    return bytes([header]) + struct.pack(size, count) + entries


def _entries(number: int) -> bytes:
    return b"".join(b"\xd9\x02%02d\x00" % key for key in range(number))


# --- 1: frames, before the login ------------------------------------------------------------------------------


async def _silence(actor: Actor) -> None:
    """Says nothing at all."""


async def _drip(actor: Actor) -> None:
    """Sends a frame a byte at a time, each in time for itself, as long as anybody listens."""
    await actor.send(struct.pack(">I", MAX_CLIENT_FRAME))
    for _ in range(MAX_CLIENT_FRAME - 1):
        await actor.send(b"\x81")
        with trio.move_on_after(actor.stage.times.frame / 20):
            await actor.line.until_closed()
            return


async def _half_a_frame_and_gone(actor: Actor) -> None:
    await actor.line.until("hello")
    await actor.send(message(type="join", version=1)[:-3])
    await actor.line.half_close()


async def _half_a_frame_and_reset(actor: Actor) -> None:
    await actor.line.until("hello")
    await actor.send(message(type="join", version=1)[:-3])
    actor.line.reset()


async def _half_close(actor: Actor) -> None:
    await actor.line.half_close()


async def _urgent(actor: Actor) -> None:
    await actor.line.stream.socket.send(b"!", trio.socket.MSG_OOB)


_STRANGER: list[tuple[str, bytes, str]] = [
    ("a length of 0", b"\0\0\0\0", "empty_frame"),
    ("a length one over the limit", struct.pack(">I", MAX_CLIENT_FRAME + 1), "oversize_frame"),
    ("a length of 2³¹", b"\x80\0\0\0", "oversize_frame"),
    ("a length of 2³²−1", b"\xff\xff\xff\xff", "oversize_frame"),
    ("the longest frame that may be, of one byte again and again", frame(b"\x81" * MAX_CLIENT_FRAME), "too_deep"),
    ("a good header and an empty map", frame(b"\x80"), "unknown_type"),
    ("a thousand frames of length 1 at once", frame(b"\xc0") * 1000, "not_a_map"),
]
_OTHER_PROTOCOLS: list[tuple[str, bytes, str]] = [
    ("an HTTP request", b"GET / HTTP/1.1\r\nHost: contest\r\n\r\n", "oversize_frame"),
    ("a TLS hello", _TLS_HELLO, "oversize_frame"),
    ("an SSH banner", b"SSH-2.0-OpenSSH_9.6\r\n", "oversize_frame"),
    ("the classic wire, team 1", ints(1), "oversize_frame"),
    ("the classic wire, team 0", ints(0), "empty_frame"),
    ("JSON without a header", b'{"type": "join", "team": 1}', "oversize_frame"),
    ("msgpack without a header", message(type="join", version=1)[4:], "oversize_frame"),
    ("a little-endian header", struct.pack("<I", 126) + b"\x86", "oversize_frame"),
    ("two empty lines, as of a telnet", b"\r\n\r\n", "oversize_frame"),
]

_TIMEOUT = Expected("login_timeout", closes=True, clock="login", retry_ms=1000)


def _stranger(group: int, first: int, rows: list[tuple[str, bytes, str]]) -> list[Case]:
    return [
        Case(f"{group}.{n}", title, Who.STRANGER, by_stranger(hostile(code)), sends(data))
        for n, (title, data, code) in enumerate(rows, start=first)
    ]


FRAMES = [
    *_stranger(1, 1, _STRANGER),
    Case("1.8", "nothing, for ever", Who.STRANGER, _TIMEOUT, _silence),
    Case("1.9", "a frame a byte at a time, for ever", Who.STRANGER, _TIMEOUT, _drip),
    Case("1.10", "half a frame and then the end", Who.STRANGER, by_stranger(TRUNCATED), _half_a_frame_and_gone),
    Case("1.11", "half a frame and then a reset", Who.STRANGER, VANISHES, _half_a_frame_and_reset),
    Case("1.12", "the end of its side at once", Who.STRANGER, VANISHES, _half_close),
    Case("1.13", "urgent data", Who.STRANGER, HARMLESS, _urgent),
]  # fmt: skip

OTHER_PROTOCOLS = _stranger(2, 1, _OTHER_PROTOCOLS)

# --- 3: msgpack -----------------------------------------------------------------------------------------------

_LOBBY, _ON, _OFF = Who.LOBBY, Who.ON_TURN, Who.OUT_OF_TURN
_DEEP = MAX_DEPTH - 1  # the message's own map is the first
_ARRAY, _MAP, _TEXT = MAX_ARRAY + 1, MAX_MAP + 1, MAX_TEXT_BYTES + 1

_BODIES: list[tuple[str, Who, bytes, str]] = [
    ("the byte that msgpack never uses", _LOBBY, frame(b"\xc1"), "bad_msgpack"),
    ("a byte behind the map", _LOBBY, _move(b"\x00\x00"), "bad_msgpack"),
    ("a second map behind the map", _OFF, _move(b"\x00\x80"), "bad_msgpack"),
    ("a map that ends early", _LOBBY, frame(_ANSWER), "bad_msgpack"),
    ("an empty bin", _LOBBY, _move(b"\xc4\x00"), "bad_msgpack"),
    ("a bin that claims 4 GiB", _ON, _move(b"\xc6\xff\xff\xff\xff"), "bad_msgpack"),
    ("an ext that claims 4 GiB", _LOBBY, _move(b"\xc9\xff\xff\xff\xff\x05"), "bad_msgpack"),
    ("a timestamp", _LOBBY, _move(b"\xd6\xff\0\0\0\0"), "bad_msgpack"),
    ("a string that is not UTF-8", _LOBBY, _move(b"\xa1\xff"), "bad_msgpack"),
    ("a key that is not UTF-8", _LOBBY, frame(b"\x81\xa1\x80\x00"), "bad_msgpack"),
    ("half of a surrogate pair", _LOBBY, _move(b"\xa3\xed\xa0\x80"), "bad_msgpack"),
    ("one container too deep", _LOBBY, _move(b"\x91" * _DEEP + b"\x90"), "too_deep"),
    ("4000 arrays inside each other", _OFF, _move(b"\x91" * 4000 + b"\x00"), "too_deep"),
    ("600 maps inside each other", _LOBBY, _move(b"\x81\xa0" * 600 + b"\x00"), "too_deep"),
    ("2³²−1 arrays inside 2³²−1 arrays, claimed", _LOBBY, _move(b"\xdd\xff\xff\xff\xff" * 9), "too_large"),
    ("an array that claims 2³²−1 elements", _LOBBY, _move(_sized(0xDD, ">I", 2**32 - 1)), "too_large"),
    ("a map that claims 2³²−1 entries", _OFF, _move(_sized(0xDF, ">I", 2**32 - 1)), "too_large"),
    ("a string that claims 4 GiB", _LOBBY, _move(_sized(0xDB, ">I", 2**32 - 1)), "too_large"),
    ("an array one over the limit", _ON, _move(_sized(0xDC, ">H", _ARRAY, b"\0" * _ARRAY)), "too_large"),
    ("a map one over the limit", _LOBBY, _move(_sized(0xDE, ">H", _MAP, _entries(_MAP))), "too_large"),
    ("a string one byte over the limit", _LOBBY, _move(_sized(0xDA, ">H", _TEXT, b"x" * _TEXT)), "too_large"),
    ("an array", _LOBBY, frame(b"\x92\xa4type\xa4step"), "not_a_map"),
    ("nil", _OFF, frame(b"\xc0"), "not_a_map"),
    ("a number as a key", _LOBBY, frame(b"\x81\x01\x02"), "bad_key"),
    ("an array as a key", _LOBBY, frame(b"\x81\x91\x01\x02"), "bad_key"),
    ("the type twice", _OFF, frame(b"\x82" + b"\xa4type\xa4step" * 2), "duplicate_key"),
    ("a key twice, deep in a move", _ON, _move(b"\x91\x82\xa1x\x00\xa1x\x00"), "duplicate_key"),
    ("a type of a later version", _LOBBY, message(type="ping"), "unknown_type"),
    ("no type", _LOBBY, message(id=1, move=[0, 0]), "unknown_type"),
    ("a number as the type", _OFF, message(type=7), "unknown_type"),
    ("a type as long as may be", _LOBBY, message(type="x" * MAX_TEXT_BYTES), "unknown_type"),
    ("what only the server says", _ON, message(type="end", match=1, result="win", reason=""), "unknown_type"),
]  # fmt: skip


async def _half_a_frame(actor: Actor) -> None:
    """Begins a frame, and is silent; whoever is on turn plays on."""
    await actor.send(struct.pack(">I", 100) + b"\x81")
    if actor.opponent is not None and actor.other.question is not None:
        await actor.other.answer()


MSGPACK = [
    *(
        Case(f"3.{n}", title, who, hostile(code), sends(data))
        for n, (title, who, data, code) in enumerate(_BODIES, start=1)
    ),
    Case("3.33", "half a frame, and then nothing", Who.LOBBY, hostile("slow_frame", "frame"), _half_a_frame),
    Case("3.34", "half a frame, and then nothing", Who.OUT_OF_TURN, hostile("slow_frame", "frame"), _half_a_frame),
    Case("3.35", "a frame a byte at a time, for ever", Who.LOBBY, hostile("slow_frame", "frame"), _drip),
]
