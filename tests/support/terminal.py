"""Runs the command ``getstep`` in a terminal of 80 columns and 24 lines."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence

from tests.support.patience import PATIENCE_SECONDS


def run_in_terminal(arguments: Sequence[str], typed: bytes = b"") -> tuple[str, int]:
    """Return what the terminal got, and the exit code. ``typed`` is typed at the start."""
    import fcntl  # not on Windows
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    with subprocess.Popen(
        [sys.executable, "-m", "getstep", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        os.write(ours, typed)
        shown: list[bytes] = []
        reader = threading.Thread(target=_read, args=(ours, shown), daemon=True)
        reader.start()
        code = process.wait(PATIENCE_SECONDS)
        reader.join(PATIENCE_SECONDS)
    os.close(ours)
    return b"".join(shown).decode("utf-8", "replace"), code


def _read(descriptor: int, shown: list[bytes]) -> None:
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # Linux's end of file
            return
        if not data:
            return
        shown.append(data)
