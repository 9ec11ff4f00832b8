"""The demo of a crash: the server is killed in mid-tournament, started again, and nobody can tell from the table.

The same tournament is played twice by bots that always do the same: once undisturbed, once with a server that is a
process of its own and gets SIGKILL while matches run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import orjson
import trio

from ._text import counted
from .bot_processes import Bots, bots_playing
from .contest import Contest
from .registrar import ContestStopped
from .store import Store

LISTENING_SECONDS = 30.0
"""How long a server may take until it listens before the demo gives up."""

Say = Callable[[str], None]


@dataclass
class Watched:
    """A server that runs as a process of its own, and what it prints."""

    process: trio.Process
    port: int = 0
    done: int = 0
    last: str = ""
    gone_on: list[str] = field(default_factory=list)
    listening: trio.Event = field(default_factory=trio.Event)
    half_done: trio.Event = field(default_factory=trio.Event)

    async def watch(self, say: Say) -> None:
        """Read what it prints until it ends."""
        rest = b""
        async for data in cast(trio.abc.ReceiveStream, self.process.stdout):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._note(line.decode(errors="replace"), say)
        self.listening.set()  # nobody need wait for it any longer

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
        elif " goes on after turn " in line:
            self.gone_on.append(line)
            say(line)


async def run_crash_demo(contest: Contest, bots: Bots, say: Say) -> None:
    """Play ``contest`` with a server that is killed in its middle and started again.

    Raises:
        ContestStopped: a server or a bot ended otherwise than it should.
    """
    async with trio.open_nursery() as nursery:
        async with serving(contest, 0, say) as first:
            nursery.start_soon(bots_playing, contest, first.port, bots)
            await first.half_done.wait()
            first.process.kill()
            say(f"\n*** The server gets SIGKILL after {first.done} matches, in the middle of others. ***")
        began = time.perf_counter()
        async with serving(contest, first.port, say) as second:
            say(f"*** Started again, it listens after {time.perf_counter() - began:.1f} s. ***\n")
            code = await second.process.wait()
        if code != 0:
            raise ContestStopped(f"the server that was started again ended with code {code}")
        say(f"\nIn the middle of {counted(len(second.gone_on), 'match')} it went on where it had been.")


@asynccontextmanager
async def serving(contest: Contest, port: int, say: Say) -> AsyncIterator[Watched]:
    """A server for ``contest`` that is a process of its own, once it listens; at the end of the block it is gone.

    Args:
        contest: it.
        port: where on the loopback interface; 0 lets the system choose.
        say: called with a line for each match that is over or goes on.

    Raises:
        ContestStopped: it does not listen in time.
    """
    command = [sys.executable, "-u", "-m", "getstep_server", "run", str(contest.folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--plain"]
    process = await trio.lowlevel.open_process(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C is for the demo, which then ends all of them
    )
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
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()


def games_of(database: Path) -> dict[int, object]:
    """Of each match what nothing may change: its turns without their times, its winner and its scores."""
    with Store(database) as store:
        records = [orjson.loads(line) for line in store.lines()]
    games: dict[int, object] = {}
    for record in records:
        if record["type"] == "game":
            turns = [(turn["player"], turn.get("move"), turn.get("fault")) for turn in record["turns"]]
            games[record["match"]] = (turns, record["winner"], record["scores"], record["reason"])
    return games
