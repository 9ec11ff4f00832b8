"""When bytes arrived at this machine, as opposed to when we woke up to read them.

Linux stamps received data if asked to. A stamp is wall-clock time, and a wall clock can be set; so a stamp is
turned into an *age*, and an age is believed only if it fits between the last look at that connection and now.
Where there are no stamps the age is 0: the wake-up is all there is, and the log says so.
"""

from __future__ import annotations

import platform
import socket
import struct
import sys
import time

from .limits import CLOCK_STEP_SECONDS, RECEIVE_BYTES

_SO_TIMESTAMPNS = 35
"""Linux's number on the machines below; Python 3.11 has no name for it, and the ancillary data has the same one."""

_MACHINES = frozenset({"x86_64", "aarch64", "riscv64", "i686", "armv7l", "ppc64le", "s390x"})
_TIMESPEC = struct.Struct("@ll")
_CLOCK_STEP_NS = round(CLOCK_STEP_SECONDS * 1e9)
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size) if hasattr(socket, "CMSG_SPACE") else 0


def stamps_supported() -> bool:
    """Whether this system can stamp received data."""
    return sys.platform == "linux" and platform.machine() in _MACHINES and _ANCILLARY_BYTES > 0


def switch_on(listener: socket.socket) -> bool:
    """Have everything that arrives on connections from ``listener`` stamped; whether that worked.

    The option belongs on the listener: a connection inherits it before its first byte can arrive.
    """
    if not stamps_supported():
        return False
    try:
        listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


def receive(sock: socket.socket) -> tuple[bytes, int | None]:
    """What has arrived, and the stamp of its last segment in nanoseconds of wall-clock time, or None.

    Raises:
        OSError: as ``recv``.
    """
    if not _ANCILLARY_BYTES:
        return sock.recv(RECEIVE_BYTES), None
    data, ancillary, _, _ = sock.recvmsg(RECEIVE_BYTES, _ANCILLARY_BYTES)
    for level, kind, value in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(value) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(value)
            return data, seconds * 1_000_000_000 + nanoseconds
    return data, None


class AgeOf:
    """Turns stamps into ages, through steps of the wall clock.

    The offset between the wall clock and the monotonic one changes only when somebody sets the clock. The last
    offset before a step is kept for stamps that were made before it and are read after it.
    """

    def __init__(self) -> None:
        self._offset = self._offset_before = time.time_ns() - time.perf_counter_ns()

    def __call__(self, stamp: int, not_before: int) -> float | None:
        """The age of ``stamp`` in seconds, or None if no reading of the clocks makes sense of it.

        Args:
            stamp: nanoseconds of wall-clock time.
            not_before: nanoseconds of ``time.perf_counter_ns``: when this connection was looked at before.
        """
        now = time.perf_counter_ns()
        offset = time.time_ns() - now
        if abs(offset - self._offset) > _CLOCK_STEP_NS:
            self._offset_before, self._offset = self._offset, offset
        for candidate in (offset, self._offset_before):
            arrived = stamp - candidate
            if not_before <= arrived <= now:
                return (now - arrived) / 1e9
        return None
