"""The poller: it waits for readable sockets and reads each of them once per round.

Theory of operation
-------------------

Waiting for one socket costs a system call and a turn of a task. With epoll all sockets stay registered with the
kernel, and one task waits for all of them: a round of up to READS_AT_ONCE reads costs one `epoll_wait`. The kernel
reports each readable socket once per round, so every connection gets one read before any gets its second, and a
flood on one connection does not delay the others. Where there is no epoll, each connection waits for itself.

A round is a *batch*: the turns of all answers in it are written together at its end (storage/journal.py). A round
ends after READ_SECONDS even if sockets are left; those come first in the next round. So no batch holds the event
loop for longer, however expensive its reads are. A team's answer that has arrived when a round ends is read in a
further one, within the same time and number of reads. To wait for the next round would cost a third of a judged
move.

Connections that have not logged in have an epoll of their own. What it reports is not read at once: each read waits
for the turn of its address (login_queue.py). So a flood of unauthenticated connections takes little time from the
teams, and from the logins of others.
"""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from time import perf_counter

import trio

from getstep_server.limits import READ_SECONDS, READS_AT_ONCE

from .login_queue import LoginQueue, Work


class Poller:
    """Reads sockets when they are readable; each is waited for by a task of its own.

    Args:
        batch: a context for reads that are made in one go; it must not raise.
        logins: the work for connections that have not logged in; it is done while the poller is open.
    """

    def __init__(
        self,
        batch: Callable[[], AbstractContextManager[None]] = nullcontext,
        logins: LoginQueue | None = None,
    ) -> None:
        self._batch = batch
        self._queue = LoginQueue(batch=batch) if logins is None else logins
        self._teams_sockets: set[socket.socket] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Poll while the block runs; every `watch` has to end before the block does."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._queue.run)
            yield
            nursery.cancel_scope.cancel()

    async def watch(
        self, sock: socket.socket, read: Callable[[], None], address: str = "", *, logged_in: bool = False
    ) -> None:
        """Call ``read`` whenever ``sock`` has something to read, until cancelled.

        Args:
            sock: non-blocking; stays open until this has ended.
            read: receives once and never raises. It may be called once more after the cancellation.
            address: of the client, whose turn is waited for until it has logged in.
            logged_in: ``sock`` is one of the teams' from the start.
        """
        if logged_in:
            self._teams_sockets.add(sock)
        turn = _Turn(read)
        try:
            while True:
                await trio.lowlevel.wait_readable(sock)
                if sock in self._teams_sockets:
                    read()
                else:
                    self._queue.add(address, Work(turn.take))
                    await turn.wait()
        finally:
            turn.over = True
            self._teams_sockets.discard(sock)

    def logged_in(self, sock: socket.socket) -> None:
        """Read ``sock`` together with the teams' connections."""
        self._teams_sockets.add(sock)


class _Turn:
    """The read of a connection that waits for its turn; nothing is read after it is ``over``."""

    def __init__(self, read: Callable[[], None]) -> None:
        self.over = False
        self._read = read
        self._taken = trio.Event()

    def take(self) -> float:
        if not self.over:
            self._read()
        self._taken.set()
        return 1.0  # unlike an admission, this starts no task

    async def wait(self) -> None:
        await self._taken.wait()
        self._taken = trio.Event()


if sys.platform == "linux":

    class _Queue:
        """Sockets that are read in turn when they are readable."""

        def __init__(self) -> None:
            self.epoll = select.epoll()
            self.reads: dict[int, Callable[[], None]] = {}  # by file number
            self._due: dict[int, Callable[[], None]] = {}
            """Readable sockets that come first in the next round: the time of the last one ran out before their
            turn.
            """

        def add(self, number: int, read: Callable[[], None]) -> None:
            self.epoll.register(number, select.EPOLLIN)
            self.reads[number] = read

        def remove(self, number: int) -> Callable[[], None]:
            self._due.pop(number, None)
            self.epoll.unregister(number)
            return self.reads.pop(number)

        async def wait(self) -> None:
            if self._due:  # a flood keeps this true: other tasks still get their turn between two rounds
                await trio.lowlevel.checkpoint()
            else:
                await trio.lowlevel.wait_readable(self.epoll.fileno())

        def poll(self, most: int) -> bool:
            """Return True if sockets are readable, after at most ``most`` of them became due."""
            if not self._due:
                self._due = {number: self.reads[number] for number, _ in self.epoll.poll(0, most)}
            return bool(self._due)

        def read(self, end: float) -> int:
            """Read what is due until ``end``, by `perf_counter`; the read that is under way then is finished.

            Returns:
                The number of reads.
            """
            due, count = self._due, 0
            while due:
                due.pop(next(iter(due)))()  # removed first: a read may end its connection, or others that are due
                count += 1
                if perf_counter() >= end:
                    break
            return count

    class _Logins:
        """Sockets of connections that have not logged in. Each is reported once, and again after it was read.

        So the work of one report is bounded by the reads since the last one, however many sockets are readable.
        """

        def __init__(self, queue: LoginQueue) -> None:
            self.epoll = select.epoll()
            self.reads: dict[int, tuple[Callable[[], None], str]] = {}  # and addresses, by file number
            self._queue = queue
            self._due: set[int] = set()

        def add(self, number: int, read: Callable[[], None], address: str) -> None:
            self.epoll.register(number, select.EPOLLIN | select.EPOLLONESHOT)
            self.reads[number] = read, address

        def remove(self, number: int) -> Callable[[], None]:
            self._due.discard(number)
            self.epoll.unregister(number)
            return self.reads.pop(number)[0]

        async def run(self) -> None:
            while True:
                await trio.lowlevel.wait_readable(self.epoll.fileno())
                for number, _ in self.epoll.poll(0, READS_AT_ONCE):
                    self._due.add(number)
                    self._queue.add(self.reads[number][1], Work(partial(self._read, number)))

        def _read(self, number: int) -> float:
            if number in self._due:  # otherwise it was closed, and its number may be another connection's
                self._due.remove(number)
                self.reads[number][0]()
                if number in self.reads:  # otherwise it has logged in
                    self.epoll.modify(number, select.EPOLLIN | select.EPOLLONESHOT)
            return 1.0

    class EpollPoller(Poller):
        """One task waits for the connections of all teams, and one for all other connections."""

        def __init__(
            self,
            batch: Callable[[], AbstractContextManager[None]] = nullcontext,
            logins: LoginQueue | None = None,
        ) -> None:
            super().__init__(batch, logins)
            self._teams = _Queue()
            self._logins = _Logins(self._queue)

        @asynccontextmanager
        async def open(self) -> AsyncIterator[None]:
            with self._teams.epoll, self._logins.epoll:
                async with super().open(), trio.open_nursery() as nursery:
                    nursery.start_soon(self._read_teams)
                    nursery.start_soon(self._logins.run)
                    yield
                    nursery.cancel_scope.cancel()

        async def watch(
            self, sock: socket.socket, read: Callable[[], None], address: str = "", *, logged_in: bool = False
        ) -> None:
            number = sock.fileno()
            if logged_in:
                self._teams.add(number, read)
            else:
                self._logins.add(number, read, address)
            try:
                await trio.sleep_forever()
            finally:
                (self._teams if number in self._teams.reads else self._logins).remove(number)

        def logged_in(self, sock: socket.socket) -> None:
            number = sock.fileno()
            if number in self._logins.reads:
                self._teams.add(number, self._logins.remove(number))

        async def _read_teams(self) -> None:
            while True:
                await self._teams.wait()
                # both bounds: then logins, deadlines and disk get their turn
                end, left = perf_counter() + READ_SECONDS, READS_AT_ONCE
                while left > 0 and perf_counter() < end and self._teams.poll(left):
                    with self._batch():
                        left -= self._teams.read(end)


def new_poller(
    batch: Callable[[], AbstractContextManager[None]] = nullcontext, logins: LoginQueue | None = None
) -> Poller:
    """Return the kind of poller that suits this system."""
    return (EpollPoller if sys.platform == "linux" else Poller)(batch, logins)
