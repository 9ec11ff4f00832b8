"""House bots: sample bots that the server itself starts as processes, to play in an arena."""

from __future__ import annotations

import sys
from pathlib import Path

import trio

from getstep_server.children.log import ChildLog
from getstep_server.children.process import run, start
from getstep_server.config.contest import Contest, Team

from .bot_process import HOUSE
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
        with ChildLog(house_bot_log(contest, team)) as log:
            process = await _start(house_bot_file(bot), contest.teams[team], host, port)
            return await run(process, log, end_seconds=0)
    except OSError:  # no memory, no process or no disk left: the contest is more important
        return -1


async def _start(file: Path, team: Team, host: str, port: int) -> trio.Process:
    arguments = [str(file), "--team", str(team.id), "--host", host, "--port", str(port)]
    return await start(
        [sys.executable, "-m", "getstep_server.bot_runner.bot_process", HOUSE, "play", *arguments],
        env={"GETSTEP_TOKEN": team.token, "PYTHONIOENCODING": "utf-8"},
    )
