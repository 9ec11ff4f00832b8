"""Runs every probe on this machine, and says which protections hold."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from . import cgroups, interfaces, mounts, syscalls
from .limits import MIB, Limits
from .probes import PROBES, Part, Probe, Run
from .process import Protections, SandboxedProcess, SandboxError, start

# Far less than a program gets in a match: each probe that goes to a limit takes a moment only.
LIMITS = Limits(
    memory_bytes=128 * MIB, file_bytes=8 * MIB, files=100, tasks=32, descriptors=64, cpu_seconds=2, children=False
)
"""Small, so that the control, which runs the probes without a sandbox, does no harm."""

END_SECONDS = 1.0
"""A program has to be gone by then, whatever it does."""

_RUN_SECONDS = 60.0  # for a probe on a busy machine; it needs 0.05 s
_END_CHECK_SECONDS = 0.02
_SUSPENSIONS = 3
_SUSPENDED_SECONDS = 0.1
_RESUMED_SECONDS = 0.05  # to be in the middle of something again
_SUSPENDED_CPU_SECONDS = 0.001
_HOSTILE = Path(__file__).with_name("hostile")
_MARK = "GETSTEP_PROBE"
_READ_OF_FLOOD = MIB
_TEAMS = "token = 'kq3m-x7fd-29pt'"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a probe: does a protection hold?"""

    probe: Probe
    held: bool
    detail: str
    """The error that stopped the probe, or what it achieved."""

    @property
    def advice(self) -> str:
        """The advice for the host if it does not hold."""
        return "" if self.held else self.probe.part.value


def check(protections: Protections = Protections.ALL, names: Iterable[str] | None = None) -> list[Finding]:
    """Try to break out of the sandbox, in every way that we know. It takes about 6 s.

    Args:
        protections: `Protections.NONE` runs the probes without a sandbox, to see that they are real.
        names: the probes to run. None: all.
    """
    chosen = [probe for probe in PROBES if names is None or probe.name in names]
    with _Aim(protections) as aim:
        found = aim.try_all(chosen)
    return [found[probe.name] for probe in chosen]


def missing() -> str | None:
    """Return why no program can be started in the sandbox here, with what to install. None: it can."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            start(["true"], Path(folder)).close()
        except SandboxError as error:
            return str(error)
    return None


class _Aim:
    """The targets of the probes: a secret, an opponent, a port, this process."""

    def __init__(self, protections: Protections) -> None:
        self._protections = protections
        # in the environment of each probe, so that all its processes can be found in /proc
        self._mark = secrets.token_hex(8)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> _Aim:
        top = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="getstep-probes-")))
        top.chmod(0o755)  # what is denied must not be denied by this folder
        self._top = top
        for name in ("opponent", "outside"):
            (top / name).mkdir()
        (top / "outside").chmod(0o777)  # all may write there: only the sandbox keeps a program from it
        (top / "opponent" / "program.py").write_text("print(1)")
        (top / "teams.toml").write_text(_TEAMS)
        server = self._stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = f"getstep-{self._mark}"
        for address in (str(top / "socket"), "\0" + abstract):
            made = self._stack.enter_context(socket.socket(socket.AF_UNIX))
            made.bind(address)
            made.listen()
        (top / "socket").chmod(0o777)  # as above
        self._memory = ctypes.create_string_buffer(b"in the memory of the server")
        calls = [syscalls.ALLOWED, syscalls.CHECKED, syscalls.REFUSED, syscalls.WITHOUT_EFFECT]
        self._aim: dict[str, Any] = {
            "tokens": str(top / "teams.toml"),
            "opponent": str(top / "opponent"),
            "outside": str(top / "outside"),
            "socket": str(top / "socket"),
            "abstract": abstract,
            "home": str(Path.home()),
            "port": server.getsockname()[1],
            "victim": os.getpid(),
            "address": ctypes.addressof(self._memory),
            "calls": syscalls.numbers(" ".join(calls), os.uname().machine),
            **{field.name: getattr(LIMITS, field.name) for field in fields(LIMITS)},
        }
        return self

    def __exit__(self, *_: object) -> None:
        self._kill_marked()
        self._stack.close()

    def try_all(self, probes: Sequence[Probe]) -> dict[str, Finding]:
        together = [probe for probe in probes if probe.run is Run.TOGETHER]
        found = {finding.probe.name: finding for finding in self._inside(together)} if together else {}
        for probe in probes:
            if probe.run is Run.ALONE:
                found[probe.name] = self._inside([probe])[0]
            elif probe.run is Run.WATCHED:
                found[probe.name] = self._watch(probe)
        return found

    # --- probes that say themselves what they achieved ---

    def _inside(self, probes: Sequence[Probe]) -> list[Finding]:
        try:
            with self._start([probe.name for probe in probes]) as program:
                deadline = time.monotonic() + _RUN_SECONDS
                said = _read_to_end(program, deadline)
                with contextlib.suppress(subprocess.TimeoutExpired):  # reported below as "did not end"
                    program.wait(max(0.0, deadline - time.monotonic()))
                end = program.describe_end() if program.poll() is not None else "did not end"
        except (SandboxError, OSError) as error:
            return [Finding(probe, held=False, detail=str(error)) for probe in probes]
        results = {}
        for line in said.splitlines():
            with contextlib.suppress(ValueError):  # a probe that broke something may print anything
                name, broke, detail = json.loads(line)
                results[name] = (broke, detail)
        return [self._finding(probe, results.get(probe.name), end) for probe in probes]

    @staticmethod
    def _finding(probe: Probe, result: tuple[bool, str] | None, end: str) -> Finding:
        if result is not None:
            return Finding(probe, held=not result[0], detail=result[1])
        # A probe that is alone may be killed for what it does; together with others, it has hidden their results.
        return Finding(probe, held=probe.run is Run.ALONE, detail=f"the probe {end}")

    def _start(self, names: Sequence[str]) -> SandboxedProcess:
        folder = Path(tempfile.mkdtemp(dir=self._top))
        shutil.copytree(_HOSTILE, folder / "hostile", ignore=shutil.ignore_patterns("__pycache__"))
        program = start(
            [sys.executable, "-m", "hostile", *names],
            folder,
            LIMITS,
            min(os.sched_getaffinity(0)),
            self._protections,
            environment={_MARK: self._mark},
        )
        program.stdin.write(json.dumps(self._aim).encode() + b"\n")
        return program

    # --- probes that are measured from outside ---

    def _watch(self, probe: Probe) -> Finding:
        watched: dict[str, Callable[[SandboxedProcess], tuple[bool, str]]] = {
            "compute_while_suspended": _suspend,
            "compute_in_the_kernel": _suspend,
            "continue_while_suspended": _suspend,
            "flood": self._flood,
        }
        try:
            if probe.name == "server_killed":
                held, detail = self._kill_server()
            else:
                with self._start([probe.name]) as program:
                    if probe.name == "flood" or program.stdout.readline().startswith(b"ready"):
                        held, detail = watched.get(probe.name, self._end)(program)
                    else:
                        held, detail = False, f"the probe {program.describe_end()}"
        except (SandboxError, OSError) as error:
            held, detail = False, str(error)
        finally:
            self._kill_marked()
        return Finding(probe, held=held, detail=detail)

    def _end(self, program: SandboxedProcess) -> tuple[bool, str]:
        program.kill()  # what is tested: that nothing of it survives
        return self._gone()

    def _flood(self, program: SandboxedProcess) -> tuple[bool, str]:
        left = _READ_OF_FLOOD
        while left > 0:
            # a flood is read in part only: the program must die in the middle of a write
            left -= len(program.stdout.read(min(left, 1 << 16)))
        return self._end(program)

    def _kill_server(self) -> tuple[bool, str]:
        """Start a process that starts the program, and kill it."""
        folder = Path(tempfile.mkdtemp(dir=self._top))
        shutil.copytree(_HOSTILE, folder / "hostile", ignore=shutil.ignore_patterns("__pycache__"))
        words = [str(folder), self._mark, self._protections.name]
        server = subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-c", _SERVER, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        with server:
            if server.stdout is None or not server.stdout.readline():
                return False, "the program did not start"
            server.kill()  # SIGKILL: the server gets no chance to end its program
            server.wait()
        held, detail = self._gone()
        parent = cgroups.cgroup_parent() if held else None
        deadline = time.monotonic() + END_SECONDS
        while parent is not None and any(parent.folder.glob(f"getstep-{server.pid}-*")):
            if time.monotonic() > deadline:
                return False, "its cgroup was left"
            time.sleep(0.01)  # another process removes the cgroup, some milliseconds after the end
        return held, detail

    def _gone(self) -> tuple[bool, str]:
        """Return whether all processes of the program have ended in time."""
        begin = time.monotonic()
        while left := list(_marked(self._mark)):
            if time.monotonic() - begin > END_SECONDS:
                return False, f"{len(left)} of its processes live on"
            time.sleep(0.002)  # the check measures how soon they are gone, in ms
        return True, f"gone after {(time.monotonic() - begin) * 1000:.0f} ms"

    def _kill_marked(self) -> None:
        """End what a probe without a sandbox has left behind."""
        for process in _marked(self._mark):
            with contextlib.suppress(ProcessLookupError):  # it has ended since /proc was read
                os.kill(process, signal.SIGKILL)


_SERVER = """\
import sys
from pathlib import Path
from getstep_server.sandbox import Protections, start
folder, mark, protections = sys.argv[1:]
command = [sys.executable, "-m", "hostile", "ignore_all_signals"]
environment = {"GETSTEP_PROBE": mark}
program = start(command, Path(folder), protections=Protections[protections], environment=environment)
program.stdin.write(b"{}\\n")
print(program.stdout.readline(), flush=True)
program.wait()
"""


def _suspend(program: SandboxedProcess) -> tuple[bool, str]:
    """Suspend it some times, and measure what it uses from the return of `suspend` on."""
    used = 0.0
    for _ in range(_SUSPENSIONS):
        program.suspend()
        begin = program.cpu_seconds()
        time.sleep(_SUSPENDED_SECONDS)  # a program that still runs would use it all
        used = max(used, program.cpu_seconds() - begin)
        if program.poll() is not None:  # `suspend` kills a program that does not stop
            return False, f"did not stop, and {program.describe_end()}"
        program.resume()
        time.sleep(_RESUMED_SECONDS)
    return used <= _SUSPENDED_CPU_SECONDS, f"used {used * 1000:.1f} ms in {_SUSPENDED_SECONDS * 1000:.0f} ms"


def _read_to_end(program: SandboxedProcess, deadline: float) -> str:
    """Return what it printed until it ended. Without a sandbox, a process that it left may keep the pipe."""
    said = b""
    while len(said) < MIB and time.monotonic() < deadline:
        ended = program.poll() is not None  # before the look at the pipe: what it printed last is there then
        if select.select([program.stdout], [], [], 0.0 if ended else _END_CHECK_SECONDS)[0]:
            part = os.read(program.stdout.fileno(), 1 << 16)
            if not part:
                break
            said += part
        elif ended:
            break
    return said.decode(errors="replace")


def _marked(mark: str) -> Iterator[int]:
    """Yield the processes that have the mark in their environment, and are not dead."""
    wanted = f"{_MARK}={mark}".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):  # a process of another user, or one that has just ended
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    yield int(folder.name)


def describe_machine() -> list[str]:
    """Return the facts on which the protections rest, a line each."""
    parent = cgroups.cgroup_parent()
    return [
        f"system: {interfaces.System().name()}",
        f"bubblewrap: {shutil.which('bwrap') or 'not installed'}",
        f"user: {'root; programs run as a user of their own' if os.geteuid() == 0 else 'not root'}",
        f"memory: {f'a cgroup of version {parent.version}' if parent else 'measured 40 times a second, no cgroup'}",
        f"Python of the programs: {mounts.python()}",
    ]


__all__ = ["END_SECONDS", "LIMITS", "Finding", "Part", "check", "describe_machine", "missing"]
