"""A channel between two processes of this machine: messages and open files, over a pair of Unix sockets.

A frame is a length of four bytes and a message in msgpack. A descriptor travels with the first byte of its message.
So descriptors arrive in the order in which the messages need them. `Channel` is an end in trio's event loop;
`BlockingChannel` is one for a process with threads, and takes no descriptors.
"""

from __future__ import annotations

import array
import os
import socket
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import msgspec
import trio

T = TypeVar("T")

_HEADER = 4
_READ_BYTES = 1 << 16
_FILES = 8
"""The most descriptors that one read takes; a message has two at most, and Linux does not join those of two."""

MAX_MESSAGE_BYTES = 1 << 28
"""A longer message means that the other end is out of step: the turns of the longest match take some megabytes."""

_encode = msgspec.msgpack.Encoder().encode


class ChannelError(ValueError):
    """Raised when something that arrives is not a message, or a message is too long to travel."""


def frame(message: object, most: int = MAX_MESSAGE_BYTES) -> bytes:
    """Return a message as it travels. Raises ChannelError: it is longer than ``most`` bytes."""
    body = _encode(message)
    if len(body) > most:
        raise ChannelError(f"{type(message).__name__}: {len(body)} bytes, expected at most {most}")
    return len(body).to_bytes(_HEADER, "big") + body


def _length(header: bytes) -> int:
    """Return the length of the message after its header. Raises ChannelError."""
    length = int.from_bytes(header, "big")
    if length > MAX_MESSAGE_BYTES:
        raise ChannelError(f"a message of {length} bytes, expected at most {MAX_MESSAGE_BYTES}")
    return length


def _decoded(decoder: msgspec.msgpack.Decoder[T], data: bytes | memoryview) -> T:
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ChannelError(str(error)) from error


class Channel(Generic[T]):
    """One end of a channel.

    Args:
        sock: one of a pair of stream sockets; the channel owns it.
        received: the type of the messages that arrive.
    """

    def __init__(self, sock: socket.socket, received: Any) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(received)
        self._files: deque[int] = deque()
        self._unsent: deque[tuple[bytes, tuple[int, ...]]] = deque()
        self._has_unsent = trio.Event()
        self.backlog = 0
        """The number of bytes that wait until the other end reads."""

    def send(self, message: object, files: Sequence[int] = ()) -> None:
        """Send a message, with copies of ``files``; never raises.

        What the other end does not take at once is kept for `run`. If the other end is gone, the message is lost:
        `receive` ends then.
        """
        data = frame(message)
        copies = tuple(map(os.dup, files))  # the caller may close its own before they are sent
        sent = 0 if self._unsent else self._send(data, copies)
        if sent < len(data):
            # the descriptors have gone with the first byte
            self._unsent.append((data[sent:], () if sent else copies))
            self.backlog += len(data) - sent
            self._has_unsent.set()

    async def run(self) -> None:
        """Send what the other end did not take at once, until cancelled."""
        while True:
            while self._unsent:
                await trio.lowlevel.wait_writable(self._sock)
                data, files = self._unsent.popleft()
                sent = self._send(data, files)
                self.backlog -= sent
                if sent < len(data):
                    self._unsent.appendleft((data[sent:], () if sent else files))
            self._has_unsent = trio.Event()
            await self._has_unsent.wait()

    def _send(self, data: bytes, files: tuple[int, ...]) -> int:
        """Return how many bytes of a message were sent; the files travel with the first one."""
        # the kernel opens copies of these descriptors in the receiver (unix(7))
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        try:
            sent = self._sock.sendmsg([data], rights)
        except BlockingIOError:
            return 0
        except OSError:  # the other end is gone
            sent = len(data)
        for file in files:
            os.close(file)
        return sent

    async def receive(self) -> AsyncGenerator[T, None]:
        """Yield the messages until the other end is closed.

        Raises:
            ChannelError: something else arrived.
        """
        buffer = b""
        while True:
            await trio.lowlevel.wait_readable(self._sock)
            try:
                data, ancillary, _, _ = self._sock.recvmsg(
                    # room for descriptors: without it the kernel drops and closes them
                    _READ_BYTES,
                    socket.CMSG_SPACE(_FILES * array.array("i").itemsize),
                )
            except BlockingIOError:
                continue
            except OSError:
                return
            for level, kind, value in ancillary:
                # the numbers of the copies, open in this process
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    self._files.extend(array.array("i", value))
            if not data:
                return
            buffer += data
            start = 0
            while len(buffer) - start >= _HEADER:
                end = start + _HEADER + _length(buffer[start : start + _HEADER])
                if len(buffer) < end:
                    break
                yield _decoded(self._decoder, memoryview(buffer)[start + _HEADER : end])
                start = end
            buffer = buffer[start:]

    def take_file(self) -> int:
        """Return the next descriptor: the one of the message that was yielded last."""
        return self._files.popleft()

    def close(self) -> None:
        """Close this end; the other one's `receive` ends then."""
        if self._sock.fileno() != -1:
            trio.lowlevel.notify_closing(self._sock)
            self._sock.close()
        for file in (*self._files, *(file for _, files in self._unsent for file in files)):
            with suppress(OSError):  # a receiver may have closed what it took
                os.close(file)
        self._files.clear()
        self._unsent.clear()


class BlockingChannel(Generic[T]):
    """One end of a channel for threads: one may read while another one sends.

    Args:
        sock: one of a pair of stream sockets; the channel owns it.
        received: the type of the messages that arrive.
    """

    def __init__(self, sock: socket.socket, received: Any) -> None:
        sock.setblocking(True)
        self._sock = sock
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(received)

    def send(self, framed: bytes) -> None:
        """Send a message that `frame` has made. Raises OSError: the other end is gone."""
        self._sock.sendall(framed)

    def receive(self) -> Iterator[T]:
        """Yield the messages until the other end is closed.

        Raises:
            ChannelError: something else arrived.
            OSError: the connection broke.
        """
        with self._sock.makefile("rb") as stream:
            while len(header := stream.read(_HEADER)) == _HEADER:
                length = _length(header)
                data = stream.read(length)
                if len(data) < length:
                    return
                yield _decoded(self._decoder, data)
