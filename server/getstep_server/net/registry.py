"""The open connections of one contest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import trio

from getstep.wire import Goodbye
from getstep_server.config.contest import Contest
from getstep_server.events import Publish
from getstep_server.limits import MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS, SHUTDOWN_SECONDS
from getstep_server.login_limits import LoginLimiter

from .login_throttle import LoginThrottle
from .poller import new_poller
from .seat import Seat
from .timestamps import TimestampClock


@dataclass(frozen=True, slots=True)
class HostedLogin:
    """The login of the process that plays a team's program in one match: its token, and the seat that it takes."""

    token: str
    seat: Seat


class RegisteredConnection(Protocol):
    """A connection as the registry sees it."""

    address: str

    @property
    def seated(self) -> bool:
        """True if the connection holds a seat of its team."""

    def close(self, goodbye: Goodbye) -> None:
        """Send the goodbye and close."""

    def evict(self) -> None:
        """Close at once, without waiting for the peer to read why."""


class ConnectionRegistry:
    """The open connections of one contest, oldest first, and the objects that they share.

    Args:
        contest: whose teams may log in.
        seats: by team id.
        publish: called with incidents and faults.
        seen_before: teams that were connected in an earlier run.
        batch: a context for reads that are made in one go; see `poller.Poller`.
        hosted: the teams with a program that this machine runs, and the one login that may play for each; None
            between its matches. It changes.
        most: the number of open connections.
        most_per_address: the number of open connections from one address.
    """

    def __init__(
        self,
        contest: Contest,
        seats: dict[int, tuple[Seat, ...]],
        publish: Publish,
        seen_before: frozenset[int] = frozenset(),
        batch: Callable[[], AbstractContextManager[None]] = nullcontext,
        *,
        hosted: Mapping[int, HostedLogin | None] | None = None,
        most: int | None = None,
        most_per_address: int | None = None,
    ) -> None:
        self.contest = contest
        self.seats = seats
        self.publish = publish
        self.hosted = {} if hosted is None else hosted
        self.login_limiter = LoginLimiter()
        self.timestamp_clock = TimestampClock()
        self.throttle = LoginThrottle(self.is_playing)
        self.poller = new_poller(batch, self.throttle)
        self.connections: dict[RegisteredConnection, None] = {}
        self._by_address: dict[str, dict[RegisteredConnection, None]] = {}
        self._most = MAX_CONNECTIONS if most is None else most
        self._most_per_address = MAX_CONNECTIONS_PER_ADDRESS if most_per_address is None else most_per_address
        self._seen_before = seen_before
        self._goodbye: Goodbye | None = None
        self._awaiting_goodbye: Counter[int] = Counter()  # by team, its bots that were away at `shutdown`
        self._removed = trio.lowlevel.ParkingLot()

    def is_playing(self) -> bool:
        """Return True while a match is played."""
        return any(seat.in_match for seats in self.seats.values() for seat in seats)

    def add(self, connection: RegisteredConnection) -> None:
        """Count a connection."""
        self.connections[connection] = None
        self._by_address.setdefault(connection.address, {})[connection] = None

    def remove(self, connection: RegisteredConnection) -> None:
        """Stop counting a connection; ignored if it is not counted."""
        if connection in self.connections:
            del self.connections[connection]
            here = self._by_address[connection.address]
            del here[connection]
            if not here:
                del self._by_address[connection.address]
            self._removed.unpark_all()

    def over_limit(self, address: str) -> dict[RegisteredConnection, None] | None:
        """Return the connections that one more from ``address`` would make too many, or None if there is room."""
        here = self._by_address.get(address, {})
        if len(here) >= self._most_per_address:
            return here
        return self.connections if len(self.connections) >= self._most else None

    def evict_oldest(self, connections: dict[RegisteredConnection, None]) -> bool:
        """Close the oldest of these connections that holds no seat; return False if all hold one.

        Evicting the newest instead would let idle connections keep a team from logging in.
        """
        oldest = next((connection for connection in connections if not connection.seated), None)
        if oldest is not None:
            oldest.evict()
        return oldest is not None

    def shutdown(self, goodbye: Goodbye) -> None:
        """Send the goodbye on every connection, and on each later one as soon as its team has logged in."""
        self._goodbye = goodbye
        if goodbye.retry_ms is None:
            self._awaiting_goodbye = +Counter({team: self._away(team) for team in self.seats.keys() - self.hosted})
        for connection in list(self.connections):
            connection.close(goodbye)

    def close_if_over(self, connection: RegisteredConnection, team: int) -> None:
        """After `shutdown`, send the goodbye to one more bot of ``team``."""
        if self._goodbye is not None:
            self._awaiting_goodbye = self._awaiting_goodbye - Counter([team])
            connection.close(self._goodbye)

    async def wait_closed(self) -> None:
        """Wait until every connection is closed and every bot has its goodbye, at most SHUTDOWN_SECONDS."""
        with trio.move_on_after(SHUTDOWN_SECONDS):
            while self.connections or self._awaiting_goodbye:
                await self._removed.park()

    def _away(self, team: int) -> int:
        """Return how many bots of ``team`` were connected once and are not now."""
        used = [seat for seat in self.seats[team] if seat.was_connected]
        return sum(not seat.connected for seat in used) if used else int(team in self._seen_before)
