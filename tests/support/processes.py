"""Real programs for the tests of the whole: processes of their own, watched line by line, and their contests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

import pytest

from tests.support.output import Output, ServerOutput
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripts import SCRIPTS
from tests.support.thread_server import ThreadServer

CLASSIC_CLIENT = SCRIPTS / "classic_client.py"


class Program(Output):
    """A running program; what it prints is kept, and can be waited for."""

    def __init__(self, command: Sequence[str], *, cwd: Path | None = None) -> None:
        super().__init__()
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"},
        )
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


MakeContest: TypeAlias = Callable[..., Path]


def write_contest(
    folder: Path,
    teams: Sequence[str],
    *,
    game: str = "hop",
    events: Sequence[str] = ("",),
    move_seconds: float = PATIENCE_SECONDS,
    budget_seconds: float | None = None,
    port: int = 0,
    classic_port: int | None = None,
    host: str = "127.0.0.1",
    absent_seconds: float = 4 * PATIENCE_SECONDS,
    database: str | None = None,
    judges: int = 1,
) -> Path:
    """Make a contest on free ports. ``teams`` has a line of TOML for each team, from id 1, beside its id and name.

    ``events`` holds further lines of TOML for each event, which may set another game and limit for it. No honest
    bot misses ``move_seconds`` on a busy machine, or comes after ``absent_seconds``; ``budget_seconds`` for all of
    a player's moves takes the place of a limit for each.
    The records are in the folder, or in ``database``.
    """
    folder.mkdir()
    classic = "" if classic_port is None else f"classic_port = {classic_port}\n"
    records = "" if database is None else f'database = "{database}"\n'
    kind, seconds = ("move", move_seconds) if budget_seconds is None else ("budget", budget_seconds)
    settings = {"game": f'game = "{game}"\n', "move_seconds": f"{kind}_seconds = {seconds}\n"}
    played = "".join(
        f"[[event]]\n{''.join(line for key, line in settings.items() if f'{key} = ' not in lines)}{lines}"
        for lines in events
    )
    (folder / "contest.toml").write_text(
        f'[contest]\nname = "Test"\nseed = 2019\n{played}'
        f'[server]\nhost = "{host}"\nport = {port}\njudges = {judges}\n{classic}{records}'
        f"[start]\nabsent_seconds = {absent_seconds}\n"
    )
    (folder / "teams.toml").write_text(
        "".join(
            f'[[team]]\nid = {number}\nname = "Team {number}"\ntoken = "{token_of(number)}"\n{line}\n'
            for number, line in enumerate(teams, start=1)
        )
    )
    return folder


def free_port() -> int:
    """Return a port of the loopback interface that nobody uses, for a server that has to come back to it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def token_of(team: int) -> str:
    """Return the token that `write_contest` gives a team."""
    return f"test-token-{team}"
