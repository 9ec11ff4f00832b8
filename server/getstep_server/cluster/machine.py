"""The machine of a worker: the folder that all workers of a user share there, its cores, and what it can do.

Each match has a core of its own, on which both programs run in turn. Several workers may run on one machine, so a
core is a locked file. The system releases it when a worker dies. The last core comes first: the first one is that
of the judge, if the host itself is on this machine.
"""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import stat
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from getstep.wire import MAX_TEXT
from getstep_server.bot_runner.program_seats import available_cores
from getstep_server.file_lock import lock
from getstep_server.programs.protection import machine_key, try_protections
from getstep_server.records.record import SOFTWARE
from getstep_server.sandbox.check import Finding, missing
from getstep_server.text import escape_control_chars

from .order import SandboxRow, WorkerProof

FOLDER_VARIABLE = "GETSTEP_WORKER_FOLDER"
"""The environment variable that names another folder."""

_TRY_SECONDS = 0.02  # far less than a match takes, and no load

CALIBRATION_RUNS = 7  # odd, for a median; it leaves out runs that were disturbed
_ROUNDS = 200_000

WAIT_SECONDS = 300.0
"""The time to wait for another worker on this machine that tries the sandbox."""


def shared_folder() -> Path:
    """Return the folder of the workers of this user; it is made if it is missing.

    Raises:
        OSError: it cannot be made, or others may write to it: they could change the programs in it.
    """
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    default = Path(tempfile.gettempdir()) / f"getstep-worker-{user}"
    folder = Path(os.environ.get(FOLDER_VARIABLE, default))
    with contextlib.suppress(FileExistsError):  # a worker of an earlier contest has made it
        folder.mkdir(mode=0o700, parents=True)
    # not `stat`: in a folder that all can write to, another user may have made a link of this name
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(f"{folder}: not a folder; set {FOLDER_VARIABLE} to another one")
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        raise PermissionError(f"{folder}: others may write to it; set {FOLDER_VARIABLE} to another one")
    return folder


@contextlib.contextmanager
def own_core(folder: Path, until: float, waiting: Callable[[], None] = lambda: None) -> Iterator[int | None]:
    """Hold a core in the block; wait while all of them are taken. It blocks the thread.

    Args:
        folder: of the workers on this machine.
        until: the end of the wait, by `time.monotonic`.
        waiting: called repeatedly during the wait; what it raises ends the wait.

    Yields:
        The core; None on a system that does not let a program choose one.

    Raises:
        TimeoutError: no core was free until then.
        OSError: the folder cannot be used.
    """
    numbered = enumerate(available_cores())
    # the last core first: the first one is the judge's, if the host is on this machine
    cores = dict(reversed([(f"core-{number if core is None else core}", core) for number, core in numbered]))
    with own_file([folder / name for name in cores], until, waiting) as path:
        yield cores[path.name]


@contextlib.contextmanager
def own_file(paths: list[Path], until: float, waiting: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Hold the lock of the first of these files that is free, and yield it. See `own_core`."""
    while True:
        for path in paths:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)  # for this user only: others could hold the lock
            try:
                try:
                    lock(file)
                except OSError:
                    continue
                yield path
                return
            finally:
                os.close(file)  # this releases the lock
        if time.monotonic() > until:
            raise TimeoutError(f"another process still holds {paths[0]}, and all others like it")
        waiting()
        time.sleep(_TRY_SECONDS)  # `lock` cannot wait for the first free one of several files


# --- the proof ---


def prove(folder: Path) -> WorkerProof:
    """Return the proof of this machine. To try the sandbox takes 6 s; the result is kept until a restart.

    Args:
        folder: of the workers on this machine.

    Raises:
        OSError: the folder cannot be used.
    """
    rows, problem = _sandbox_of(folder)
    return WorkerProof(
        host=escape_control_chars(socket.gethostname())[:200],  # the record takes no longer one
        cores=len(available_cores()),
        software=SOFTWARE,
        python=platform.python_version(),
        platform=platform.platform()[:500],  # as above
        calibration_ms=calibrate(),
        sandbox=rows,
        sandbox_problem=problem,
    )


def calibrate() -> float:
    """Return the time of a fixed computation in milliseconds, the median of some runs.

    It is the processor time of this thread, so other programs disturb it little.
    """
    return round(1000 * statistics.median(_compute() for _ in range(CALIBRATION_RUNS)), 3)


def _compute() -> float:
    """Run a loop of Python with arithmetic, a list, a dictionary and hashes, as bots do; return its seconds."""
    began = time.thread_time()
    digest, counts, total = sha256(), dict[int, int](), 1
    for number in range(_ROUNDS):
        # the constants of the C standard's `rand`; it matters only that the work is the same
        total = (total * 1103515245 + number) % 2147483648
        counts[total % 512] = counts.get(total % 512, 0) + 1
        if number % 16 == 0:
            digest.update(bytes(sorted(value % 256 for value in (total, number, len(counts)))))
    return time.thread_time() - began  # processor time: others may use the machine at the same moment


def _sandbox_of(folder: Path) -> tuple[tuple[SandboxRow, ...], str]:
    """Return the table of the sandbox; or an empty one, and the reason why no program can be started in it."""
    if not hasattr(os, "sched_getaffinity"):
        return (), "the sandbox needs Linux"
    if (reason := missing()) is not None:
        return (), escape_control_chars(reason)[:MAX_TEXT]
    kept = folder / f"sandbox-{machine_key()}.json"
    with own_file([folder / "sandbox.lock"], time.monotonic() + WAIT_SECONDS):
        # not there, or cut by a crash: try the protections again
        with contextlib.suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(kept.read_bytes(), type=tuple[SandboxRow, ...]), ""
        rows = tuple(map(_row, try_protections()))
        if all(row.held for row in rows):
            new = kept.with_suffix(".new")
            new.write_bytes(msgspec.json.encode(rows))
            new.replace(kept)  # in one step: another worker may read it now
    return rows, ""


def _row(finding: Finding) -> SandboxRow:
    detail = escape_control_chars(finding.detail)[:MAX_TEXT]
    return SandboxRow(probe=finding.probe.name, held=finding.held, detail=detail)
