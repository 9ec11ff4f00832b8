"""A program without a sandbox, as the host has asked with ``sandbox = "none"``: an ordinary process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class PlainProcess(subprocess.Popen[bytes]):
    """A process group of a program, with suspension by signals."""

    def suspend(self) -> None:
        """Take the processor from all processes of the group."""
        self._signal("SIGSTOP")

    def resume(self) -> None:
        """Give the processor back."""
        self._signal("SIGCONT")

    def kill(self) -> None:
        """End all processes of the group."""
        self._signal("SIGKILL")
        super().kill()

    def _signal(self, name: str) -> None:
        if os.name != "nt":
            with contextlib.suppress(ProcessLookupError, PermissionError):  # the group is empty
                os.killpg(self.pid, getattr(signal, name))


def start(command: Sequence[str], folder: Path, core: int | None) -> PlainProcess:
    """Start a program in its folder, on one processor core.

    Raises:
        OSError: it cannot be started.
    """

    def prepare() -> None:
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)  # it dies with the process that asks it
        if core is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {core})

    try:
        return PlainProcess(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name != "nt",
            preexec_fn=None if os.name == "nt" else prepare,  # nothing else knows prctl
        )
    except OSError as error:
        raise OSError(f"{command[0]} cannot be started: {error.strerror or error}") from None
