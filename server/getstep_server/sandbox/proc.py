"""What /proc tells about a program: whether it has stopped, how much memory it uses, whether it waits for input.

The program is hostile, and may start and end threads while it is looked at. So a file that is gone means that a
thread or a process has ended, and nothing here raises an error for that.
"""

from __future__ import annotations

import contextlib
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from . import syscalls

_PROC = Path("/proc")

# --- has it stopped? ---

_POLL_SECONDS = 0.00005  # a thread that waits for input stops as fast
_LONGEST_POLL_SECONDS = 0.005
_STAT_BYTES = 1024  # of /proc/PID/stat, with 52 numbers
_STOPPED = (b"T", b"t", b"Z", b"X", b"x")  # stopped, or at its end


def wait_until_stopped(pid: int, seconds: float) -> bool:
    """Return True once no thread of a process runs any more, or if it has ended; False if this takes too long.

    After SIGSTOP a thread that is in the kernel first ends its system call.
    """
    deadline, pause = time.monotonic() + seconds, _POLL_SECONDS
    while not _has_stopped(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)  # the kernel tells only the parent of a stop, which is another process here
        pause = min(2 * pause, _LONGEST_POLL_SECONDS)  # most programs are ready at once, and few take seconds
    return True


def _has_stopped(pid: int) -> bool:
    # This is called in each turn: plain strings take half the time of `Path`.
    folder = f"/proc/{pid}/task"
    try:
        threads = os.listdir(folder)  # noqa: PTH208 - see above
        for thread in threads:
            with open(f"{folder}/{thread}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - see above
                # The state follows the name, which may have any bytes in it, brackets too.
                if file.read(_STAT_BYTES).rpartition(b")")[2][1:2] not in _STOPPED:
                    return False
        # A thread that ran while the others were read may have started another one.
        return threads == os.listdir(folder)  # noqa: PTH208 - see above
    except FileNotFoundError:  # a thread has ended, or all of them
        return not Path(f"/proc/{pid}").exists()
    except ProcessLookupError:  # ESRCH: it ended between the opening of a file and its reading
        return True


# --- how much memory does it use? ---

_PERIOD_SECONDS = 0.025  # a program fills about 50 MB in this time; a measurement takes 0.05 ms
_COUNTED = (b"VmRSS:", b"VmPTE:", b"VmSwap:")
"""Lines of /proc/PID/status. Tables of pages count: a page that was only read takes no memory but its entry."""


class MemoryWatch:
    """A thread that measures the memory of a program where no cgroup bounds it, until `stop`.

    Args:
        pid: the first process. Those that it starts are measured with it.
        files: a descriptor of the file system in memory that holds the program's files.
        most: the bytes that are allowed.
        exceeded: called once, in the thread, if it is more.
    """

    def __init__(self, pid: int, files: int, most: int, exceeded: Callable[[], None]) -> None:
        self._pid, self._files, self._most, self._exceeded = pid, files, most, exceeded
        self._stopped = threading.Event()
        self.found = False
        """True if it was too much."""
        # a daemon: a crash of the server must not wait for it
        self._thread = threading.Thread(target=self._run, name="sandbox memory", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop measuring. The descriptor can be closed then."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_PERIOD_SECONDS):
            status = os.fstatvfs(self._files)
            written = (status.f_blocks - status.f_bfree) * status.f_frsize
            if written + _resident(self._pid) > self._most:
                self.found = True
                self._exceeded()
                return


def _resident(pid: int) -> int:
    """Return the bytes of memory of a process and its descendants. Pages that they share count more than once."""
    total = 0
    for process in _tree(pid):
        with contextlib.suppress(OSError, IndexError):  # it has ended
            for line in (process / "status").read_bytes().splitlines():
                if line.startswith(_COUNTED):
                    total += int(line.split()[1]) * 1024  # it is given in kB
    return total


def _tree(pid: int) -> Iterator[Path]:
    """Yield the folders in /proc of a process and its descendants."""
    processes = [_PROC / str(pid)]
    while processes:
        process = processes.pop()
        yield process
        for task in _tasks(process):  # the kernel lists children by the thread that started them
            with contextlib.suppress(OSError):
                processes += (_PROC / child for child in (task / "children").read_text(encoding="ascii").split())


def _tasks(process: Path) -> list[Path]:
    """Return the folders of the threads of a process; none if it has ended."""
    with contextlib.suppress(OSError):  # it has just ended
        return list((process / "task").iterdir())
    return []


# --- does it wait? ---

SAMPLES = 5
"""Looks in a row that have to find a program at rest. With 20 ms in between, a program that is being loaded from a
disk or waits for a processor is not taken for one that waits for input."""

_BUSY = frozenset("RD")  # runs or wants to run, waits for a disk
_READS, _EPOLLS = frozenset({"read", "readv"}), frozenset({"epoll_wait", "epoll_pwait", "epoll_pwait2"})


class WaitWatch:
    """Notices that a program that was started waits: for its input, or for something that uses no processor.

    A program may compute in a thread of its own from its start. So it is enough that one thread waits for the
    input: /proc says in which system call a thread is, and with which descriptor. A program that waits in another
    way, such as by `select`, is noticed if all its threads rest.

    It looks at the process and all its descendants, each time that it is asked.

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
        for process in _tree(self._pid):
            for task in _tasks(process):
                with contextlib.suppress(OSError, ValueError):  # ended, "running", or not shown to this user
                    words = (task / "syscall").read_text(encoding="ascii").split()
                    number, descriptor, *_ = (int(word, 0) for word in words)
                    if number in self._reads and self._is_input(process, descriptor):
                        return True
                    if number in self._epolls and self._has_input(process, descriptor):
                        return True
        return False

    def _is_input(self, process: Path, descriptor: int) -> bool:
        return str((process / f"fd/{descriptor}").readlink()) == self._pipe

    def _has_input(self, process: Path, epoll: int) -> bool:
        lines = (process / f"fdinfo/{epoll}").read_text(encoding="ascii").splitlines()
        watched = (int(line.split()[1]) for line in lines if line.startswith("tfd:"))
        return any(self._is_input(process, descriptor) for descriptor in watched)

    def _rests(self) -> bool:
        """Return True if no thread has run in the last `SAMPLES` looks."""
        states, used = [], 0
        for process in _tree(self._pid):
            for task in _tasks(process):
                with contextlib.suppress(OSError):  # it has just ended
                    # A program chooses the name of a thread: any bytes, with blanks and brackets.
                    fields = (task / "stat").read_bytes().rpartition(b")")[2].split()
                    states.append(fields[0].decode())
                    used += int(fields[11]) + int(fields[12])  # clock ticks in user mode and in the kernel
        # A process that is started or ends between two looks changes the sum, too.
        quiet = bool(states) and used == self._used and _BUSY.isdisjoint(states)
        self._used = used
        self._count = self._count + 1 if quiet else 0
        return self._count >= SAMPLES
