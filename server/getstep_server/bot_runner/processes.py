"""Bots as local processes, for the demo and for matches between two bots."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trio

from getstep_server.config.contest import Contest, Team
from getstep_server.errors import ContestStopped

from .output import BotOutput, last_lines

BOT_EXIT_SECONDS = 5.0
"""Seconds that a bot may take to exit after goodbye before it is killed. A bot may also exit this much earlier than
the server reports the end of the contest: the server first waits until its clients have closed."""

OUTPUT_END_SECONDS = 1.0
"""Seconds to keep reading the output of a bot that has exited: its child processes may keep the pipe open."""


@dataclass(frozen=True)
class Bot:
    """A bot's file, variables to add to its environment, and the convention of a program without ``get_step``."""

    file: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    convention: str | None = None


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
    """Run one bot until it exits; see `run_bots`."""
    with BotOutput(log) as output:
        code = await run_process(await _start_bot(bot, team, port), output)
    if code == 0 and contest_over is not None:
        with trio.move_on_after(BOT_EXIT_SECONDS):  # the bot may be told of the end before `contest_over` is set
            await contest_over.wait()
    if code or (contest_over is not None and not contest_over.is_set()):
        output_end = "\n".join(last_lines(log))
        raise ContestStopped(f"the bot of {team.name} exited with code {code}:\n{output_end}")


async def _start_bot(bot: Bot, team: Team, port: int) -> trio.Process:
    command = [sys.executable, "-m", "getstep_server.bot_runner.bot_process", "getstep", "play", str(bot.file)]
    command += ["--team", str(team.id)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    command += [] if bot.convention is None else ["--as", bot.convention]
    return await trio.lowlevel.open_process(
        command,
        stdin=subprocess.PIPE,  # the bot ends when it is closed, by this process or with it
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **bot.environment, "GETSTEP_TOKEN": team.token, "PYTHONIOENCODING": "utf-8"},
        start_new_session=True,  # Ctrl-C is for the server, which then says goodbye to the bots
    )


async def run_process(
    process: trio.Process, output: BotOutput, *, first: bytes = b"", end_seconds: float = 0
) -> int:
    """Wait until a bot exits and return its exit code. Then, or if this is cancelled, kill its process group.

    Args:
        process: of the bot.
        output: gets what it prints.
        first: the bytes that it gets as the beginning of its input.
        end_seconds: if this is cancelled, the time for a bot that notices the end of its input to exit by itself.
    """
    reading = trio.CancelScope(shield=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_read_all, process, output, reading)
        try:
            if process.stdin is not None and first:
                with contextlib.suppress(trio.BrokenResourceError):  # it has exited already
                    await process.stdin.send_all(first)
            return await process.wait()
        finally:
            with trio.move_on_after(end_seconds, shield=True):
                if process.stdin is not None:
                    await process.stdin.aclose()
                await process.wait()
            _kill(process)
            with trio.CancelScope(shield=True):
                await process.wait()
            reading.deadline = trio.current_time() + OUTPUT_END_SECONDS


async def _read_all(process: trio.Process, output: BotOutput, scope: trio.CancelScope) -> None:
    """Read the output of a process until the pipe is closed on the other side, or ``scope`` ends."""
    if process.stdout is None:
        raise TypeError(f"{process!r}: its output is not a pipe")
    async with process.stdout as stream:
        with scope:
            async for data in stream:
                output.append(bytes(data))


def _kill(process: trio.Process) -> None:
    """Kill a bot and all processes that it has started: they are one process group, which may outlive the bot."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the group is empty
        os.killpg(process.pid, signal.SIGKILL)
