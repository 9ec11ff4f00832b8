"""Hosted programs at their seats: starts a process for each, admits it to its seat, and ends it after the match.

The host of a contest and a worker of a cluster use it alike.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from getstep_server.children.log import ChildLog, last_lines
from getstep_server.children.process import run, start
from getstep_server.errors import BotFailed
from getstep_server.events import Event, Listening, Publish, TeamArrived, TeamLeft
from getstep_server.net.registry import HostedLogin
from getstep_server.net.seat import Seat, hosted_program
from getstep_server.programs.disk import make_empty
from getstep_server.programs.playing import ProgramJob

from .hosted_process import HostedJob

LOGIN_SECONDS = 60.0
"""The time for a process to start and to log in, besides that of its program: 0.3 s, on a crowded machine more."""

END_SECONDS = 3.0
"""The time for a process to end its program and itself, before both are killed. A program has 0.5 s of it."""


def available_cores() -> list[int | None]:
    """Return the processor cores of this process; each is None on a system that lets no program choose one."""
    if hasattr(os, "sched_getaffinity"):
        return [*sorted(os.sched_getaffinity(0))]
    return [None] * (os.cpu_count() or 1)


@dataclass(frozen=True)
class SeatedProgram:
    """A hosted program in a match: its ``seat``, and whether it is the ``first`` player."""

    program: ProgramJob
    seat: Seat
    first: bool


class ProgramSeats:
    """Runs the processes of hosted programs in matches.

    Args:
        folder: of the copies of their files, and of the logs of the processes.
        publish: called with what seats publish.
    """

    def __init__(self, folder: Path, publish: Publish) -> None:
        self._folder = folder
        self._publish = publish
        self.logins: dict[int, HostedLogin | None] = {}
        """The hosted teams; see `ConnectionRegistry.hosted`. The owner of this object adds and removes them."""
        self._arrived: dict[int, trio.Event] = {}

    def seat_publish(self, event: Event) -> None:
        """Publish an event of a seat, unless the process of a hosted program comes or goes."""
        if isinstance(event, TeamArrived | TeamLeft) and event.team in self.logins:
            if isinstance(event, TeamArrived) and event.team in self._arrived:
                self._arrived[event.team].set()
            return
        self._publish(event)

    @asynccontextmanager
    async def playing(
        self, match: int, seated_programs: Sequence[SeatedProgram], where: Listening, startup_seconds: float
    ) -> AsyncIterator[None]:
        """Run the programs of a match, from before the block until after it.

        Args:
            match: the number of the match.
            seated_programs: its hosted programs.
            where: the address of the server.
            startup_seconds: the time in which a program has to be ready.

        Raises:
            BotFailed: a process that plays with a program has failed. The block is cancelled then.
        """
        failures: list[str] = []
        over = False
        teams = [seated.seat.team.id for seated in seated_programs]
        try:
            async with trio.open_nursery() as nursery:
                for seated in seated_programs:
                    job = self._admit(match, seated, where, startup_seconds)
                    name = seated.seat.team.name
                    nursery.start_soon(self._run, job, name, nursery.cancel_scope, failures)
                # the process logs in only when its program is ready
                with trio.move_on_after(LOGIN_SECONDS + startup_seconds) as waiting:
                    for team in teams:
                        await self._arrived[team].wait()
                if waiting.cancelled_caught:
                    raise BotFailed(f"match {match}: the process of a hosted program has not logged in")
                yield
                over = True  # a process that fails from here on changes nothing
                nursery.cancel_scope.cancel()
        finally:
            for team in teams:
                if team in self.logins:  # the host may have stopped the program by now
                    self.logins[team] = None  # the token was for this match only
        if failures and not over:
            raise BotFailed(f"match {match}: {failures[0]}")

    def _admit(self, match: int, seated: SeatedProgram, where: Listening, startup_seconds: float) -> HostedJob:
        """Return the job of the process that plays, and admit it to the team's seat."""
        seat, team = seated.seat, seated.seat.team.id
        if seat.connection is not None:  # of the match before, or of a bot on the network
            seat.connection.close(hosted_program(team))
        token = secrets.token_hex(16)
        self.logins[team] = HostedLogin(token, seat)
        self._arrived[team] = trio.Event()
        return HostedJob(seated.program, team, token, *where.local_address, match, seated.first, startup_seconds)

    def home(self, team: int) -> Path:
        """Return the folder for the copies of the files of a team's program."""
        return self._folder / str(team)

    def clean(self) -> None:
        """Delete what a run that was killed has left behind."""
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _run(self, job: HostedJob, name: str, scope: trio.CancelScope, failures: list[str]) -> None:
        """Run a process until this is cancelled. If the process ends before that, cancel ``scope``."""
        log = self._folder / f"{job.team}.log"
        try:
            await trio.to_thread.run_sync(make_empty, self.home(job.team))
            code = await run_hosted_program(job, log)
            said = "\n".join(last_lines(log))
            why = f"exited with code {code}:\n{said}"
        except OSError as error:
            why = f"cannot be started: {error}"
        failures.append(f"the process that plays with the program of {name} {why}")
        scope.cancel()


async def run_hosted_program(job: HostedJob, log: Path) -> int:
    """Play with a program until its process ends, and return the exit code. If this is cancelled, both are ended.

    Args:
        job: of the process.
        log: the file that gets what the process itself prints, such as a traceback.

    Raises:
        OSError: the process cannot be started.
    """
    with ChildLog(log) as output:
        process = await start([sys.executable, "-m", "getstep_server.bot_runner.hosted_process"])
        return await run(process, output, end_seconds=END_SECONDS, first=job.as_json())
