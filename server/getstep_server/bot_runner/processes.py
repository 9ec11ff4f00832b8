"""Bots as local processes, for the demo and for matches between two bots."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trio

from getstep.programs.wire import WireBot
from getstep_server.children.log import ChildLog, last_lines
from getstep_server.children.process import run, start
from getstep_server.config.contest import Contest, Team
from getstep_server.errors import ContestStopped

from .bot_process import PROGRAM

BOT_EXIT_SECONDS = 5.0
"""Seconds that a bot may take to exit after goodbye before it is killed. A bot may also exit this much earlier than
the server reports the end of the contest: the server first waits until its clients have closed."""


@dataclass(frozen=True)
class Bot:
    """A bot: a file in Python, a program of a convention, or a program that speaks the wire.

    Attributes:
        file: of the bot; of a program that a command starts, its name.
        environment: variables to add to its environment.
        convention: that of a program without ``get_step``.
        wire: the program, if it connects by itself.
    """

    file: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    convention: str | None = None
    wire: WireBot | None = None


Bots = Mapping[int, Bot]
"""The bot of each team, by the team's id."""


async def run_bots(contest: Contest, port: int, bots: Bots, contest_over: trio.Event | None = None) -> None:
    """Run a bot for each seat of each team until all have exited. If this is cancelled, they are killed.

    Args:
        contest: the contest to play in.
        port: of its server on the loopback interface.
        bots: for each team.
        contest_over: set when the contest is over; None if it is not known here.

    Raises:
        ContestStopped: a bot failed, or exited before the contest was over.
    """
    async with trio.open_nursery() as nursery:
        for number, team in contest.teams.items():
            for log in bot_logs(contest, team):
                nursery.start_soon(_run_bot, bots[number], team, port, log, contest_over)


def bot_logs(contest: Contest, team: Team) -> list[Path]:
    """Return the log files of a team's bots, one for each of its seats."""
    further = (f"bot-{team.id}-{seat}.log" for seat in range(2, team.seats + 1))
    return [contest.folder / name for name in (f"bot-{team.id}.log", *further)]


async def _run_bot(bot: Bot, team: Team, port: int, log: Path, contest_over: trio.Event | None) -> None:
    with ChildLog(log) as output:
        code = await run(await _start_bot(bot, team, port), output, end_seconds=0)
    if code == 0 and contest_over is not None:
        with trio.move_on_after(BOT_EXIT_SECONDS):  # the bot may be told of the end before `contest_over` is set
            await contest_over.wait()
    if code or (contest_over is not None and not contest_over.is_set()):
        output_end = "\n".join(last_lines(log))
        raise ContestStopped(f"the bot of {team.name} exited with code {code}:\n{output_end}")


async def _start_bot(bot: Bot, team: Team, port: int) -> trio.Process:
    process = [sys.executable, "-m", "getstep_server.bot_runner.bot_process"]
    login = {"GETSTEP_TOKEN": team.token}
    if bot.wire is not None:
        command = [*process, PROGRAM, str(bot.wire.folder or Path.cwd()), *bot.wire.command]
        login |= {"GETSTEP_HOST": "127.0.0.1", "GETSTEP_PORT": str(port), "GETSTEP_TEAM": str(team.id)}
    else:
        command = [*process, "getstep", "play", str(bot.file), "--team", str(team.id)]
        command += ["--host", "127.0.0.1", "--port", str(port)]
        command += [] if bot.convention is None else ["--as", bot.convention]
    return await start(command, env={**bot.environment, **login, "PYTHONIOENCODING": "utf-8"}, own_session=True)
