"""Frames that only two holders of the host's key can read and make.

A frame is sealed with ChaCha20-Poly1305 (RFC 8439). Its nonce is the frame's number. Both directions of both
requests have keys of their own, made with HKDF of the host's key and two nonces: no key and number is used twice.
"""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from getstep_server.limits import MAX_STANDBY_FRAME_BYTES

HEAD_BYTES: Final = 4
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16


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
        info = f"getstep standby v2:{direction}".encode()
        derive = HKDF(SHA256(), _KEY_BYTES, salt=nonces.encode(), info=info)
        self._cipher = ChaCha20Poly1305(derive.derive(key.encode()))
        self._number = 0

    def seal(self, data: bytes) -> bytes:
        """Return a frame: the length of what follows, and the encrypted data with its authentication code."""
        head = (len(data) + _TAG_BYTES).to_bytes(HEAD_BYTES, "big")
        return head + self._cipher.encrypt(self._next(), data, head)

    def open(self, head: bytes, hidden: bytes) -> bytes:
        """Return the data of a frame.

        Raises:
            SealError: the frame is not the next one of the other side.
        """
        try:
            return self._cipher.decrypt(self._next(), hidden, head)
        except InvalidTag as error:
            raise SealError("a frame that the other side has not sent, or another key") from error

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
        return self._number.to_bytes(_NONCE_BYTES, "big")


def length_of(head: bytes) -> int:
    """Return the number of bytes that follow a frame's head.

    Raises:
        SealError: more than MAX_STANDBY_FRAME_BYTES.
    """
    length = int.from_bytes(head, "big")
    if length > MAX_STANDBY_FRAME_BYTES:
        raise SealError(f"a frame of {length} bytes, expected at most {MAX_STANDBY_FRAME_BYTES}")
    return length
