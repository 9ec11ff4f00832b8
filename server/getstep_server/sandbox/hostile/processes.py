"""Attempts to start processes, and to reach others."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import subprocess
import threading
from pathlib import Path
from typing import Any

from .attempt import attempt, call, libc


@attempt
def fork(_: dict[str, Any]) -> object:
    child = os.fork()
    if not child:
        os._exit(0)
    return os.waitpid(child, 0) and "made a child process"


@attempt
def start_program(_: dict[str, Any]) -> object:
    return subprocess.run(["/bin/true"], check=True) and "started /bin/true"


@attempt
def spawn_program(_: dict[str, Any]) -> object:
    return os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0) and "started /bin/true"


@attempt
def clone_process(aim: dict[str, Any]) -> object:
    child = call(aim, "clone", signal.SIGCHLD, 0, 0, 0, 0)
    if not child:
        os._exit(0)
    return os.waitpid(child, 0) and "made a child process"


@attempt
def clone_process_by_clone3(aim: dict[str, Any]) -> object:
    arguments = struct.pack("8Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    child = call(aim, "clone3", arguments, len(arguments))
    if not child:
        os._exit(0)
    return os.waitpid(child, 0) and "made a child process"


@attempt
def become_another_program(_: dict[str, Any]) -> object:
    os.execv("/bin/echo", ["echo", json.dumps(["become_another_program", True, "became /bin/echo"])])  # noqa: S606 - the filter has to refuse it


@attempt
def too_many_threads(aim: dict[str, Any]) -> object:
    gate = threading.Event()
    threads = []
    try:
        for _ in range(2 * aim["tasks"]):
            thread = threading.Thread(target=gate.wait)
            thread.start()
            threads.append(thread)
    finally:
        gate.set()
        for thread in threads:
            thread.join()
    return f"started {2 * aim['tasks']} threads"


@attempt
def see_processes(_: dict[str, Any]) -> object:
    return [path.name for path in Path("/proc").glob("[0-9]*") if path.name != str(os.getpid())][:5]


def _server(aim: dict[str, Any]) -> int:
    """Return the number of the server's process. In a container it may be 1, which is the program's own here."""
    if aim["victim"] == os.getpid():
        raise ProcessLookupError("the server's number is the program's own here")
    return int(aim["victim"])


@attempt
def signal_a_process(aim: dict[str, Any]) -> object:
    os.kill(_server(aim), 0)
    return "could signal the server"


@attempt
def signal_all_processes(_: dict[str, Any]) -> object:
    os.kill(-1, 0)
    return "could signal all processes"


@attempt
def continue_itself(aim: dict[str, Any]) -> object:
    process, information = os.getpid(), struct.pack("3i", signal.SIGCONT, 0, -1) + bytes(116)  # SI_QUEUE
    calls: dict[str, tuple[Any, ...]] = {
        "kill": (process, signal.SIGCONT),
        "tkill": (process, signal.SIGCONT),
        "tgkill": (process, process, signal.SIGCONT),
        "rt_sigqueueinfo": (process, signal.SIGCONT, information),
        "rt_tgsigqueueinfo": (process, process, signal.SIGCONT, information),
    }
    sent = []
    for name, arguments in calls.items():
        try:
            call(aim, name, *arguments)
        except PermissionError:
            continue
        sent.append(name)
    return sent


@attempt
def open_a_process(aim: dict[str, Any]) -> object:
    return call(aim, "pidfd_open", _server(aim), 0)


@attempt
def read_environment_of_a_process(aim: dict[str, Any]) -> object:
    return Path(f"/proc/{_server(aim)}/environ").read_bytes()[:10]


@attempt
def read_memory_of_a_process(aim: dict[str, Any]) -> object:
    buffer = ctypes.create_string_buffer(8)
    local = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    remote = (ctypes.c_size_t * 2)(aim["address"], 8)
    return call(aim, "process_vm_readv", _server(aim), local, 1, remote, 1, 0)


@attempt
def trace(aim: dict[str, Any]) -> object:
    call(aim, "ptrace", 0, 0, 0, 0)  # PTRACE_TRACEME
    return "can be traced"


@attempt
def leave_the_core(_: dict[str, Any]) -> object:
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    return len(os.sched_getaffinity(0)) > 1 and "uses all processors"


@attempt
def raise_priority(_: dict[str, Any]) -> object:
    os.setpriority(os.PRIO_PROCESS, 0, -5)
    return "has a higher priority"


@attempt
def real_time_priority(_: dict[str, Any]) -> object:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    return os.sched_getscheduler(0) == os.SCHED_FIFO and "has real-time priority"


@attempt
def live_on_after_the_server(_: dict[str, Any]) -> object:
    if libc.prctl(1, 0, 0, 0, 0):  # PR_SET_PDEATHSIG
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "no longer dies with the server"
