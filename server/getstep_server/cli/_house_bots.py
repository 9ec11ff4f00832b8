"""The house bots of a running arena: a process for each, which is started again when it ends."""

from __future__ import annotations

from functools import partial

import trio

from getstep_server.bot_runner.house_bots import run_house_bot
from getstep_server.children.keeping import keep_running
from getstep_server.config.contest import Contest
from getstep_server.events import Bus, Event, HouseBotEnded, Listening


async def keep_house_bots(contest: Contest, bus: Bus) -> None:
    """Run the house bots as soon as the server listens, until cancelled."""
    listening = trio.Event()
    where = list[Listening]()

    def note(event: Event) -> None:
        if isinstance(event, Listening):
            where.append(event)
            listening.set()

    bus.subscribe(note, [Listening])
    await listening.wait()
    host, port = where[0].local_host, where[0].port
    async with trio.open_nursery() as nursery:
        for team in contest.house_bots:
            nursery.start_soon(partial(_keep, contest, team, bus, host=host, port=port))


async def _keep(contest: Contest, team: int, bus: Bus, *, host: str, port: int) -> None:
    """Run one house bot, and start it again whenever it ends, until cancelled."""
    await keep_running(
        partial(run_house_bot, contest, team, host, port),
        lambda code, pause: bus.publish(HouseBotEnded(team, code, pause)),
    )
