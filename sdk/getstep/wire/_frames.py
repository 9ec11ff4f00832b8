"""Bytes to maps and back: the only module that knows msgpack.

A frame is a 4-byte big-endian length and one msgpack map (protocol.md, "Frames"). Whatever the peer sends,
the work and the memory it costs are bounded by `_limits`, before anything is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgpack

from ._errors import LocalProtocolError, RemoteProtocolError
from ._limits import HEADER_BYTES, MAX_ARRAY, MAX_DEPTH, MAX_MAP, MAX_TEXT_BYTES


class FrameReader:
    """Cuts a stream of bytes into frame bodies.

    The buffer never holds more than one receive and one frame, as long as the caller takes every body
    out before it feeds more.

    Args:
        max_frame: the longest body in bytes that the peer may send.
    """

    def __init__(self, max_frame: int) -> None:
        self._max_frame = max_frame
        self._buffer = b""  # as a rule one whole frame: cutting bytes beats shifting a bytearray

    def feed(self, data: bytes) -> None:
        """Take in what arrived."""
        self._buffer = self._buffer + data if self._buffer else data

    @property
    def partial(self) -> bool:
        """Whether the beginning of a frame is waiting for its end (true once bodies are taken out)."""
        return bool(self._buffer)

    def next_body(self) -> bytes | None:
        """The next whole body, or None until more has arrived.

        Raises:
            RemoteProtocolError: ``empty_frame`` or ``oversize_frame``, as soon as the header is here.
        """
        buffer = self._buffer
        if len(buffer) < HEADER_BYTES:
            return None
        length = int.from_bytes(buffer[:HEADER_BYTES], "big")
        if length == 0:
            raise RemoteProtocolError("empty_frame", "a frame of 0 bytes, expected at least 1")
        if length > self._max_frame:
            raise RemoteProtocolError(
                "oversize_frame", f"a frame of {length} bytes, expected at most {self._max_frame}"
            )
        end = HEADER_BYTES + length
        if len(buffer) < end:
            return None
        self._buffer = buffer[end:]
        return buffer[HEADER_BYTES:end]


_pack = msgpack.Packer().pack  # packb makes a packer with a large buffer at each call


def encode(fields: dict[str, Any], max_frame: int) -> bytes:
    """One frame, header included.

    Raises:
        LocalProtocolError: a value msgpack cannot encode, or a frame longer than ``max_frame`` bytes.
    """
    try:
        body: bytes = _pack(fields)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise LocalProtocolError(f"cannot be sent: {error}") from error
    if len(body) > max_frame:
        raise LocalProtocolError(f"a frame of {len(body)} bytes, expected at most {max_frame}")
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def proofread(frame: bytes) -> None:
    """Check that the peer would decode ``frame``.

    Raises:
        LocalProtocolError: it would be a hostile act, such as a bin, or more than ``MAX_DEPTH`` containers.
    """
    try:
        decode(frame[HEADER_BYTES:])
    except RemoteProtocolError as error:
        raise LocalProtocolError(f"cannot be sent: {error.detail}") from error


def decode(body: bytes) -> dict[str, Any]:
    """The map in one body.

    Raises:
        RemoteProtocolError: ``too_deep``, ``too_large``, ``bad_msgpack``, ``duplicate_key``, ``bad_key``
            or ``not_a_map``.
    """
    _check_structure(body)
    try:
        value = msgpack.unpackb(
            body,
            strict_map_key=False,  # _checked_map says it better
            object_pairs_hook=_checked_map,
            max_str_len=MAX_TEXT_BYTES,
            max_bin_len=0,
            max_ext_len=0,
            max_array_len=MAX_ARRAY,
            max_map_len=MAX_MAP,
        )
    except msgpack.ExtraData as error:
        raise RemoteProtocolError("bad_msgpack", "bytes after the end of the map") from error
    except UnicodeDecodeError as error:
        raise RemoteProtocolError("bad_msgpack", f"a string that is not UTF-8: {error.reason}") from error
    except ValueError as error:
        _walk(body)  # names a claim over its bound, which msgpack may take for a string cut short
        raise RemoteProtocolError("bad_msgpack", str(error) or "not msgpack") from error
    if type(value) is not dict:
        raise RemoteProtocolError("not_a_map", f"a {type(value).__name__}, expected a map")
    return value


def _checked_map(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if type(key) is not str:
            raise RemoteProtocolError("bad_key", f"a key {ascii(key)[:80]}, expected a string")
        if key in result:
            raise RemoteProtocolError("duplicate_key", f"the key {ascii(key)[:80]} twice")
        result[key] = value
    return result


# --- structure, checked before decoding -----------------------------------------------------------------
#
# msgpack's own bounds say nothing about depth, and none refuses an empty bin or ext. Walking the headers
# in Python costs about 0.1 µs each, so a frame that cannot break either rule is not walked at all: it is
# no deeper than it has bytes that could be a container's header. Bytes inside strings and numbers only
# make the guess more careful; the walk itself is exact.

_CONTAINER = frozenset([*range(0x80, 0xA0), 0xDC, 0xDD, 0xDE, 0xDF])
_FORBIDDEN = frozenset([0xC1, *range(0xC4, 0xCA), *range(0xD4, 0xD9)])  # unassigned, bin, ext
_HARMLESS = bytes(b for b in range(256) if b not in _CONTAINER | _FORBIDDEN)
_NOT_FORBIDDEN = bytes(b for b in range(256) if b not in _FORBIDDEN)

_FIXED_SIZE = {  # header byte: bytes that follow
    **dict.fromkeys([0xC0, 0xC2, 0xC3], 0),
    0xCA: 4,
    0xCB: 8,
    0xCC: 1,
    0xCD: 2,
    0xCE: 4,
    0xCF: 8,
    0xD0: 1,
    0xD1: 2,
    0xD2: 4,
    0xD3: 8,
}
_LENGTH_SIZE = {0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}


def _check_structure(body: bytes) -> None:
    suspects = body.translate(None, _HARMLESS)
    if len(suspects) > MAX_DEPTH or suspects.translate(None, _NOT_FORBIDDEN):
        _walk(body)


def _walk(body: bytes) -> None:
    """Walk every header of one msgpack value; what msgpack itself refuses is left to it."""
    left = [1]  # values still to come, per open container
    position = 0
    while left and position < len(body):
        left[-1] -= 1
        if len(left) > MAX_DEPTH and body[position] in _CONTAINER:
            raise RemoteProtocolError("too_deep", f"more than {MAX_DEPTH} containers inside each other")
        position, children = _header(body, position)
        if children:
            left.append(children)
        while left and left[-1] == 0:
            left.pop()


def _header(body: bytes, position: int) -> tuple[int, int]:
    """Where the next header is, and how many values this one's container holds (0 for a scalar)."""
    byte = body[position]
    position += 1
    if byte in _FORBIDDEN:
        raise RemoteProtocolError("bad_msgpack", f"type byte 0x{byte:02x}: bin and ext are not used here")
    if byte < 0x80 or byte >= 0xE0:
        return position, 0
    if byte < 0x90:
        return position, 2 * (byte & 0x0F)
    if byte < 0xA0:
        return position, byte & 0x0F
    if byte < 0xC0:
        return position + (byte & 0x1F), 0
    if byte in _FIXED_SIZE:
        return position + _FIXED_SIZE[byte], 0
    size = _LENGTH_SIZE[byte]
    count = int.from_bytes(body[position : position + size], "big")
    position += size
    if byte <= 0xDB:
        _check_claim("a string", count, MAX_TEXT_BYTES)
        return position + count, 0
    if byte <= 0xDD:
        _check_claim("an array", count, MAX_ARRAY)
        return position, count
    _check_claim("a map", count, MAX_MAP)
    return position, 2 * count


def _check_claim(what: str, count: int, most: int) -> None:
    if count > most:
        raise RemoteProtocolError("too_large", f"{what} that claims a length of {count}, expected at most {most}")
