"""The work for connections that have not logged in, in turn by address.

Theory of operation
-------------------

A login is two pieces of work: a connection is *admitted* (it gets its task and hello), and its join is read.
Neither is done at once when the socket is ready. Each piece waits in a queue of its source, and the sources are
served in turn, one piece each. So a newcomer waits for one piece of each other source, however many connections
those open.
While matches are played, all of it takes LOGIN_SHARE of a processor at most (`LoginThrottle`).

There are two *lanes*, each with a share of its own. An address from which a team of the contest has taken a seat
uses the lane of known addresses, so that a flood from other computers does not delay a bot that reconnects. A team
has only so many known addresses, the latest ones: one that logs in from everywhere cannot fill that lane. In the
lane of new addresses, the computer is counted: in IPv6 it has a /64 (`addresses.source_of`). A known address is
counted alone, because the computers of a network share their /64.

Connections that wait to be admitted cost a file descriptor each, and a source may have only so many. Further ones
are closed as soon as they are accepted, which takes 20 µs. A source that has too many is *blocked*: the listeners
let the kernel drop its requests to connect for BLOCKED_SECONDS, and until half of those that wait are served
(syn_filter.py). The kernel of an honest client there repeats the request after 1 s, and again after 3 s.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter, thread_time

import trio

from getstep_server.addresses import source_of
from getstep_server.limits import (
    BLOCKED_SECONDS,
    IDLE_LOGIN_SHARE,
    KNOWN_ADDRESSES_PER_SEAT,
    LOGIN_BURST_SECONDS,
    LOGIN_READ_SECONDS,
    LOGIN_SHARE,
    MAX_WAITING_CONNECTIONS,
    READS_AT_ONCE,
)


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of work.

    ``run`` never raises. It returns by what its processor time has to be multiplied, to include the work that
    follows in other tasks. ``drop`` is called instead if the queue is closed first.
    """

    run: Callable[[], float]
    drop: Callable[[], None] = lambda: None


@dataclass(slots=True)
class _Source:
    """The waiting work of one source: pieces that come first, and all others."""

    first: deque[Work] = field(default_factory=deque)
    then: deque[Work] = field(default_factory=deque)


class FairQueue:
    """Pieces of work by source; one piece of each source is taken in turn."""

    def __init__(self) -> None:
        self._sources: OrderedDict[str, _Source] = OrderedDict()
        """Those with work, the next one first."""

    def __bool__(self) -> bool:
        return bool(self._sources)

    def push(self, source: str, work: Work, *, first: bool = False) -> None:
        """Add a piece of work; ``first``: before the other pieces of the same source."""
        found = self._sources.setdefault(source, _Source())
        (found.first if first else found.then).append(work)

    def pop(self) -> Work:
        """Take the next piece of the source whose turn it is. The queue must not be empty."""
        name, source = next(iter(self._sources.items()))
        work = (source.first or source.then).popleft()
        if source.first or source.then:
            self._sources.move_to_end(name)
        else:
            del self._sources[name]
        return work


class LoginThrottle:
    """Spreads work so that it takes at most a share of the event loop's time, except for short bursts.

    Work is counted in processor time. In wall-clock time a busy machine would look like a flood.

    Args:
        is_playing: returns True while a match is played; at other times the share is IDLE_LOGIN_SHARE.
        share: of the time, while a match is played.
    """

    def __init__(self, is_playing: Callable[[], bool] = lambda: False, share: float = LOGIN_SHARE) -> None:
        self._is_playing = is_playing
        self._share = share
        self._earned_at = -float("inf")  # when the time that was spent will have been earned, at this share

    async def rest(self, spent: float) -> None:
        """Pause after work of ``spent`` seconds of processor time if more was spent than has been earned."""
        now = trio.current_time()
        share = self._share if self._is_playing() else IDLE_LOGIN_SHARE
        oldest = now - LOGIN_BURST_SECONDS / share  # a quiet hour earns one burst, not an hour's share at once
        self._earned_at = max(self._earned_at, oldest) + spent / share
        await trio.sleep_until(max(now, self._earned_at))


class _Lane:
    def __init__(self, batch: Callable[[], AbstractContextManager[None]], throttle: LoginThrottle) -> None:
        self.queue = FairQueue()
        self.throttle = throttle
        self._batch = batch
        self._added = trio.Event()

    def push(self, source: str, work: Work, *, first: bool) -> None:
        self.queue.push(source, work, first=first)
        self._added.set()

    async def run(self) -> None:
        while True:
            await self._added.wait()
            # two clocks: the share is of processor time, and the teams wait in elapsed time
            spent, end = 0.0, perf_counter() + LOGIN_READ_SECONDS
            with self._batch():
                for _ in range(READS_AT_ONCE):
                    began = thread_time()
                    weight = self.queue.pop().run()
                    spent += weight * (thread_time() - began)
                    if not self.queue or perf_counter() >= end:  # the teams' connections are read next
                        break
            if not self.queue:
                self._added = trio.Event()
            await self.throttle.rest(spent)


@dataclass(frozen=True, slots=True)
class _Blocked:
    """A source that is blocked until this time, and until no more than ``most`` of its connections wait."""

    until: float
    most: int


class LoginQueue:
    """All work for connections that have not logged in.

    Args:
        is_playing: returns True while a match is played.
        batch: a context for pieces that are done in one go; see `poller.Poller`.
    """

    def __init__(
        self,
        is_playing: Callable[[], bool] = lambda: False,
        batch: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._for_known = _Lane(batch, LoginThrottle(is_playing))
        self._for_new = _Lane(batch, LoginThrottle(is_playing))
        self._known: dict[int, OrderedDict[str, None]] = {}
        """The addresses of each team, the latest login last."""
        self._teams_at: Counter[str] = Counter()
        """How many teams have each known address; none has 0."""
        self._waiting: Counter[str] = Counter()
        """The connections of each source that wait to be admitted; no source has 0."""
        self._blocked: dict[str, _Blocked] = {}
        """The sources with too many."""
        self.blocked_changed = trio.Event()
        """Set, and then replaced, when `blocked` has changed."""

    def remember(self, address: str, team: int, seats: int) -> None:
        """Note that a team with so many seats has logged in from ``address``."""
        known = self._known.setdefault(team, OrderedDict())
        if address not in known:
            known[address] = None
            self._teams_at[address] += 1
        known.move_to_end(address)
        if len(known) > KNOWN_ADDRESSES_PER_SEAT * seats:
            oldest, _ = known.popitem(last=False)
            self._teams_at[oldest] -= 1
            if self._teams_at[oldest] == 0:
                del self._teams_at[oldest]

    def source(self, address: str) -> str:
        """Return what ``address`` is counted by: itself if it is known, else its computer."""
        return address if address in self._teams_at else source_of(address)

    def add(self, address: str, work: Work, *, first: bool = True) -> None:
        """Do a piece of work when it is the turn of ``address``; ``first``: before its connections are admitted."""
        lane = self._for_known if address in self._teams_at else self._for_new
        lane.push(self.source(address), work, first=first)

    def admit(self, address: str, work: Work, most: int = MAX_WAITING_CONNECTIONS) -> bool:
        """Admit a connection when it is the turn of ``address``.

        Args:
            address: of the client.
            work: admits it.
            most: the connections that may wait, for all sources together.

        Returns:
            False if the address has as many waiting as it may. Then the work is not done.
        """
        source = self.source(address)
        others = len(self._waiting) - (source in self._waiting)
        limit = max(
            1, most // (others + 1)
        )  # equal parts; at least one, so that no number of sources shuts one out
        if self._waiting[source] >= limit:
            self._block(source, limit)
            return False
        self._waiting[source] += 1
        self.add(address, Work(lambda: self._admitted(source, work), work.drop), first=False)
        return True

    def has_waiting(self, address: str) -> bool:
        return self.source(address) in self._waiting

    @property
    def waiting(self) -> int:
        """The number of connections that wait to be admitted."""
        return self._waiting.total()

    @property
    def blocked(self) -> Collection[str]:
        """The sources from which no further connection should be accepted now."""
        return self._blocked.keys()

    async def run(self) -> None:
        """Do the work until cancelled; then drop the rest."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._for_known.run)
                nursery.start_soon(self._for_new.run)
                nursery.start_soon(self._unblock)
        finally:
            for lane in (self._for_known, self._for_new):
                while lane.queue:
                    lane.queue.pop().drop()

    def _admitted(self, source: str, work: Work) -> float:
        self._waiting[source] -= 1
        if self._waiting[source] == 0:
            del self._waiting[source]
        return work.run()

    def _block(self, source: str, limit: int) -> None:
        if source not in self._blocked:
            # Until half are served: unblocked at one fewer, it would be blocked again by the next connection.
            self._blocked[source] = _Blocked(trio.current_time() + BLOCKED_SECONDS, limit // 2)
            self._tell()

    async def _unblock(self) -> None:
        while True:
            if not self._blocked:
                await self.blocked_changed.wait()
            await trio.sleep(BLOCKED_SECONDS / 10)  # not until the next end: a source may also have too many then
            now = trio.current_time()
            over = [
                source
                for source, blocked in self._blocked.items()
                if now >= blocked.until and self._waiting[source] <= blocked.most
            ]
            for source in over:
                del self._blocked[source]
            if over:
                self._tell()

    def _tell(self) -> None:
        self.blocked_changed.set()
        self.blocked_changed = trio.Event()
