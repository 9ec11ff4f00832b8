"""Locks of files. The operating system releases them when a process ends, also after a crash."""

from __future__ import annotations

import os
import struct
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
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not waiting: the caller says who holds it


def lock_byte(file: int, place: int) -> None:
    """Lock one byte of a file, or raise OSError if it is locked already; do nothing where only Linux can do it.

    The lock belongs to the open file. Unlike one of POSIX, it is not lost when another part of the process opens
    and closes the same file; unlike one of `flock`, it does not hinder readers on NFS.
    """
    if sys.platform == "linux":
        # struct flock: type, whence, start, length, pid
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))


_FAR = 1 << 20  # behind the text of any lock file, which has less than 200 bytes
