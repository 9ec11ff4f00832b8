"""The bytes of classic clients."""

from __future__ import annotations

import struct


def ints(*numbers: int) -> bytes:
    """Numbers as the classic wire has them."""
    return struct.pack(f"<{len(numbers)}i", *numbers)


def answer_bytes(move_id: int, *squares: tuple[int, int]) -> bytes:
    return ints(len(squares), move_id, *(number for square in squares for number in square))
