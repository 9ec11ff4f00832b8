"""The live page of a running contest, as a process of its own.

The process of the page inherits the listening socket. So the address is known before the contest starts, stays the
same if the page dies, and browsers that come in between wait until it is back.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from functools import partial

from getstep_server.children.keeping import keep_running
from getstep_server.children.log import ChildLog
from getstep_server.children.process import run, start
from getstep_server.config.contest import Contest
from getstep_server.events import Bus, PageEnded


async def keep_page(contest: Contest, bus: Bus, listener: socket.socket) -> None:
    """Start the page, and start it again whenever it ends, until cancelled."""
    files: list[int] = []
    if sys.platform == "win32":  # it passes no descriptors to another process: the page listens itself
        where = listener.getsockname()[:2]
        listener.close()
    else:
        where = files = [listener.fileno()]
    command = [sys.executable, "-m", "getstep_server.web", str(contest.folder), *map(str, where)]
    await keep_running(
        partial(_run_page, contest, command, files), lambda code, pause: bus.publish(PageEnded(code, pause))
    )


async def _run_page(contest: Contest, command: Sequence[str], files: Sequence[int]) -> int:
    """Run the page until it ends, and return its exit code; if this is cancelled, end it."""
    try:
        with ChildLog(contest.folder / "page.log", append=True) as log:
            return await run(await start(command, files=files), log)
    except OSError:  # no memory or no process left: the contest is more important
        return -1
