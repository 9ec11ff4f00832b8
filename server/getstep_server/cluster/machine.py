"""The machine of a worker: the folder that all workers of a user share there, and its processor cores.

Each match has a core of its own, on which both programs run in turn. Several workers may run on one machine, so a
core is a locked file. The system releases it when a worker dies. The last core comes first: the first one is that
of the judge, if the host itself is on this machine.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from getstep_server.bot_runner.program_seats import available_cores
from getstep_server.file_lock import lock

FOLDER_VARIABLE = "GETSTEP_WORKER_FOLDER"
"""The environment variable that names another folder."""

_TRY_SECONDS = 0.02


def shared_folder() -> Path:
    """Return the folder of the workers of this user; it is made if it is missing.

    Raises:
        OSError: it cannot be made, or others may write to it: they could change the programs in it.
    """
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    default = Path(tempfile.gettempdir()) / f"getstep-worker-{user}"
    folder = Path(os.environ.get(FOLDER_VARIABLE, default))
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
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
        waiting: called again and again meanwhile; what it raises ends the wait.

    Yields:
        The core; None on a system that does not let a program choose one.

    Raises:
        TimeoutError: no core was free until then.
        OSError: the folder cannot be used.
    """
    numbered = enumerate(available_cores())
    cores = dict(reversed([(f"core-{number if core is None else core}", core) for number, core in numbered]))
    with own_file([folder / name for name in cores], until, waiting) as path:
        yield cores[path.name]


@contextlib.contextmanager
def own_file(paths: list[Path], until: float, waiting: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Hold the lock of the first of these files that is free, and yield it. See `own_core`."""
    while True:
        for path in paths:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
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
        time.sleep(_TRY_SECONDS)
