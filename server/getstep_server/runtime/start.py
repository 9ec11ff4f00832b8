"""The start of a contest: wait for the teams, for a time of day, or for the host."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime

import trio

from getstep_server.config.contest import Contest
from getstep_server.events import Bus, Event, TeamArrived, TeamLeft
from getstep_server.tournament.tournament import Tournament


@dataclass(frozen=True)
class StartCondition:
    """The condition for the first match: at once (``now``), at a time of day (``at``), else with all teams present.

    It holds in each run, and for each new round of a ladder (unless ``now`` or ``at`` is given). ``on_enter``: the
    Enter key begins without the missing teams.
    """

    now: bool = False
    at: datetime | None = None
    on_enter: bool = False


class EnterKey:
    """A reader of the Enter key. One task reads during a whole run: a second one would swallow a line."""

    def __init__(self) -> None:
        self._pressed = trio.Event()

    async def watch(self) -> None:
        """Read lines until standard input is closed."""
        # Abandoned: nothing ends a read of a terminal, and the thread must not keep the server from ending.
        while await trio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            self._pressed.set()
            self._pressed = trio.Event()

    async def pressed(self) -> None:
        """Wait until the key is pressed the next time."""
        await self._pressed.wait()


def expected_teams(contest: Contest, tournament: Tournament) -> frozenset[int]:
    """Return the teams that take part in at least one event."""
    numbers = [event.number for event in contest.events]
    return frozenset(team for team in contest.teams if not all(tournament.status(team, n) for n in numbers))


async def wait_for_start(
    when: StartCondition, teams: Callable[[], Collection[int]], bus: Bus, key: EnterKey
) -> None:
    """Wait until the first match may begin: the ``teams`` of then are present, or the host begins without them."""
    if when.now:
        return
    ways: list[Callable[[], Awaitable[None]]] = []
    if when.at is not None:
        at = when.at
        ways.append(lambda: _until(at))
    else:
        ways.append(_all_here(teams, bus))
    if when.on_enter:
        ways.append(key.pressed)
    await _first_of(ways)


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


async def _until(at: datetime) -> None:
    """Wait until a wall-clock time. Read the clock again every minute, because it may be set during the wait."""
    while (left := (at - datetime.now().astimezone()).total_seconds()) > 0:
        await trio.sleep(min(left, 60.0))


async def _first_of(ways: list[Callable[[], Awaitable[None]]]) -> None:
    async def one(way: Callable[[], Awaitable[None]]) -> None:
        await way()
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for way in ways:
            nursery.start_soon(one, way)
