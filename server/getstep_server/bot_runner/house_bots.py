"""House bots: sample bots that the server itself starts as processes, to play in an arena."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import trio

from getstep_server.config.contest import Contest, Team

from .bot_process import HOUSE
from .output import BotOutput
from .processes import run_process
from .sample_bots import sample_bots

FILES = {"random": "random_bot"}
"""The files of the sample bots that have another name than the bot."""


def house_bot_file(bot: str) -> Path:
    """Return the file of a house bot."""
    return sample_bots()[FILES.get(bot, bot)]


def house_bot_log(contest: Contest, team: int) -> Path:
    """Return the log file of a house bot's output."""
    return contest.folder / f"house-{contest.house_bots[team]}.log"


async def run_house_bot(contest: Contest, team: int, host: str, port: int) -> int:
    """Run a house bot until it ends, and return its exit code; -1 if it could not start.

    If this is cancelled, the bot is killed.
    """
    bot = contest.house_bots[team]
    try:
        with BotOutput(house_bot_log(contest, team)) as output:
            process = await _start(house_bot_file(bot), contest.teams[team], host, port)
            return await run_process(process, output)
    except OSError:  # no memory, no process or no disk left: the contest is more important
        return -1


async def _start(file: Path, team: Team, host: str, port: int) -> trio.Process:
    arguments = [str(file), "--team", str(team.id), "--host", host, "--port", str(port)]
    return await trio.lowlevel.open_process(
        [sys.executable, "-m", "getstep_server.bot_runner.bot_process", HOUSE, "play", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "GETSTEP_TOKEN": team.token, "PYTHONIOENCODING": "utf-8"},
        # Ctrl-C is for the server, which then says goodbye to the bot. Not a new session: Linux gives each session
        # an equal share of the processor (autogroup), whatever the niceness of its processes.
        process_group=None if sys.platform == "win32" else 0,
    )
