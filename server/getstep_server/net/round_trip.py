"""The time that a packet takes to a client and back, as the kernel has measured it."""

from __future__ import annotations

import socket
import struct
import sys

_SHORTEST = struct.Struct("=148xI")
"""The field `tcpi_min_rtt` of Linux's `struct tcp_info`, in microseconds; since Linux 4.6."""

_UNKNOWN = 0xFFFFFFFF
"""Its value before the first acknowledgement."""


def round_trip_ms(sock: socket.socket) -> float | None:
    """Return the shortest round trip of the last 5 minutes, in ms; None if the kernel does not know it.

    One system call of 1 µs. Any thread may call this, also while the socket is closed.

    The kernel also has a mean, `tcpi_rtt`. It is no measure of the network here: a client acknowledges a question
    together with its answer, so the mean contains up to 40 ms of thinking. With bots on the same computer that
    think for 10 ms, the mean was 10 ms, and the shortest 0.01 ms.
    """
    if sys.platform != "linux":  # others have another structure, or none
        return None
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SHORTEST.size)
        (microseconds,) = _SHORTEST.unpack(info)
    except (OSError, struct.error):  # the socket is closed, or is none of TCP; an older kernel has a shorter one
        return None
    return None if microseconds == _UNKNOWN else round(microseconds / 1000, 1)
