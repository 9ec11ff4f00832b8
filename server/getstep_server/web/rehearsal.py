"""A rehearsal that the host starts from the console before the contest begins: a child process of the page."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import trio

from getstep_server.children.log import shorten
from getstep_server.children.process import run, start
from getstep_server.errors import UsageError

COMMAND = [sys.executable, "-u", "-m", "getstep_server.cli.rehearsal_process"]
"""The command `rehearse`, at the lowest priority; it ends with its standard input. The folder follows."""

LINES = 80
"""The last lines of the output that are shown: the table of 64 teams, and what to look at."""

END_SECONDS = 12.0
"""The time for the process to end: it takes at most 10 s, and removes its copy of the contest."""

BEGUN_SECONDS = 0.5
"""The interval at which a rehearsal is stopped if the contest has begun: the matches need the processor."""

State: TypeAlias = Literal["none", "running", "passed", "failed", "stopped"]


class Rehearsal:
    """The latest rehearsal of a contest: how it is, and the last lines of its output; one at a time.

    Args:
        folder: of the contest.
        has_begun: returns True once the contest has a record.
    """

    def __init__(self, folder: Path, has_begun: Callable[[], bool]) -> None:
        self._folder = folder
        self.has_begun = has_begun
        self.state: State = "none"
        self.lines = deque[str](maxlen=LINES)
        self.version = 0
        """Grows with each change."""
        self._asked = trio.Event()
        self._playing = trio.CancelScope()

    def start(self) -> None:
        """Let `run` start a rehearsal.

        Raises:
            UsageError: the contest has begun, or a rehearsal is running.
        """
        if self.has_begun():
            raise UsageError("the contest has begun, and a rehearsal would take the processor from its matches")
        if self.state == "running":
            raise UsageError("a rehearsal is running; wait for its end, or stop it")
        self.lines.clear()
        self._playing = trio.CancelScope()
        self._change("running")
        self._asked.set()

    def stop(self) -> None:
        """Let `run` end the rehearsal.

        Raises:
            UsageError: none is running.
        """
        if self.state != "running":
            raise UsageError("no rehearsal is running")
        self._playing.cancel()

    async def run(self) -> None:
        """Play each rehearsal that is asked for, until cancelled."""
        while True:
            await self._asked.wait()
            self._asked = trio.Event()
            code = None
            with self._playing:
                code = await self._play()
            self._change("stopped" if code is None else "failed" if code else "passed")

    async def _play(self) -> int:
        """Return the exit code of a rehearsal."""
        try:
            process = await start([*COMMAND, str(self._folder)])
        except OSError as error:
            self._note(f"It cannot be started: {error}".encode())
            return 1
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._stop_when_begun)
            code = await run(process, on_line=self._note, end_seconds=END_SECONDS)
            nursery.cancel_scope.cancel()
        return code

    async def _stop_when_begun(self) -> None:
        while not self.has_begun():
            await trio.sleep(BEGUN_SECONDS)
        self._playing.cancel()

    def _note(self, line: bytes) -> None:
        if text := line.decode(errors="replace").rstrip():
            self.lines.append(shorten(text))
            self.version += 1

    def _change(self, state: State) -> None:
        self.state = state
        self.version += 1
