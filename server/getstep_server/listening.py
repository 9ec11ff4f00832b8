"""Listening: taking connections in, as many as there may be, and handing each to a task of its own."""

from __future__ import annotations

import contextlib
import errno
import socket
import sys
import traceback
from collections.abc import Callable
from math import inf

import trio

from . import arrivals
from .events import ServerFault
from .limits import (
    ACCEPTS_AT_ONCE,
    CROWDED_PAUSE_SECONDS,
    KEEPALIVE_EVERY_SECONDS,
    KEEPALIVE_IDLE_SECONDS,
    KEEPALIVE_TRIES,
    SPARE_FILES,
)
from .session import House, SocketLink

if sys.platform != "win32":
    import resource


def open_listener(host: str, port: int) -> socket.socket:
    """A non-blocking listening socket, whose connections have stamped arrivals where the system can.

    Raises:
        OSError: the port is busy, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    dual = host == "::" and socket.has_dualstack_ipv6()
    listener = socket.create_server((host, port), family=family, backlog=1024, dualstack_ipv6=dual)
    listener.setblocking(False)
    arrivals.switch_on(listener)
    _keep_alive(listener)
    return listener


def _keep_alive(listener: socket.socket) -> None:
    """Have dead links noticed on the connections from ``listener``, which inherit whatever options there are."""
    seconds = KEEPALIVE_IDLE_SECONDS + KEEPALIVE_TRIES * KEEPALIVE_EVERY_SECONDS
    options = {
        "TCP_KEEPIDLE": KEEPALIVE_IDLE_SECONDS,
        "TCP_KEEPALIVE": KEEPALIVE_IDLE_SECONDS,  # what macOS calls it
        "TCP_KEEPINTVL": KEEPALIVE_EVERY_SECONDS,
        "TCP_KEEPCNT": KEEPALIVE_TRIES,
        "TCP_USER_TIMEOUT": 1000 * seconds,  # the same while a question is under way: nothing else is sent then
    }
    for name, value in options.items():
        if hasattr(socket, name):
            with contextlib.suppress(OSError):  # an old system without it keeps its own pace
                listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def accept_forever(
    listener: socket.socket,
    make_link: Callable[[House, socket.socket, str], SocketLink],
    house: House,
    nursery: trio.Nursery,
) -> None:
    """Take connections in, a task for each, until the listener is closed.

    (`trio.serve_tcp` takes one a turn, and ends when a handler fails.)
    """
    room = _room(listener)
    while listener.fileno() != -1:
        try:
            await trio.lowlevel.wait_readable(listener)
        except trio.ClosedResourceError:
            return
        crowded = False
        for taken in range(ACCEPTS_AT_ONCE):
            try:
                sock, peer = listener.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if not taken:  # else there may be nobody to take in: a full table shows before an empty queue
                    await _accept_failed(error, house)
                break
            full = len(house.links) >= room
            crowded |= _admit(sock, peer[0], make_link, house, nursery, full=full)
            if full:
                break  # whoever has to go needs its turn to close
        if crowded:
            await trio.sleep(CROWDED_PAUSE_SECONDS)


def _room(listener: socket.socket) -> float:
    """How many connections leave enough descriptors free for files, and for what else is opened after ``listener``.

    A system gives out the lowest that is free: what was opened before has lower ones.
    """
    if sys.platform == "win32":
        return inf  # no such limit there
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return inf if most == resource.RLIM_INFINITY else most - 1 - listener.fileno() - SPARE_FILES


async def _accept_failed(error: OSError, house: House) -> None:
    """A connection that was gone before it was taken in is nothing; a full file table is as good as a limit."""
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
        house.make_room(house.links)
        await trio.sleep(CROWDED_PAUSE_SECONDS)


def _admit(
    sock: socket.socket,
    address: str,
    make_link: Callable[[House, socket.socket, str], SocketLink],
    house: House,
    nursery: trio.Nursery,
    *,
    full: bool,
) -> bool:
    """Start a task for a new connection; whether there are as many as may be (``full`` of files). Never raises."""
    crowd = None
    try:
        sock.setblocking(False)
        link = make_link(house, sock, address)
        crowd = house.links if full else house.crowd(address)
        if crowd is None or house.make_room(crowd):
            house.enter(link)
            nursery.start_soon(link.run)
        else:
            link.evict()
            sock.close()
    except Exception:
        house.publish(ServerFault("accept", traceback.format_exc()))
        sock.close()
    return crowd is not None
