"""Notices that a program waits: it has been started, and uses no processor until it gets input."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

SAMPLES = 5
"""Looks in a row that have to find a program waiting. With 20 ms in between, a program that is being loaded from a
disk or waits for a processor is not taken for one that waits for input."""

_PROC = Path("/proc")
_BUSY = frozenset("RD")  # runs or wants to run, waits for a disk


class IdleWatch:
    """Looks at a process and all its descendants, each time that it is asked.

    Args:
        pid: of the process.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._used = -1
        self._count = 0

    def is_idle(self) -> bool:
        """Return True if no thread has run since the last `SAMPLES` calls; also where the system cannot tell."""
        if not _PROC.is_dir():
            return True
        states, used = [], 0
        for pid in _tree(self._pid):
            for state, ticks in _threads(pid):
                states.append(state)
                used += ticks
        quiet = bool(states) and used == self._used and _BUSY.isdisjoint(states)
        self._used = used
        self._count = self._count + 1 if quiet else 0
        return self._count >= SAMPLES


def _tree(pid: int) -> Iterator[int]:
    """Yield a process and its descendants."""
    yield pid
    for children in _PROC.glob(f"{pid}/task/*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_bytes().split():
                yield from _tree(int(child))


def _threads(pid: int) -> Iterator[tuple[str, int]]:
    """Yield the state of each thread of a process, and the clock ticks of processor time that it has used."""
    for stat in _PROC.glob(f"{pid}/task/*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            # A program chooses the name of a thread: any bytes, with blanks and brackets.
            fields = stat.read_bytes().rpartition(b")")[2].split()
            yield fields[0].decode(), int(fields[11]) + int(fields[12])
