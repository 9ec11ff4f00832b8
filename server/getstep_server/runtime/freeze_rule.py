"""The freeze rule: shortly before the end of a contest, results are hidden from spectators.

The freeze begins at the first check, one a second, at which

- the contest is expected to end within ``freeze_minutes`` of contest.toml, as the live view estimates it; an arena
  says itself when it ends;
- at least half of the expected matches are played: a contest that takes less than an hour is not hidden all along.

It begins once: the decision is a record. So a later estimate, a crash or a restart changes nothing, and a contest
that the host has frozen or revealed is not frozen again.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import trio

from getstep_server.config.contest import Contest
from getstep_server.events import Bus, ContestStarted, Event, MatchCalledOff, MatchEnded, MatchStarted
from getstep_server.records.decision import was_frozen
from getstep_server.tournament.pace import PaceEstimator
from getstep_server.tournament.tournament import Tournament

from .arena import closing_time
from .live_tables import RECOMPUTE_RATIO

CHECK_SECONDS = 1.0
"""The interval of the checks; they are rarer if the estimate takes long."""


class FreezeRule:
    """Freezes a contest when its end is near.

    Args:
        contest: its setting, and its events.
        tournament: the state after all records.
        bus: publishes the events.
        freeze: records the freeze; its argument is the setting.
        clock: monotonic, in seconds; any thread may call it.
    """

    def __init__(
        self,
        contest: Contest,
        tournament: Tournament,
        bus: Bus,
        freeze: Callable[[float], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._minutes = contest.file.page.freeze_minutes
        self._contest = contest
        self._tournament = tournament
        self._freeze = freeze
        self._pace = PaceEstimator(clock)
        self._played = 0
        """The matches that have ended in this run."""
        if self._minutes is not None:
            bus.subscribe(self._note, [ContestStarted, MatchStarted, MatchEnded, MatchCalledOff])

    async def run(self) -> None:
        """Check until the contest is frozen.

        Raises:
            ContestStopped: the freeze could not be recorded.
        """
        if self._minutes is None:
            return
        while not was_frozen(self._tournament.decisions):
            began = trio.current_time()
            self._pace.set_paused(paused=self._tournament.pauses.contest is not None)
            if await trio.to_thread.run_sync(self.is_due):
                await self._freeze(self._minutes)
            # a slow check, of a contest with many results, is made less often
            await trio.sleep(max(CHECK_SECONDS, RECOMPUTE_RATIO * (trio.current_time() - began)))

    def is_due(self) -> bool:
        """Return True if the end is near.

        This takes some milliseconds for each thousand results. Any thread may call it.
        """
        left = self._seconds_left()
        return left is not None and self._minutes is not None and left <= 60 * self._minutes

    def _seconds_left(self) -> float | None:
        """Return the expected rest of the contest; None if it is unknown, or less than half is played."""
        tournament, events = self._tournament, self._contest.events
        arenas = [closing_time(event.format.closes_at) for event in events if event.format.pairs_present]
        if arenas:
            return max(arenas) - time.time() if tournament.matches else None
        expected = tournament.total + sum(map(tournament.remaining_estimate, events))
        if 2 * tournament.done < expected:
            return None
        return self._pace.seconds_left(self._played, expected - tournament.done, tournament.open_by_team())

    def _note(self, event: Event) -> None:
        match event:
            case ContestStarted():
                self._pace.begin()
            case MatchStarted(match, _, turns_now):
                self._pace.start(match, turns_now)
            case MatchCalledOff(match):
                self._pace.abandon(match)
            case MatchEnded(result):
                self._pace.end(result.match)
                self._played += 1
