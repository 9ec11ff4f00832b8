"""Announce a contest on the local network while it runs: see `getstep_server.net.announcer`."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Sequence

import trio

from getstep_server.children.keeping import keep_running
from getstep_server.children.log import ChildLog
from getstep_server.children.process import run, start
from getstep_server.config.contest import Contest
from getstep_server.events import Announced, AnnouncedAsAnother, Bus, Event, Listening, NotAnnounced
from getstep_server.json_text import JsonError, decode
from getstep_server.text import escape_control_chars

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
        await keep_running(self._announce, self._on_end)

    def _on_end(self, code: int, _: float) -> None:
        log = self._contest.folder / "announcer.log"
        self._bus.publish(NotAnnounced(f"the process that announces it ended with code {code}; see {log}"))

    async def _announce(self) -> int:
        host, port = self._listening or ("", 0)
        command = [*self._command, host, str(port), self._contest.name]
        try:
            with ChildLog(self._contest.folder / "announcer.log", append=True) as log:
                process = await start(command, stderr=subprocess.PIPE)
                return await run(process, log, on_line=self._on_line)
        except OSError:  # no memory or no process left: the contest is more important
            return -1

    def _on_line(self, line: bytes) -> None:
        with contextlib.suppress(JsonError, KeyError, TypeError, AttributeError):
            state = {name: escape_control_chars(str(text)) for name, text in decode(line).items()}
            if "problem" in state:
                self._bus.publish(NotAnnounced(state["problem"]))
            elif "taken_by" in state:
                self._bus.publish(AnnouncedAsAnother(state["announced"], state["taken_by"]))
            else:
                self._bus.publish(Announced(state["announced"]))
