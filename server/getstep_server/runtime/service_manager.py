"""Tells the service manager, such as systemd, that the server is ready and its event loop is alive.

The messages are datagrams to the socket that the manager names in the variable NOTIFY_SOCKET (sd_notify(3)). They
come from the event loop: if it stands still, none comes. Then a manager with a watchdog kills the server and starts
it again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import closing, suppress

import trio

from getstep_server.events import Bus, ContestOver, ContestStarted, Event, Listening

PINGS = 3
"""The messages in the time after which the manager takes the server for dead."""


class ServiceManager:
    """The socket of the service manager that has started this process.

    Args:
        bus: publishes the events.
        address: of the socket; one that begins with ``@`` has no file.
        watchdog: the seconds after which the manager kills a server that is silent; None if it waits for ever.
    """

    def __init__(self, bus: Bus, address: str, watchdog: float | None) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._pause = float("inf") if watchdog is None else watchdog / PINGS
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        bus.subscribe(self._note, [Listening, ContestStarted, ContestOver])

    @classmethod
    def of(cls, bus: Bus, environ: Mapping[str, str] = os.environ) -> ServiceManager | None:
        """Return the manager that the environment names; None if no manager waits for messages of this process."""
        if "NOTIFY_SOCKET" not in environ:
            return None
        text = environ.get("WATCHDOG_USEC", "")
        mine = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        micros = int(text) if mine and text.isdecimal() else 0
        return cls(bus, environ["NOTIFY_SOCKET"], micros / 1e6 if micros else None)  # 0: it watches nothing

    async def run(self) -> None:
        """Send signs of life until cancelled, then that the server stops."""
        with closing(self._socket):
            try:
                while True:
                    self._send("WATCHDOG=1")
                    await trio.sleep(self._pause)
            finally:
                self._send("STOPPING=1")

    def _note(self, event: Event) -> None:
        if isinstance(event, Listening):
            self._send(f"READY=1\nSTATUS=listens on port {event.port}, waits for the start")
        else:
            self._send(f"STATUS={'plays' if isinstance(event, ContestStarted) else 'the contest is over'}")

    def _send(self, text: str) -> None:
        with suppress(OSError):  # the manager is gone or busy; nothing here depends on it
            self._socket.sendto(text.encode(), self._address)
