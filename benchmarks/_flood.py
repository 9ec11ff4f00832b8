"""One kind of flood, as a separate process: ``python -m benchmarks._flood KIND PORT ADDRESSES SECONDS``.

It attacks from so many addresses of the loopback interface in turn (127.1.0.1 and so on), and ends by itself. Each
second it prints a line with the total number of attempts.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

import msgpack

THREADS = 3
BIND_ADDRESS_NO_PORT = 24
"""IP_BIND_ADDRESS_NO_PORT of Linux: each address then has as many ports as it would without `bind`."""
HELD = 200
"""The idle connections that each thread keeps open. With more, it would spend most of its time on closing them."""

_MOVE = msgpack.packb({"type": "step", "id": 1, "move": [[0] * 29] * 128})[:4096]
INVALID = struct.pack(">I", len(_MOVE)) + _MOVE
"""A frame of the greatest length allowed after login. Its content is cut off, so only its end shows the error."""

_SHORT = msgpack.packb({"type": "join", "version": 1, "team": 0, "mac": "0" * 64, "client": "flood"})
WRONG_LOGIN = struct.pack(">I", len(_SHORT)) + _SHORT
_WRONG = msgpack.packb({"type": "join", "version": 1, "team": 1, "mac": "0" * 64, "client": "flood"})
WRONG_TOKEN = struct.pack(">I", len(_WRONG)) + _WRONG
HALF = WRONG_TOKEN[: len(WRONG_TOKEN) // 2]


class Target:
    """The server, and the addresses from which it is attacked."""

    def __init__(self, port: int, addresses: int) -> None:
        self._port = port
        self._sources = itertools.cycle(f"127.1.{number // 250}.{number % 250 + 1}" for number in range(addresses))

    def connect(self, *, wait: bool = True) -> socket.socket:
        """Connect from the next address; without ``wait`` only begin to."""
        sock = socket.socket()
        try:
            if sys.platform == "linux":
                sock.setsockopt(socket.IPPROTO_IP, BIND_ADDRESS_NO_PORT, 1)
            sock.bind((next(self._sources), 0))
            sock.settimeout(5.0 if wait else 0.0)
            with contextlib.nullcontext() if wait else contextlib.suppress(BlockingIOError):
                sock.connect(("127.0.0.1", self._port))
        except BaseException:
            sock.close()
            raise
        return sock


def frames(target: Target) -> Iterator[None]:
    """Connect, read hello, send one long invalid frame, close."""
    yield from _send(target, INVALID)


def logins(target: Target) -> Iterator[None]:
    """Connect, read hello, join as an unknown team, close."""
    yield from _send(target, WRONG_LOGIN)


def tokens(target: Target) -> Iterator[None]:
    """Connect, read hello, join as a team of the contest with a wrong token, close."""
    yield from _send(target, WRONG_TOKEN)


def eager(target: Target) -> Iterator[None]:
    """Connect and send a join that does not wait for hello, many at a time; close the oldest."""
    yield from _hold(target, WRONG_TOKEN)


def _send(target: Target, data: bytes) -> Iterator[None]:
    while True:
        with contextlib.suppress(OSError), target.connect() as sock:
            sock.recv(4096)
            sock.sendall(data)
        yield


def hangups(target: Target) -> Iterator[None]:
    """Connect and close."""
    while True:
        with contextlib.suppress(OSError), target.connect():
            pass
        yield


def idle(target: Target) -> Iterator[None]:
    """Connect repeatedly without sending; close the oldest connection if there are more than HELD."""
    yield from _hold(target, b"")


def half(target: Target) -> Iterator[None]:
    """The same, with half of a frame sent on each connection."""
    yield from _hold(target, HALF)


def _hold(target: Target, data: bytes) -> Iterator[None]:
    held: deque[socket.socket] = deque()
    while True:
        with contextlib.suppress(OSError):
            held.append(target.connect(wait=False))
        if data and len(held) > HELD // 2:  # it is connected by now, if the server lets it
            with contextlib.suppress(OSError):
                held[HELD // 2].send(data)
        if len(held) > HELD:
            held.popleft().close()
        yield


def drips(target: Target) -> Iterator[None]:
    """Hold connections and send the longest allowed login, a byte at a time."""
    while True:
        socks = []
        for _ in range(HELD // THREADS):
            with contextlib.suppress(OSError):
                socks.append(target.connect())
                socks[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(500):
            byte = struct.pack(">I", 500)[number : number + 1] or b"\x81"
            for sock in socks:
                with contextlib.suppress(OSError):
                    sock.send(byte)
            yield
        for sock in socks:
            sock.close()


def nothing(_: Target) -> Iterator[None]:
    """Keep the processor as busy as a flood does, for comparison."""
    while True:
        yield


KINDS: dict[str, Callable[[Target], Iterator[None]]] = {
    "frames": frames,
    "logins": logins,
    "tokens": tokens,
    "eager": eager,
    "idle": idle,
    "half": half,
    "hangups": hangups,
    "drips": drips,
}


def main(kind: str, port: int, addresses: int, seconds: float) -> None:
    """Attack from several threads."""
    counts = [0] * THREADS

    def attack(number: int) -> None:
        for count in itertools.count():
            counts[number] = count
            next(floods[number])

    make = nothing if kind == "nothing" else KINDS[kind]
    floods = [make(Target(port, addresses)) for _ in range(THREADS)]
    for number in range(THREADS):
        threading.Thread(target=attack, args=[number], daemon=True).start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(1.0)
        print(sum(counts), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
