"""A PostgreSQL server for tests: in a folder of its own, on a loopback port, ended with the tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from getstep_server.config.database_address import PostgresAddress
from tests.support.patience import PATIENCE_SECONDS

_USER = "postgres"
"""The program refuses to run as root; the package has made this user."""


def programs() -> Path | None:
    """Return the folder with the server's programs; None if it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).parent if initdb else None


needs_postgres = pytest.mark.skipif(
    not os.environ.get("GETSTEP_REQUIRE_BROWSER") and programs() is None,
    reason="there is no PostgreSQL here: apt install postgresql",
)


class ServerError(Exception):
    """Raised when a program of the server has failed."""


class PostgresServer:
    """A server that can be stopped and started again, as a context manager.

    Its data is not in a folder of pytest's: each pytest that starts takes the rights to those from other users.

    Args:
        host: the address on which it listens.
        enter: a command before each of its programs, such as that which enters a network namespace.
    """

    def __init__(self, host: str = "127.0.0.1", enter: Sequence[str] = ()) -> None:
        self._host = host
        self._enter = enter
        self._folder = Path(tempfile.mkdtemp(prefix="getstep-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._schemas = 0
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        if os.geteuid() == 0:
            shutil.chown(self._folder, _USER)

    def __enter__(self) -> PostgresServer:
        options = ["--auth=trust", "--username=postgres", "--no-sync", "--data-checksums"]
        try:
            self._run("initdb", *options, f"--pgdata={self._folder}")
            with (self._folder / "pg_hba.conf").open("a") as rules:
                rules.write("host all all samenet trust\n")
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _command(self, name: str, *arguments: str) -> list[str]:
        home = programs()
        assert home is not None
        drop = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups"] if os.geteuid() == 0 else []
        return [*self._enter, *drop, str(home / name), *arguments]

    def _run(self, name: str, *arguments: str) -> None:
        command = self._command(name, *arguments)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", check=False)
        if done.returncode:
            raise ServerError(f"{name}: {done.stdout.decode(errors='replace')}")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = {"listen_addresses": self._host, "port": self.port, "unix_socket_directories": "", "fsync": "on"}
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        self._process = subprocess.Popen(
            self._command("postgres", "-D", str(self._folder), *settings), stderr=subprocess.DEVNULL, cwd="/"
        )
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            assert self._process.poll() is None, "the server has ended"
            with contextlib.suppress(ServerError):
                self._run("pg_isready", "-h", self._host, "-p", str(self.port))
                return
            assert time.monotonic() < until
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: at once, without waiting for its clients."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def kill(self) -> None:
        """Kill it and all its processes, as if their machine had crashed."""
        self.suspend()  # so that it starts no others meanwhile
        assert self._process is not None
        pids = self._pids()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        _wait_until(lambda: not any(map(_runs, pids)))  # the next one would find that its memory is in use

    def kill_sessions(self) -> None:
        """Kill the processes that serve clients; the server ends all others, and starts them again."""
        sessions = [pid for pid in self._pids()[1:] if b" 127.0.0.1(" in _command_of(pid)]
        for pid in sessions:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in sessions))  # the server knows it
        self._wait_until_ready()

    def suspend(self) -> None:
        """Let it answer nothing, with its connections open."""
        for pid in self._pids():
            os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        for pid in self._pids():
            os.kill(pid, signal.SIGCONT)

    def _pids(self) -> list[int]:
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return [self._process.pid, *map(int, children)]

    def address(self) -> PostgresAddress:
        """Return the address of a contest of its own."""
        self._schemas += 1
        return PostgresAddress(
            f"postgresql://postgres@{self._host}:{self.port}/postgres", f"contest_{self._schemas}"
        )


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def _runs(pid: int) -> bool:
    """Return True unless a process has ended; its parent may not have taken note of that."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
