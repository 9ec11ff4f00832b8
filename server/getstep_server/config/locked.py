"""A block that one process at a time runs: a change of a file that starts by reading it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from getstep_server.errors import ConfigError
from getstep_server.file_lock import lock

LOCK_SECONDS = 5.0
"""The longest wait for another process, which takes some milliseconds."""


@contextmanager
def exclusively(path: Path, busy: str) -> Iterator[None]:
    """Let no other process, and no other thread, run a block with the same lock file.

    Args:
        path: of the lock file.
        busy: what another process does, for the message.

    Raises:
        ConfigError: another one does so for too long, or the lock file cannot be written.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    try:
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                lock(file)
                break
            except OSError as error:
                if time.monotonic() > until:
                    raise ConfigError(f"{path}: {busy}; try again") from error
                time.sleep(0.02)  # the other one takes some milliseconds
        yield
    finally:
        os.close(file)  # this releases the lock
