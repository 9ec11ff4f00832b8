"""A small client that does one thing wrong, so that the suite can find it: python wrong_client.py FAULT"""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import sys
import time
from typing import Any

import msgpack

FAULT = sys.argv[1]
TOKEN, TEAM = os.environ["GETSTEP_TOKEN"], int(os.environ["GETSTEP_TEAM"])
ADDRESS = os.environ["GETSTEP_HOST"], int(os.environ["GETSTEP_PORT"])
SCALE = 1.0 if FAULT == "slow pauses" else float(os.environ["GETSTEP_TIME_SCALE"])
NONCE = None if FAULT == "no nonce" else "0" * 32


def sign(text: str) -> str:
    return hmac.new(TOKEN.encode(), text.encode(), hashlib.sha256).hexdigest()


class Connection:
    def __init__(self) -> None:
        self.sock = socket.create_connection(ADDRESS)
        self.sock.setblocking(FAULT != "polls")
        self.nonce = ""

    def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                piece = self.sock.recv(count - len(data))
            except BlockingIOError:
                continue
            if not piece:
                raise OSError("closed")
            data += piece
        return data

    def send(self, **message: Any) -> None:
        body = msgpack.packb(message)
        self.sock.sendall(len(body).to_bytes(4, "big") + body)

    def run(self) -> float | None:
        """Play until goodbye; return the pause that it asks for, None for the end."""
        while True:
            message = msgpack.unpackb(self.read(int.from_bytes(self.read(4), "big")))
            match message["type"]:
                case "hello":
                    self.nonce = message["nonce"]
                    name = "x" * 65 if FAULT == "long name" else "wrong client"
                    self.send(type="join", version=1, team=TEAM, mac=sign(self.nonce), client=name, nonce=NONCE)
                case "welcome":
                    proof = sign(f"getstep server proof v1:{self.nonce}{NONCE}")
                    if NONCE and message.get("proof") != proof and FAULT != "believes":
                        raise OSError("no proof")
                case "start" if FAULT == "raw names":
                    print(message["opponent"], flush=True)
                case "get_step":
                    self.answer(message)
                case "goodbye":
                    return None if message["retry_ms"] is None else message["retry_ms"] / 1000

    def answer(self, question: dict[str, Any]) -> None:
        if FAULT == "crashes":
            os.abort()
        squares = [(row, cells.index(0)) for row, cells in enumerate(question["board"]) if 0 in cells]
        move = [10, 10] if FAULT == "other move" else squares[0]
        for _ in range(2 if FAULT == "answers twice" else 1):
            self.send(type="step", id=question["id"], move=move)


def main() -> None:
    pause = 0.2
    while True:
        try:
            connection = Connection()
            with connection.sock:
                asked = connection.run()
        except (OSError, ValueError, KeyError):
            if FAULT == "ends":
                sys.exit(1)
            asked, pause = pause, min(2 * pause, 5)
        if asked is None:
            sys.exit(3 if FAULT == "exit code" else 0)
        if FAULT != "spins":
            time.sleep(asked * SCALE)


main()
