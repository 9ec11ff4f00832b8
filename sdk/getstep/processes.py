"""Processes beside this one: Ctrl-C does not reach them, and they end with all that they have started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any


def own_group(*, session: bool = True) -> dict[str, Any]:
    """Return the options of `subprocess.Popen` for a process group of its own: Ctrl-C is for this process alone.

    Args:
        session: True for a session of its own as well, which Windows does not have.
    """
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True} if session else {"process_group": 0}


class ProcessTree:
    """A process with a group of its own, and all processes that it starts.

    On Windows they are a job, which also ends with this process. A process that it started before it was in the job
    is not; Python itself takes longer to start.

    Args:
        process: the leader of the group.
        ends_with_us: end all of them when this process ends in any way, also on other systems. A bot that notices
            the end of its input needs it not.
    """

    def __init__(self, process: subprocess.Popen[bytes], *, ends_with_us: bool = False) -> None:
        self._process = process
        self._guard: subprocess.Popen[bytes] | None = None
        if sys.platform == "win32":
            from ._windows_job import Job  # here: no other system has the library that it loads

            self._job = Job(process.pid)
        elif ends_with_us:
            # The other end of its input closes with this process, even if that is killed.
            self._guard = subprocess.Popen(  # noqa: S603 - a fixed command
                ["/bin/sh", "-c", 'read -r _; kill -s KILL -- "-$0"', str(process.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **own_group(),
            )

    def kill(self) -> None:
        """End all of them at once."""
        if sys.platform == "win32":
            self._job.terminate()
            self._process.kill()  # if it could not be added to the job
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # the group is empty
                os.killpg(self._process.pid, signal.SIGKILL)
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.kill()  # before its input ends: by then, another group may have the number
            guard.communicate()


def run(command: Sequence[str], folder: str) -> int:
    """Run a program without an input, and return its exit code. What it has started ends with it, or with us.

    Raises:
        OSError: it cannot be started.
    """
    process = subprocess.Popen(  # noqa: S603 - the caller's user has named the program
        command, cwd=folder, stdin=subprocess.DEVNULL, **own_group()
    )
    tree = ProcessTree(process, ends_with_us=True)
    try:
        return process.wait()
    finally:
        tree.kill()
