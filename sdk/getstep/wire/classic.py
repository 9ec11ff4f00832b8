"""The classic wire (docs/classic.md) without sockets: little-endian 32-bit integers, no lengths, no secret.

It plays hop only. A question is a frame of 268 bytes; an answer is a count, the move id and so many squares.
"""

from __future__ import annotations

import struct

from ._errors import RemoteProtocolError
from ._limits import CLASSIC_MAX_SQUARES

SIZE = 8
FRAME = struct.Struct(f"<2i{SIZE * SIZE}ii")
"""Code, move id, 64 squares, is_black: 268 bytes, sent at once because original clients take no short read."""

_INT = struct.Struct("<i")
_ANSWER = struct.Struct("<2i")
_SQUARE = struct.Struct("<2i")


def question_bytes(move_id: int, board: list[list[int]], *, is_black: bool) -> bytes:
    """Return the frame that asks for a move."""
    return FRAME.pack(1, move_id, *(cell for row in board for cell in row), int(is_black))


def stop_bytes() -> bytes:
    """Return the frame that ends a client; as long as a question, because clients read a whole frame first."""
    return FRAME.pack(*[0] * (SIZE * SIZE + 3))


class ClassicReader:
    """Splits the bytes of a classic client into its team id and its answers; buffers one answer at most."""

    def __init__(self, team: int | None = None, received: bytes = b"") -> None:
        self.team = team
        self._buffer = bytearray(received)

    @property
    def rest(self) -> bytes:
        """The received bytes that were not taken out."""
        return bytes(self._buffer)

    @property
    def partial(self) -> bool:
        """True if the buffer holds an incomplete answer, once the complete ones are taken out."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> None:
        """Append bytes that arrived."""
        self._buffer += data
        if self.team is None and len(self._buffer) >= _INT.size:
            (self.team,) = _INT.unpack(self._take(_INT.size))

    def next_answer(self) -> tuple[int, list[tuple[int, int]]] | None:
        """Return the next complete answer as move id and squares, or None.

        Raises:
            RemoteProtocolError: ``bad_field`` for a count or a coordinate out of range.
        """
        if self.team is None or len(self._buffer) < _ANSWER.size:
            return None
        count, move_id = _ANSWER.unpack_from(self._buffer)
        if not 0 <= count <= CLASSIC_MAX_SQUARES:
            raise RemoteProtocolError("bad_field", f"{count} squares, expected 0 to {CLASSIC_MAX_SQUARES}")
        length = _ANSWER.size + count * _SQUARE.size
        if len(self._buffer) < length:
            return None
        squares = list(_SQUARE.iter_unpack(self._take(length)[_ANSWER.size :]))
        for row, column in squares:
            if not (0 <= row < SIZE and 0 <= column < SIZE):
                raise RemoteProtocolError("bad_field", f"the square ({row}, {column}), expected 0 to {SIZE - 1}")
        return move_id, squares

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken
