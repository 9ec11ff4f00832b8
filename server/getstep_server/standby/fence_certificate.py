"""The certificate of a fencing number: bots carry it between hosts; only a holder of the host's key makes it."""

from __future__ import annotations

import hmac


def certificate(key: str, fence: int) -> str:
    """Return the 64 hexadecimal digits with which a host that knows the key vouches for a fencing number."""
    return _hmac(key, f"getstep take-over v1:{fence}").hex()


def certifies(key: str, fence: int, given: str) -> bool:
    """Return True if ``given`` is the `certificate` of the number."""
    return hmac.compare_digest(certificate(key, fence).encode(), given.encode())


def _hmac(key: str, text: str) -> bytes:
    return hmac.digest(key.encode(), text.encode(), "sha256")
