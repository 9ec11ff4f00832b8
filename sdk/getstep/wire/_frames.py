"""The codec of frames: it decodes them into maps and encodes maps. It is the only module that uses msgpack.

A frame is a 4-byte big-endian length and one msgpack map (protocol.md, "Frames"). Whatever the peer sends,
the work and the memory it costs are bounded by `_limits`, before anything is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any

try:
    import msgpack
except (
    ModuleNotFoundError
):  # the contestants' package has the Python part of msgpack inside, and needs nothing else
    msgpack = import_module("getstep._vendored.msgpack")

from ._errors import LocalProtocolError, RemoteProtocolError
from ._limits import HEADER_BYTES, MAX_ARRAY, MAX_DEPTH, MAX_MAP, MAX_TEXT_BYTES


class FrameReader:
    """Splits a stream of bytes into the bodies of frames.

    The buffer never holds more than one receive and one frame, if the caller takes out every body before it adds
    more bytes.

    Args:
        max_frame: the longest body in bytes that the peer may send now; may be changed between two bodies.
    """

    def __init__(self, max_frame: int) -> None:
        self.max_frame = max_frame
        self.rest = b""  # usually one whole frame: slicing bytes is faster than shifting a bytearray
        """The received bytes that were not taken out."""

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self.rest = self.rest + data if self.rest else data

    @property
    def partial(self) -> bool:
        """True if bytes are left: the first part of a frame, once all bodies are taken out."""
        return bool(self.rest)

    def next_body(self) -> bytes | None:
        """Return the next complete body, or None if more bytes are needed.

        Raises:
            RemoteProtocolError: ``empty_frame`` or ``oversize_frame``, as soon as the header has arrived.
        """
        buffer = self.rest
        if len(buffer) < HEADER_BYTES:
            return None
        length = int.from_bytes(buffer[:HEADER_BYTES], "big")
        if length == 0:
            raise RemoteProtocolError("empty_frame", "a frame of 0 bytes, expected at least 1")
        if length > self.max_frame:
            raise RemoteProtocolError(
                "oversize_frame", f"a frame of {length} bytes, expected at most {self.max_frame}"
            )
        end = HEADER_BYTES + length
        if len(buffer) < end:
            return None
        self.rest = buffer[end:]
        return buffer[HEADER_BYTES:end]


pack = msgpack.Packer().pack  # packb creates a packer with a large buffer in each call
UNPACKABLE = (TypeError, ValueError, OverflowError, RecursionError)


def encode(fields: dict[str, Any], max_frame: int) -> bytes:
    """Return one frame with its header.

    Raises:
        LocalProtocolError: a value that msgpack cannot encode, or a frame longer than ``max_frame`` bytes.
    """
    try:
        body: bytes = pack(fields)
    except UNPACKABLE as error:
        raise LocalProtocolError(f"cannot be sent: {error}") from error
    return frame(body, max_frame)


def frame(body: bytes, max_frame: int) -> bytes:
    """Return ``body`` with its header.

    Raises:
        LocalProtocolError: it is longer than ``max_frame`` bytes.
    """
    size = len(body)
    if size > max_frame:
        raise LocalProtocolError(f"a frame of {size} bytes, expected at most {max_frame}")
    return size.to_bytes(HEADER_BYTES, "big") + body


def check_decodable(frame: bytes) -> None:
    """Check that the peer can decode ``frame``.

    Raises:
        LocalProtocolError: the peer would refuse ``frame``, for example for a bin, or for its depth.
    """
    try:
        decode(frame[HEADER_BYTES:])
    except RemoteProtocolError as error:
        raise LocalProtocolError(f"cannot be sent: {error.detail}") from error


# --- the two messages of every turn ---------------------------------------------------------------------------
#
# A server reads and writes one of each in every move of a contest. They are read and written here as byte strings
# around the few values that differ, in a third of the general codec's time. The general one does the rest.

QUESTION = (
    b"\x87\xa4type\xa8get_step\xa2id%b\xabmove_number%b\xa5board%b\xa8is_black%b\xactime_left_ms%b\xa9last_move%b"
)
"""The body of a `get_step`, but for its values as msgpack."""

STEP_HEAD = b"\x83\xa4type\xa4step\xa2id%b\xa4move"
"""The body of a `step` up to its move, but for its id as msgpack."""

_pack_board: Callable[[object], bytes] = pack
_SMALL_INTEGERS = bytes([*range(0x80), *range(0xE0, 0x100)])
_WITHOUT_INTEGERS = bytes.maketrans(_SMALL_INTEGERS, bytes(len(_SMALL_INTEGERS)))


def pack_boards_with(encoder: Callable[[object], bytes]) -> None:
    """Let another encoder of msgpack pack the boards from now on: its output is checked as that of this one."""
    global _pack_board
    _pack_board = encoder


def pack_board(board: object) -> bytes | None:
    """Return ``board`` as msgpack if it has up to 15 rows of equal length, of up to 15 integers from -32 to 127.

    Returns:
        None for everything else, which `_messages` checks value by value.
    """
    try:
        packed = _pack_board(board)
    except UNPACKABLE:
        return None
    # With each small integer replaced by 0, the bytes must be those of an empty board of the same size.
    return packed if packed.translate(_WITHOUT_INTEGERS) == _empty_board(packed[:2]) else None


@lru_cache(maxsize=16)
def _empty_board(headers: bytes) -> bytes | None:
    """Return an empty board as msgpack, given the headers of the board and of its first row; None for others."""
    rows, columns = (header - 0x90 for header in headers.ljust(2, b"\0"))
    if not (0 < rows < 16 and 0 < columns < 16):
        return None
    return headers[:1] + (headers[1:] + bytes(columns)) * rows


NO_MOVE = object()
"""The result of `read_step` for bytes that only the general codec may judge."""

_MOVE_VALUES = bytes([*range(0x80), *range(0xA0, 0xC1), 0xC2, 0xC3, *range(0xE0, 0x100)])
"""First bytes of small integers, short texts, nil and the booleans; all of ASCII is among them."""
_SHORT_ARRAYS = bytes(range(0x90, 0xA0))


def read_step(data: bytes, head: bytes) -> Any:
    """Return the move in ``data`` if that is one whole frame of ``head`` and a simple move, otherwise `NO_MOVE`.

    A simple move has small integers, short texts and fewer than MAX_DEPTH short arrays, so it cannot be too deep
    or too large, and has neither a map nor a forbidden type. What is wrong with other bytes, `decode` tells.
    """
    start = HEADER_BYTES + len(head)
    if data[HEADER_BYTES:start] != head or len(data) - HEADER_BYTES != int.from_bytes(data[:HEADER_BYTES], "big"):
        return NO_MOVE
    move = data[start:]
    arrays = move.translate(None, _MOVE_VALUES)
    if len(arrays) >= MAX_DEPTH or arrays.strip(_SHORT_ARRAYS):
        return NO_MOVE
    try:
        return msgpack.unpackb(move)
    except ValueError:
        return NO_MOVE


# --- decoding -------------------------------------------------------------------------------------------------


def decode(body: bytes) -> dict[str, Any]:
    """Return the map in one body.

    Raises:
        RemoteProtocolError: ``too_deep``, ``too_large``, ``bad_msgpack``, ``duplicate_key``, ``bad_key``
            or ``not_a_map``.
    """
    walked = _check_structure(body)
    try:
        value = msgpack.unpackb(
            body,
            strict_map_key=False,  # _checked_map has the better message
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
        if not walked:
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
# msgpack's own bound on depth is 1,024, and it lets an empty bin or ext pass. An exact check has to walk from
# header to header in Python, at 0.1 to 0.5 µs each; msgpack decodes a small integer in 0.01 µs. So passes in C come
# first. They settle all honest messages in less time than decoding takes: 5 µs for the longest path of hop. What
# they cannot settle is walked, once. The worst 4,096 bytes take 1 ms; before the login, where a frame has at most
# MAX_LOGIN_FRAME bytes, 0.1 ms.

_CONTAINER = frozenset([*range(0x80, 0xA0), 0xDC, 0xDD, 0xDE, 0xDF])
_EMPTY = frozenset([0x80, 0x90])
_FORBIDDEN = frozenset([0xC1, *range(0xC4, 0xCA), *range(0xD4, 0xD9)])  # unassigned, bin, ext
_NOT_FILLED = bytes(b for b in range(256) if b not in _CONTAINER - _EMPTY)
_NOT_FORBIDDEN = bytes(b for b in range(256) if b not in _FORBIDDEN)

_SCALARS = bytes([*range(0x80), 0xA0, 0xC0, 0xC2, 0xC3, *range(0xE0, 0x100)])
"""Whole values of one byte: small integers, nil, the booleans and the empty string."""

_ONE_BYTE = rb"[\x00-\x80\x90\xa0\xc0\xc2\xc3\xe0-\xff]"  # these, and empty containers
_LEAF = b"(?:%b)" % b"|".join(b"\\x%x%b{%d}" % (0x90 + n, _ONE_BYTE, n) for n in range(1, 16))
_LEAVES = re.compile(b"%b%b*" % (_LEAF, _LEAF))  # not +, which would keep `re` from skipping to the next header
"""Short arrays of one-byte values, one after another: the squares of a path."""

_VALUE = b"(?:%b|%b)" % (_ONE_BYTE, b"|".join(b"\\x%x[\\x00-\\x7f]{%d}" % (0xA0 + n, n) for n in range(1, 9)))
_WITH_TEXTS = re.compile(b"|".join(b"\\x%x%b{%d}" % (0x90 + n, _VALUE, n) for n in range(1, 16)))
"""Short arrays that may also hold ASCII texts of up to 8 characters: the drawings of a move's notes."""

_SCALAR_BYTES = [  # of a scalar, by its first byte: 0 if that does not tell, or if it is not a scalar
    *[1] * 0x80,
    *[0] * 0x20,
    *range(1, 0x21),
    *[1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 5, 9, 2, 3, 5, 9, 2, 3, 5, 9, *[0] * 12],
    *[1] * 0x20,
]
_LENGTH_SIZE = {0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
_LONG_RUN = 8  # values: below that, matching a run takes longer than going through it


def _check_structure(body: bytes) -> bool:
    """Refuse a body that is too deep or has a forbidden type; return True if that took a walk."""
    if _is_shallow(body) and not body.translate(None, _NOT_FORBIDDEN):
        return False
    _walk(body)
    return True


def _is_shallow(body: bytes) -> bool:
    """Return True if passes in C can tell that ``body`` is not too deep.

    A value is at most one deeper than it has bytes that could be a filled container's header: the innermost one may
    be empty. Bytes of this kind inside strings and numbers raise the estimate, and never lower it. If the estimate
    is too high, arrays of one-byte values are removed first, which lowers the true depth by one, or by two if they
    held empty containers. Then arrays that hold short ASCII texts, too, are removed: of those, the true depth is at
    most 3, with what was removed inside them. Matches inside a string do no harm: after its header, a match has no
    byte that could be a filled container's header, so it can neither contain nor hide one.
    """
    if len(body.translate(None, _NOT_FILLED)) < MAX_DEPTH:
        return True
    body = _LEAVES.sub(b"\0", body)
    if len(body.translate(None, _NOT_FILLED)) < MAX_DEPTH - 1:
        return True
    return len(_WITH_TEXTS.sub(b"\0", body).translate(None, _NOT_FILLED)) < MAX_DEPTH - 2


def _walk(body: bytes) -> None:
    """Walk every header of one msgpack value; errors that msgpack itself detects are left to it."""
    open_above: list[int] = []  # values still to come, of the containers around the innermost
    left = 1  # in the innermost
    position, end = 0, len(body)
    while position < end:
        size = _SCALAR_BYTES[body[position]]
        if size == 1 and left > _LONG_RUN:
            ahead = body[position : position + left]
            run = len(ahead) - len(ahead.lstrip(_SCALARS))
            position += run
            left -= run
        elif size:
            position += size
            left -= 1
        else:
            if len(open_above) >= MAX_DEPTH and body[position] in _CONTAINER:
                raise RemoteProtocolError("too_deep", f"more than {MAX_DEPTH} containers inside each other")
            position, children = _children(body, position)
            left -= 1
            if children:
                open_above.append(left)
                left = children
        while not left:
            if not open_above:
                return
            left = open_above.pop()


def _children(body: bytes, position: int) -> tuple[int, int]:
    """Return the position of the next header, and the number of values in this one's container (0 for a text)."""
    byte = body[position]
    position += 1
    if byte < 0x90:
        return position, 2 * (byte & 0x0F)
    if byte < 0xA0:
        return position, byte & 0x0F
    if byte in _FORBIDDEN:
        raise RemoteProtocolError("bad_msgpack", f"type byte 0x{byte:02x}: bin and ext are not used here")
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
