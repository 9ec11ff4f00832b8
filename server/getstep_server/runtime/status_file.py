"""Writes where the server listens and which teams are connected, for the live page, which is another process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import trio

from getstep_server.events import (
    BotAnswers,
    BotHangs,
    Bus,
    ContestOver,
    ContestStarted,
    Event,
    FriendlyEnded,
    FriendlyStarted,
    Listening,
    MatchStarted,
    StandbyMissing,
    StandbyReady,
    StartAsked,
    TeamArrived,
    TeamLeft,
    Waiting,
)
from getstep_server.net.seat import Seat
from getstep_server.storage.run_status import RunStatus, remove_status, write_status

LAG_SECONDS = 5.0
"""The time after which the status is written for the event loop's lag alone: to write it takes 0.1 ms."""

SECONDS = 0.5
"""The least time between two writes: a class that connects together costs a few of them."""


class StatusFile:
    """The status of a run, kept up to date in a file.

    Events change it in memory. `run` writes it in a thread, so the event loop never waits for the disk. A disk that
    is full only makes the page show an older status.

    Args:
        folder: of the journal; it exists.
        bus: publishes the events.
        seats: of each team; they change.
        start_at: the time of the start; None: with all teams present.
    """

    def __init__(
        self, folder: Path, bus: Bus, seats: Mapping[int, Sequence[Seat]], start_at: datetime | None = None
    ) -> None:
        self._folder = folder
        self._seats = seats
        self._status = RunStatus(start_at=None if start_at is None else start_at.timestamp())
        self._changed = trio.Event()
        bus.subscribe(
            self._note,
            [
                *(Listening, TeamArrived, TeamLeft, BotHangs, BotAnswers, Waiting),
                *(StartAsked, ContestStarted, MatchStarted, FriendlyStarted, FriendlyEnded, ContestOver),
                *(StandbyMissing, StandbyReady),
            ],
        )

    async def run(self) -> None:
        """Write each new status until cancelled; then remove the file."""
        try:
            while True:
                self._changed = trio.Event()  # before the write: a change during it is written next
                await trio.to_thread.run_sync(self._write, self._status)
                due = trio.current_time() + SECONDS
                await trio.sleep_until(due)
                late_ms = round(1000 * (trio.current_time() - due), 1)
                self._status = replace(self._status, lag_ms=late_ms)
                with trio.move_on_after(LAG_SECONDS):
                    await self._changed.wait()
        finally:
            remove_status(self._folder)

    def _note(self, event: Event) -> None:
        status = self._status
        match event:
            case Listening():
                status = replace(status, address=event.local_address)
            case TeamArrived(team):
                status = replace(status, connected={**status.connected, team: event.here})
            case TeamLeft(team, here=0):
                status = replace(status, connected={t: n for t, n in status.connected.items() if t != team})
            case TeamLeft(team):
                status = replace(status, connected={**status.connected, team: event.here})
            case BotHangs(team):
                status = replace(status, hanging=tuple(sorted({*status.hanging, team})))
            case BotAnswers(team):
                status = replace(status, hanging=tuple(t for t in status.hanging if t != team))
            case Waiting(teams):
                status = replace(status, waiting=teams)
            case StartAsked(_, at):
                status = replace(status, start_at=at)
            case ContestStarted():
                status = replace(status, state="playing", start_at=None)
            case MatchStarted() if status.waiting:
                status = replace(status, waiting=())
            case FriendlyStarted():
                status = replace(status, friendly=(*status.friendly, event.match.number))
            case FriendlyEnded():
                status = replace(status, friendly=tuple(n for n in status.friendly if n != event.match.number))
            case StandbyMissing():
                status = replace(status, standby_missing=time.time())
            case StandbyReady():
                status = replace(status, standby_missing=None)
            case ContestOver():
                status = replace(status, state="over", waiting=())
        if status != self._status:
            self._status = status
            self._changed.set()

    def _write(self, status: RunStatus) -> None:
        """Write a status, with the time to each team; in a thread, because a thousand bots take 1 ms to ask."""
        round_trip_ms = {
            team: max(known)
            for team in status.connected
            if (known := [ms for seat in self._seats.get(team, ()) if (ms := _round_trip_ms(seat)) is not None])
        }
        try:
            write_status(self._folder, replace(status, round_trip_ms=round_trip_ms))
        except OSError:
            return  # the next change tries again


def _round_trip_ms(seat: Seat) -> float | None:
    connection = seat.connection  # read once: the event loop may detach it meanwhile
    return None if connection is None else connection.round_trip_ms
