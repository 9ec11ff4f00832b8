"""The live page of a running contest, as a process of its own.

The process of the page inherits the listening socket. So the address is known before the contest starts, stays the
same if the page dies, and browsers that come in between wait until it is back.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import trio

from getstep_server.config.contest import Contest
from getstep_server.events import Bus, PageEnded
from getstep_server.pauses import Pauses

from ._helper_processes import wait_or_end

LOG_BYTES = 1_000_000
"""The size of page.log at which it is begun again."""


async def keep_page(contest: Contest, bus: Bus, listener: socket.socket) -> None:
    """Start the page, and start it again after growing pauses whenever it ends, until cancelled."""
    pauses = Pauses()
    while True:
        code = await _run_page(contest.folder, listener)
        pause = pauses.next()
        bus.publish(PageEnded(code, pause))
        await trio.sleep(pause)
        pauses.begin()


async def _run_page(folder: Path, listener: socket.socket) -> int:
    """Run the page until it ends, and return its exit code; if this is cancelled, end it."""
    try:
        process = await _start(folder, listener)
    except OSError:  # no memory or no process left: the contest is more important
        return -1
    return await wait_or_end(process)


async def _start(folder: Path, listener: socket.socket) -> trio.Process:
    command = [sys.executable, "-m", "getstep_server.web", str(folder)]
    with _log(folder / "page.log").open("ab") as log:
        if sys.platform == "win32":  # it passes no descriptors to another process: the page listens itself
            host, port = listener.getsockname()[:2]
            listener.close()
            command += [str(host), str(port)]
            return await trio.lowlevel.open_process(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log
            )
        descriptor = listener.fileno()
        return await trio.lowlevel.open_process(
            [*command, str(descriptor)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=[descriptor],
            # Ctrl-C is for the server, which then ends the page. Not a new session: Linux gives each session an
            # equal share of the processor (autogroup), whatever the niceness of its processes.
            process_group=0,
        )


def _log(path: Path) -> Path:
    """Return the page's log, which is begun again if it is long."""
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.unlink()
    return path
