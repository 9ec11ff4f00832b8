"""Connections to a page's server over real sockets, and what it answers on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import trio

Connect: TypeAlias = Callable[[], Awaitable[trio.SocketStream]]
"""Connects to a server."""

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def all_of(stream: trio.SocketStream) -> bytes:
    """Return all bytes until the other side closes."""
    text = b""
    try:
        async for part in stream:
            text += part
    except trio.BrokenResourceError:
        pass
    return text


async def answer(connect: Connect, request: bytes) -> bytes:
    async with await connect() as stream:
        await stream.send_all(request)
        await stream.send_eof()
        return await all_of(stream)


def status(text: bytes) -> int:
    return int(text.split(b" ", 2)[1])
