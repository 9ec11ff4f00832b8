"""A small client of the Debug Adapter Protocol, which editors speak with debugpy."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from tests.support.patience import PATIENCE_SECONDS


class Debugger:
    """An editor that is attached to a program, which waits for it at a port of this computer."""

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self._stream = self._sock.makefile("rb")
        self._sent = 0
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Debugger:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._sock.close()

    def attach(self, breakpoints: dict[Path, list[int]]) -> None:
        """Attach with breakpoints at lines of files; the program goes on."""
        self.ask("initialize", adapterID="test", pathFormat="path")
        attached = self._send("attach", justMyCode=False)
        self.event("initialized")
        for path, lines in breakpoints.items():
            places = [{"line": line} for line in lines]
            self.ask("setBreakpoints", source={"path": str(path)}, breakpoints=places)
        self.ask("configurationDone")
        self._reply(attached)

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a request, and return the body of its answer."""
        return self._reply(self._send(command, **arguments))

    def event(self, name: str) -> dict[str, Any]:
        """Return the body of the next event with this name."""
        while True:
            for event in self._events:
                if event["event"] == name:
                    self._events.remove(event)
                    return dict(event.get("body", {}))
            self._events.append(self._receive("event"))

    def _send(self, command: str, **arguments: Any) -> int:
        self._sent += 1
        message = {"seq": self._sent, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        self._sock.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return self._sent

    def _reply(self, number: int) -> dict[str, Any]:
        while True:
            reply = self._receive("response")
            if reply["request_seq"] == number:
                assert reply["success"], reply
                return dict(reply.get("body") or {})

    def _receive(self, kind: str) -> dict[str, Any]:
        """Return the next message of a kind; events in between are kept."""
        while True:
            size = 0
            while line := self._stream.readline().strip():
                name, _, value = line.partition(b":")
                size = int(value) if name.lower() == b"content-length" else size
            assert size, "the program has ended"
            message: dict[str, Any] = json.loads(self._stream.read(size))
            if message["type"] == kind:
                return message
            if message["type"] == "event":
                self._events.append(message)
