"""Bots as processes of their own that play on this machine: for the demo, and to try one against another."""

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

from .bot_output import BotOutput, last_lines
from .contest import Contest, Team
from .events import Bus, ContestOver, Event, Listening
from .registrar import ContestStopped
from .run import Ending, StartWhen, run_contest

BOT_EXIT_SECONDS = 5.0
"""How long a bot may take to end after goodbye before it is killed, and how much earlier it may hear."""

LAST_WORDS_SECONDS = 1.0
"""How long the output of a bot that has ended is read: something that it started may hold the pipe open."""


@dataclass(frozen=True)
class Bot:
    """A bot's file, and variables of its environment besides those that are there."""

    file: Path
    environment: Mapping[str, str] = field(default_factory=dict)


Bots = Mapping[int, Bot]
"""The bot of each team, by its id."""


async def run_with_bots(contest: Contest, bus: Bus, bots: Bots) -> Ending:
    """Play a contest with bots that are started as soon as the server listens, and see to it that they end.

    Raises:
        ContestStopped: a bot failed, so that the others would wait for ever.
        KeyboardInterrupt: the terminal was closed.
    """
    async with trio.open_nursery() as watch:
        watch.start_soon(_end_with_the_terminal)
        ending = await _play_with_bots(contest, bus, bots)
        watch.cancel_scope.cancel()
    return ending


async def _play_with_bots(contest: Contest, bus: Bus, bots: Bots) -> Ending:
    over = trio.Event()
    async with trio.open_nursery() as nursery:

        def note(event: Event) -> None:
            if isinstance(event, Listening):
                nursery.start_soon(bots_playing, contest, event.port, bots, over)
            elif isinstance(event, ContestOver):
                over.set()

        bus.subscribe(note, [Listening, ContestOver])
        ending = await run_contest(contest, bus, StartWhen())
        over.set()
        patience = BOT_EXIT_SECONDS if ending is Ending.FINISHED else 0  # stopped, they would wait for the server
        nursery.cancel_scope.deadline = trio.current_time() + patience
    return ending


async def bots_playing(contest: Contest, port: int, bots: Bots, over: trio.Event | None = None) -> None:
    """Run the bots to their end, one at each seat of a team; cancelled, they are killed.

    Args:
        contest: it.
        port: where its server listens on the loopback interface.
        bots: for each of its teams.
        over: set when the contest is over; None if nobody would tell.

    Raises:
        ContestStopped: one failed, or ended although the contest is not over.
    """
    async with trio.open_nursery() as nursery:
        for number, team in contest.teams.items():
            for log in logs_of(contest, team):
                nursery.start_soon(_run_bot, bots[number], team, port, log, over)


def logs_of(contest: Contest, team: Team) -> list[Path]:
    """What a team's bots print into, one for each of its seats."""
    further = (f"bot-{team.id}-{seat}.log" for seat in range(2, team.seats + 1))
    return [contest.folder / name for name in (f"bot-{team.id}.log", *further)]


async def _end_with_the_terminal() -> None:
    """The bots are sessions of their own: nobody else would end them."""
    if hasattr(signal, "SIGHUP"):
        with trio.open_signal_receiver(signal.SIGHUP) as hangups:
            async for _ in hangups:
                raise KeyboardInterrupt


async def _run_bot(bot: Bot, team: Team, port: int, log: Path, over: trio.Event | None) -> None:
    """Run one bot to its end; see `bots_playing`."""
    with BotOutput(log) as output:
        code = await _run_process(await _start_bot(bot, team, port), output)
    if code == 0 and over is not None:
        with trio.move_on_after(BOT_EXIT_SECONDS):  # it may have heard of the end before we do
            await over.wait()
    if code or (over is not None and not over.is_set()):
        printed = "\n".join(last_lines(log))
        raise ContestStopped(f"the bot of {team.name} ended with code {code}:\n{printed}")


async def _start_bot(bot: Bot, team: Team, port: int) -> trio.Process:
    command = [sys.executable, "-m", "getstep", "play", str(bot.file), "--team", str(team.id)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    return await trio.lowlevel.open_process(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **bot.environment, "GETSTEP_TOKEN": team.token, "PYTHONIOENCODING": "utf-8"},
        start_new_session=True,  # Ctrl-C is for the server, which then says goodbye to the bots
    )


async def _run_process(process: trio.Process, output: BotOutput) -> int:
    """Wait for the end of a bot, or cancelled, kill it; whatever it has started ends with it."""
    reading = trio.CancelScope(shield=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_read_all, process, output, reading)
        try:
            return await process.wait()
        finally:
            _kill(process)
            with trio.CancelScope(shield=True):
                await process.wait()
            reading.deadline = trio.current_time() + LAST_WORDS_SECONDS


async def _read_all(process: trio.Process, output: BotOutput, scope: trio.CancelScope) -> None:
    """Read what a process prints until nobody can print any more, or ``scope`` is over."""
    if process.stdout is None:
        raise TypeError(f"{process!r}, expected one whose output is a pipe")
    async with process.stdout as stream:
        with scope:
            async for data in stream:
                output.take(bytes(data))


def _kill(process: trio.Process) -> None:
    """Kill a bot with all that it has started, ended or not: they are a group of their own."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left
        os.killpg(process.pid, signal.SIGKILL)
