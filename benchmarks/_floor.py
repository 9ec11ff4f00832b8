"""The floor of a judged move: bare epoll loops that exchange the frames of a match, without reading them.

``python -m benchmarks._floor MATCHES PROCESSES`` accepts two connections for each match and asks them in turn, one
open question a match: the same frames on as many connections as the judge has, without rules, clocks or records.
"""

from __future__ import annotations

import os
import select
import socket
import sys

from benchmarks._bots import frame

QUESTION = frame(
    {
        "type": "get_step",
        "id": 1_000_000,
        "move_number": 1,
        "board": [[1, 0, 0, 0, 0, 0, 0, 2]] * 8,
        "is_black": True,
        "time_left_ms": 5000,
        "last_move": [[0, 0], [0, 1]],
    }
)


def exchange(socks: list[socket.socket]) -> None:
    """Ask the two connections of each pair in turn, until this process is killed."""
    poller = select.epoll()
    both = {}
    for first, second in zip(socks[::2], socks[1::2], strict=True):
        both[first.fileno()], both[second.fileno()] = (first, second), (second, first)
        first.send(QUESTION)
    for number in both:
        poller.register(number, select.EPOLLIN)
    while True:
        for number, _ in poller.poll():
            answered, other = both[number]
            if not answered.recv(4096):
                return
            other.send(QUESTION)


def main() -> None:
    """Accept the connections, and share them among the processes."""
    matches, processes = map(int, sys.argv[1:])
    with socket.create_server(("127.0.0.1", 0), backlog=2 * matches) as listener:
        print(f"Listening on 127.0.0.1, port {listener.getsockname()[1]}.", flush=True)
        socks = [listener.accept()[0] for _ in range(2 * matches)]
    for sock in socks:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    share = -(-matches // processes) * 2
    parts = [socks[start : start + share] for start in range(0, len(socks), share)]
    for part in parts[1:]:
        if not os.fork():
            exchange(part)
            return
    exchange(parts[0])


if __name__ == "__main__":
    main()
