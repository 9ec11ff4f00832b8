"""The demo: a small class tournament between sample bots, each its own process, over TCP on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import trio

from getstep_engines import GAMES

from ._toml import ConfigError
from .contest import Contest, Team, init_contest, load_contest
from .director import ContestStopped
from .events import Bus, Event, Listening
from .roster import Newcomer, add_teams
from .run import Ending, StartWhen, run_contest

NAMES = ("Ada", "Blaise", "Charles", "Dorothy", "Edsger", "Frances", "Grace", "Hedy", "Ivan", "John")
BOT_EXIT_SECONDS = 5.0
"""How long a bot may take to end after goodbye before it is killed."""


def sample_bots(game: str) -> list[Path]:
    """The sample bots that play ``game`` fast enough to watch, as files."""
    folder = Path(str(files("getstep_bots")))
    wanted = ("random_bot.py", f"greedy_{game}.py", f"house_{game}.py")
    return [folder / name for name in wanted if (folder / name).is_file()]


def make_demo_contest(folder: Path, game: str, teams: int, seed: int) -> Contest:
    """A contest folder for the demo, on a free port of the loopback interface."""
    if game not in GAMES:
        raise ConfigError(f"--game {game!r}, expected all or one of: {', '.join(GAMES)}")
    if not 2 <= teams <= len(NAMES):
        raise ConfigError(f"--teams {teams}, expected 2 to {len(NAMES)}")
    init_contest(folder, name=f"getstep demo: {GAMES[game].title}", games=[game], seed=seed)
    bots = sample_bots(game)
    names = [f"{NAMES[i]} ({bots[i % len(bots)].stem})" for i in range(teams)]
    add_teams(folder, [Newcomer(name, "the demo") for name in names])
    return load_contest(folder).listening_on(host="127.0.0.1", port=0, classic_port=None)


async def run_demo(contest: Contest, bus: Bus) -> Ending:
    """Play a demo contest: start the bots as soon as the server listens, and see to it that they end.

    Raises:
        ContestStopped: a bot failed, so that the others would wait for ever.
        KeyboardInterrupt: the terminal was closed.
    """
    async with trio.open_nursery() as watch:
        watch.start_soon(_end_with_the_terminal)
        ending = await _play_with_bots(contest, bus)
        watch.cancel_scope.cancel()
    return ending


async def _play_with_bots(contest: Contest, bus: Bus) -> Ending:
    async with trio.open_nursery() as nursery:

        def note(event: Event) -> None:
            if isinstance(event, Listening):
                nursery.start_soon(bots_playing, contest, event.port)

        bus.subscribe(note, [Listening])
        ending = await run_contest(contest, bus, StartWhen())
        patience = BOT_EXIT_SECONDS if ending is Ending.FINISHED else 0  # stopped, they would wait for the server
        nursery.cancel_scope.deadline = trio.current_time() + patience
    return ending


async def bots_playing(contest: Contest, port: int) -> None:
    """Run a bot for each team to its end; cancelled, they are killed.

    Raises:
        ContestStopped: one failed.
    """
    bots = sample_bots(contest.events[0].game.name)
    async with trio.open_nursery() as nursery:
        for i, team in enumerate(contest.teams.values()):
            nursery.start_soon(_run_bot, bots[i % len(bots)], team, port, contest.folder)


async def _end_with_the_terminal() -> None:
    """The bots are sessions of their own: nobody else would end them."""
    if hasattr(signal, "SIGHUP"):
        with trio.open_signal_receiver(signal.SIGHUP) as hangups:
            async for _ in hangups:
                raise KeyboardInterrupt


async def _run_bot(bot: Path, team: Team, port: int, folder: Path) -> None:
    """Run one bot to its end; cancelled, it is killed.

    Raises:
        ContestStopped: it failed.
    """
    log = folder / f"bot-{team.id}.log"
    process = await _start_bot(bot, team, port, log)
    try:
        code = await process.wait()
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
    if code:
        raise ContestStopped(f"the bot of {team.name} ended with code {code}:\n{log.read_text(errors='replace')}")


async def _start_bot(bot: Path, team: Team, port: int, log: Path) -> trio.Process:
    command = [sys.executable, "-m", "getstep", "play", str(bot), "--team", str(team.id)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as output:
        return await trio.lowlevel.open_process(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "GETSTEP_TOKEN": team.token},
            start_new_session=True,  # Ctrl-C is for the server, which then says goodbye to the bots
        )
