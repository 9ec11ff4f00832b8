"""Keeps the process that talks to Dask, and exchanges messages with it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path

import trio

from getstep_server.children.channel import Channel, ChannelError
from getstep_server.children.keeping import keep_running
from getstep_server.children.log import ChildLog
from getstep_server.children.process import run, start

from .messages import FromProcess, ToProcess

END_SECONDS = 6.0
"""The time for the process to end its workers and itself: then it is killed."""


class ProcessLink:
    """The process, which is started again whenever it ends.

    Args:
        command: starts it; the descriptor of its end of the channel is the last argument.
        log: the file that gets what it prints.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._channel: Channel[FromProcess] | None = None
        self._why = ""

    def tell(self, message: ToProcess) -> None:
        """Send a message; it is lost if the process ends."""
        if self._channel is not None:
            self._channel.send(message)

    async def run(self, receive: Callable[[FromProcess], None], lost: Callable[[str], None]) -> None:
        """Keep the process until cancelled.

        Args:
            receive: called with each message.
            lost: called with the reason whenever the process has ended.
        """

        def ended(code: int, _: float) -> None:
            lost(self._why or f"the process that talks to Dask has ended with code {code}; see {self._log}")

        await keep_running(partial(self._live, receive), ended)

    async def _live(self, receive: Callable[[FromProcess], None]) -> int:
        """Run the process until it ends, and return its exit code. If this is cancelled, end it."""
        self._why = ""
        ours, theirs = socket.socketpair()
        channel = self._channel = Channel[FromProcess](ours, FromProcess)
        try:
            with theirs:
                process = await start([*self._command, str(theirs.fileno())], files=[theirs.fileno()])
        except OSError as error:
            channel.close()
            self._why = f"the process that talks to Dask cannot be started: {error}"
            return -1
        with ChildLog(self._log, append=True) as log:
            async with trio.open_nursery() as nursery:
                follow = partial(run, process, log, end_seconds=END_SECONDS, ask_to_end=channel.close)
                nursery.start_soon(follow)
                nursery.start_soon(channel.run)
                try:
                    async with aclosing(channel.receive()) as messages:
                        async for message in messages:
                            receive(message)
                except ChannelError as error:
                    self._why = f"the process that talks to Dask is out of step: {error}"
                nursery.cancel_scope.cancel()
        channel.close()
        return process.returncode or 0
