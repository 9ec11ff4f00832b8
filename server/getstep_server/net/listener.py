"""The ports of a contest: their listeners accept connections up to the limits, and start a task for each."""

from __future__ import annotations

import contextlib
import errno
import socket
import sys
import traceback
from collections.abc import Callable
from functools import partial
from math import inf
from time import perf_counter, thread_time
from typing import TypeAlias

import trio

from getstep_server.config.contest import Contest, contest_path
from getstep_server.errors import UsageError
from getstep_server.events import Listening, ServerFault
from getstep_server.limits import (
    ACCEPT_SECONDS,
    ACCEPTS_AT_ONCE,
    CONNECTION_COSTS,
    FILTER_SECONDS,
    FULL_PAUSE_SECONDS,
    KEEPALIVE_EVERY_SECONDS,
    KEEPALIVE_IDLE_SECONDS,
    KEEPALIVE_TRIES,
    MAX_WAITING_CONNECTIONS,
    SPARE_FILES,
)
from getstep_server.net import timestamps

from .connection import ClientConnection, has_hung_up
from .login_queue import Work
from .registry import ConnectionRegistry
from .syn_filter import drop_from

if sys.platform != "win32":
    import resource


BACKLOG = 4096
"""The connections that the kernel keeps until they are accepted; Linux allows so many (``somaxconn``)."""

MakeConnection: TypeAlias = Callable[[ConnectionRegistry, socket.socket, str], ClientConnection]


def open_listener(host: str, port: int) -> socket.socket:
    """Return a non-blocking listening socket whose connections get receive timestamps where the system has them.

    Raises:
        OSError: the port is busy, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    dual = host == "::" and socket.has_dualstack_ipv6()
    listener = socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=dual)
    listener.setblocking(False)  # a client may be gone between the report and `accept`, which would wait then
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
        # In milliseconds. While a question is not acknowledged, no probes are sent, and this alone ends the wait.
        "TCP_USER_TIMEOUT": 1000 * seconds,
    }
    for name, value in options.items():
        if hasattr(socket, name):
            with contextlib.suppress(OSError):  # an old system without the option uses its own times
                listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Ports:
    """The open listeners; a context manager that closes them.

    Attributes:
        main: for bots.
        classic: for the classic wire, if the contest has it.
        local: for programs of this machine, if ``main`` speaks TLS.
    """

    def __init__(
        self, main: socket.socket, classic: socket.socket | None, local: socket.socket | None = None
    ) -> None:
        self.main = main
        self.classic = classic
        self.local = local

    def __enter__(self) -> Ports:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop accepting connections. Further calls do nothing."""
        for listener in (self.main, self.classic, self.local):
            if listener is not None and listener.fileno() != -1:
                trio.lowlevel.notify_closing(listener)
                listener.close()

    @property
    def listening(self) -> Listening:
        """The event that tells the addresses of the listeners."""
        host, port = self.main.getsockname()[:2]
        classic_port = None if self.classic is None else self.classic.getsockname()[1]
        local_port = None if self.local is None else self.local.getsockname()[1]
        stamped = timestamps.timestamps_supported()
        return Listening(host, port, classic_port, stamped=stamped, local_port=local_port)


def open_ports(contest: Contest) -> Ports:
    """Open the ports that contest.toml names.

    Raises:
        UsageError: a port is busy, or the address is not this machine's; the message names the setting to change.
    """
    server = contest.file.server
    with contextlib.ExitStack() as opened:  # closes them again if one cannot be opened
        main = opened.enter_context(_open(contest, server.port, "port"))
        classic = local = None
        if server.classic_port is not None:
            classic = opened.enter_context(_open(contest, server.classic_port, "classic_port"))
        if server.tls_key is not None:
            local = opened.enter_context(open_listener("127.0.0.1", 0))
        opened.pop_all()
        return Ports(main, classic, local)


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
    if error.errno == errno.EADDRNOTAVAIL:  # the address in contest.toml is that of another network
        return "This machine has no such address. Give one of its own as --host, or change host"
    return f"Is another server running? Stop it, or change {setting} (or host)"


async def accept_forever(
    listener: socket.socket,
    make_connection: MakeConnection,
    registry: ConnectionRegistry,
    nursery: trio.Nursery,
) -> None:
    """Accept connections until the listener is closed; each gets its task when it is the turn of its address.

    Not `trio.serve_tcp`: it accepts one connection per turn of the loop (280 ms for 100 connections under load,
    against 17 ms here), and an exception in a handler ends it.
    """
    room, logins = _room(listener), registry.logins
    most_waiting = int(min(MAX_WAITING_CONNECTIONS, room / WAITING_ROOM))
    async with trio.open_nursery() as filtering:
        filtering.start_soon(_filter_floods, listener, registry)
        while listener.fileno() != -1:
            try:
                await trio.lowlevel.wait_readable(listener)
            except trio.ClosedResourceError:
                break
            # processor time for the share, time of the clock for the pause of others
            worked, end = thread_time(), perf_counter() + ACCEPT_SECONDS
            for taken in range(ACCEPTS_AT_ONCE):
                try:
                    sock, (address, *_) = listener.accept()
                except BlockingIOError:
                    break
                except OSError as error:
                    if not taken:  # later, an empty queue may be the cause: accept reports a full file table first
                        await _accept_failed(error, registry)
                    break
                full = len(registry.connections) + logins.waiting >= room
                if full and (
                    # A source that already has connections waiting gets no further one at the cost of others.
                    logins.has_waiting(address) or not registry.evict_oldest(registry.largest_source())
                ):
                    sock.close()
                    break
                sock.setblocking(False)
                admit = partial(_admit, sock, address, make_connection, registry, nursery)
                if not logins.admit(address, Work(admit, sock.close), most_waiting):
                    sock.close()  # its source has as many waiting as it may
                if full or perf_counter() >= end:
                    break  # if full: the evicted connection needs a turn of the loop to close
            await registry.accept_throttle.rest(thread_time() - worked)
        filtering.cancel_scope.cancel()


def _room(listener: socket.socket) -> float:
    """Return how many connections leave enough descriptors free for files that are opened after ``listener``.

    The system assigns the lowest free descriptor, so everything that was opened earlier has a lower one.
    """
    return file_limit() - 1 - listener.fileno() - SPARE_FILES


def file_limit() -> float:
    """Return how many files this process may open."""
    if sys.platform == "win32":
        return inf  # no such limit there
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return inf if most == resource.RLIM_INFINITY else most


def raise_file_limit() -> None:
    """Let this process and its children open FILES files, or as many as the system allows; at first 1,024."""
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(hard, FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):  # a system that allows less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


FILES = 10_240 if sys.platform == "darwin" else 1 << 16
"""More than 1,024 teams with 16 seats, and all connections before login, need. macOS refuses more (OPEN_MAX)."""


async def _accept_failed(error: OSError, registry: ConnectionRegistry) -> None:
    """Make room if the file table is full. A connection that closed before it was accepted is not an error."""
    # The file table is full: the connection stays in the kernel's queue, and trying again at once would use a core.
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
        registry.evict_oldest(registry.largest_source())
        await trio.sleep(FULL_PAUSE_SECONDS)


async def _filter_floods(listener: socket.socket, registry: ConnectionRegistry) -> None:
    """Let the kernel drop requests to connect from sources that have too many connections waiting."""
    changed = registry.logins.blocked_changed
    while True:
        await changed.wait()
        changed = registry.logins.blocked_changed  # a change during the pause is not missed
        if not drop_from(listener, registry.logins.blocked):
            return
        await trio.sleep(FILTER_SECONDS)


WAITING_ROOM = 8
"""The descriptors for each connection that may wait: 200 sources make it six times as many (`LoginQueue.admit`)."""


def _admit(
    sock: socket.socket,
    address: str,
    make_connection: MakeConnection,
    registry: ConnectionRegistry,
    nursery: trio.Nursery,
) -> float:
    """Start a task for a new connection; never raises.

    Returns:
        By what the processor time of this call has to be multiplied, to include that of the connection's task.
    """
    # A server that ends admits nobody. A flood that only connects and closes, the cheapest one, costs no task.
    if nursery.cancel_scope.cancel_called or has_hung_up(sock):
        sock.close()
        return 1.0
    try:
        connection = make_connection(registry, sock, address)
        crowd = registry.over_limit(address)
        if crowd is None or registry.evict_oldest(crowd):
            registry.add(connection)
            nursery.start_soon(connection.run)
        else:
            connection.evict()  # tells the reason; no task runs that could close the socket
            sock.close()
    except Exception:
        registry.publish(ServerFault("accept", traceback.format_exc()))
        sock.close()
    return CONNECTION_COSTS
