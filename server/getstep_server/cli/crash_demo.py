"""The demo of a crash: a server is killed during the contest and started again, without an effect on the results.

The same contest is played twice by deterministic bots: once undisturbed, and once with a server in a process of its
own, which gets SIGKILL while matches run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import trio

from getstep_server.bot_runner.processes import Bots, run_bots
from getstep_server.children.process import kill, start
from getstep_server.config.contest import Contest
from getstep_server.errors import ContestStopped
from getstep_server.text import pluralize

LISTENING_SECONDS = 30.0
"""The time that a server has to start to listen before the demo fails: it takes one second on a quiet machine."""

Say = Callable[[str], None]


@dataclass
class Watched:
    """A server in a process of its own, and the state that its output shows."""

    process: trio.Process
    port: int = 0
    done: int = 0
    last: str = ""
    resumed: list[str] = field(default_factory=list)
    listening: trio.Event = field(default_factory=trio.Event)
    half_done: trio.Event = field(default_factory=trio.Event)

    async def watch(self, say: Say) -> None:
        """Read the server's output until it ends."""
        rest = b""
        async for data in cast(trio.abc.ReceiveStream, self.process.stdout):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._note(line.decode(errors="replace"), say)
        self.listening.set()  # the server ended: `serving` must not wait for it

    def _note(self, line: str, say: Say) -> None:
        self.last = line
        if found := re.match(r"Listening on .*, port (\d+)", line):
            self.port = int(found[1])
            self.listening.set()
        elif found := re.match(r"\[(\d+)/(\d+)\] ", line):
            self.done = int(found[1])
            if 2 * self.done >= int(found[2]):
                self.half_done.set()
            say(line)
        elif " resumes after turn " in line:
            self.resumed.append(line)
            say(line)


async def run_crash_demo(contest: Contest, bots: Bots, say: Say) -> None:
    """Play ``contest`` with a server that is killed after half of the matches, and started again.

    Raises:
        ContestStopped: a server or a bot failed.
    """
    async with trio.open_nursery() as nursery:
        async with serving(contest, 0, say) as first:
            nursery.start_soon(run_bots, contest, first.port, bots)
            await first.half_done.wait()
            first.process.kill()  # SIGKILL: the server gets no chance to tidy up
            say(f"\n*** The server gets SIGKILL after {first.done} matches, while others run. ***")
        began = time.perf_counter()
        async with serving(contest, first.port, say) as second:
            say(f"*** The server was started again; it listens after {time.perf_counter() - began:.1f} s. ***\n")
            code = await second.process.wait()
        if code != 0:
            raise ContestStopped(f"the server was started again and ended with exit code {code}")
        say(f"\nThe server resumed {pluralize(len(second.resumed), 'match')} in progress.")


@asynccontextmanager
async def serving(contest: Contest, port: int, say: Say) -> AsyncIterator[Watched]:
    """Start a server for ``contest`` in a process of its own; yield it when it listens, and kill it at the end.

    Args:
        contest: the contest to play.
        port: the port on the loopback interface; 0 lets the system choose.
        say: called with a line for each match that ends or resumes.

    Raises:
        ContestStopped: the server does not listen in time.
    """
    command = [
        sys.executable,
        "-u",  # unbuffered: its lines are read while it runs
        "-m",
        "getstep_server",
        "run",
        str(contest.folder),
        "--no-web",
        "--no-announce",
    ]
    command += ["--host", "127.0.0.1", "--port", str(port), "--plain"]
    process = await start(command, stdin=subprocess.DEVNULL, own_session=True)
    server = Watched(process)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.watch, say)
            with trio.move_on_after(LISTENING_SECONDS):
                await server.listening.wait()
            if not server.port:
                raise ContestStopped(f"the server did not listen within {LISTENING_SECONDS:g} s: {server.last}")
            yield server
            nursery.cancel_scope.cancel()
    finally:
        kill(process)
        # Shielded: SIGKILL ends it at once, and a process that nobody waits for stays a zombie.
        with trio.CancelScope(shield=True):
            await process.wait()
