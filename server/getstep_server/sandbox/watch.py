"""Measures the memory of a program's processes, where no cgroup bounds it, and calls back when it is too much."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

_PERIOD_SECONDS = 0.025  # a program fills about 50 MB in this time; a measurement takes 0.05 ms
_COUNTED = (b"VmRSS:", b"VmPTE:", b"VmSwap:")
"""Lines of /proc/PID/status. Tables of pages count: a page that was only read takes no memory but its entry."""


class MemoryWatch:
    """A thread that measures until `stop`.

    Args:
        pid: the first process. Those that it starts are measured with it.
        files: a descriptor of the file system in memory that holds the program's files.
    """

    def __init__(self, pid: int, files: int, most: int, exceeded: Callable[[], None]) -> None:
        self._pid, self._files, self._most, self._exceeded = pid, files, most, exceeded
        self._stopped = threading.Event()
        self.found = False
        """True if it was too much."""
        self._thread = threading.Thread(target=self._run, name="sandbox memory", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop measuring. The descriptor can be closed then."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_PERIOD_SECONDS):
            if self._used() > self._most:
                self.found = True
                self._exceeded()
                return

    def _used(self) -> int:
        status = os.fstatvfs(self._files)
        return (status.f_blocks - status.f_bfree) * status.f_frsize + _resident(self._pid)


def _resident(pid: int) -> int:
    """Return the bytes of memory of a process and its descendants. Pages that they share count more than once."""
    total, processes = 0, [str(pid)]
    while processes:
        process = Path("/proc", processes.pop())
        with contextlib.suppress(OSError, IndexError):  # it has ended
            for line in (process / "status").read_bytes().splitlines():
                if line.startswith(_COUNTED):
                    total += int(line.split()[1]) * 1024
            for thread in (process / "task").iterdir():
                processes += (thread / "children").read_text(encoding="ascii").split()
    return total
