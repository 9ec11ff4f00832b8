"""Starts a child process, follows its output, and ends it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import trio

from getstep.processes import own_group
from getstep_server.limits import CHILD_LINE_BYTES

from .log import ChildLog

END_SECONDS = 3.0
"""The time for a child to end unaided before it is killed. The page and a judge process need some milliseconds.
The announcer needs 0.3 s to say goodbye, and 2 s if it has just started."""

OUTPUT_END_SECONDS = 1.0
"""The time to read on after a child has exited: its own child processes may keep the pipe open."""

OnLine = Callable[[bytes], object]


async def start(
    command: Sequence[str],
    *,
    stdin: int = subprocess.PIPE,
    stdout: int = subprocess.PIPE,
    stderr: int | None = subprocess.STDOUT,
    env: Mapping[str, str] | None = None,
    files: Sequence[int] = (),
    own_session: bool = False,
) -> trio.Process:
    """Start a child.

    Args:
        command: the program and its arguments.
        stdin: by default a pipe that stays open until the child has to end.
        stdout: by default a pipe.
        stderr: by default together with ``stdout``; None for that of this process.
        env: variables to add to this process's.
        files: descriptors that the child inherits; not on Windows.
        own_session: True for a session of its own. Linux gives each session an equal share of the processor
            (autogroup), whatever the niceness of its processes. So bots that compute all the time take no time from
            the server. A child with a niceness of its own has to stay in the server's session.

    Raises:
        OSError: it cannot be started: there is no such program, or no memory or process left.
    """
    options: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
    options |= own_group(session=own_session)
    if files:
        options["pass_fds"] = files
    return await trio.lowlevel.open_process(
        list(command), env=None if env is None else {**os.environ, **env}, **options
    )


async def run(
    process: trio.Process,
    log: ChildLog | None = None,
    *,
    on_line: OnLine | None = None,
    first: bytes = b"",
    end_seconds: float = END_SECONDS,
    ask_to_end: Callable[[], object] | None = None,
) -> int:
    """Follow a child until it exits, and return its exit code. Then, or if this is cancelled, kill its group.

    Args:
        process: the child.
        log: gets its output; only standard error if there is ``on_line``.
        on_line: called with each line of standard output, without its end. A line that is too long ends the child.
        first: the beginning of its input.
        end_seconds: if this is cancelled, the time for the child to exit unaided once its input has ended.
        ask_to_end: called before that, if the child ends on something else than its input.
    """
    reading = trio.CancelScope(shield=True)  # what a child says last is read even if this is cancelled
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_read_all, process, log, on_line, reading)
        try:
            if process.stdin is not None and first:
                with contextlib.suppress(trio.BrokenResourceError):  # it has exited already
                    await process.stdin.send_all(first)
            return await process.wait()
        finally:
            if process.returncode is None:
                # Shielded: this is the clean-up after a cancellation, and a process that nobody waits for stays a
                # zombie.
                with trio.move_on_after(end_seconds, shield=True):
                    if ask_to_end is not None:
                        ask_to_end()
                    if process.stdin is not None:
                        await process.stdin.aclose()
                    await process.wait()
            # also after an orderly end: what it has started may still run
            kill(process)
            with trio.CancelScope(shield=True):  # after SIGKILL the wait is short; without it a zombie stays
                if process.stdin is not None:
                    await process.stdin.aclose()
                await process.wait()
            # a process outside the group may hold the pipe open indefinitely
            reading.deadline = trio.current_time() + OUTPUT_END_SECONDS


def kill(process: trio.Process) -> None:
    """Kill a child and all processes that it has started: they are one group, which may outlive the child."""
    if sys.platform == "win32":
        # Windows has no signal for a group
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the group is empty
        os.killpg(process.pid, signal.SIGKILL)


async def _read_all(
    process: trio.Process, log: ChildLog | None, on_line: OnLine | None, scope: trio.CancelScope
) -> None:
    """Read the output of a child until the pipes are closed on the other side, or ``scope`` ends."""
    with scope:
        async with trio.open_nursery() as nursery:
            if process.stderr is not None:
                nursery.start_soon(_keep, process.stderr, log)
            if process.stdout is not None and on_line is not None:
                nursery.start_soon(_follow_lines, process, process.stdout, on_line)
            elif process.stdout is not None:
                nursery.start_soon(_keep, process.stdout, log)


async def _keep(stream: trio.abc.ReceiveStream, log: ChildLog | None) -> None:
    async with stream:
        async for data in stream:
            if log is not None:
                log.append(bytes(data))


async def _follow_lines(process: trio.Process, stream: trio.abc.ReceiveStream, on_line: OnLine) -> None:
    rest = b""
    async with stream:
        async for data in stream:
            *lines, rest = (rest + bytes(data)).split(b"\n")
            for line in lines:
                on_line(line)
            if len(rest) > CHILD_LINE_BYTES:
                kill(process)  # a line without end would fill the memory
                return
