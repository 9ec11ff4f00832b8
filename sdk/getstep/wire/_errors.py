"""Two different mistakes: ours, and the peer's."""

from __future__ import annotations


class ProtocolError(Exception):
    """The conversation broke a rule of protocol.md."""


class LocalProtocolError(ProtocolError):
    """This program tried to say something it may not say now, or something that is not a message."""


class RemoteProtocolError(ProtocolError):
    """The peer said something it may not say.

    Args:
        code: the reason code of protocol.md, such as ``"oversize_frame"``.
        detail: one sentence for people, with the offending value.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
