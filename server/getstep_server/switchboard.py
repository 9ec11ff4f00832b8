"""Who has sent something: has each connection read in its turn.

Waiting for a socket costs a system call and a turn of a task each time. Where there is epoll, all sockets stay
registered with one, and a single task waits for that, however many connections there are. The kernel goes round:
each that has something gets one read before any gets its second, so that no flood keeps the others waiting. What
all of those reads come to can be dealt with together, at their end.
"""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

from .limits import READS_AT_ONCE


def _nothing() -> None:
    """To be done where there are no others to be read at the same time."""


class Switchboard:
    """Has sockets read when there is something to read; each is waited for by a task of its own."""

    before: Callable[[], None] = staticmethod(_nothing)
    """Called before several are read one after the other. It must not raise."""
    after: Callable[[], None] = staticmethod(_nothing)
    """Called when they were. It must not raise."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Work for as long as the block runs; every `serve` has to end before it does."""
        yield

    async def serve(self, sock: socket.socket, read: Callable[[], None]) -> None:
        """Call ``read`` whenever ``sock`` has something to read, until cancelled.

        Args:
            sock: non-blocking; stays open until this has ended.
            read: takes in one receive's worth and never raises. It may be called once more after the cancelling.
        """
        while True:
            await trio.lowlevel.wait_readable(sock)
            read()


if sys.platform == "linux":

    class EpollSwitchboard(Switchboard):
        """One task waits for all sockets together."""

        def __init__(self) -> None:
            self._epoll = select.epoll()
            self._reads: dict[int, Callable[[], None]] = {}  # by file number

        @asynccontextmanager
        async def open(self) -> AsyncIterator[None]:
            with self._epoll:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._run)
                    yield
                    nursery.cancel_scope.cancel()

        async def serve(self, sock: socket.socket, read: Callable[[], None]) -> None:
            number = sock.fileno()
            self._epoll.register(number, select.EPOLLIN)
            self._reads[number] = read
            try:
                await trio.sleep_forever()
            finally:
                del self._reads[number]
                self._epoll.unregister(number)

        async def _run(self) -> None:
            while True:
                await trio.lowlevel.wait_readable(self._epoll.fileno())
                readable = self._epoll.poll(0, READS_AT_ONCE)
                self.before()
                for number, _ in readable:
                    self._reads[number]()
                self.after()


def new_switchboard() -> Switchboard:
    """The kind that suits this system."""
    if sys.platform == "linux":
        return EpollSwitchboard()
    return Switchboard()
