"""The command that starts a program under a debugger, for each kind of program."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

_JAVA_PORT, _MONO_PORT = 5005, 55555  # those that editors suggest


def under_debugger(command: Sequence[str]) -> tuple[list[str], str]:
    """Return the command that starts a program and stops it at its beginning, and what to do then."""
    tool, *rest = command
    name = Path(tool).stem.lower()
    if name == "java":
        agent = f"-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:{_JAVA_PORT}"
        return [tool, agent, *rest], f"It waits for your editor, or for: jdb -attach 127.0.0.1:{_JAVA_PORT}"
    if name == "node":
        return [tool, "--inspect-brk", *rest], "It waits for your editor, or for chrome://inspect in Chrome."
    if name == "mono":
        agent = f"--debugger-agent=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:{_MONO_PORT}"
        return [tool, "--debug", agent, *rest], f"It waits for your editor at 127.0.0.1:{_MONO_PORT}."
    if name == "dotnet":
        return list(command), "Then attach your editor to the process dotnet."
    if name.startswith(("python", "pypy")):
        return [tool, "-m", "pdb", *rest], "It stops at its first line; c goes on."
    if sys.platform == "win32":
        return list(
            command
        ), "Then attach your editor to this process; Visual Studio: devenv /debugexe, and the command."
    if sys.platform == "darwin":
        return ["lldb", "--", *command], "Set breakpoints, then: run"
    return ["gdb", "--args", *command], "Set breakpoints, such as: break GetStep (then y), then: run"
