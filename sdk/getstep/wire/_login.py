"""A server's decision about a login, without its teams: which form of the token was signed, and the proof."""

from __future__ import annotations

from ._auth import canonical_token, prove_fence, prove_server, verify
from ._messages import Join


def signed_token(token: str, nonce: str, join: Join) -> str | None:
    """Return the form of ``token`` with which a client has signed ``nonce``; None if it has signed with another.

    The SDK signs with the canonical form. A host may have written another one, which a client may sign with, too.
    """
    forms = dict.fromkeys((token, canonical_token(token)))
    return next((form for form in forms if verify(form, nonce, join.mac, join.dialled)), None)


def proof_for(token: str, nonce: str, join: Join) -> str | None:
    """Return the proof that the server knows ``token``, and is where the client has dialled.

    None if the client has not asked for it, or has signed with another token.
    """
    signed = signed_token(token, nonce, join)
    if join.nonce is None or signed is None:
        return None
    return prove_server(signed, nonce, join.nonce, join.dialled)


def fence_proof_for(token: str, nonce: str, join: Join, fence: int, certificate: str) -> str | None:
    """Return the proof of the server's fencing number; None where `proof_for` returns None."""
    signed = signed_token(token, nonce, join)
    if join.nonce is None or signed is None:
        return None
    return prove_fence(signed, nonce, join.nonce, fence, certificate)
