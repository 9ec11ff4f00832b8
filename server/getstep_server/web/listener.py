"""The listening socket of the page, and the address that spectators type."""

from __future__ import annotations

import socket
from collections.abc import Callable

from getstep_server.addresses import reachable_host
from getstep_server.config.contest import Contest

PORTS_TRIED = 20
"""The ports that are tried, from the wanted one upwards: other programs like 8080, too."""

_BACKLOG = 512
"""The connections that wait while the page starts again: those of a whole class that reloads."""


def open_page_listener(host: str, port: int) -> socket.socket:
    """Return a listening socket on ``port``, or on the next free port.

    Raises:
        OSError: all ports that were tried are taken, or ``host`` is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    dual = host == "::" and socket.has_dualstack_ipv6()

    def open_(tried: int) -> socket.socket:
        return socket.create_server((host, tried), family=family, backlog=_BACKLOG, dualstack_ipv6=dual)

    return first_free(port, open_)


def first_free(port: int, open_: Callable[[int], socket.socket]) -> socket.socket:
    """Return what ``open_`` returns for ``port``, or for the next port on which it can listen.

    Raises:
        OSError: ``open_`` raised it for all PORTS_TRIED ports.
    """
    # port 0 lets the system choose, so there is nothing to try
    ports = range(port, min(port + PORTS_TRIED, 65536)) if port else [0]
    for tried in ports:
        try:
            return open_(tried)
        except OSError:
            if tried == ports[-1]:
                raise
    raise AssertionError("there is at least one port")


def page_address(contest: Contest, listener: socket.socket) -> str:
    """Return the address of the page that others in the network can reach, such as ``http://192.168.1.10:8080/``."""
    host, port = listener.getsockname()[:2]
    return contest.page_at(reachable_host(host), port)
