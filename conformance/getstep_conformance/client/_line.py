"""One connection of the client under test, as the scripted server has it: any bytes out, complete messages in."""

from __future__ import annotations

import contextlib
import struct
import sys
from pathlib import Path
from typing import Any, Literal, TypeAlias

import trio

from getstep.wire import (
    CLIENT_MESSAGES,
    MAX_CLIENT_FRAME,
    MAX_LOGIN_FRAME,
    FrameReader,
    RemoteProtocolError,
    decode,
)

from ._outcome import NotAsRequired

_CLASSES = {cls.type: cls for cls in CLIENT_MESSAGES}
_RECEIVE_BYTES = 65536

Cut: TypeAlias = Literal["whole", "bytes", "header", "halves", "pieces", "slow"]
"""How bytes are delivered: at once, one by one, the first four apart, in two halves, in pieces of 1,000 bytes, or
in two halves with a second between them."""

_CUT_SECONDS = 0.005
"""Seconds between two pieces: long enough that the client reads the first one alone, most of the time."""

_CUT_BYTES = 64
"""Bytes that are followed by a pause if each is sent alone; the rest follows without."""

_SLOW_SECONDS = 1.0


class Line:
    """A connection. The codec checks what arrives, the case decides if it may arrive."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.welcomed = False
        self.proved = False
        """True once the client has got the right proof on this connection."""
        self._reader = FrameReader(MAX_LOGIN_FRAME)
        self._sending = trio.Lock()
        """A script may send in the background: a stream raises an error if two tasks send at once."""

    def note_welcome(self, *, proved: bool) -> None:
        """Note that `welcome` has been sent: the client may send longer frames."""
        self.welcomed, self.proved = True, proved
        self._reader.max_frame = MAX_CLIENT_FRAME

    async def send(self, data: bytes, cut: Cut = "whole") -> None:
        """Send bytes. If the client has closed the connection, the next read shows it."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async with self._sending:
                for number, piece in enumerate(_pieces(data, cut)):
                    if number and (cut != "bytes" or number < _CUT_BYTES):
                        await trio.sleep(_SLOW_SECONDS if cut == "slow" else _CUT_SECONDS)
                    await self.stream.send_all(piece)

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, or None at the end of the connection.

        Raises:
            NotAsRequired: the client has sent something that no client may send.
        """
        try:
            while (body := self._reader.next_body()) is None:
                data = await self._receive()
                if not data:
                    if self._reader.partial:
                        raise NotAsRequired("the client closed the connection inside a frame", "must")
                    return None
                self._reader.feed(data)
            return _checked(decode(body))
        except RemoteProtocolError as error:
            raise NotAsRequired(f"the client broke the protocol: {error}", "must") from error

    async def receive_bytes(self, count: int) -> bytes:
        """Return that many bytes, or fewer at the end of the connection; for the classic wire."""
        data = b""
        while len(data) < count and (piece := await self._receive(count - len(data))):
            data += piece
        return data

    async def close(self) -> None:
        """Close the connection: the client reads its end."""
        if not self._sending.locked():  # else the other task's bytes are cut off, and its error is of no interest
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                async with self._sending:  # the end counts as sending, too
                    await self.stream.send_eof()  # what is on its way to here must not make the kernel send a reset
        await trio.aclose_forcefully(self.stream)

    def reset(self) -> None:
        """Close the connection with a TCP reset: the client reads an error."""
        self.stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.stream.socket.close()

    def keep_alive_seconds(self) -> float | None:
        """Return the time until the client's system sends the next probe; None if keep-alive is off.

        Raises:
            NotAsRequired: this system does not show it.
        """
        ours, theirs = self.stream.socket.getsockname()[1], self.stream.socket.getpeername()[1]
        for path in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):  # some systems use an IPv6 socket for IPv4
            for line in path.read_text().splitlines()[1:] if path.exists() else ():
                _, local, remote, _, _, timer, *_ = line.split()
                if [int(place.rpartition(":")[2], 16) for place in (local, remote)] == [theirs, ours]:
                    kind, _, ticks = timer.partition(":")
                    return int(ticks, 16) / 100 if kind == "02" else None
        raise NotAsRequired(f"cannot be seen on this system ({sys.platform})", "may")

    async def _receive(self, most: int = _RECEIVE_BYTES) -> bytes:
        data = b""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            data = bytes(await self.stream.receive_some(most))
        return data


def _checked(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose required keys are there and right; unknown keys are allowed.

    Raises:
        NotAsRequired: they are not.
    """
    kind = fields.get("type")
    cls = _CLASSES.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise NotAsRequired(f"the client sent a message of type {kind!r:.40}", "must")
    missing = [name for name in cls.required if name not in fields]
    if missing:
        raise NotAsRequired(f"the client sent {kind} without {', '.join(missing)}", "must")
    try:
        cls(**{name: fields[name] for name in cls.names if name in fields})
    except ValueError as error:
        raise NotAsRequired(f"the client sent {kind} with a wrong value: {error}", "must") from error
    return fields


def _pieces(data: bytes, cut: Cut) -> list[bytes]:
    match cut:
        case "bytes":
            return [data[place : place + 1] for place in range(len(data))]
        case "header":
            return [data[:4], data[4:]]
        case "halves" | "slow":
            return [data[: len(data) // 2], data[len(data) // 2 :]]
        case "pieces":
            return [data[place : place + 1000] for place in range(0, len(data), 1000)]
    return [data]
