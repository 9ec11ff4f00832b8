"""The client under test: a process, with the end of its output."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from getstep.processes import own_group


class ClientError(Exception):
    """Raised when the client under test cannot be started."""


OUTPUT_BYTES = 64 << 10
"""Bytes of a client's output that are kept: its end. All of it is read, so that the client never blocks."""

LAST_BYTES_SECONDS = 0.5
"""Seconds to wait for what a client has sent before it ended."""

_OUTPUT_END_SECONDS = 1.0
"""Seconds to keep reading the output of a client that has ended: its child processes may keep the pipe open."""


class ClientProcess:
    """A running client."""

    def __init__(self, process: trio.Process) -> None:
        self._process = process
        self._output = b""
        self._waiting: set[trio.CancelScope] = set()

    @contextlib.contextmanager
    def waiting(self, seconds: float) -> Iterator[None]:
        """Limit the block to this time, and to a moment if the client has ended: nothing more will come."""
        with trio.move_on_after(seconds if self.exit_code is None else min(seconds, LAST_BYTES_SECONDS)) as scope:
            self._waiting.add(scope)
            try:
                yield
            finally:
                self._waiting.discard(scope)

    async def end_waits(self) -> None:
        """Wait until the client has ended, and then shorten the waits for it."""
        await self.wait()
        for scope in self._waiting:
            scope.deadline = min(scope.deadline, trio.current_time() + LAST_BYTES_SECONDS)

    @property
    def exit_code(self) -> int | None:
        """The exit code, None while the client runs; negative for a signal."""
        return self._process.poll()

    def busy_seconds(self) -> float:
        """Return the time in which the client used a processor or waited for one; 0 if it cannot be seen.

        On a busy machine a client that polls waits for a processor most of the time. Child processes do not count.
        """
        nanoseconds = 0
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{self._process.pid}/task").iterdir():
                with contextlib.suppress(OSError):  # the thread has ended
                    running, waiting, _ = (thread / "schedstat").read_text().split()
                    nanoseconds += int(running) + int(waiting)
        return nanoseconds / 1e9

    @property
    def output(self) -> str:
        """The end of what the client has printed."""
        return self._output.decode(errors="replace")

    async def wait(self) -> int:
        """Wait until the client has ended, and return its exit code."""
        return await self._process.wait()

    async def read_output(self) -> None:
        """Read until the pipe is closed on the other side."""
        stream = self._process.stdout
        if stream is None:
            raise TypeError("the output of the client is not a pipe")
        async with stream:
            async for data in stream:
                self._output = (self._output + bytes(data))[-OUTPUT_BYTES:]

    def kill(self) -> None:
        """End the client and all processes that it has started."""
        if sys.platform == "win32":
            self._process.kill()
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # the group is empty
            os.killpg(self._process.pid, signal.SIGKILL)


@asynccontextmanager
async def started(
    command: Sequence[str], variables: Mapping[str, str], *, saved: bool = False
) -> AsyncIterator[ClientProcess]:
    """Start a client, and end it after the block.

    Args:
        command: the program and its arguments; ``{host}``, ``{port}``, ``{team}`` and ``{token}`` are replaced.
        variables: to add to the environment.
        saved: the client gets the host, the port and the login by a saved login, and not by these variables.

    Raises:
        ClientError: there is no such program.
    """
    words = [_filled(word, variables) for word in command]
    with tempfile.TemporaryDirectory(prefix="getstep-conformance-", ignore_cleanup_errors=True) as folder:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GETSTEP_")}
        login = {"GETSTEP_LOGIN_FILE": os.path.join(folder, "login.json")}  # noqa: PTH118 - a variable's text
        if saved:
            Path(login["GETSTEP_LOGIN_FILE"]).write_text(_saved_login(variables), encoding="utf-8")
            variables = {name: value for name, value in variables.items() if name not in _SAVED}
        try:
            process = await trio.lowlevel.open_process(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**inherited, **login, **variables, "PYTHONIOENCODING": "utf-8"},
                **own_group(),  # so that the client can be ended with all that it has started
            )
        except OSError as error:
            raise ClientError(f"{words[0]}: {error.strerror or error}; expected a program that starts") from error
        client = ClientProcess(process)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.read_output)
            nursery.start_soon(client.end_waits)
            try:
                yield client
            finally:
                client.kill()
                with trio.CancelScope(shield=True):
                    await process.wait()
                nursery.cancel_scope.deadline = trio.current_time() + _OUTPUT_END_SECONDS


_SAVED = ("GETSTEP_HOST", "GETSTEP_PORT", "GETSTEP_TEAM", "GETSTEP_TOKEN")


def _saved_login(variables: Mapping[str, str]) -> str:
    host, port, team, token = (variables[name] for name in _SAVED)
    seen = {"contest": "Conformance", "at": 1.7e9, "over": False}
    return json.dumps({"host": host, "port": int(port), "team": int(team), "token": token, "seen": seen})


def _filled(word: str, variables: Mapping[str, str]) -> str:
    for name in ("host", "port", "team", "token"):
        word = word.replace(f"{{{name}}}", variables[f"GETSTEP_{name.upper()}"])
    return word
