"""Playing a contest with bots that are processes of this machine."""

from __future__ import annotations

import signal

import trio

from getstep_server.bot_runner.processes import BOT_EXIT_SECONDS, Bots, run_bots
from getstep_server.config.contest import Contest
from getstep_server.events import Bus, ContestOver, Event, Listening
from getstep_server.runtime.run import RunOutcome, run_contest
from getstep_server.runtime.start import StartCondition


async def run_with_bots(contest: Contest, bus: Bus, bots: Bots) -> RunOutcome:
    """Play a contest. Start its bots as soon as the server listens, and end them with the contest.

    Raises:
        ContestStopped: a bot ended early, so that its opponents would wait forever.
        KeyboardInterrupt: the terminal was closed.
    """
    async with trio.open_nursery() as watch:
        watch.start_soon(_end_with_the_terminal)
        outcome = await _play_with_bots(contest, bus, bots)
        watch.cancel_scope.cancel()
    return outcome


async def _play_with_bots(contest: Contest, bus: Bus, bots: Bots) -> RunOutcome:
    over = trio.Event()
    async with trio.open_nursery() as nursery:

        def note(event: Event) -> None:
            if isinstance(event, Listening):
                nursery.start_soon(run_bots, contest, event.local_address[1], bots, over)
            elif isinstance(event, ContestOver):
                over.set()

        bus.subscribe(note, [Listening, ContestOver])
        outcome = await run_contest(contest, bus, StartCondition())
        over.set()
        # After a stop the bots would try to reconnect: end them at once.
        patience = BOT_EXIT_SECONDS if outcome is RunOutcome.FINISHED else 0
        nursery.cancel_scope.deadline = trio.current_time() + patience
    return outcome


async def _end_with_the_terminal() -> None:
    """Raise KeyboardInterrupt when the terminal closes. Bots have sessions of their own, which it does not end."""
    if hasattr(signal, "SIGHUP"):  # Windows has none
        with trio.open_signal_receiver(signal.SIGHUP) as hangups:
            async for _ in hangups:
                raise KeyboardInterrupt
