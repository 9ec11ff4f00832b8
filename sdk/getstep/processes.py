"""Processes beside this one: Ctrl-C does not reach them, and they end with all that they have started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
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
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        if sys.platform == "win32":
            from ._windows_job import Job  # here: no other system has the library that it loads

            self._job = Job(process.pid)

    def kill(self) -> None:
        """End all of them at once."""
        if sys.platform == "win32":
            self._job.terminate()
            self._process.kill()  # if it could not be added to the job
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # the group is empty
                os.killpg(self._process.pid, signal.SIGKILL)
