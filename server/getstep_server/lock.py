"""One run at a time: a contest's folder is locked while a server uses it.

The operating system holds the lock and drops it when the process ends, however it ends: there is nothing to clean
up after a crash. What stands in the file only says who it is.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path
from types import TracebackType

from ._text import utc_time
from ._toml import ConfigError

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        os.lseek(file, _FAR, os.SEEK_SET)  # a lock keeps others from reading there, so not where the text is
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_FAR = 1 << 20
_NAME = "run.lock"


class ContestLock:
    """The lock of a contest's folder, as a context manager.

    Raises:
        ConfigError: another process has it; the message says which.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._file = -1

    def __enter__(self) -> ContestLock:
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        except OSError as error:
            raise ConfigError(f"{self._path}: {error.strerror or error}") from error
        try:
            _lock(self._file)
        except OSError:
            holder = self._holder()
            self.__exit__(None, None, None)
            raise ConfigError(
                f"{self._path.parent}: in use by {holder}; only one server can run a contest."
                f" Stop that one first, or look on with: getstep-server standings {self._path.parent}"
            ) from None
        os.ftruncate(self._file, 0)
        me = f"process {os.getpid()} on {socket.gethostname()}, since {utc_time(time.time())}"
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, me.encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file >= 0:
            os.close(self._file)  # and with it the lock
            self._file = -1

    def _holder(self) -> str:
        try:
            text = self._path.read_text(encoding="utf-8", errors="replace")[:200].strip()
        except OSError:
            text = ""
        return text or "another process"
