"""Hosted programs: starts the process that plays with a team's program in one match."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import trio

from .job import Job
from .output import BotOutput
from .processes import run_process

END_SECONDS = 3.0
"""The time for a process to end its program and itself, before both are killed. A program has 0.5 s of it."""


async def run_hosted_program(job: Job, log: Path) -> int:
    """Play with a program until its process ends, and return the exit code. If this is cancelled, both are ended.

    Args:
        job: of the process.
        log: the file that gets what the process itself prints, such as a traceback.

    Raises:
        OSError: the process cannot be started.
    """
    with BotOutput(log) as output:
        process = await trio.lowlevel.open_process(
            [sys.executable, "-m", "getstep_server.bot_runner.hosted_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Ctrl-C is for the server, which then ends the process.
            process_group=None if sys.platform == "win32" else 0,
        )
        return await run_process(process, output, end_seconds=END_SECONDS, first=job.as_json())
