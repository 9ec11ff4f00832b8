"""The ports of a contest."""

from __future__ import annotations

import errno
import socket

import trio

from getstep_server.config.contest import Contest, contest_path
from getstep_server.errors import UsageError
from getstep_server.events import Listening

from .listener import open_listener
from .timestamps import timestamps_supported


class Ports:
    """The open listeners; a context manager that closes them."""

    def __init__(self, main: socket.socket, classic: socket.socket | None) -> None:
        self.main = main
        self.classic = classic

    def __enter__(self) -> Ports:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop accepting connections. Further calls do nothing."""
        for listener in (self.main, self.classic):
            if listener is not None and listener.fileno() != -1:
                trio.lowlevel.notify_closing(listener)
                listener.close()

    @property
    def listening(self) -> Listening:
        """The event that tells the addresses of the listeners."""
        host, port = self.main.getsockname()[:2]
        classic_port = None if self.classic is None else self.classic.getsockname()[1]
        return Listening(host, port, classic_port, stamped=timestamps_supported())


def open_ports(contest: Contest) -> Ports:
    """Open the ports that contest.toml names.

    Raises:
        UsageError: a port is busy, or the address is not this machine's; the message names the setting to change.
    """
    server = contest.file.server
    main = _open(contest, server.port, "port")
    if server.classic_port is None:
        return Ports(main, None)
    try:
        return Ports(main, _open(contest, server.classic_port, "classic_port"))
    except UsageError:
        main.close()
        raise


def _open(contest: Contest, port: int, setting: str) -> socket.socket:
    host = contest.file.server.host
    try:
        return open_listener(host, port)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror or error}. {_advice(error, setting)}"
            f" under [server] in {contest_path(contest.folder)}"
        ) from error


def _advice(error: OSError, setting: str) -> str:
    """Return what to do about a port that cannot be opened."""
    if error.errno == errno.EADDRNOTAVAIL:
        return "This machine has no such address. Give one of its own as --host, or change host"
    return f"Is another server running? Stop it, or change {setting} (or host)"
