"""The lock of a contest's folder: only one server runs a contest at a time.

The file can be renamed or deleted, so a server also locks the database itself: see `database.Database.claim`.

The operating system releases the lock when the process ends, also after a crash, so there is nothing to clean up.
The text in the file only names the process that holds the lock.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from types import TracebackType

from getstep_server.errors import ConfigError, ContestInUse
from getstep_server.file_lock import lock
from getstep_server.text import utc_time

_NAME = "run.lock"
_TRIES = 5  # see `_lock_soon`
_TRY_SECONDS = 0.02


class ContestLock:
    """The lock of a contest's folder, as a context manager.

    Raises:
        ContestInUse: another process holds the lock; the message names it.
        ConfigError: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._file = -1

    def __enter__(self) -> ContestLock:
        try:
            # not O_EXCL: the file stays when the server ends, and the lock does not
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise ConfigError(f"{self._path}: {error.strerror or error}") from error
        try:
            _lock_soon(self._file)
        except OSError:
            holder = _holder(self._path)
            self.__exit__(None, None, None)  # Python does not call it if `__enter__` raises
            raise in_use(self._path.parent, holder, self._path.parent) from None
        os.ftruncate(self._file, 0)  # not by O_TRUNC: without the lock, the text is that of its holder
        me = f"process {os.getpid()} on {socket.gethostname()}, since {utc_time(time.time())}"
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, me.encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file >= 0:
            os.close(self._file)  # this releases the lock
            self._file = -1


def in_use(place: object, holder: str = "another server", folder: object = "CONTEST") -> ContestInUse:
    """Return the error for a contest that another server runs."""
    return ContestInUse(
        f"{place}: in use by {holder}; only one server can run a contest."
        f" Stop that one first, or watch with: getstep-server standings {folder}"
    )


def server_of(folder: Path) -> str | None:
    """Return the process that runs the contest in ``folder``, or None."""
    path = folder / _NAME
    try:
        file = os.open(path, os.O_RDWR)  # not created: this only asks
    except OSError:
        return None
    try:
        lock(file)  # a server that starts now retries: see `_lock_soon`
    except OSError:
        return _holder(path)
    finally:
        os.close(file)
    return None


def _lock_soon(file: int) -> None:
    """Lock the file, retrying for 0.1 s: `server_of` in another process may hold the lock for a moment."""
    for _ in range(_TRIES - 1):
        try:
            lock(file)
        except OSError:
            time.sleep(_TRY_SECONDS)  # `server_of` holds it for microseconds
        else:
            return
    lock(file)


def _holder(path: Path) -> str:
    try:
        # it ends in a message: any file may be there
        text = path.read_text(encoding="utf-8", errors="replace")[:200].strip()
    except OSError:
        text = ""
    return text or "another process"
