"""One kind of flood, as a separate process: ``python -m benchmarks._flood KIND PORT`` attacks until it is killed.

Each second it prints a line with the total number of attempts. Only the loopback interface is used.
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
HELD = 200
"""The idle connections that each thread keeps open. With more, it would spend most of its time on closing them."""

_MOVE = msgpack.packb({"type": "step", "id": 1, "move": [[0] * 29] * 128})[:4096]
INVALID = struct.pack(">I", len(_MOVE)) + _MOVE
"""A frame of the greatest length allowed after login. Its content is cut off, so only its end shows the error."""

_SHORT = msgpack.packb({"type": "join", "version": 1, "team": 0, "mac": "0" * 64, "client": "flood"})
WRONG_LOGIN = struct.pack(">I", len(_SHORT)) + _SHORT


def frames(address: tuple[str, int]) -> Iterator[None]:
    """Connect, read hello, send one long invalid frame, close."""
    yield from _send(address, INVALID)


def logins(address: tuple[str, int]) -> Iterator[None]:
    """Connect, read hello, join with a wrong token, close."""
    yield from _send(address, WRONG_LOGIN)


def _send(address: tuple[str, int], data: bytes) -> Iterator[None]:
    while True:
        with contextlib.suppress(OSError), socket.create_connection(address, 5.0) as sock:
            sock.recv(4096)
            sock.sendall(data)
        yield


def hangups(address: tuple[str, int]) -> Iterator[None]:
    """Connect and close."""
    while True:
        with contextlib.suppress(OSError), socket.create_connection(address, 5.0):
            pass
        yield


def idle(address: tuple[str, int]) -> Iterator[None]:
    """Connect repeatedly without sending; close the oldest connection if there are more than HELD."""
    held: deque[socket.socket] = deque()
    while True:
        with contextlib.suppress(OSError):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(address)
            held.append(sock)
        if len(held) > HELD:
            held.popleft().close()
        yield


def drips(address: tuple[str, int]) -> Iterator[None]:
    """Hold connections and send the longest allowed login, a byte at a time."""
    while True:
        socks = []
        for _ in range(HELD // THREADS):
            with contextlib.suppress(OSError):
                socks.append(socket.create_connection(address, 5.0))
                socks[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(500):
            byte = struct.pack(">I", 500)[number : number + 1] or b"\x81"
            for sock in socks:
                with contextlib.suppress(OSError):
                    sock.send(byte)
            yield
        for sock in socks:
            sock.close()


def nothing(_: tuple[str, int]) -> Iterator[None]:
    """Keep the processor as busy as a flood does, for comparison."""
    while True:
        yield


KINDS: dict[str, Callable[[tuple[str, int]], Iterator[None]]] = {
    "frames": frames,
    "logins": logins,
    "idle": idle,
    "hangups": hangups,
    "drips": drips,
}


def main(kind: str, port: int) -> None:
    """Attack from several threads."""
    counts = [0] * THREADS

    def attack(number: int) -> None:
        for count in itertools.count():
            counts[number] = count
            next(floods[number])

    make = nothing if kind == "nothing" else KINDS[kind]
    floods = [make(("127.0.0.1", port)) for _ in range(THREADS)]
    for number in range(THREADS):
        threading.Thread(target=attack, args=[number], daemon=True).start()
    while True:
        time.sleep(1.0)
        print(sum(counts), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
