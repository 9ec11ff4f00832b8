"""Announce a contest on the local network while it runs: see `getstep_server.net.announcer`."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Sequence

import trio

from getstep_server.config.contest import Contest
from getstep_server.events import Announced, Bus, Event, Listening, NotAnnounced
from getstep_server.json_text import JsonError, decode
from getstep_server.pauses import Pauses
from getstep_server.text import escape_control_chars

from ._helper_processes import wait_or_end

COMMAND = (sys.executable, "-m", "getstep_server.net.announcer")


class Announcer:
    """Keeps a contest announced, once the server listens.

    Args:
        contest: the contest.
        bus: tells where the server listens, and gets the state of the announcement.
        command: the program; tests have others.
    """

    def __init__(self, contest: Contest, bus: Bus, command: Sequence[str] = COMMAND) -> None:
        self._contest = contest
        self._bus = bus
        self._command = command
        self._listening: tuple[str, int] | None = None
        self._known = trio.Event()
        bus.subscribe(self._on_listening, [Listening])

    def _on_listening(self, event: Event) -> None:
        if isinstance(event, Listening):
            self._listening = (event.host, event.port)
            self._known.set()

    async def run(self) -> None:
        """Announce the contest until cancelled, then take the announcement back."""
        await self._known.wait()
        pauses = Pauses()
        while True:
            code = await self._announce()
            self._bus.publish(NotAnnounced(f"the process that announces it ended with code {code}"))
            await trio.sleep(pauses.next())
            pauses.begin()

    async def _announce(self) -> int:
        host, port = self._listening or ("", 0)
        command = [*self._command, host, str(port), self._contest.name]
        try:
            process = await trio.lowlevel.open_process(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=None if sys.platform == "win32" else 0,  # Ctrl-C is for the server
            )
        except OSError:  # no memory or no process left: the contest is more important
            return -1
        async with trio.open_nursery() as nursery:
            if process.stdout is not None:
                nursery.start_soon(_read_lines, process.stdout, self._on_line)
            code = await wait_or_end(process)
            nursery.cancel_scope.cancel()
        return code

    def _on_line(self, line: bytes) -> None:
        with contextlib.suppress(JsonError, KeyError, TypeError):
            state = decode(line)
            if "announced" in state:
                self._bus.publish(Announced(escape_control_chars(str(state["announced"]))))
            else:
                self._bus.publish(NotAnnounced(escape_control_chars(str(state["problem"]))))


async def _read_lines(stream: trio.abc.ReceiveStream, on_line: Callable[[bytes], None]) -> None:
    """Call ``on_line`` with each line of a stream, until it ends."""
    rest = b""
    async with stream:
        async for data in stream:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                on_line(line)
