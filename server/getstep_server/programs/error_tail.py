"""The end of what a program writes to standard error, which is told with its failures."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import IO

from getstep_server.limits import (
    PROGRAM_ERROR_BYTES,
    PROGRAM_ERROR_BYTES_PER_SECOND,
    PROGRAM_ERROR_CHARS,
    PROGRAM_ERROR_FREE_BYTES,
    PROGRAM_ERROR_LINES,
)
from getstep_server.text import escape_control_chars

_OF_THE_RUNTIME = re.compile(r"at (javax?|jdk|sun|System|Mono)\b|\.\.\. \d+ more$")
"""A line of a stack trace of Java or C# that is not a place in the program. The exception is above those lines."""

_REST_SECONDS = 0.02  # for what a program wrote before it ended, and which is still in the pipe
_LAST_SECONDS = (
    1.0  # the same for all that is shown: a full pipe has 64 kB, which a slow terminal takes in that time
)


class ErrorTail:
    """The end of what processes write to standard error.

    Args:
        show: called in a thread with all that is written.
    """

    def __init__(self, show: Callable[[bytes], object] | None = None) -> None:
        self._show = show
        self._kept: deque[int] = deque(maxlen=PROGRAM_ERROR_BYTES)
        self._free = PROGRAM_ERROR_FREE_BYTES
        self._readers: list[threading.Thread] = []

    def read(self, stream: IO[bytes] | None) -> None:
        """Keep the end of what is written to ``stream``, in a thread."""
        if stream is not None:
            self._readers = [reader for reader in self._readers if reader.is_alive()]
            reader = threading.Thread(target=self._read, args=(stream,), name="getstep stderr", daemon=True)
            self._readers.append(reader)
            reader.start()

    def _read(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError), stream:
            while data := stream.read1(1 << 16) if hasattr(stream, "read1") else stream.read(1 << 16):
                self._kept.extend(data[-PROGRAM_ERROR_BYTES:])
                if self._show is not None:
                    self._show(data)
                self._free -= len(data)
                if self._free < 0:
                    time.sleep(len(data) / PROGRAM_ERROR_BYTES_PER_SECOND)

    def finish(self) -> None:
        """Wait until all is read that the processes wrote, which have ended."""
        for reader in self._readers:
            reader.join(_LAST_SECONDS)

    def take(self) -> str:
        """Return the last lines as one line, and forget them."""
        for reader in self._readers:
            reader.join(_REST_SECONDS)
        text = bytes(self._kept).decode("utf-8", "replace")
        self._kept.clear()
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        lines = [line for line in lines if not _OF_THE_RUNTIME.match(line)] or lines
        return escape_control_chars(" / ".join(lines[-PROGRAM_ERROR_LINES:]))[-PROGRAM_ERROR_CHARS:]
