"""The helper processes of a running contest, which are started again when they end.

They are the live page, the announcer (`getstep_server.net.announcer`), and the house bots: sample bots that the
server itself starts as processes, to play in an arena. After a take-over, a thread tells the first host.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import trio

from getstep.samples import SAMPLES
from getstep_server.bot_runner.bot_process import HOUSE
from getstep_server.bot_runner.sample_bots import sample_bots
from getstep_server.children.keeping import keep_running
from getstep_server.children.log import ChildLog
from getstep_server.children.process import run, start
from getstep_server.config.contest import Contest, Team
from getstep_server.config.host_key import host_key
from getstep_server.events import (
    Announced,
    AnnouncedAsAnother,
    Bus,
    Event,
    HouseBotEnded,
    Listening,
    NotAnnounced,
    PageEnded,
)
from getstep_server.json_text import JsonError, decode
from getstep_server.runtime.run import MakeCluster, OpenContest, RunOutcome, run_opened
from getstep_server.runtime.start import StartCondition
from getstep_server.standby.follower import FirstHost, HostRefusal, NoConnection, tell_taken_over
from getstep_server.standby.marks import read_mark
from getstep_server.text import escape_control_chars


async def run_with_helpers(
    opened: OpenContest,
    bus: Bus,
    when: StartCondition,
    helpers: Sequence[Callable[[], Awaitable[None]]],
    make_cluster: MakeCluster | None = None,
) -> RunOutcome:
    """Run a contest as `run_opened` does. Run the ``helpers`` concurrently, and cancel them at its end."""
    async with trio.open_nursery() as nursery:
        for helper in helpers:
            nursery.start_soon(helper)
        outcome = await run_opened(opened, bus, when, make_cluster)
        nursery.cancel_scope.cancel()
    return outcome


# --- the live page ----------------------------------------------------------------------------------------------


async def keep_page(contest: Contest, bus: Bus, listener: socket.socket) -> None:
    """Start the page, and start it again whenever it ends, until cancelled.

    It inherits the listening socket. So the address is known before the contest starts, stays the same if the page
    dies, and browsers that come in between wait until it is back.
    """
    files: list[int] = []
    if sys.platform == "win32":  # it passes no descriptors to another process: the page listens itself
        where = listener.getsockname()[:2]
        listener.close()
    else:
        where = files = [listener.fileno()]
    command = [sys.executable, "-m", "getstep_server.web", str(contest.folder), contest.file.server.host_page]
    command += map(str, where)
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


# --- the announcement on the network ----------------------------------------------------------------------------


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
        self._listening: Listening | None = None
        self._known = trio.Event()
        bus.subscribe(self._on_listening, [Listening])

    def _on_listening(self, event: Event) -> None:
        if isinstance(event, Listening):
            self._listening = event
            self._known.set()

    async def run(self) -> None:
        """Announce the contest until cancelled, then take the announcement back."""
        await self._known.wait()
        await keep_running(self._announce, self._on_end)

    def _on_end(self, code: int, _: float) -> None:
        log = self._contest.folder / "announcer.log"
        self._bus.publish(NotAnnounced(f"the process that announces it ended with code {code}; see {log}"))

    async def _announce(self) -> int:
        here = self._listening
        if here is None:
            raise AssertionError("`run` waits until it is known")
        command = [*self._command, here.host, str(here.port), self._contest.name, str(here.fence)]
        try:
            with ChildLog(self._contest.folder / "announcer.log", append=True) as log:
                process = await start(command, stderr=subprocess.PIPE)
                return await run(process, log, on_line=self._on_line)
        except OSError:  # no memory or no process left: the contest is more important
            return -1

    def _on_line(self, line: bytes) -> None:
        # Whatever a broken announcer writes, the contest goes on without it.
        with contextlib.suppress(JsonError, KeyError, TypeError, AttributeError):
            state = {name: escape_control_chars(str(text)) for name, text in decode(line).items()}
            if "problem" in state:
                self._bus.publish(NotAnnounced(state["problem"]))
            elif "taken_by" in state:
                self._bus.publish(AnnouncedAsAnother(state["announced"], state["taken_by"]))
            else:
                self._bus.publish(Announced(state["announced"]))


# --- the first host, after a take-over --------------------------------------------------------------------------

TELL_SECONDS = 2.0
"""The interval at which a host that was taken over from is told, until it answers: it may come back at any time."""


async def tell_other_hosts(contest: Contest) -> None:
    """Tell the host from which this one has taken over, and its other copies, until they know.

    A copy may have taken over, too. This is cancelled at the end of the run.
    """
    mark, key = read_mark(contest.folder), host_key(contest.folder)
    if mark is None or mark.role != "took_over" or key is None:
        return
    hosts = [FirstHost(mark.host, mark.port, key.key)] if mark.host else []
    hosts += [FirstHost(other, contest.file.server.web_port, key.key) for other in mark.others]
    async with trio.open_nursery() as nursery:
        for host in hosts:
            nursery.start_soon(_tell, host, mark.fence, contest.file.server.port)


async def _tell(host: FirstHost, fence: int, port: int) -> None:
    while True:
        try:
            await trio.to_thread.run_sync(tell_taken_over, host, fence, port, abandon_on_cancel=True)
        except (NoConnection, HostRefusal):
            await trio.sleep(TELL_SECONDS)
        else:
            return


# --- the house bots ---------------------------------------------------------------------------------------------


def house_bot_file(bot: str) -> Path:
    return sample_bots()[SAMPLES[bot]]


async def keep_house_bots(contest: Contest, bus: Bus) -> None:
    """Run the house bots as soon as the server listens, until cancelled."""
    listening = trio.Event()
    where = list[Listening]()

    def note(event: Event) -> None:
        if isinstance(event, Listening):
            where.append(event)
            listening.set()

    def ended(team: int, code: int, pause: float) -> None:
        bus.publish(HouseBotEnded(team, code, pause))

    bus.subscribe(note, [Listening])
    await listening.wait()
    async with trio.open_nursery() as nursery:
        for team in contest.house_bots:
            nursery.start_soon(keep_running, partial(_run_house_bot, contest, team, where[0]), partial(ended, team))


async def _run_house_bot(contest: Contest, team: int, where: Listening) -> int:
    """Run a house bot until it ends, and return its exit code; -1 if it could not start.

    If this is cancelled, the bot is killed.
    """
    bot = contest.house_bots[team]
    try:
        with ChildLog(contest.folder / f"house-{bot}.log") as log:
            process = await _start_house_bot(house_bot_file(bot), contest.teams[team], *where.local_address)
            return await run(process, log, end_seconds=0)
    except OSError:  # no memory, no process or no disk left: the contest is more important
        return -1


async def _start_house_bot(file: Path, team: Team, host: str, port: int) -> trio.Process:
    arguments = [str(file), "--team", str(team.id), "--host", host, "--port", str(port)]
    return await start(
        [sys.executable, "-m", "getstep_server.bot_runner.bot_process", HOUSE, "play", *arguments],
        env={"GETSTEP_TOKEN": team.token, "PYTHONIOENCODING": "utf-8"},
    )
