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
further one, within the same time and number of reads: a wait for the next round costs a third of a judged move.

Connections that have not logged in have an epoll and a task of their own. While matches are played this task is
throttled to LOGIN_SHARE of a processor (login_throttle.py), so that a flood of unauthenticated connections takes
little time from the teams.
"""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from time import perf_counter, thread_time

import trio

from getstep_server.limits import LOGIN_READ_SECONDS, READ_SECONDS, READS_AT_ONCE

from .login_throttle import LoginThrottle


class Poller:
    """Reads sockets when they are readable; each is waited for by a task of its own.

    Args:
        batch: a context for reads that are made in one go; it must not raise.
        throttle: bounds the reads of connections that have not logged in.
    """

    def __init__(
        self,
        batch: Callable[[], AbstractContextManager[None]] = nullcontext,
        throttle: LoginThrottle | None = None,
    ) -> None:
        self._batch = batch
        self._throttle = throttle or LoginThrottle()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Poll while the block runs; every `watch` has to end before the block does."""
        yield

    async def watch(
        self,
        sock: socket.socket,
        read: Callable[[], None],
        *,
        logged_in: bool = False,  # noqa: ARG002 - here all are read in the same way
    ) -> None:
        """Call ``read`` whenever ``sock`` has something to read, until cancelled.

        Args:
            sock: non-blocking; stays open until this has ended.
            read: receives once and never raises. It may be called once more after the cancellation.
            logged_in: ``sock`` is one of the teams' from the start.
        """
        while True:
            await trio.lowlevel.wait_readable(sock)
            read()

    def logged_in(self, sock: socket.socket) -> None:
        """Read ``sock`` with the teams' connections from now on."""


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
            """Wait until a socket is readable."""
            if self._due:
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
                due.pop(next(iter(due)))()
                count += 1
                if perf_counter() >= end:
                    break
            return count

    class EpollPoller(Poller):
        """One task waits for the connections of all teams, and one for all other connections."""

        def __init__(
            self,
            batch: Callable[[], AbstractContextManager[None]] = nullcontext,
            throttle: LoginThrottle | None = None,
        ) -> None:
            super().__init__(batch, throttle)
            self._teams = _Queue()
            self._logins = _Queue()

        @asynccontextmanager
        async def open(self) -> AsyncIterator[None]:
            with self._teams.epoll, self._logins.epoll:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._read_teams)
                    nursery.start_soon(self._read_logins)
                    yield
                    nursery.cancel_scope.cancel()

        async def watch(self, sock: socket.socket, read: Callable[[], None], *, logged_in: bool = False) -> None:
            number = sock.fileno()
            (self._teams if logged_in else self._logins).add(number, read)
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
                end, left = perf_counter() + READ_SECONDS, READS_AT_ONCE
                while left > 0 and perf_counter() < end and self._teams.poll(left):
                    with self._batch():
                        left -= self._teams.read(end)

        async def _read_logins(self) -> None:
            while True:
                await self._logins.wait()
                began = thread_time()
                if self._logins.poll(READS_AT_ONCE):
                    with self._batch():
                        self._logins.read(perf_counter() + LOGIN_READ_SECONDS)
                await self._throttle.rest(thread_time() - began)


def new_poller(
    batch: Callable[[], AbstractContextManager[None]] = nullcontext, throttle: LoginThrottle | None = None
) -> Poller:
    """Return the kind of poller that suits this system."""
    return (EpollPoller if sys.platform == "linux" else Poller)(batch, throttle)
