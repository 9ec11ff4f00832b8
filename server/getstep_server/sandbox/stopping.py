"""Waits until a process that got SIGSTOP has stopped: a thread in the kernel first ends its call."""

from __future__ import annotations

import os
import time
from pathlib import Path

_POLL_SECONDS = 0.00005  # a thread that waits for input stops as fast
_LONGEST_POLL_SECONDS = 0.005
_STAT_BYTES = 1024  # of /proc/PID/stat, with 52 numbers
_STOPPED = (b"T", b"t", b"Z", b"X", b"x")  # stopped, or at its end


def wait_until_stopped(pid: int, seconds: float) -> bool:
    """Return True once no thread of a process runs any more, or if it has ended; False if this takes too long."""
    deadline, pause = time.monotonic() + seconds, _POLL_SECONDS
    while not _has_stopped(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_POLL_SECONDS)
    return True


def _has_stopped(pid: int) -> bool:
    try:
        threads = _threads(pid)
        for thread in threads:
            with open(f"/proc/{pid}/task/{thread}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - half the time
                if file.read(_STAT_BYTES).rpartition(b")")[2][1:2] not in _STOPPED:
                    return False
        return threads == _threads(pid)  # none was started meanwhile
    except FileNotFoundError:  # a thread has ended, or all of them
        return not Path(f"/proc/{pid}").exists()
    except ProcessLookupError:
        return True


def _threads(pid: int) -> list[str]:
    return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - it takes half the time, and is called in each turn
