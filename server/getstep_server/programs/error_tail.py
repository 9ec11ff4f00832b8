"""The end of what a program writes to standard error, which is told with its failures."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import IO

from getstep_server.text import escape_control_chars

ERROR_BYTES = 4096
"""Bytes of standard error that are kept: the last ones."""

ERROR_LINES, ERROR_CHARS = 3, 300
"""Lines and characters of standard error that are told with a failure: the last lines of a traceback say most."""

FREE_ERROR_BYTES = 16 << 20
ERROR_BYTES_PER_SECOND = 8 << 20
"""Standard error of one program that is read at once, and each second after that: to read without an end would take
the processor from the judge. A program that writes more has to wait."""

_REST_SECONDS = 0.02  # for what a program wrote before it ended, and which is still in the pipe


class ErrorTail:
    """The end of what processes write to standard error."""

    def __init__(self) -> None:
        self._kept: deque[int] = deque(maxlen=ERROR_BYTES)
        self._free = FREE_ERROR_BYTES
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
                self._kept.extend(data[-ERROR_BYTES:])
                self._free -= len(data)
                if self._free < 0:
                    time.sleep(len(data) / ERROR_BYTES_PER_SECOND)

    def take(self) -> str:
        """Return the last lines as one line, and forget them."""
        for reader in self._readers:
            reader.join(_REST_SECONDS)
        text = bytes(self._kept).decode("utf-8", "replace")
        self._kept.clear()
        lines = [line.strip() for line in text.splitlines() if line.strip()][-ERROR_LINES:]
        return escape_control_chars(" / ".join(lines))[-ERROR_CHARS:]
