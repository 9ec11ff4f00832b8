"""The signatures of the logins: none of them carries the token across the LAN (protocol.md, "Logging in")."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

from ._limits import NONCE_DIGITS

_SERVER_PROOF = "getstep server proof v1:"
# Domain separation. A client signs any 32 hexadecimal digits that a server chooses. The server's message begins
# with characters that are not hexadecimal, so a client's signature can never be passed off as a server's proof.

_LOGIN_AT, _SERVER_PROOF_AT = "getstep login v2:", "getstep server proof v2:"
# The same for logins that name the address that the client has dialled. A relay can neither change nor remove it:
# the signature fits no login without it.

_FENCE = "getstep fence v1:"
# Of its own again: a client that is older checks the proof above, which is the same with and without a number.

_PAGE_LOGIN = "getstep page login v1:"
# Domain separation again: a false page cannot use the signature of a browser for the login of a bot.

TOKEN_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # noqa: S105 - the alphabet, not a token
"""The letters and digits of the tokens that a server makes: those that look alike on paper are left out."""

_GENERATED = re.compile(f"[{TOKEN_LETTERS}]{{12}}")


def canonical_token(token: str) -> str:
    """Return a token that a server has made as it is on paper: lower case, three groups of four, with dashes.

    It may be in either case, and have dashes and spaces anywhere or nowhere. A token of any other kind, which a
    host has made up, is returned unchanged.
    """
    letters = re.sub(r"[-\s]", "", token).lower()
    if not _GENERATED.fullmatch(letters):
        return token
    return "-".join((letters[:4], letters[4:8], letters[8:]))


def new_nonce() -> str:
    """Return fresh random hexadecimal digits for one connection."""
    return secrets.token_hex(NONCE_DIGITS // 2)


def sign(token: str, nonce: str, dialled: str | None = None) -> str:
    """Return the client's signature: an HMAC-SHA256 as hexadecimal digits. The key is the UTF-8 bytes of ``token``.

    It covers the ASCII digits of ``nonce``, and the address that the client has dialled, if it says so in `join`.
    """
    return _hmac(token, nonce if dialled is None else _LOGIN_AT + nonce + dialled)


def verify(token: str, nonce: str, mac: str, dialled: str | None = None) -> bool:
    """Return True if ``mac`` is that of `sign`. The time taken does not depend on where they differ."""
    return hmac.compare_digest(sign(token, nonce, dialled), mac)


def prove_server(token: str, server_nonce: str, client_nonce: str, dialled: str | None = None) -> str:
    """Return the server's proof that it knows ``token``, as hexadecimal digits.

    It covers both nonces: the client's makes it fresh, the server's ties it to this connection. With ``dialled`` it
    also says that the server is at that address.
    """
    nonces = server_nonce + client_nonce
    return _hmac(token, _SERVER_PROOF + nonces if dialled is None else _SERVER_PROOF_AT + nonces + dialled)


def verify_server(token: str, server_nonce: str, client_nonce: str, proof: str, dialled: str | None = None) -> bool:
    """Return True if ``proof`` is that of `prove_server`. The time taken does not depend on where they differ."""
    return hmac.compare_digest(prove_server(token, server_nonce, client_nonce, dialled), proof)


def prove_fence(token: str, server_nonce: str, client_nonce: str, fence: int, certificate: str) -> str:
    """Return the server's proof of its fencing number and of the certificate with it, as hexadecimal digits."""
    return _hmac(token, f"{_FENCE}{server_nonce}{client_nonce}{fence}:{certificate}")


def verify_fence(
    token: str, server_nonce: str, client_nonce: str, fence: int, certificate: str, proof: str
) -> bool:
    """Return True if ``proof`` is that of `prove_fence`. The time taken does not depend on where they differ."""
    return hmac.compare_digest(prove_fence(token, server_nonce, client_nonce, fence, certificate), proof)


def sign_page_login(token: str, nonce: str) -> str:
    """Return a browser's signature for the login on the live page, as hexadecimal digits."""
    return _hmac(token, _PAGE_LOGIN + nonce)


def _hmac(token: str, text: str) -> str:
    return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()
