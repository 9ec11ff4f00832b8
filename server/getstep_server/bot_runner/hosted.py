"""Hosted programs: starts the process that plays with a team's program in one match."""

from __future__ import annotations

import sys
from pathlib import Path

from getstep_server.children.log import ChildLog
from getstep_server.children.process import run, start

from .job import Job

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
    with ChildLog(log) as output:
        process = await start([sys.executable, "-m", "getstep_server.bot_runner.hosted_process"])
        return await run(process, output, end_seconds=END_SECONDS, first=job.as_json())
