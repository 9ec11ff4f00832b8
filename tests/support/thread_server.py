"""A contest's server in a thread of the test: for tests of the wire, which need neither signals nor an exit code.

A process of its own takes 0.8 s of processor time to import what the test has imported already.
"""

from __future__ import annotations

import contextlib
import io
import threading
from pathlib import Path

import pytest
import trio
from rich.console import Console

from getstep_server.config.contest import load_contest
from getstep_server.events import EXCEPT_MOVES, Bus
from getstep_server.reports.progress import ProgressView
from getstep_server.reports.tables import PIPE_WIDTH
from getstep_server.runtime import run
from getstep_server.runtime.start import StartCondition
from tests.support.output import ServerOutput
from tests.support.patience import PATIENCE_SECONDS


class ThreadServer(ServerOutput):
    """`run_contest` in a thread, with the plain lines that ``getstep-server run`` prints."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        monkeypatch.setattr(run, "_stop_on_signal", self._stop_on_command)  # only the main thread receives signals
        self.folder = folder
        self._contest = load_contest(folder)
        self._token: trio.lowlevel.TrioToken | None = None
        self._stoppable = threading.Event()
        self._told = trio.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def wait(self) -> int:
        """Wait for the end of the contest, and return the exit code that the command would have.

        Raises:
            BaseException: what the server has raised.
        """
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), self.output
        if self._error is not None:
            raise self._error
        return 130 if self._told.is_set() else 0

    def end(self) -> None:
        """Stop the server if it still runs, as Ctrl-C would."""
        self._stoppable.wait(PATIENCE_SECONDS)
        if self._token is not None:
            with contextlib.suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._told.set)
        self._thread.join()

    def _run(self) -> None:
        console = Console(file=_Lines(self), markup=False, highlight=False, soft_wrap=True, width=PIPE_WIDTH)
        progress, bus = ProgressView(self._contest, console, live=False), Bus()
        bus.subscribe(progress, EXCEPT_MOVES)
        try:
            with progress.shown():
                trio.run(run.run_contest, self._contest, bus, StartCondition())
        except BaseException as error:  # for `wait`: a thread has nobody else to tell
            self._error = error
        finally:
            self._stoppable.set()
            self.close()

    async def _stop_on_command(
        self, scope: trio.CancelScope, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._stoppable.set()
        task_status.started()
        await self._told.wait()
        scope.cancel()


class _Lines(io.StringIO):
    """A text file whose text goes to a `ServerOutput`."""

    def __init__(self, output: ServerOutput) -> None:
        super().__init__()
        self._output = output

    def write(self, text: str) -> int:
        self._output.add(text)
        return len(text)
