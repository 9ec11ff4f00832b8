"""A program in the sandbox: start it, read and write its files, suspend it, end it."""

from __future__ import annotations

import array
import contextlib
import ctypes
import enum
import io
import marshal
import os
import platform
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

from . import cgroups, files, interfaces, mounts, seccomp
from .limits import PLAYING, Limits
from .proc import MemoryWatch, wait_until_stopped

HOME = "/sandbox/program"
"""The program's folder, as it sees it. It is also its current folder."""

_MOUNT = "/sandbox"  # no folder of a host: it would hide a Python that is installed below it
_TEMPORARY = "/sandbox/tmp"
_LAUNCHER = Path(__file__).with_name("launcher.py")
_READY = b"ready"  # as in the launcher, which is not imported: it needs Linux
_START_SECONDS = 30.0  # for bubblewrap and the launcher, which take 0.02 s; a crowded machine may need much longer
_END_SECONDS = 10.0  # for the kernel to remove a killed process, or to stop a suspended one
_FIRST_UID = 1 << 30  # far above all users of a system, and above the ranges that containers use
_UIDS = 1 << 29
_MOST_MESSAGE = 4096
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class SandboxError(Exception):
    """Raised when a program cannot be started in the sandbox: the message says what is missing."""


class NotExecutableError(SandboxError):
    """Raised when the sandbox works, and the program is not an executable for this machine."""


class Protections(enum.Enum):
    """The choice between running a program in the sandbox and without it."""

    ALL = "required"
    NONE = "none"


class _Starter:
    """A thread that starts all processes.

    The kernel kills a process that asked to die with its parent when the *thread* that started it ends. Threads of
    a pool end when they are idle.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        # a daemon: it never ends by itself
        threading.Thread(target=self._run, name="sandbox starter", daemon=True).start()

    def call(self, function: Callable[[], Any]) -> Any:
        future: Future[Any] = Future()
        self._work.put((future, function))
        return future.result()

    def _run(self) -> None:
        while True:
            future, function = self._work.get()
            try:
                future.set_result(function())
            # Ctrl-C too: no process may be left behind
            except BaseException as error:  # it is raised in the thread that asked
                future.set_exception(error)


@cache
def _starter() -> _Starter:
    return _Starter()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_starter.cache_clear)


class _Input(io.FileIO):
    """The standard input of a program. Writing to it never waits: a program need not read.

    It may even fill the pipe itself, through /proc/self/fd, if it runs as the user of the server.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(os.dup(pipe.fileno()), "wb")  # `pipe.close()` closes its own one
        pipe.close()
        os.set_blocking(self.fileno(), False)

    def write(self, data: Any) -> int:
        """Write all data. Raises RuntimeError if the pipe has no room for it."""
        if super().write(data) != len(data):
            raise RuntimeError("the program does not read its input")
        return len(data)


class SandboxedProcess:
    """A running program. It must be closed: `close`, or a `with` statement."""

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        pid: int,
        pidfd: int,
        folder: files.Folder,
        limits: Limits | None = None,
        cgroup: cgroups.Cgroup | None = None,
        *,
        group: bool = False,
    ) -> None:
        self.pid = pid
        """The program's process, as this process sees it."""
        self.folder = folder
        """Its files. Never open them by a path: the program may have put links and pipes in their places."""
        if popen.stdin is None or popen.stdout is None or popen.stderr is None:
            raise AssertionError("the three pipes were asked for")
        self.stdin: IO[bytes] = _Input(popen.stdin)
        """Never waits: raises RuntimeError if the program has left 64 KB unread."""
        self.stdout: IO[bytes] = popen.stdout
        self.stderr: IO[bytes] = popen.stderr
        self._popen = popen
        self._pidfd = pidfd
        self._group = group  # without a sandbox: its processes are a process group
        self._cpu = 0.0
        self.begin = 0.0  # of its launcher: the limit of processor time counts what that takes, too
        self._killed = False
        self._limits, self._cgroup = limits, cgroup
        self._out_of_memory = False
        self._watch: MemoryWatch | None = None
        if limits is not None and cgroup is None:
            self._watch = MemoryWatch(pid, folder.mount, limits.memory_bytes, self.kill)

    def __enter__(self) -> SandboxedProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def poll(self) -> int | None:
        """Return the exit code as `subprocess.Popen` does: negative for a signal; None while the program runs."""
        return _exit_code(self._popen.poll())

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit code.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        code = _exit_code(self._popen.wait(timeout))
        if code is None:
            raise AssertionError("a process that was waited for has an exit code")
        return code

    @property
    def returncode(self) -> int | None:
        """The exit code, if `poll` or `wait` has seen the end."""
        return _exit_code(self._popen.returncode)

    def kill(self) -> None:
        """Kill the program and all its processes. It does not wait."""
        self._killed = self._killed or self.poll() is None
        self._signal(signal.SIGKILL)
        self._popen.kill()  # bubblewrap: the first process of the sandbox dies with it, and then all others

    def suspend(self) -> None:
        """Stop all threads until `resume`, and wait until they have stopped.

        A thread in the kernel stops once its call is over, which may take half a second. So the caller must not let
        the opponent begin before this returns: the rest of the call is the program's own time.
        """
        self._signal(signal.SIGSTOP)
        if not wait_until_stopped(self.pid, _END_SECONDS):  # no call takes as long
            self.kill()
        self.cpu_seconds()  # noted now: the clock of a process is gone once it has ended

    def resume(self) -> None:
        """Continue after `suspend`."""
        self._signal(signal.SIGCONT)

    def cpu_seconds(self) -> float:
        """Return the processor time used by all threads; after the end, the last one known."""
        with contextlib.suppress(OSError):
            self._cpu = max(self._cpu, time.clock_gettime((~self.pid << 3) | 2))  # as clock_getcpuclockid(3) does
        return self._cpu

    def describe_end(self) -> str:
        """Return how the program has ended, as the end of a sentence: "crashed with SIGSEGV"."""
        code = self.wait()
        if self._limits is not None and self._ran_out_of_memory():
            return self._limits.killed_for_memory()
        if code == -signal.SIGKILL and not self._killed:
            # The kernel has done it. It may also run out of memory itself.
            if self._limits is not None and time.monotonic() - self.begin >= self._limits.cpu_seconds:
                return f"was killed: it used more than {self._limits.cpu_seconds} s of processor time"
            return "was killed by the system"
        if code == -signal.SIGXFSZ:  # the limit is that of one file, and is set to that of all together
            return "was killed: it wrote a file that is larger than its files together may be"
        if code == -signal.SIGSYS:
            return "was killed: it made a system call of another kind of processor"
        if code < 0:
            names = {number.value: number.name for number in signal.Signals}
            return f"crashed with {names.get(-code, f'signal {-code}')}"
        return f"has ended with exit code {code}"

    def _ran_out_of_memory(self) -> bool:
        found = (self._cgroup is not None and self._cgroup.ran_out_of_memory()) or (
            self._watch is not None and self._watch.found
        )
        self._out_of_memory = self._out_of_memory or found
        return self._out_of_memory

    def close(self) -> None:
        """Kill the program, wait until nothing of it is left, and close the pipes and the folder."""
        self.kill()
        self._popen.wait(_END_SECONDS)
        self._ran_out_of_memory()  # `describe_end` may be asked later
        if self._watch is not None:
            self._watch.stop()  # before the folder is closed, whose descriptor it reads
        if self._cgroup is not None:
            self._cgroup.remove()  # only an empty one can be removed
        for pipe in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(OSError):  # the rest of the input is written when it is closed
                pipe.close()
        self.folder.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def _signal(self, number: signal.Signals) -> None:
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                if self._group:  # no pidfd names a whole group
                    os.killpg(self.pid, number)
                else:
                    # Not by its number, which another process may have once this one has ended.
                    signal.pidfd_send_signal(self._pidfd, number)


def start(
    argv: Sequence[str],
    folder: Path,
    limits: Limits = PLAYING,
    core: int | None = None,
    protections: Protections = Protections.ALL,
    *,
    environment: Mapping[str, str] | None = None,
    readable: Sequence[Path] = (),
) -> SandboxedProcess:
    """Start a program. It may be called from any thread, and blocks for about 30 ms.

    The program gets a copy of the folder's files as `HOME`, where it starts. What it changes there is gone with it,
    unless `SandboxedProcess.folder.save` copies it back. Without protections it runs in the folder itself.

    Args:
        argv: the program and its arguments. Files of the folder are named relative to it. `sys.executable` is the
            Python that runs the server, without its virtual environment.
        folder: the program's files.
        core: the only processor that it may use. None: all.
        environment: variables that the program gets in addition.
        readable: other files and folders that it may read, at their own paths.

    Raises:
        SandboxError: the sandbox does not work on this machine, or the program cannot be started.
    """
    if os.name != "posix":
        raise SandboxError("the host cannot run programs on this system; it needs Linux")
    argv = [str(mounts.python()) if word == sys.executable else word for word in argv]
    if protections is Protections.NONE:
        return _start_bare(argv, folder, core, environment or {})
    if sys.platform != "linux":
        raise SandboxError("the sandbox needs Linux")
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise SandboxError(str(interfaces.bubblewrap_lack(interfaces.System())))
    uid = _FIRST_UID + secrets.randbelow(_UIDS) if os.geteuid() == 0 else None
    try:
        # Not at a place that another allocation takes: those are at the ends of the address space.
        name_address = (1 << 33) + secrets.randbelow(seccomp.largest_address() - (1 << 33))
        only_at = None if limits.children else name_address
        filter_ = seccomp.compile_filter(children=limits.children, name_address=only_at)
    except KeyError:  # the filter has numbers of system calls for two kinds of processors
        raise SandboxError(f"the sandbox does not know the processor {platform.machine()}") from None
    settings = {
        "argv": argv,
        "name_address": name_address,
        "filter": filter_,
        "environment": _environment(environment or {}),
        "home": _MOUNT,
        "devices": mounts.DEVICES,
        "file_bytes": limits.file_bytes,
        "files": limits.files,
        "uid": uid,
        "core": core,
        "rlimits": _rlimits(limits),
    }
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(_START_SECONDS)
        # the kernel then tells the launcher's process id as it is outside of the sandbox
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        command = mounts.command(bubblewrap, mounts.options(_MOUNT, readable), as_root=uid is not None)
        command += [str(mounts.python()), "-I", "-S", "-c", _launcher_source(), str(theirs.fileno())]
        begin, popen = time.monotonic(), _popen(command, Path("/"), {}, (theirs.fileno(),))
        theirs.close()
        try:
            program = _meet(popen, ours, folder, settings, limits)
            program.begin = begin
        # Ctrl-C too: no process may be left behind
        except BaseException as error:
            popen.kill()
            popen.wait(_END_SECONDS)
            said = _last_line(popen)
            for pipe in (popen.stdin, popen.stdout, popen.stderr):
                if pipe is not None:
                    pipe.close()
            if isinstance(error, OSError | EOFError):
                raise SandboxError(f"the sandbox cannot be started: {said or error}{_advice(said)}") from error
            raise
        return program


def _meet(
    popen: subprocess.Popen[bytes], parent: socket.socket, folder: Path, settings: dict[str, Any], limits: Limits
) -> SandboxedProcess:
    """Do the parent's part of what `launcher` describes."""
    _send(parent, marshal.dumps(settings))
    pid, descriptor = _first_answer(parent)
    inside = files.Folder(descriptor, settings["file_bytes"], settings["files"], settings["uid"])
    pidfd, cgroup = -1, None
    try:
        pidfd = os.pidfd_open(pid)
        cgroup = _cgroup(limits)
        if cgroup is not None:
            cgroup.add(pid)  # before the program starts: what was used until then would not count
        inside.fill(folder)
        _send(parent, b"")
        _expect(parent, _READY)
        _send(parent, b"")
        _expect(parent, b"", NotExecutableError)
        return SandboxedProcess(popen, pid, pidfd, inside, limits, cgroup)
    except BaseException:  # as above
        popen.kill()
        popen.wait(_END_SECONDS)  # the cgroup can be removed, and the files' memory be freed, after its end only
        inside.close()
        if cgroup is not None:
            cgroup.remove()
        if pidfd >= 0:
            os.close(pidfd)
        raise


def _cgroup(limits: Limits) -> cgroups.Cgroup | None:
    parent = cgroups.cgroup_parent()
    if parent is not None:
        with contextlib.suppress(OSError):  # memory is measured instead
            return cgroups.Cgroup(parent, limits.memory_bytes)
    return None


def _send(parent: socket.socket, data: bytes) -> None:
    # with its length: a stream socket does not keep messages apart
    parent.sendall(len(data).to_bytes(4, "little") + data)


def _expect(parent: socket.socket, wanted: bytes, failure: type[SandboxError] = SandboxError) -> None:
    said = parent.recv(_MOST_MESSAGE)
    if said != wanted:
        raise failure(said.decode(errors="replace")) if said else EOFError("the launcher has ended")


def _first_answer(parent: socket.socket) -> tuple[int, int]:
    """Return the launcher's pid, as this process sees it, and the descriptor of its folder."""
    space = socket.CMSG_SPACE(4) + socket.CMSG_SPACE(12)  # a descriptor, and struct ucred: pid, uid, gid
    said, ancillary, _, _ = parent.recvmsg(_MOST_MESSAGE, space, socket.MSG_CMSG_CLOEXEC)
    pid, descriptors = 0, array.array("i")
    for _level, kind, data in ancillary:
        if kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data)
        elif kind == socket.SCM_CREDENTIALS:  # the kernel translates the pid from the sandbox's namespace to ours
            pid = struct.unpack("3i", data)[0]
    if said != _READY or len(descriptors) != 1 or pid <= 0:
        for descriptor in descriptors:
            os.close(descriptor)
        raise SandboxError(said.decode(errors="replace")) if said else EOFError("bubblewrap has ended")
    return pid, descriptors[0]


def _start_bare(
    argv: Sequence[str], folder: Path, core: int | None, environment: Mapping[str, str]
) -> SandboxedProcess:
    """Start a program as an ordinary process, which also dies with the thread that starts it."""

    def prepare() -> None:
        if _libc is not None:
            # the program ends with this process, even after SIGKILL
            _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if core is not None and sys.platform == "linux":
            os.sched_setaffinity(0, {core})

    try:
        popen = _popen(argv, folder, {**os.environ, **environment}, (), prepare)
    except OSError as error:
        raise NotExecutableError(f"{argv[0]} cannot be started: {error.strerror or error}") from error
    # None: without the sandbox there are no limits of files
    inside = files.Folder(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), None, None, None, inner="")
    return SandboxedProcess(popen, popen.pid, os.pidfd_open(popen.pid), inside, group=True)


def _popen(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    passed: Sequence[int],
    prepare: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    def call() -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - what it runs is the caller's decision
            command,
            cwd=folder,
            env=environment,
            pass_fds=passed,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,  # a read returns the bytes that have arrived; a buffer would wait for more
            start_new_session=prepare is not None,  # without bubblewrap, `kill` needs a process group
            preexec_fn=prepare,  # in a child of a thread that holds no lock
        )

    popen: subprocess.Popen[bytes] = _starter().call(call)
    return popen


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return {
        "PATH": mounts.search_path(),
        "HOME": HOME,
        "TMPDIR": _TEMPORARY,
        "LANG": "C.UTF-8",
        "MONO_DISABLE_SHARED_AREA": "1",  # it would be a file in /dev/shm, which is not there
        **more,
    }


def _rlimits(limits: Limits) -> dict[str, int]:
    return {
        "RLIMIT_AS": limits.address_bytes,
        "RLIMIT_CORE": 0,  # a crash would fill the folder with its memory
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_DATA": limits.memory_bytes,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.descriptors,
        "RLIMIT_NPROC": limits.tasks,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_SIGPENDING": 1024,  # a queue of signals is memory of the kernel
    }


@cache
def _launcher_source() -> str:
    return _LAUNCHER.read_text(encoding="utf-8")


def _last_line(popen: subprocess.Popen[bytes]) -> str:
    """Return what bubblewrap complained of, after its end."""
    if popen.stderr is None:
        return ""
    os.set_blocking(popen.stderr.fileno(), False)  # a process that it left behind may hold the pipe open
    said = popen.stderr.read(_MOST_MESSAGE) or b""
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def _advice(said: str) -> str:
    """Return what is missing, if bubblewrap complains that it may not make namespaces, or of its command line."""
    system = interfaces.System()
    lack = interfaces.bubblewrap_lack(system)
    if lack is None and ("uid map" in said or "namespace" in said):
        lack = interfaces.namespace_lack(system)
        if lack is None:
            return "; this machine or its container lets nobody make namespaces"
    return "" if lack is None else f": {lack}"


def _exit_code(code: int | None) -> int | None:
    """Return the program's exit code: bubblewrap adds 128 to the number of a signal, as a shell does."""
    # negative for a signal, as `subprocess` has it
    return 128 - code if code is not None and 128 < code <= 128 + signal.NSIG else code
