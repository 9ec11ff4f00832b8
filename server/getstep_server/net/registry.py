"""The open connections of one contest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import trio

from getstep.wire import Goodbye
from getstep_server.config.contest import Contest, Team
from getstep_server.events import Publish
from getstep_server.limits import (
    ACCEPT_SHARE,
    MAX_CONNECTIONS,
    SHUTDOWN_SECONDS,
)
from getstep_server.login_limits import LoginLimiter

from .login_queue import LoginQueue, LoginThrottle
from .poller import new_poller
from .seat import Seat
from .timestamps import TimestampClock

PLAYING_SECONDS = 0.1
"""The age of the answer whether a match is played: asked at each login, it takes 1 ms with 10,000 seats."""


@dataclass(frozen=True, slots=True)
class HostedLogin:
    """The login of the process that plays a team's program in one match: its token, and the seat that it takes."""

    token: str
    seat: Seat


class Fence:
    """The fencing number of this server, which no other computer has taken over from yet.

    Args:
        number: how many times another computer has taken over the contest.
        certificate: what clients show to an earlier server.
        heard: called with the number and the certificate that a client shows.
    """

    def __init__(
        self, number: int = 0, certificate: str = "", heard: Callable[[int, str], None] = lambda *_: None
    ) -> None:
        self.number = number
        self.certificate = certificate
        self.heard = heard


class RegisteredConnection(Protocol):
    address: str

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
        fence: the fencing number; None: 0.
        most: the number of open connections that have not logged in.
        most_per_address: the number of those from one address; None: as ``[quotas]`` says.
        page_port: of the live page; None without one.
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
        fence: Fence | None = None,
        most: int | None = None,
        most_per_address: int | None = None,
        page_port: int | None = None,
    ) -> None:
        self.contest = contest
        self.seats = seats
        self.publish = publish
        self.hosted = {} if hosted is None else hosted
        self.page_port = page_port
        self.fence = fence or Fence()
        self.login_limiter = LoginLimiter()
        self.timestamp_clock = TimestampClock()
        self.accept_throttle = LoginThrottle(self.is_playing, ACCEPT_SHARE)
        self.logins = LoginQueue(self.is_playing, batch)
        self.poller = new_poller(batch, self.logins)
        self.connections: dict[RegisteredConnection, None] = {}
        self._sources: dict[RegisteredConnection, str] = {}
        """The connections that have not logged in, and where each was counted."""
        self._by_source: dict[str, dict[RegisteredConnection, None]] = {}
        """The same by source, oldest first."""
        self._most = MAX_CONNECTIONS if most is None else most
        quota = contest.file.quotas.bot_connections_per_address
        self._most_per_address = quota if most_per_address is None else most_per_address
        self._seen_before = seen_before
        self._goodbye: Goodbye | None = None
        self._awaiting_goodbye: Counter[int] = Counter()  # by team, its bots that were away at `shutdown`
        self._removed = trio.lowlevel.ParkingLot()
        self._playing, self._playing_until = False, -float("inf")

    def is_playing(self) -> bool:
        """Return True while a match is played, as of the last PLAYING_SECONDS."""
        now = trio.current_time()
        if now >= self._playing_until:
            self._playing = any(seat.in_match for seats in self.seats.values() for seat in seats)
            self._playing_until = now + PLAYING_SECONDS
        return self._playing

    def add(self, connection: RegisteredConnection) -> None:
        """Count a connection that has not logged in."""
        self.connections[connection] = None
        self._sources[connection] = source = self.logins.source(connection.address)
        self._by_source.setdefault(source, {})[connection] = None

    def remove(self, connection: RegisteredConnection) -> None:
        """Stop counting a connection; ignored if it is not counted."""
        if connection in self.connections:
            del self.connections[connection]
            self._forget_source(connection)
            self._removed.unpark_all()

    def logged_in(self, connection: RegisteredConnection, team: Team | None) -> None:
        """Count a connection no more: the seats of its team bound it now.

        A connection that has lost its seat is not counted again. LOGINS_PER_WINDOW and LINGER_SECONDS bound those.

        Args:
            connection: that a team has accepted as its own.
            team: that plays from its address; None if it does not: a check takes no seat, and anybody can log in
                on the classic wire.
        """
        self._forget_source(connection)
        if team is not None:
            self.logins.remember(connection.address, team.id, team.seats)

    def _forget_source(self, connection: RegisteredConnection) -> None:
        source = self._sources.pop(connection, None)
        if source is not None:
            here = self._by_source[source]
            del here[connection]
            if not here:
                del self._by_source[source]

    def over_limit(self, address: str) -> Collection[RegisteredConnection] | None:
        """Return the connections that one more from ``address`` would make too many, or None if there is room.

        If there are too many in all, these are the connections of the source that has most. So a source that has
        few keeps them, however many others there are.
        """
        here = self._by_source.get(self.logins.source(address), {})
        if len(here) >= self._most_per_address:
            return here
        return self.largest_source() if len(self._sources) >= self._most else None

    def largest_source(self) -> Collection[RegisteredConnection]:
        """Return the connections before login of the source that has most of them, oldest first."""
        return max(self._by_source.values(), key=len, default={})  # of 200 sources in 10 µs

    def evict_oldest(self, connections: Collection[RegisteredConnection]) -> bool:
        """Close the oldest of these connections; return False if there is none.

        Evicting the newest instead would let idle connections keep a team from logging in.
        """
        oldest = next(iter(connections), None)
        if oldest is not None:
            oldest.evict()
        return oldest is not None

    def shutdown(self, goodbye: Goodbye) -> None:
        """Send the goodbye on every connection, and on each later one as soon as its team has logged in."""
        self._goodbye = goodbye
        if goodbye.retry_ms is None:
            # The plus drops teams with nobody away: `wait_closed` asks whether anything is left in it.
            self._awaiting_goodbye = +Counter({team: self._away(team) for team in self.seats.keys() - self.hosted})
        for connection in list(self.connections):  # a copy: one that fails removes itself
            connection.close(goodbye)

    def close_if_over(self, connection: RegisteredConnection, team: int) -> None:
        """After `shutdown`, send the goodbye to one more bot of ``team``."""
        if self._goodbye is not None:
            self._awaiting_goodbye = self._awaiting_goodbye - Counter(
                [team]
            )  # drops a zero, as `subtract` does not
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
