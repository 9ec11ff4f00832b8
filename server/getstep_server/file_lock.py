"""Locks of files. The operating system releases them when a process ends, also after a crash."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":
    import msvcrt

    def lock(file: int) -> None:
        """Lock an open file, or raise OSError if another process has locked it."""
        os.lseek(file, _FAR, os.SEEK_SET)  # Windows blocks reads of locked bytes: lock bytes behind the text
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def lock(file: int) -> None:
        """Lock an open file, or raise OSError if another process has locked it."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_FAR = 1 << 20
