"""House bots: sample bots that the server itself starts as processes, to play in an arena.

A process for each is started again when it ends.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import trio

from getstep_server.children.keeping import keep_running
from getstep_server.children.log import ChildLog
from getstep_server.children.process import run, start
from getstep_server.config.contest import Contest, Team
from getstep_server.events import Bus, Event, HouseBotEnded, Listening

from .bot_process import HOUSE
from .sample_bots import sample_bots

FILES = {"random": "random_bot"}
"""The files of the sample bots that have another name than the bot."""


def house_bot_file(bot: str) -> Path:
    return sample_bots()[FILES.get(bot, bot)]


async def keep_house_bots(contest: Contest, bus: Bus) -> None:
    """Run the house bots as soon as the server listens, until cancelled."""
    listening = trio.Event()
    where = list[Listening]()

    def note(event: Event) -> None:
        if isinstance(event, Listening):
            where.append(event)
            listening.set()

    def ended(team: int, code: int, pause: float) -> None:
        bus.publish(HouseBotEnded(team, code, pause))

    bus.subscribe(note, [Listening])
    await listening.wait()
    async with trio.open_nursery() as nursery:
        for team in contest.house_bots:
            nursery.start_soon(keep_running, partial(_run_house_bot, contest, team, where[0]), partial(ended, team))


async def _run_house_bot(contest: Contest, team: int, where: Listening) -> int:
    """Run a house bot until it ends, and return its exit code; -1 if it could not start.

    If this is cancelled, the bot is killed.
    """
    bot = contest.house_bots[team]
    try:
        with ChildLog(contest.folder / f"house-{bot}.log") as log:
            process = await _start(house_bot_file(bot), contest.teams[team], where.local_host, where.port)
            return await run(process, log, end_seconds=0)
    except OSError:  # no memory, no process or no disk left: the contest is more important
        return -1


async def _start(file: Path, team: Team, host: str, port: int) -> trio.Process:
    arguments = [str(file), "--team", str(team.id), "--host", host, "--port", str(port)]
    return await start(
        [sys.executable, "-m", "getstep_server.bot_runner.bot_process", HOUSE, "play", *arguments],
        env={"GETSTEP_TOKEN": team.token, "PYTHONIOENCODING": "utf-8"},
    )
