"""The end of a run because another computer has taken over the contest."""

from __future__ import annotations

import trio

from getstep_server.config.contest import Contest
from getstep_server.config.host_key import host_key
from getstep_server.errors import ContestStopped
from getstep_server.net.registry import Fence
from getstep_server.standby.fence_certificate import certificate, certifies
from getstep_server.standby.marks import Mark, lost_text, read_mark, was_followed, write_mark

LOOK_SECONDS = 0.5
"""The interval at which the mark is looked for: the page writes it, and nothing tells this process."""

GRACE_SECONDS = 5.0
"""A host waits for so long before it plays if another one may have taken over: that one tells it in this time."""


class Fencing:
    """Watches for another host with a higher fencing number.

    Args:
        contest: the contest.
        number: the fencing number of this host.
    """

    def __init__(self, contest: Contest, number: int) -> None:
        self._contest = contest
        self._heard: Mark | None = None
        key = host_key(contest.folder)
        self.fence = Fence(number, "" if key is None else certificate(key.key, number), self._hear)

    def _hear(self, number: int, given: str) -> None:
        """Keep a number that a client has sent, if its certificate is right."""
        key = host_key(self._contest.folder)
        if key is not None and certifies(key.key, number, given):
            self._heard = Mark(role="lost", host="", port=0, fence=number)

    async def run(self) -> None:
        """Run until another host has taken over.

        Raises:
            ContestStopped: that is so; the folder is marked, so that no later run begins.
            ConfigError: the mark cannot be written or read.
        """
        folder = self._contest.folder
        while True:
            mark = await trio.to_thread.run_sync(read_mark, folder)
            if (mark is None or mark.role != "lost") and self._heard is not None:
                mark = self._heard
                await trio.to_thread.run_sync(write_mark, folder, mark)
            if mark is not None and mark.role == "lost":
                raise ContestStopped(lost_text(self._contest, mark))
            await trio.sleep(LOOK_SECONDS)

    async def wait_for_word(self) -> None:
        """Wait until another host that has taken over would have said so; not at all if there can be none."""
        if await trio.to_thread.run_sync(self._may_be_lost):
            await trio.sleep(GRACE_SECONDS)

    def _may_be_lost(self) -> bool:
        """Return True if there was a standby host, or another copy comes before this one."""
        mark = read_mark(self._contest.folder)
        return was_followed(self._contest.running) or (mark is not None and mark.rank > 0)
