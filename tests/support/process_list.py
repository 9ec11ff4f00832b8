"""The bots that a command has started, as the system lists them."""

from __future__ import annotations

import contextlib
import subprocess
import time
from pathlib import Path

from tests.support.patience import PATIENCE_SECONDS


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
