"""The judge processes of one run, as a venue: `[server] judges` in contest.toml. See `getstep_server.judges`.

A judge process that dies is the server's fault: its matches are void and played again, its teams connect again, and
it is started again after a pause. While none is there, the server judges itself.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial

import trio

from getstep_server.children.keeping import keep_running
from getstep_server.config.contest import Contest
from getstep_server.errors import UsageError
from getstep_server.events import JudgeEnded, Publish
from getstep_server.net.connection import Connection
from getstep_server.net.seat import Seat
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.judge import play_match
from getstep_server.play.scoresheet import Scoresheet, ScoresheetStore
from getstep_server.records.game import Programs
from getstep_server.records.result import Result

from .attempt import Attempt
from .hosted import HostedPrograms
from .judge_process import JudgeHandle


def check_judges(contest: Contest) -> None:
    """Raise UsageError if this system cannot run as many judge processes as contest.toml asks for."""
    judges = contest.file.server.judges
    if judges > 1 and not hasattr(socket, "SCM_RIGHTS"):
        raise UsageError(
            f"[server] judges: {judges} judge processes need Linux or macOS; set judges = 1 in contest.toml"
        )


class JudgeProcesses:
    """The judge processes, as a venue that takes all matches while one of them is there.

    Args:
        contest: the contest.
        hosted: the programs that this machine runs.
        sheets: has the journal of the server.
        scheduler: wakes the judge of the server itself.
        publish: called with the events of the processes, and with failures.
    """

    def __init__(
        self,
        contest: Contest,
        hosted: HostedPrograms,
        sheets: ScoresheetStore,
        scheduler: DeadlineScheduler,
        publish: Publish,
    ) -> None:
        self._contest = contest
        self._hosted = hosted
        self._sheets = sheets
        self._scheduler = scheduler
        self._publish = publish
        self._processes: list[JudgeHandle] = []
        """Those that were ready. One that has ended stays here until all that it had is settled."""
        self._writer = 0
        self._returned = trio.Event()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep all processes running until cancelled. It has started when each is ready, or has failed once."""
        self._writer = self._sheets.journal.writer
        (self._contest.folder / "judges.log").unlink(missing_ok=True)
        async with trio.open_nursery() as nursery:
            async with trio.open_nursery() as starting:
                for _ in range(self._contest.file.server.judges):
                    starting.start_soon(nursery.start, self._keep_process)
            task_status.started()

    async def _keep_process(self, task_status: trio.TaskStatus[None]) -> None:
        """Start a process, and start it again whenever it ends, until cancelled."""
        started = False

        def ready() -> None:
            nonlocal started
            if not started:
                task_status.started()
            started = True

        async def live() -> int:
            self._writer += 1
            process = JudgeHandle(self._contest, self._sheets, self._writer, self._publish, self._changed)
            try:
                return await process.run(partial(self._ready, process, ready))
            finally:
                with suppress(ValueError):  # it was never ready
                    self._processes.remove(process)

        def ended(code: int, pause: float) -> None:
            self._publish(JudgeEnded(code, pause))
            ready()

        await keep_running(live, ended)

    def _ready(self, process: JudgeHandle, then: Callable[[], None]) -> None:
        self._processes.append(process)
        then()

    def _changed(self) -> None:
        self._returned.set()
        self._returned = trio.Event()  # each of those that wait has the one before

    # --- the venue ---

    def takes(self, _: Attempt) -> bool:
        """Return True if a process works."""
        return any(process.works for process in self._processes)

    def prepare(self, attempt: Attempt, is_due: Callable[[], bool]) -> AbstractAsyncContextManager[Programs | None]:
        """Run the hosted programs of the match: to a judge process, too, they are clients as all others."""
        return self._hosted.playing(attempt, is_due)

    async def play(self, attempt: Attempt, sheet: Scoresheet) -> Result:
        """Let the process with the fewest matches judge the match.

        Raises:
            JudgeDied: the process has ended.
            RuntimeError: its judge has failed.
        """
        await sheet.retry_until_written()  # what the disk did not take when the match was resumed
        while any(_is_lent(seat) for seat in attempt.seats):  # it came when the match before was just over
            await self._returned.wait()
        working = [process for process in self._processes if process.works]
        if not working:
            return await play_match(sheet, attempt.seats, self._scheduler, self._publish)
        return await min(working, key=lambda process: len(process.loans)).play(attempt, sheet)


def _is_lent(seat: Seat) -> bool:
    return isinstance(seat.connection, Connection) and seat.connection.is_lent
