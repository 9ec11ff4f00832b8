"""A full disk ends nothing: writers wait until there is room, and no new match starts until then.

If the journal or the record of a match does not fit on the disk, the match waits between two turns, when no clock
runs. The host only has to free some space. The same holds while another program has locked the database.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

import trio

from getstep_server.events import DatabaseAway, DatabaseLocked, DiskFull, DiskLow, DiskUsable, Publish
from getstep_server.limits import DISK_CHECK_SECONDS, DISK_LEAST_FREE_BYTES, DISK_LOW_BYTES

from .database import DatabaseError, DatabaseProblem

T = TypeVar("T")

StorageProblem: TypeAlias = DiskFull | DatabaseLocked | DatabaseAway

_SYSTEM = frozenset(
    getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS") if hasattr(errno, name)
)
_EVENTS: dict[DatabaseProblem, type[StorageProblem]] = {
    DatabaseProblem.FULL: DiskFull,
    DatabaseProblem.LOCKED: DatabaseLocked,
    DatabaseProblem.AWAY: DatabaseAway,
}
"""The event for each problem after which a later write may succeed."""


class Disk:
    """The disk that a contest's folder is on.

    Args:
        folder: the contest's.
        publish: called when little room is left, when nothing can be written, and when everything can be again.
    """

    def __init__(self, folder: Path, publish: Publish) -> None:
        self._folder = folder
        self._publish = publish
        self._waiting = 0
        self._scarce = False
        self._low = False
        self._published: set[type[StorageProblem]] = set()

    @property
    def writable(self) -> bool:
        """Return True if there is room for another match."""
        return not self._waiting and not self._scarce

    async def retry_until_written(self, write: Callable[[], Awaitable[T]]) -> T:
        """Call ``write`` until the disk has taken it, and return its result.

        Raises:
            Exception: as ``write``, for anything that more room on the disk would not help.
        """
        try:
            return await write()
        except (OSError, DatabaseError) as error:
            if not more_room_helps(error):
                raise
            self._waiting += 1
            try:
                self._publish_once(self._problem(error))
                return await self._retry(write)
            finally:
                self._waiting -= 1
                self._publish_if_writable()

    async def _retry(self, write: Callable[[], Awaitable[T]]) -> T:
        while True:
            await trio.sleep(DISK_CHECK_SECONDS)  # no system tells when space is freed
            try:
                return await write()
            except (OSError, DatabaseError) as error:
                if not more_room_helps(error):
                    raise
                self._publish_once(self._problem(error))

    async def run(self) -> None:
        """Check the free space every DISK_CHECK_SECONDS until cancelled."""
        while True:
            free = await trio.to_thread.run_sync(self._free)
            self._warn_if_low(free)
            self._scarce = free < DISK_LEAST_FREE_BYTES
            if self._scarce:
                why = f"{free / 1e6:.1f} MB are free, {DISK_LEAST_FREE_BYTES / 1e6:.1f} are wanted"
                self._publish_once(DiskFull(str(self._folder), why))
            self._publish_if_writable()
            await trio.sleep(DISK_CHECK_SECONDS)  # as above

    def _warn_if_low(self, free: float) -> None:
        """Warn once, and again only after there was twice the room: free space goes up and down a little."""
        if free < DISK_LOW_BYTES and not self._low:
            self._publish(DiskLow(str(self._folder), int(free), DISK_LEAST_FREE_BYTES))
        self._low = free < DISK_LOW_BYTES or (self._low and free < 2 * DISK_LOW_BYTES)

    def _free(self) -> float:
        try:
            return shutil.disk_usage(self._folder).free
        except OSError:  # the next write tells what is wrong
            return float("inf")

    def _problem(self, error: OSError | DatabaseError) -> StorageProblem:
        kind = _EVENTS[error.problem] if isinstance(error, DatabaseError) else DiskFull
        return kind(str(self._folder), str(error))

    def _publish_once(self, problem: StorageProblem) -> None:
        """Publish each kind of problem once, until everything can be written again."""
        if type(problem) not in self._published:
            self._published.add(type(problem))
            self._publish(problem)

    def _publish_if_writable(self) -> None:
        if self.writable and self._published:
            self._published.clear()
            self._publish(DiskUsable(str(self._folder)))


def more_room_helps(error: OSError | DatabaseError) -> bool:
    """Return True if a later write may succeed: the disk is full or fails, or the database is in use or away."""
    if isinstance(error, OSError):
        return error.errno in _SYSTEM
    return error.problem in _EVENTS
