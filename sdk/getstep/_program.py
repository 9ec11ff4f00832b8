"""The process at the import of getstep: a program that is started again begins in the same folder."""

from __future__ import annotations

import os
from pathlib import Path


def _folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return None


FOLDER = _folder()
"""The current folder. A bot may change it later, often to that of its own file."""

PID = os.getpid()
"""The id of the process. A copy that `os.fork` has made has another one, and the command line of the original."""
