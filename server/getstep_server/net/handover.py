"""The data that travel with a connection's socket from one process to another."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class SavedConnection(Struct, frozen=True):
    """A connection after the login, as plain data.

    Attributes:
        wire: the name of its class, which knows the wire.
        address: of the peer.
        client: how the peer calls itself.
        conversation: the state of its wire, with the bytes that were received and not understood yet.
        first_bytes: the first bytes of the latest read.
        frame_age: the seconds since the first byte of an incomplete frame; None if there is none.
        last_received_ns: when something last arrived, by `time.perf_counter_ns`, a clock that all processes share.
    """

    wire: str
    address: str
    client: str
    conversation: dict[str, Any]
    first_bytes: bytes
    frame_age: float | None
    last_received_ns: int
