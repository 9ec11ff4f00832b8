"""The login's signature: a token never crosses the LAN (protocol.md, "Logging in")."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from ._limits import NONCE_DIGITS


def new_nonce() -> str:
    """Fresh random hexadecimal digits for one connection."""
    return secrets.token_hex(NONCE_DIGITS // 2)


def sign(token: str, nonce: str) -> str:
    """HMAC-SHA256 of the ASCII digits of ``nonce``, keyed with the UTF-8 bytes of ``token``; hexadecimal."""
    return hmac.new(token.encode(), nonce.encode(), hashlib.sha256).hexdigest()


def verify(token: str, nonce: str, mac: str) -> bool:
    """Whether ``mac`` is ``sign(token, nonce)``, in a time that does not depend on where it differs."""
    return hmac.compare_digest(sign(token, nonce), mac)
