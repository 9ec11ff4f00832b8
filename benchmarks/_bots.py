"""Bots for measurements, as separate processes: as fast as possible, or with an exact thinking time.

``python -m benchmarks._bots fast PORT FIRST LAST`` logs teams FIRST to LAST in and answers at once, until goodbye.
``python -m benchmarks._bots exact PORT TEAM MS [MOVES]`` thinks exactly MS milliseconds and prints the real times,
until goodbye or for so many moves.
"""

from __future__ import annotations

import selectors
import socket
import sys
import time
from typing import Any

import msgpack

from getstep.wire import sign
from getstep_server.net import timestamps

HEADER = 4


def token_of(team: int) -> str:
    """Return the token of a benchmark's team."""
    return f"benchmark-{team}"


def frame(fields: dict[str, Any]) -> bytes:
    """Return one message as bytes."""
    body: bytes = msgpack.packb(fields)
    return len(body).to_bytes(HEADER, "big") + body


def answer(message: dict[str, Any]) -> bytes:
    """Return a legal move of hop that keeps the game going: one piece moves to and fro in its corner."""
    if message["is_black"]:
        move = [[0, 0], [0, 1]] if message["board"][0][0] else [[0, 1], [0, 0]]
    else:
        move = [[7, 7], [7, 6]] if message["board"][7][7] else [[7, 6], [7, 7]]
    return frame({"type": "step", "id": message["id"], "move": move})


class Bot:
    """One connection of a team."""

    def __init__(self, port: int, team: int) -> None:
        self.team = team
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.over = False
        self._buffer = b""

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        """Return the messages that are complete with ``data``."""
        self._buffer += data
        found = []
        while len(self._buffer) >= HEADER:
            end = HEADER + int.from_bytes(self._buffer[:HEADER], "big")
            if len(self._buffer) < end:
                break
            found.append(msgpack.unpackb(self._buffer[HEADER:end]))
            self._buffer = self._buffer[end:]
        return found

    def reply_to(self, message: dict[str, Any]) -> bytes:
        """Return the answer to a message, or no bytes."""
        match message["type"]:
            case "get_step":
                return answer(message)
            case "hello":
                mac = sign(token_of(self.team), message["nonce"])
                return frame({"type": "join", "version": 1, "team": self.team, "mac": mac, "client": "benchmark"})
            case "goodbye":
                self.over = True
        return b""


def fast(port: int, first: int, last: int) -> None:
    """Answer at once, for all teams in one loop, until each has its goodbye."""
    with selectors.DefaultSelector() as selector:
        for team in range(first, last + 1):
            bot = Bot(port, team)
            selector.register(bot.sock, selectors.EVENT_READ, bot)
        playing = last - first + 1
        while playing:
            for key, _ in selector.select():
                bot = key.data
                try:
                    data = bot.sock.recv(65536)
                except ConnectionResetError:  # the benchmark has ended its server
                    data = b""
                for message in bot.messages(data):
                    if reply := bot.reply_to(message):
                        bot.sock.sendall(reply)
                if bot.over or not data:
                    selector.unregister(bot.sock)
                    bot.sock.close()
                    playing -= 1


def exact(port: int, team: int, think_ms: float, moves: float = float("inf")) -> None:
    """Answer ``think_ms`` after the kernel received the question; print the real time in milliseconds."""
    bot = Bot(port, team)
    bot.sock.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
    while not bot.over and moves > 0:
        try:
            data, stamp = timestamps.receive(bot.sock)
        except ConnectionResetError:  # the benchmark has killed its server
            return
        if not data:
            return
        for message in bot.messages(data):
            reply = bot.reply_to(message)
            if message["type"] == "get_step" and stamp is not None:
                _wait_until(stamp + round(think_ms * 1e6))
                bot.sock.sendall(reply)
                print(f"{(time.time_ns() - stamp) / 1e6:.4f}", flush=False)
                moves -= 1
            elif reply:
                bot.sock.sendall(reply)


def _wait_until(wall_ns: int) -> None:
    left = (wall_ns - time.time_ns()) / 1e9
    if left > 0.002:
        time.sleep(left - 0.002)
    while time.time_ns() < wall_ns:
        pass


if __name__ == "__main__":
    what, *numbers = sys.argv[1:]
    if what == "fast":
        fast(*map(int, numbers))
    else:
        exact(int(numbers[0]), int(numbers[1]), *map(float, numbers[2:]))
