"""The listener: it accepts connections up to the limits, and starts a task for each."""

from __future__ import annotations

import contextlib
import errno
import socket
import sys
import traceback
from collections.abc import Callable
from math import inf
from time import perf_counter, thread_time

import trio

from getstep_server.events import ServerFault
from getstep_server.limits import (
    ACCEPT_SECONDS,
    ACCEPTS_AT_ONCE,
    CONNECTION_COSTS,
    CROWDED_PAUSE_SECONDS,
    KEEPALIVE_EVERY_SECONDS,
    KEEPALIVE_IDLE_SECONDS,
    KEEPALIVE_TRIES,
    SPARE_FILES,
)
from getstep_server.net import timestamps

from .connection import Connection
from .registry import ConnectionRegistry

if sys.platform != "win32":
    import resource


def open_listener(host: str, port: int) -> socket.socket:
    """Return a non-blocking listening socket whose connections get receive timestamps where the system has them.

    Raises:
        OSError: the port is busy, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    dual = host == "::" and socket.has_dualstack_ipv6()
    listener = socket.create_server((host, port), family=family, backlog=1024, dualstack_ipv6=dual)
    listener.setblocking(False)
    timestamps.enable_timestamps(listener)
    _keep_alive(listener)
    return listener


def _keep_alive(listener: socket.socket) -> None:
    """Detect dead connections: those from ``listener`` inherit its options, as far as the system has them."""
    seconds = KEEPALIVE_IDLE_SECONDS + KEEPALIVE_TRIES * KEEPALIVE_EVERY_SECONDS
    options = {
        "TCP_KEEPIDLE": KEEPALIVE_IDLE_SECONDS,
        "TCP_KEEPALIVE": KEEPALIVE_IDLE_SECONDS,  # its name on macOS
        "TCP_KEEPINTVL": KEEPALIVE_EVERY_SECONDS,
        "TCP_KEEPCNT": KEEPALIVE_TRIES,
        "TCP_USER_TIMEOUT": 1000
        * seconds,  # the same while a question is not acknowledged: no probes are sent then
    }
    for name, value in options.items():
        if hasattr(socket, name):
            with contextlib.suppress(OSError):  # an old system without the option uses its own times
                listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def accept_forever(
    listener: socket.socket,
    make_connection: Callable[[ConnectionRegistry, socket.socket, str], Connection],
    registry: ConnectionRegistry,
    nursery: trio.Nursery,
) -> None:
    """Accept connections, and start a task for each, until the listener is closed.

    Not `trio.serve_tcp`: it accepts one connection per turn of the loop (280 ms for 100 connections under load,
    against 17 ms here), and an exception in a handler ends it.
    """
    room = _room(listener)
    while listener.fileno() != -1:
        try:
            await trio.lowlevel.wait_readable(listener)
        except trio.ClosedResourceError:
            return
        crowded, worked, end = False, thread_time(), perf_counter() + ACCEPT_SECONDS
        for taken in range(ACCEPTS_AT_ONCE):
            try:
                sock, peer = listener.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if not taken:  # later, an empty queue may be the cause: accept reports a full file table first
                    await _accept_failed(error, registry)
                break
            full = len(registry.connections) >= room
            crowded |= _admit(sock, peer[0], make_connection, registry, nursery, full=full)
            if full or perf_counter() >= end:
                break  # if full: the evicted connection needs a turn of the loop to close
        worked = thread_time() - worked
        if crowded:
            await trio.sleep(CROWDED_PAUSE_SECONDS)
        await registry.throttle.rest(CONNECTION_COSTS * worked)


def _room(listener: socket.socket) -> float:
    """Return how many connections leave enough descriptors free for files that are opened after ``listener``.

    The system assigns the lowest free descriptor, so everything that was opened earlier has a lower one.
    """
    if sys.platform == "win32":
        return inf  # no such limit there
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return inf if most == resource.RLIM_INFINITY else most - 1 - listener.fileno() - SPARE_FILES


async def _accept_failed(error: OSError, registry: ConnectionRegistry) -> None:
    """Make room if the file table is full. A connection that closed before it was accepted is no error."""
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
        registry.evict_oldest(registry.connections)
        await trio.sleep(CROWDED_PAUSE_SECONDS)


def _admit(
    sock: socket.socket,
    address: str,
    make_connection: Callable[[ConnectionRegistry, socket.socket, str], Connection],
    registry: ConnectionRegistry,
    nursery: trio.Nursery,
    *,
    full: bool,
) -> bool:
    """Start a task for a new connection; never raises.

    Returns:
        True if the server had as many connections as it may, or was ``full`` of open files.
    """
    crowd = None
    try:
        sock.setblocking(False)
        connection = make_connection(registry, sock, address)
        crowd = registry.connections if full else registry.over_limit(address)
        if crowd is None or registry.evict_oldest(crowd):
            registry.add(connection)
            nursery.start_soon(connection.run)
        else:
            connection.evict()
            sock.close()
    except Exception:
        registry.publish(ServerFault("accept", traceback.format_exc()))
        sock.close()
    return crowd is not None
