"""Bytes that no correct client sends: broken frames, other protocols, invalid msgpack.

They are written as bytes where the msgpack library would not encode them.
"""

from __future__ import annotations

import struct

import trio

from getstep.wire import MAX_ARRAY, MAX_DEPTH, MAX_LOGIN_FRAME, MAX_MAP, MAX_TEXT_BYTES

from ._case import HARMLESS, TRUNCATED, VANISHES, Case, Expected, SenderKind, before_login, hostile, sends
from ._connection import frame, ints, message
from ._player import Sender

_UNAUTHENTICATED, _LOBBY, _ON, _OFF = (
    SenderKind.UNAUTHENTICATED,
    SenderKind.LOBBY,
    SenderKind.ON_TURN,
    SenderKind.OUT_OF_TURN,
)

_TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + b"\x2a" * 200
_ANSWER = b"\x83\xa4type\xa4step\xa2id\x01\xa4move"
"""An answer up to its move."""


def _move(value: bytes) -> bytes:
    return frame(_ANSWER + value)


def _sized(header: int, size: str, count: int, entries: bytes = b"") -> bytes:
    """Return an array, map or string that claims ``count`` entries and has ``entries``."""
    return bytes([header]) + struct.pack(size, count) + entries


def _entries(number: int) -> bytes:
    return b"".join(b"\xd9\x02%02d\x00" % key for key in range(number))


# --- 1: frames before login -----------------------------------------------------------------------------------


async def _silence(sender: Sender) -> None:
    """Send nothing."""


async def _drip(sender: Sender) -> None:
    """Send a frame byte by byte, as long as the connection is open."""
    await sender.send(struct.pack(">I", MAX_LOGIN_FRAME))
    for _ in range(MAX_LOGIN_FRAME - 1):
        await sender.send(b"\x81")
        with trio.move_on_after(sender.server.times.frame / 20):
            await sender.connection.wait_closed()
            return


async def _half_a_frame_and_gone(sender: Sender) -> None:
    await sender.connection.wait_for("hello")
    await sender.send(message(type="join", version=1)[:-3])
    await sender.connection.half_close()


async def _half_a_frame_and_reset(sender: Sender) -> None:
    await sender.connection.wait_for("hello")
    await sender.send(message(type="join", version=1)[:-3])
    sender.connection.reset()


async def _half_close(sender: Sender) -> None:
    await sender.connection.half_close()


async def _urgent(sender: Sender) -> None:
    await sender.connection.stream.socket.send(b"!", trio.socket.MSG_OOB)


_ROWS_BEFORE_LOGIN: list[tuple[str, bytes, str]] = [
    ("a length of 0", b"\0\0\0\0", "empty_frame"),
    ("a length one over the limit", struct.pack(">I", MAX_LOGIN_FRAME + 1), "oversize_frame"),
    ("a length of 2³¹", b"\x80\0\0\0", "oversize_frame"),
    ("a length of 2³²−1", b"\xff\xff\xff\xff", "oversize_frame"),
    ("the longest frame allowed, filled with one byte", frame(b"\x81" * MAX_LOGIN_FRAME), "too_deep"),
    ("a correct header and an empty map", frame(b"\x80"), "unknown_type"),
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
    ("two empty lines, as from telnet", b"\r\n\r\n", "oversize_frame"),
]

_TIMEOUT = Expected("login_timeout", closes=True, clock="login", retry_ms=1000)


def _before_login(group: int, first: int, rows: list[tuple[str, bytes, str]]) -> list[Case]:
    return [
        Case(f"{group}.{n}", title, _UNAUTHENTICATED, before_login(hostile(code)), sends(data))
        for n, (title, data, code) in enumerate(rows, start=first)
    ]


FRAMES = [
    *_before_login(1, 1, _ROWS_BEFORE_LOGIN),
    Case("1.8", "nothing at all", _UNAUTHENTICATED, _TIMEOUT, _silence),
    Case("1.9", "a frame byte by byte, without end", _UNAUTHENTICATED, _TIMEOUT, _drip),
    Case("1.10", "half a frame, then the end of the connection", _UNAUTHENTICATED, before_login(TRUNCATED),
         _half_a_frame_and_gone),
    Case("1.11", "half a frame, then a reset", _UNAUTHENTICATED, VANISHES, _half_a_frame_and_reset),
    Case("1.12", "the end of its sending side at once", _UNAUTHENTICATED, VANISHES, _half_close),
    Case("1.13", "urgent data", _UNAUTHENTICATED, HARMLESS, _urgent),
]  # fmt: skip

OTHER_PROTOCOLS = _before_login(2, 1, _OTHER_PROTOCOLS)

# --- 3: msgpack -----------------------------------------------------------------------------------------------

_DEEP = MAX_DEPTH - 1  # the message's own map is the first
_ARRAY, _MAP, _TEXT = MAX_ARRAY + 1, MAX_MAP + 1, MAX_TEXT_BYTES + 1

_BODIES: list[tuple[str, SenderKind, bytes, str]] = [
    ("the byte that msgpack never uses", _LOBBY, frame(b"\xc1"), "bad_msgpack"),
    ("a byte after the map", _LOBBY, _move(b"\x00\x00"), "bad_msgpack"),
    ("a second map after the map", _OFF, _move(b"\x00\x80"), "bad_msgpack"),
    ("a map that ends early", _LOBBY, frame(_ANSWER), "bad_msgpack"),
    ("an empty bin", _LOBBY, _move(b"\xc4\x00"), "bad_msgpack"),
    ("a bin that claims 4 GiB", _ON, _move(b"\xc6\xff\xff\xff\xff"), "bad_msgpack"),
    ("an ext that claims 4 GiB", _LOBBY, _move(b"\xc9\xff\xff\xff\xff\x05"), "bad_msgpack"),
    ("a timestamp", _LOBBY, _move(b"\xd6\xff\0\0\0\0"), "bad_msgpack"),
    ("a string that is not UTF-8", _LOBBY, _move(b"\xa1\xff"), "bad_msgpack"),
    ("a key that is not UTF-8", _LOBBY, frame(b"\x81\xa1\x80\x00"), "bad_msgpack"),
    ("half of a surrogate pair", _LOBBY, _move(b"\xa3\xed\xa0\x80"), "bad_msgpack"),
    ("one container too deep", _LOBBY, _move(b"\x91" * _DEEP + b"\x90"), "too_deep"),
    ("4000 nested arrays", _OFF, _move(b"\x91" * 4000 + b"\x00"), "too_deep"),
    ("600 nested maps", _LOBBY, _move(b"\x81\xa0" * 600 + b"\x00"), "too_deep"),
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
    ("a type as long as allowed", _LOBBY, message(type="x" * MAX_TEXT_BYTES), "unknown_type"),
    ("a message of the server", _ON, message(type="end", match=1, result="win", reason=""), "unknown_type"),
]  # fmt: skip


async def _half_a_frame(sender: Sender) -> None:
    """Send half a frame and nothing more; the opponent plays on if it is on turn."""
    await sender.send(struct.pack(">I", 100) + b"\x81")
    if sender.opponent is not None and sender.other.question is not None:
        await sender.other.answer()


MSGPACK = [
    *(
        Case(f"3.{n}", title, who, hostile(code), sends(data))
        for n, (title, who, data, code) in enumerate(_BODIES, start=1)
    ),
    Case("3.33", "half a frame, then nothing", _LOBBY, hostile("slow_frame", "frame"), _half_a_frame),
    Case(
        "3.34",
        "half a frame, then nothing",
        _OFF,
        hostile("slow_frame", "frame"),
        _half_a_frame,
    ),
    Case("3.35", "a frame byte by byte, without end", _LOBBY, hostile("slow_frame", "frame"), _drip),
]
