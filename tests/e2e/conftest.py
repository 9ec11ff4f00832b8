"""Real programs for the tests of the whole: processes of their own, watched line by line."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

SECONDS = 30.0
"""How long a test waits for what takes a moment when all is well."""

CLASSIC_CLIENT = Path(__file__).with_name("classic_client.py")


class Program:
    """A running program; what it prints is kept, and can be waited for."""

    def __init__(self, command: Sequence[str], *, cwd: Path | None = None) -> None:
        self._lines: list[str] = []
        self._news = threading.Condition()
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
    def output(self) -> str:
        """All it has printed so far."""
        with self._news:
            return "".join(self._lines)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def expect(self, pattern: str, *, seconds: float = SECONDS) -> re.Match[str]:
        """Wait until its output has ``pattern`` (a line's ``^`` and ``$`` count).

        Raises:
            AssertionError: it has not, after ``seconds`` or at its end.
        """
        deadline = time.monotonic() + seconds
        with self._news:
            while True:
                text = "".join(self._lines)
                found = re.search(pattern, text, re.MULTILINE)
                if found:
                    return found
                left = deadline - time.monotonic()
                if left <= 0 or not self._reader.is_alive():
                    raise AssertionError(f"no {pattern!r} in the output:\n{text}")
                self._news.wait(left)

    def wait(self, *, seconds: float = SECONDS) -> int:
        """Its exit code, once it has ended.

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
            self._tell(line)
        self._tell("")

    def _tell(self, line: str) -> None:
        with self._news:
            self._lines.append(line)
            self._news.notify_all()


SERVER = ("-m", "getstep_server")
"""What Python is to run as the server."""


class Server(Program):
    """``getstep-server run`` on free ports of the loopback interface."""

    def __init__(self, folder: Path, *arguments: str, server: Sequence[str] = SERVER) -> None:
        super().__init__([sys.executable, *server, "run", str(folder), "--plain", *arguments])
        self.folder = folder

    def _listening(self) -> re.Match[str]:
        return self.expect(r"^Listening on \S+, port (\d+)(?:, classic wire on port (\d+))?\.$")

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listening()[1])

    @property
    def classic_port(self) -> int | None:
        """Where it listens for classic clients; None if it does not."""
        port = self._listening()[2]
        return None if port is None else int(port)

    @property
    def complaints(self) -> list[str]:
        """What it has said about refused connections, broken protocol and failures of its own."""
        return [line for line in self.output.splitlines() if line.startswith("!")]


class Programs:
    """Starts programs and ends them after the test, whatever became of it."""

    def __init__(self) -> None:
        self._started: list[Program] = []

    def start(self, *command: str, cwd: Path | None = None) -> Program:
        """Start any command."""
        return self._kept(Program(command, cwd=cwd))

    def serve(self, folder: Path, *arguments: str, server: Sequence[str] = SERVER) -> Server:
        """Start ``getstep-server run`` in a contest folder; ``server``, if given, is what stands in for it."""
        started = Server(folder, *arguments, server=server)
        self._kept(started)
        return started

    def classic(self, server: Server, team: int, *habits: str) -> Program:
        """Start a stand-in for an original client."""
        where = ["127.0.0.1", str(server.classic_port), str(team)]
        return self.start(sys.executable, str(CLASSIC_CLIENT), *where, *habits)

    def play(self, server: Server, bot: Path, team: int, *, python: Sequence[str] = (sys.executable,)) -> Program:
        """Start ``getstep play`` with a bot; ``python`` is the command with its options."""
        where = ["--host", "127.0.0.1", "--port", str(server.port)]
        who = ["--team", str(team), "--token", token_of(team)]
        return self.start(*python, "-m", "getstep", "play", str(bot), *who, *where, cwd=bot.parent)

    def end(self) -> None:
        """End them all; their output goes to the test's."""
        for program in self._started:
            program.end()
            print(f"--- output of a {type(program).__name__.lower()}:\n{program.output}")

    def _kept(self, program: Program) -> Program:
        self._started.append(program)
        return program


@pytest.fixture
def programs() -> Iterator[Programs]:
    """Starts programs that end with the test."""
    started = Programs()
    try:
        yield started
    finally:
        started.end()


MakeContest: TypeAlias = Callable[..., Path]


@pytest.fixture
def make_contest(tmp_path: Path) -> MakeContest:
    """Makes a contest folder; see `write_contest`."""

    def make(teams: Sequence[str], **settings: Any) -> Path:
        return write_contest(tmp_path / "contest", teams, **settings)

    return make


def write_contest(
    folder: Path,
    teams: Sequence[str],
    *,
    game: str = "hop",
    events: Sequence[str] = ("",),
    move_seconds: float = 2.0,
    budget_seconds: float | None = None,
    port: int = 0,
    classic_port: int | None = None,
    host: str = "127.0.0.1",
    absent_seconds: float = 60.0,
) -> Path:
    """A contest on free ports. ``teams`` holds a line of TOML for each team, from id 1, besides its id and name.

    ``events`` holds further lines of TOML for each event. ``budget_seconds`` for all of a player's moves takes the
    place of ``move_seconds`` for each.
    """
    folder.mkdir()
    classic = "" if classic_port is None else f"classic_port = {classic_port}\n"
    kind, seconds = ("move", move_seconds) if budget_seconds is None else ("budget", budget_seconds)
    played = "".join(f'[[event]]\ngame = "{game}"\n{kind}_seconds = {seconds}\n{lines}' for lines in events)
    (folder / "contest.toml").write_text(
        f'[contest]\nname = "Test"\nseed = 2019\n{played}'
        f'[server]\nhost = "{host}"\nport = {port}\n{classic}'
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
    """A port of the loopback interface that nobody uses, for a server that has to come back to it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def token_of(team: int) -> str:
    """The token that `write_contest` gives a team."""
    return f"test-token-{team}"
