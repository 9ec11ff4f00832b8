"""A full disk stops nothing for good: who cannot write waits here, and no new match starts until there is room.

A match whose journal or record does not fit on the disk stands still between two turns, where no clock runs.
Freeing some space is all the host has to do. So it is if another program does not let go of the database.
"""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

import trio

from .events import DatabaseHeld, DiskFull, DiskUsable, Publish
from .limits import DISK_LEAST_FREE_BYTES, DISK_LOOKED_AT_EVERY_SECONDS

T = TypeVar("T")

_Trouble: TypeAlias = DiskFull | DatabaseHeld

_SYSTEM = frozenset(
    getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS") if hasattr(errno, name)
)
_DATABASE = frozenset([sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY])


class Disk:
    """The disk that a contest's folder is on.

    Args:
        folder: the contest's.
        publish: called when nothing can be written any more, and when it can again.
    """

    def __init__(self, folder: Path, publish: Publish) -> None:
        self._folder = folder
        self._publish = publish
        self._waiting = 0
        self._scarce = False
        self._said: set[type[_Trouble]] = set()

    @property
    def usable(self) -> bool:
        """Whether there is room for another match."""
        return not self._waiting and not self._scarce

    async def insist(self, write: Callable[[], Awaitable[T]]) -> T:
        """Have ``write`` called until the disk has taken it.

        Raises:
            Exception: as ``write``, for anything that more room would not mend.
        """
        try:
            return await write()
        except (OSError, sqlite3.OperationalError) as error:
            if not more_room_helps(error):
                raise
            self._waiting += 1
            try:
                self._say(self._trouble(error))
                return await self._again(write)
            finally:
                self._waiting -= 1
                self._say_if_usable()

    async def _again(self, write: Callable[[], Awaitable[T]]) -> T:
        while True:
            await trio.sleep(DISK_LOOKED_AT_EVERY_SECONDS)
            try:
                return await write()
            except (OSError, sqlite3.OperationalError) as error:
                if not more_room_helps(error):
                    raise
                self._say(self._trouble(error))

    async def run(self) -> None:
        """Look at the room that is left, again and again, until cancelled."""
        while True:
            free = await trio.to_thread.run_sync(self._free)
            self._scarce = free < DISK_LEAST_FREE_BYTES
            if self._scarce:
                why = f"{free / 1e6:.1f} MB are free, {DISK_LEAST_FREE_BYTES / 1e6:.1f} are wanted"
                self._say(DiskFull(str(self._folder), why))
            self._say_if_usable()
            await trio.sleep(DISK_LOOKED_AT_EVERY_SECONDS)

    def _free(self) -> float:
        try:
            return shutil.disk_usage(self._folder).free
        except OSError:  # who writes will find out what is wrong
            return float("inf")

    def _trouble(self, error: OSError | sqlite3.Error) -> _Trouble:
        held = isinstance(error, sqlite3.Error) and _code(error) == sqlite3.SQLITE_BUSY
        return (DatabaseHeld if held else DiskFull)(str(self._folder), str(error))

    def _say(self, trouble: _Trouble) -> None:
        """Each kind of trouble is said once until all is well again."""
        if type(trouble) not in self._said:
            self._said.add(type(trouble))
            self._publish(trouble)

    def _say_if_usable(self) -> None:
        if self.usable and self._said:
            self._said.clear()
            self._publish(DiskUsable(str(self._folder)))


def more_room_helps(error: OSError | sqlite3.Error) -> bool:
    """Whether writing again later may succeed: a full or ailing disk, a database in use, no mistake of ours."""
    if isinstance(error, OSError):
        return error.errno in _SYSTEM
    return _code(error) in _DATABASE


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
