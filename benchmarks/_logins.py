"""Honest logins during a flood: ``python -m benchmarks._logins PORT TEAMS SECONDS``.

Four times a second it begins a login with purpose ``check``: in turn from the address from which the bots play, and
from one that the server has never seen. At the end it prints each as JSON: True for a seen address, and the seconds
from the connect to the answer; null if there was none within PATIENCE_SECONDS.
"""

from __future__ import annotations

import itertools
import json
import socket
import sys
import threading
import time
from typing import Any

import msgpack

from benchmarks._bots import HEADER, frame, token_of
from getstep.wire import sign

EVERY_SECONDS = 0.25
PATIENCE_SECONDS = 20.0


def log_in(port: int, team: int, source: str) -> float | None:
    """Log in and out; return the seconds until the login was accepted, or None."""
    began = time.monotonic()
    while time.monotonic() < began + PATIENCE_SECONDS:
        try:
            with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS, (source, 0)) as sock:
                sock.settimeout(max(0.1, began + PATIENCE_SECONDS - time.monotonic()))
                hello = _message(sock)
                mac = sign(token_of(team), hello["nonce"])
                fields = {"type": "join", "version": 1, "team": team, "mac": mac, "client": "probe"}
                sock.sendall(frame({**fields, "purpose": "check"}))
                if _message(sock)["type"] == "welcome":
                    return time.monotonic() - began
        except (OSError, EOFError):
            pass
        time.sleep(0.2)  # a client that was refused comes back
    return None


def _message(sock: socket.socket) -> dict[str, Any]:
    with sock.makefile("rb") as stream:
        header = stream.read(HEADER)
        body = stream.read(int.from_bytes(header, "big"))
    if not body:
        raise EOFError
    found: dict[str, Any] = msgpack.unpackb(body)
    return found


def main(port: int, teams: int, seconds: float) -> None:
    """Log in again and again, each time in a thread of its own."""
    found: list[tuple[bool, float | None]] = []
    threads = []
    for number in itertools.count():
        if number * EVERY_SECONDS >= seconds:
            break
        known = number % 2 == 0
        source = "127.0.0.1" if known else f"127.77.{number // 250}.{number % 250 + 1}"

        def attempt(known: bool = known, source: str = source, team: int = number % teams + 1) -> None:
            found.append((known, log_in(port, team, source)))

        threads.append(threading.Thread(target=attempt))
        threads[-1].start()
        time.sleep(EVERY_SECONDS)
    for thread in threads:
        thread.join()
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
