"""Client connections without a protocol state: they send any bytes and read all messages."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import trio

from getstep.wire import MAX_SERVER_FRAME, FrameReader, Step, decode, encode, sign
from getstep.wire.classic import FRAME as CLASSIC_FRAME
from getstep.wire.classic import SIZE

from ._errors import NotAsExpected

Message = dict[str, Any]
"""A message as a plain map. The codec's message types would refuse what these cases send."""

_ANY_LENGTH = 1 << 32

CLOSE_SECONDS = 5.0
"""Seconds to wait until the server closes a connection that was closed here. Then it is closed without waiting."""


def frame(body: bytes) -> bytes:
    """Return a frame with this body."""
    return struct.pack(">I", len(body)) + body


def message(**fields: Any) -> bytes:
    """Return a frame with any fields."""
    return encode(fields, _ANY_LENGTH)


def step(question: int, move: Any, **fields: Any) -> bytes:
    """Return an answer with any move, and with further fields."""
    return message(type=Step.type, id=question, move=move, **fields)


def ints(*numbers: int) -> bytes:
    """Return numbers as the classic wire has them."""
    return struct.pack(f"<{len(numbers)}i", *numbers)


class RawConnection:
    """A connection on the main port. ``received`` has all messages that have been read."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.received: list[Message] = []
        self.closed = False
        self._reader = FrameReader(MAX_SERVER_FRAME)

    async def send(self, data: bytes) -> None:
        """Send bytes. If the server has closed the connection, the next read shows it."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self.stream.send_all(data)

    async def receive(self) -> Message | None:
        """Return the next message, or None at the end of the connection."""
        while True:
            body = self._reader.next_body()
            if body is not None:
                self.received.append(decode(body))
                return self.received[-1]
            data = await self._receive()
            if not data:
                return None
            self._reader.feed(data)

    async def wait_for(self, kind: str) -> Message:
        """Return the next message of a type; messages of other types are skipped.

        Raises:
            NotAsExpected: the connection ended before that.
        """
        while (reply := await self.receive()) is not None:
            if reply["type"] == kind:
                return reply
        raise NotAsExpected(f"closed, expected {kind}; received {self.summary()}")

    @property
    def goodbye(self) -> Message | None:
        """The server's goodbye, if it has been read."""
        return next((reply for reply in self.received if reply["type"] == "goodbye"), None)

    async def wait_closed(self) -> None:
        """Read until the end of the connection."""
        while await self.receive() is not None:
            pass

    async def join(self, team: int, token: str, **fields: Any) -> None:
        """Read hello and send join; ``fields`` replace or add fields of join."""
        hello = await self.wait_for("hello")
        await self.send(join_bytes(team, sign(token, hello["nonce"]), **fields))

    async def close(self) -> None:
        """Close the connection without waiting."""
        self.closed = True
        await trio.aclose_forcefully(self.stream)

    async def close_gracefully(self) -> None:
        """Close the connection and wait until the server has closed it too."""
        with (
            trio.move_on_after(CLOSE_SECONDS),
            contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError),
        ):
            await self.half_close()
            await self.wait_closed()
        await self.close()

    async def half_close(self) -> None:
        """Close the sending side; reading is still possible."""
        await self.stream.send_eof()

    def reset(self) -> None:
        """Close the connection with a TCP reset: the server reads an error."""
        self.closed = True
        self.stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.stream.socket.close()

    def summary(self) -> str:
        """Return the types of the last messages, for an error message."""
        reply = [f"{m['type']} {m.get('reason', '')}".strip() for m in self.received[-6:]]
        return ", ".join(reply) or "nothing"

    async def _receive(self) -> bytes:
        data = b""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            data = bytes(await self.stream.receive_some(1 << 16))
        self.closed |= not data
        return data


def join_bytes(team: Any, mac: Any, **fields: Any) -> bytes:
    """Return a join with any fields; a field that is ``...`` is left out."""
    keys = {"type": "join", "version": 1, "team": team, "mac": mac, "client": "attack", **fields}
    return message(**{key: value for key, value in keys.items() if value is not ...})


class ClassicConnection(RawConnection):
    """A connection on the classic port. The server sends only questions and the end of the contest on it."""

    def __init__(self, stream: trio.SocketStream) -> None:
        super().__init__(stream)
        self._buffer = bytearray()

    async def receive(self) -> Message | None:
        """Return the next question as a map like ``get_step``, or None at the end of the connection."""
        while len(self._buffer) < CLASSIC_FRAME.size:
            data = await self._receive()
            if not data:
                return None
            self._buffer += data
        code, question, *cells, is_black = CLASSIC_FRAME.unpack(self._buffer[: CLASSIC_FRAME.size])
        del self._buffer[: CLASSIC_FRAME.size]
        board = [cells[row : row + SIZE] for row in range(0, SIZE * SIZE, SIZE)]
        kind = "get_step" if code else "goodbye"
        self.received.append({"type": kind, "id": question, "board": board, "is_black": bool(is_black)})
        return self.received[-1]
