"""Frames that only two holders of the host's key can read and make, and the certificate of a fencing number.

Python's standard library has no cipher. So a frame is encrypted with SHAKE-256 of a key and the frame's number, a
sponge with its key in front, and authenticated with HMAC-SHA256 of the number and the encrypted bytes. Both
directions of both requests have keys of their own, made of the host's key and two nonces: no key and number is used
twice.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from getstep_server.limits import MAX_STANDBY_FRAME_BYTES

_LENGTH_BYTES: Final = 4
_MAC_BYTES: Final = 32
HEAD_BYTES: Final = _LENGTH_BYTES + _MAC_BYTES


class SealError(Exception):
    """A frame is not the next one of the other side: the key is wrong, or bytes were changed, lost or repeated."""


class Sealer:
    """Seals frames of one direction, or opens them; each frame once, in order.

    Args:
        key: the host's.
        nonces: those of both sides, which together were never used before.
        direction: a word that both sides use for this direction.
    """

    def __init__(self, key: str, nonces: str, direction: str) -> None:
        made = hashlib.shake_256(_hmac(key, f"getstep standby v1:{direction}:{nonces}")).digest(64)
        self._cipher_key, self._mac_key = made[:32], made[32:]
        self._number = 0

    def seal(self, data: bytes) -> bytes:
        """Return a frame: its length, its authentication code, and the encrypted data."""
        number = self._next()
        hidden = self._encrypted(number, data)
        return len(hidden).to_bytes(_LENGTH_BYTES, "big") + self._mac(number, hidden) + hidden

    def open(self, head: bytes, hidden: bytes) -> bytes:
        """Return the data of a frame.

        Raises:
            SealError: the frame is not the next one of the other side.
        """
        number = self._next()
        if not hmac.compare_digest(self._mac(number, hidden), head[_LENGTH_BYTES:]):
            raise SealError("a frame that the other side has not sent, or another key")
        return self._encrypted(number, hidden)

    def open_whole(self, frame: bytes) -> bytes:
        """Return the data of a frame that is there as a whole.

        Raises:
            SealError: as `open`, or the length is wrong.
        """
        head, hidden = frame[:HEAD_BYTES], frame[HEAD_BYTES:]
        if len(head) < HEAD_BYTES or length_of(head) != len(hidden):
            raise SealError("a frame with another length than it says")
        return self.open(head, hidden)

    def _next(self) -> bytes:
        self._number += 1
        return self._number.to_bytes(8, "big")

    def _mac(self, number: bytes, hidden: bytes) -> bytes:
        return hmac.digest(self._mac_key, number + hidden, "sha256")

    def _encrypted(self, number: bytes, data: bytes) -> bytes:
        stream = hashlib.shake_256(self._cipher_key + number).digest(len(data))
        return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(data), "big")


def length_of(head: bytes) -> int:
    """Return the number of encrypted bytes that follow a frame's head.

    Raises:
        SealError: more than MAX_STANDBY_FRAME_BYTES.
    """
    length = int.from_bytes(head[:_LENGTH_BYTES], "big")
    if length > MAX_STANDBY_FRAME_BYTES:
        raise SealError(f"a frame of {length} bytes, expected at most {MAX_STANDBY_FRAME_BYTES}")
    return length


def certificate(key: str, fence: int) -> str:
    """Return the 64 hexadecimal digits with which a host that knows the key vouches for a fencing number."""
    return _hmac(key, f"getstep take-over v1:{fence}").hex()


def certifies(key: str, fence: int, given: str) -> bool:
    """Return True if ``given`` is the `certificate` of the number."""
    return hmac.compare_digest(certificate(key, fence).encode(), given.encode())


def _hmac(key: str, text: str) -> bytes:
    return hmac.digest(key.encode(), text.encode(), "sha256")
