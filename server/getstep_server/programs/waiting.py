"""Notices that a program that was started waits: for its input, or for something that uses no processor.

A program may compute in a thread of its own from its start. So it is enough that one thread waits for the input:
/proc says in which system call a thread is, and with which descriptor. A program that waits in another way, such as
by `select`, is noticed if all its threads rest.
"""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator
from pathlib import Path

from getstep_server.sandbox import syscalls

SAMPLES = 5
"""Looks in a row that have to find a program at rest. With 20 ms in between, a program that is being loaded from a
disk or waits for a processor is not taken for one that waits for input."""

_PROC = Path("/proc")
_BUSY = frozenset("RD")  # runs or wants to run, waits for a disk
_READS, _EPOLLS = frozenset({"read", "readv"}), frozenset({"epoll_wait", "epoll_pwait", "epoll_pwait2"})


class WaitWatch:
    """Looks at a process and all its descendants, each time that it is asked.

    Args:
        pid: of the process.
        pipe: the number (inode) of the pipe that is its standard input.
    """

    def __init__(self, pid: int, pipe: int) -> None:
        self._pid = pid
        self._pipe = f"pipe:[{pipe}]"
        self._used = -1
        self._count = 0
        try:
            numbers = syscalls.numbers(syscalls.ALLOWED, platform.machine())
        except KeyError:  # another processor, on which only rest is noticed
            numbers = {}
        self._reads, self._epolls = ({numbers.get(name) for name in names} for names in (_READS, _EPOLLS))

    def is_waiting(self) -> bool:
        """Return True if the program waits; also where the system cannot tell."""
        if not _PROC.is_dir():
            return True
        return self._is_reading() or self._rests()

    def _is_reading(self) -> bool:
        """Return True if a thread is in a system call that waits for the input."""
        for pid in _tree(self._pid):
            for path in _PROC.glob(f"{pid}/task/*/syscall"):
                with contextlib.suppress(OSError, ValueError):  # ended, "running", or not shown to this user
                    number, descriptor, *_ = (int(word, 0) for word in path.read_text(encoding="ascii").split())
                    if number in self._reads and self._is_input(pid, descriptor):
                        return True
                    if number in self._epolls and self._has_input(pid, descriptor):
                        return True
        return False

    def _is_input(self, pid: int, descriptor: int) -> bool:
        return str((_PROC / f"{pid}/fd/{descriptor}").readlink()) == self._pipe

    def _has_input(self, pid: int, epoll: int) -> bool:
        """Return True if an epoll descriptor waits for the input."""
        lines = (_PROC / f"{pid}/fdinfo/{epoll}").read_text(encoding="ascii").splitlines()
        watched = (int(line.split()[1]) for line in lines if line.startswith("tfd:"))
        return any(self._is_input(pid, descriptor) for descriptor in watched)

    def _rests(self) -> bool:
        """Return True if no thread has run in the last `SAMPLES` looks."""
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
