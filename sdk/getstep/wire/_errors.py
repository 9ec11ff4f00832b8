"""Two kinds of errors: this program's, and the peer's."""

from __future__ import annotations


class ProtocolError(Exception):
    """The base of the two errors: a rule of protocol.md was broken."""


class LocalProtocolError(ProtocolError):
    """This program tried to send a message that its state does not allow, or a value that cannot be encoded."""


class RemoteProtocolError(ProtocolError):
    """The peer sent something that the protocol does not allow.

    Args:
        code: the reason code of protocol.md, such as ``"oversize_frame"``.
        detail: one sentence for people, with the offending value.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
