"""Real programs for the tests of the whole, watched line by line: processes, and a server in a thread."""

from __future__ import annotations

import contextlib
import io
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
import trio
from rich.console import Console

from getstep_server.config.contest import load_contest
from getstep_server.events import EXCEPT_MOVES, Bus
from getstep_server.reports.progress import ProgressView
from getstep_server.reports.tables import PIPE_WIDTH
from getstep_server.runtime import run
from getstep_server.runtime.start import StartCondition
from tests.support.contests import token_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripts import SCRIPTS

CLASSIC_CLIENT = SCRIPTS / "classic_client.py"


class Output:
    """Text that grows until it is closed, and can be waited for."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._changed = threading.Condition()
        self._closed = False

    @property
    def output(self) -> str:
        """All of it up to now."""
        with self._changed:
            return "".join(self._parts)

    def add(self, text: str) -> None:
        """Append ``text``."""
        with self._changed:
            self._parts.append(text)
            self._changed.notify_all()

    def close(self) -> None:
        """Say that nothing more comes."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def expect(self, pattern: str, *, seconds: float = PATIENCE_SECONDS) -> re.Match[str]:
        """Wait until the output has ``pattern`` (a line's ``^`` and ``$`` count).

        Raises:
            AssertionError: the line is missing after ``seconds``, or at the end of the output.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                text = "".join(self._parts)
                found = re.search(pattern, text, re.MULTILINE)
                if found:
                    return found
                left = deadline - time.monotonic()
                if left <= 0 or self._closed:
                    raise AssertionError(f"no {pattern!r} in the output:\n{text}")
                self._changed.wait(left)


class ServerOutput(Output):
    """The output of a server about its contest."""

    def _listening(self) -> re.Match[str]:
        return self.expect(r"^Listening on \S+, port (\d+)(?:, classic wire on port (\d+))?\.$")

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return int(self._listening()[1])

    @property
    def classic_port(self) -> int | None:
        """The port on which it listens for classic clients; None if it does not."""
        port = self._listening()[2]
        return None if port is None else int(port)

    @property
    def complaints(self) -> list[str]:
        """The lines about refused connections, violations of the protocol and failures of the server itself."""
        return [line for line in self.output.splitlines() if line.startswith("!")]


class Program(Output):
    """A running program; what it prints is kept, and can be waited for.

    Args:
        command: the program and its arguments.
        cwd: its folder, if it is not that of the tests.
        environ: its environment, if it is not that of the tests.
        typed: what it reads from its standard input, a pipe; by default there is none.
        encoding: of its output.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
        typed: str | None = None,
        encoding: str = "utf-8",
    ) -> None:
        super().__init__()
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL if typed is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding=encoding,
            errors="backslashreplace",  # else the thread that reads would end
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
            if environ is None
            else environ,
        )
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError), self._process.stdin as stdin:
                stdin.write(typed or "")
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self, *, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait until it has ended, and return its exit code.

        Raises:
            AssertionError: it has not, after ``seconds``.
        """
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds:g} s:\n{self.output}") from None
        self._reader.join(seconds)
        return code

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def end(self) -> None:
        """Kill it if it still runs, and clean up."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.add(line)
        self.close()


SERVER = ("-m", "getstep_server")
"""The code that Python runs as the server."""


class Server(ServerOutput, Program):
    """``getstep-server run`` on free ports of the loopback interface."""

    def __init__(
        self, folder: Path, *arguments: str, server: Sequence[str] = SERVER, python: Path | str = sys.executable
    ) -> None:
        page = () if "--web-port" in arguments else ("--no-web",)
        own = ("--plain", "--no-announce", *page)
        super().__init__([str(python), *server, "run", str(folder), *own, *arguments])
        self.folder = folder


Started = TypeVar("Started", "Program", "Server", "ThreadServer")


class ThreadServer(ServerOutput):
    """`run_contest` in a thread, with the plain lines that ``getstep-server run`` prints.

    It is for tests of the wire, which need neither signals nor an exit code: a process of its own takes 0.8 s of
    processor time to import what the test has imported already.
    """

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


class Programs:
    """Starts programs and ends them after the test, whatever became of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._started: list[Program | ThreadServer] = []
        self._monkeypatch = monkeypatch

    def start(self, *command: str, cwd: Path | None = None) -> Program:
        """Start any command."""
        return self._kept(Program(command, cwd=cwd))

    def serve(
        self, folder: Path, *arguments: str, server: Sequence[str] = SERVER, python: Path | str = sys.executable
    ) -> Server:
        """Start ``getstep-server run`` in a contest folder; ``server``, if given, is what stands in for it."""
        return self._kept(Server(folder, *arguments, server=server, python=python))

    def serve_in_thread(self, folder: Path) -> ThreadServer:
        """Run a contest in a thread of this process: it starts sooner, but has no signals and no exit code.

        Not for tests that measure time, or that have many threads of their own: all share one interpreter.
        """
        return self._kept(ThreadServer(folder, self._monkeypatch))

    def classic(self, server: ServerOutput, team: int, *habits: str) -> Program:
        """Start a stand-in for an original client."""
        where = ["127.0.0.1", str(server.classic_port), str(team)]
        return self.start(sys.executable, str(CLASSIC_CLIENT), *where, *habits)

    def play(
        self, server: ServerOutput, bot: Path, team: int, *, python: Sequence[str] = (sys.executable,)
    ) -> Program:
        """Start ``getstep play`` with a bot; ``python`` is the command with its options."""
        where = ["--host", "127.0.0.1", "--port", str(server.port)]
        who = ["--team", str(team), "--token", token_of(team)]
        return self.start(*python, "-m", "getstep", "play", str(bot), *who, *where, cwd=bot.parent)

    def end(self) -> None:
        """End them all, clients before their server; their output goes to the test's.

        A server that stops holds each classic client that is still connected for a second.
        """
        for program in reversed(self._started):
            program.end()
            print(f"--- output of a {type(program).__name__.lower()}:\n{program.output}")

    def _kept(self, program: Started) -> Started:
        self._started.append(program)
        return program


def free_port() -> int:
    """Return a port of the loopback interface that nobody uses, for a server that has to come back to it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


# --- the bots that a command has started, as the system lists them ----------------------------------------------


def bots_of(port: str) -> list[str]:
    """Return the command lines of the bots that play on a port of this machine."""
    return [line for line in all_commands() if "getstep play" in line and f"--port {port}" in line]


def all_commands() -> list[str]:
    if not Path("/proc/self/cmdline").exists():
        listed = subprocess.run(["ps", "-axww", "-o", "command"], capture_output=True, text=True, check=True)
        return listed.stdout.splitlines()
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            commands.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return commands


def no_bots_on(port: str) -> bool:
    """Return True as soon as all bots are gone; False if some stay."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while bots_of(port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
