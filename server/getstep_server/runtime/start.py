"""The start of a contest: wait for the teams, for a time of day, or for the host."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import trio

from getstep_server.config.contest import Contest
from getstep_server.events import Bus, Event, Publish, StartAsked, TeamArrived, TeamLeft
from getstep_server.storage.start_request import StartRequest, take_start_request
from getstep_server.tournament.tournament import Tournament


@dataclass(frozen=True)
class StartCondition:
    """The condition for the first match: at once (``now``), at a time of day (``at``), else with all teams present.

    It holds in each run, and for each new round of a ladder (unless ``now`` or ``at`` is given). ``on_enter``: the
    Enter key begins without the missing teams. The host's console can always do so.
    """

    now: bool = False
    at: datetime | None = None
    on_enter: bool = False


REQUEST_SECONDS = 0.5
"""The interval at which a request from the console is looked for: nothing tells this process of a new file."""


class HostStart:
    """What the host does about the start: the Enter key, and requests of the console (`storage.start_request`).

    Args:
        folder: of the journal, in which the requests are.
        publish: is told of each request.
        at: the time of the start; None: with all teams present.
    """

    def __init__(self, folder: Path, publish: Publish, at: datetime | None) -> None:
        self.at = at
        self._folder = folder
        self._publish = publish
        self._pressed = trio.Event()
        self._changed = trio.Event()

    async def read_keys(self) -> None:
        """Read lines until standard input is closed. One task reads: a second one would swallow a line."""
        # Abandoned: nothing ends a read of a terminal, and the thread must not keep the server from ending.
        while await trio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            self._press()

    async def read_requests(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Read requests until cancelled. One that was made before is of another run, and ignored."""
        await self._taken()
        task_status.started()
        while True:
            await trio.sleep(REQUEST_SECONDS)
            request = await self._taken()
            if request is None:
                continue
            self._publish(StartAsked(request.by, request.at))
            if request.at is None:
                self._press()
            else:
                self.at = datetime.fromtimestamp(request.at).astimezone()
                event, self._changed = self._changed, trio.Event()
                event.set()

    async def _taken(self) -> StartRequest | None:
        return await trio.to_thread.run_sync(take_start_request, self._folder)

    def _press(self) -> None:
        event, self._pressed = self._pressed, trio.Event()
        event.set()

    async def pressed(self) -> None:
        """Wait until the host asks the next time to start now."""
        await self._pressed.wait()

    async def changed(self) -> None:
        """Wait until the host sets another time."""
        await self._changed.wait()

    async def due(self) -> None:
        """Wait until the time of the start; forever as long as none is set."""
        while self.at is None or (left := (self.at - datetime.now().astimezone()).total_seconds()) > 0:
            # the wall clock is read again every minute, because it may be set during the wait
            with trio.move_on_after(60.0 if self.at is None else min(left, 60.0)):
                await self.changed()


def expected_teams(contest: Contest, tournament: Tournament) -> frozenset[int]:
    """Return the teams that take part in at least one event."""
    numbers = [event.number for event in contest.events]
    return frozenset(team for team in contest.teams if not all(tournament.status(team, n) for n in numbers))


async def wait_for_start(
    when: StartCondition, teams: Callable[[], Collection[int]], bus: Bus, host: HostStart
) -> None:
    """Wait until the first match may begin: the ``teams`` of then are present, or the host begins without them."""
    if when.now:
        return
    all_here = _all_here(teams, bus)

    async def all_here_without_a_time() -> None:
        await all_here()
        while host.at is not None:
            await host.changed()

    await _first_of([host.pressed, host.due, all_here_without_a_time])


def _all_here(teams: Callable[[], Collection[int]], bus: Bus) -> Callable[[], Awaitable[None]]:
    """Return a function that waits until all teams are present at the same time, with one bot each at least."""
    here: set[int] = set()
    complete = trio.Event()
    if not teams():
        complete.set()

    def note(event: Event) -> None:
        if isinstance(event, TeamArrived):
            here.add(event.team)
        elif isinstance(event, TeamLeft) and not event.here:
            here.discard(event.team)
        if here.issuperset(teams()):
            complete.set()

    bus.subscribe(note, [TeamArrived, TeamLeft])  # a new team is not here yet, so it ends no wait
    return complete.wait


async def _first_of(ways: Sequence[Callable[[], Awaitable[None]]]) -> None:
    async def one(way: Callable[[], Awaitable[None]]) -> None:
        await way()
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for way in ways:
            nursery.start_soon(one, way)
