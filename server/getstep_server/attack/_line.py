"""A connection in an attacker's hands: it sends any bytes, and hears whatever the server says."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import trio

from getstep.wire import MAX_SERVER_FRAME, Step, _frames, sign
from getstep_server.classic import FRAME as CLASSIC_FRAME
from getstep_server.classic import SIZE

from ._case import NotAsExpected

Message = dict[str, Any]
"""A message as the map it is: an attacker's state is nobody's business."""

_ANY_LENGTH = 1 << 32

PARTING_SECONDS = 5.0
"""How long a server may take to close a connection whose other end has closed: more, and it is left at that."""


def frame(body: bytes) -> bytes:
    """A body behind its header."""
    return struct.pack(">I", len(body)) + body


def message(**fields: Any) -> bytes:
    """A frame with any fields."""
    return _frames.encode(fields, _ANY_LENGTH)


def step(question: int, move: Any) -> bytes:
    """An answer with any move."""
    return message(type=Step.type, id=question, move=move)


def ints(*numbers: int) -> bytes:
    """What the classic wire is made of."""
    return struct.pack(f"<{len(numbers)}i", *numbers)


class Line:
    """A connection. What the server says is kept in ``heard`` as it is read."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.heard: list[Message] = []
        self.closed = False
        self._reader = _frames.FrameReader(MAX_SERVER_FRAME)

    async def send(self, data: bytes) -> None:
        """Send bytes; that the server has closed meanwhile shows when it is listened to."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self.stream.send_all(data)

    async def hear(self) -> Message | None:
        """The next message, or None at the end of the connection."""
        while True:
            body = self._reader.next_body()
            if body is not None:
                self.heard.append(_frames.decode(body))
                return self.heard[-1]
            data = await self._receive()
            if not data:
                return None
            self._reader.feed(data)

    async def until(self, kind: str) -> Message:
        """The next message of a type; others are passed over.

        Raises:
            NotAsExpected: the connection ended before.
        """
        while (said := await self.hear()) is not None:
            if said["type"] == kind:
                return said
        raise NotAsExpected(f"closed, expected {kind}; heard {self.summary()}")

    @property
    def goodbye(self) -> Message | None:
        """The server's goodbye, if it has been heard."""
        return next((said for said in self.heard if said["type"] == "goodbye"), None)

    async def until_closed(self) -> None:
        """Hear everything to the end."""
        while await self.hear() is not None:
            pass

    async def join(self, team: int, token: str, **fields: Any) -> None:
        """Read hello and join; ``fields`` replace or add some."""
        hello = await self.until("hello")
        await self.send(join_bytes(team, sign(token, hello["nonce"]), **fields))

    async def close(self) -> None:
        """Hang up."""
        self.closed = True
        await trio.aclose_forcefully(self.stream)

    async def part(self) -> None:
        """Hang up, and see the server notice."""
        with (
            trio.move_on_after(PARTING_SECONDS),
            contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError),
        ):
            await self.half_close()
            await self.until_closed()
        await self.close()

    async def half_close(self) -> None:
        """Say that nothing more will come, and go on listening."""
        await self.stream.send_eof()

    def reset(self) -> None:
        """Hang up the rude way: the server reads an error."""
        self.closed = True
        self.stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.stream.socket.close()

    def summary(self) -> str:
        """What was heard last, in short."""
        said = [f"{m['type']} {m.get('reason', '')}".strip() for m in self.heard[-6:]]
        return ", ".join(said) or "nothing"

    async def _receive(self) -> bytes:
        data = b""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            data = bytes(await self.stream.receive_some(1 << 16))
        self.closed |= not data
        return data


def join_bytes(team: Any, mac: Any, **fields: Any) -> bytes:
    """A join with any fields; one that is ``...`` is left out."""
    keys = {"type": "join", "version": 1, "team": team, "mac": mac, "client": "attack", **fields}
    return message(**{key: value for key, value in keys.items() if value is not ...})


class ClassicLine(Line):
    """A connection on the classic port: what it hears are questions, or the end."""

    def __init__(self, stream: trio.SocketStream) -> None:
        super().__init__(stream)
        self._buffer = bytearray()

    async def hear(self) -> Message | None:
        """The next question as a map like that of ``get_step``, or None at the end of the connection."""
        while len(self._buffer) < CLASSIC_FRAME.size:
            data = await self._receive()
            if not data:
                return None
            self._buffer += data
        code, question, *cells, is_black = CLASSIC_FRAME.unpack(self._buffer[: CLASSIC_FRAME.size])
        del self._buffer[: CLASSIC_FRAME.size]
        board = [cells[row : row + SIZE] for row in range(0, SIZE * SIZE, SIZE)]
        kind = "get_step" if code else "goodbye"
        self.heard.append({"type": kind, "id": question, "board": board, "is_black": bool(is_black)})
        return self.heard[-1]
