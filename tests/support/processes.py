"""Real programs for the tests of the whole: processes of their own, watched line by line."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support.contests import token_of
from tests.support.output import Output, ServerOutput
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripts import SCRIPTS
from tests.support.thread_server import ThreadServer

CLASSIC_CLIENT = SCRIPTS / "classic_client.py"


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

    def __init__(self, folder: Path, *arguments: str, server: Sequence[str] = SERVER) -> None:
        page = () if "--web-port" in arguments else ("--no-web",)
        own = ("--plain", "--no-announce", *page)
        super().__init__([sys.executable, *server, "run", str(folder), *own, *arguments])
        self.folder = folder


Started = TypeVar("Started", "Program", "Server", "ThreadServer")


class Programs:
    """Starts programs and ends them after the test, whatever became of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._started: list[Program | ThreadServer] = []
        self._monkeypatch = monkeypatch

    def start(self, *command: str, cwd: Path | None = None) -> Program:
        """Start any command."""
        return self._kept(Program(command, cwd=cwd))

    def serve(self, folder: Path, *arguments: str, server: Sequence[str] = SERVER) -> Server:
        """Start ``getstep-server run`` in a contest folder; ``server``, if given, is what stands in for it."""
        return self._kept(Server(folder, *arguments, server=server))

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
