"""Is a debugger attached? Then practice stops its clocks, and a bot that does not return is not started again."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_NO_DEBUGGERS = ("coverage", "trace")  # modules that trace for other reasons


def attached_debugger(thread: int | None = None) -> str:
    """Return the name of the debugger that follows a thread or the whole process, or an empty string.

    Args:
        thread: its identifier; None for the thread that calls.
    """
    debugpy = sys.modules.get("debugpy")
    if debugpy is not None and debugpy.is_client_connected():
        return "debugpy"
    if debugpy is None:  # a notebook has it loaded, with pydevd and its tool, and mostly no debugger
        if "pydevd" in sys.modules:
            return "pydevd"
        monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on
        if monitoring is not None and (tool := monitoring.get_tool(monitoring.DEBUGGER_ID)):
            return str(tool)
    found = (package for package in _tracing(thread) if package not in _NO_DEBUGGERS)
    return next(found, "") or _native_debugger()


def _tracing(thread: int | None) -> Iterator[str]:
    """Yield the packages that trace a thread. Of another thread, only its frames say what traces them."""
    if thread in (None, threading.get_ident()):
        if (trace := sys.gettrace()) is not None:
            yield _package_of(trace)
        return  # its frames may keep the trace of a debugger that has gone
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_trace is not None:
            yield _package_of(frame.f_trace)
        if frame.f_globals.get("__name__") == "bdb":  # it waits at its prompt
            yield "bdb"
        frame = frame.f_back


def _package_of(trace: Any) -> str:
    owner = getattr(trace, "__self__", trace)
    module = getattr(owner, "__module__", None) or type(owner).__module__
    return str(module).partition(".")[0]


def _native_debugger() -> str:
    """Return the name of a debugger of the operating system, such as gdb; only Linux says so."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        tracer = next((line.split()[1] for line in status.splitlines() if line.startswith("TracerPid:")), "0")
        name = Path(f"/proc/{tracer}/comm")
        return "" if tracer == "0" else name.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
