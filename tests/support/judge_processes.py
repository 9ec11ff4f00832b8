"""Judge processes in the test's own process: they start at once, and a test can see into them."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

import pytest
import trio

from getstep_server.children import process
from getstep_server.judges import process as judges_process
from getstep_server.runtime import judges as judges_venue


class JudgeHere:
    """A judge that `JudgeHandle` takes for a process."""

    stdin = stdout = stderr = None

    def __init__(self, descriptor: int) -> None:
        self.returncode: int | None = None
        self._sock = socket.socket(fileno=os.dup(descriptor))
        self._end = os.dup(self._sock.fileno())
        self._over = trio.Event()
        trio.lowlevel.spawn_system_task(self._run)

    async def _run(self) -> None:
        try:
            await judges_process.run(self._sock)
        finally:
            self._over.set()

    async def wait(self) -> int:
        """Wait for its end."""
        await self._over.wait()
        if self.returncode is None:
            os.close(self._end)
            self.returncode = 0
        return 0

    def kill(self) -> None:
        """End it, and tell the server nothing."""
        if self.returncode is not None:
            return
        with socket.socket(fileno=os.dup(self._end)) as sock:
            sock.shutdown(socket.SHUT_RDWR)


def judges_here(monkeypatch: pytest.MonkeyPatch) -> list[JudgeHere]:
    """Let all judge processes run in this process; return a list to which they are added when they start."""
    started: list[JudgeHere] = []

    async def start(_: Sequence[str], *, files: Sequence[int]) -> JudgeHere:
        await trio.lowlevel.checkpoint()
        started.append(JudgeHere(*files))
        return started[-1]

    monkeypatch.setattr(judges_venue, "start", start)
    for module in (judges_venue, process):
        monkeypatch.setattr(module, "kill", JudgeHere.kill)
    return started
