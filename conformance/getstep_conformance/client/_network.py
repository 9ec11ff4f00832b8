"""The network on which a client looks for its contest: answers of multicast DNS at a port of loopback."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import trio

_SERVICE = "_getstep._tcp.local"
_A, _PTR, _TXT, _SRV, _IN = 1, 12, 16, 33, 0x8001
_SECONDS = 120


class Network:
    """Answers each question with the servers in ``announced``, behind the packets in ``junk``.

    Attributes:
        announced: a port of this machine, the name of the contest there, and its fencing number.
        junk: bytes that are no answer.
        port: where the client asks.
    """

    def __init__(self, sock: trio.socket.SocketType) -> None:
        self.announced: list[tuple[int, str, int]] = []
        self.junk: list[bytes] = []
        self._socket = sock
        self.port: int = sock.getsockname()[1]

    async def answer(self) -> None:
        """Answer until this is cancelled."""
        with self._socket:
            while True:
                question, client = await self._socket.recvfrom(9000)
                head = question[:2] + struct.pack(">5H", 0x8400, 0, 4, 0, 0)
                answers = [head + b"".join(_records(*server)) for server in self.announced]
                for data in [*(head + junk for junk in self.junk), *answers]:
                    await self._socket.sendto(data, client)


async def opened_network() -> Network:
    """Return a network without any server."""
    sock = trio.socket.socket(type=trio.socket.SOCK_DGRAM)
    await sock.bind(("127.0.0.1", 0))
    return Network(sock)


def _records(port: int, contest: str, fence: int) -> Iterable[bytes]:
    instance, computer = _name(f"port-{port}.{_SERVICE}"), _name("computer.local")
    texts = ["txtvers=1", f"contest={contest}", "versions=1", *([f"fence={fence}"] if fence else [])]
    yield _record(_name(_SERVICE), _PTR, instance)
    yield _record(instance, _SRV, struct.pack(">3H", 0, 0, port) + computer)
    yield _record(instance, _TXT, b"".join(bytes([len(text.encode())]) + text.encode() for text in texts))
    yield _record(computer, _A, bytes([127, 0, 0, 1]))


def _record(owner: bytes, kind: int, data: bytes) -> bytes:
    return owner + struct.pack(">2HIH", kind, _IN, _SECONDS, len(data)) + data


def _name(text: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".")) + b"\0"


JUNK = [
    b"",
    b"\xc0\x0c",  # a name that points to itself
    b"\xff" * 600,
    b"\x3f" + b"x" * 20,  # a label that ends after the packet
    (b"\x3f" + b"x" * 63) * 100 + b"\0",  # a name without an end
    _name(_SERVICE) + struct.pack(">2HIH", _PTR, _IN, _SECONDS, 60_000),  # a record that ends after the packet
    *(_record(_name(_SERVICE), _PTR, b"\xc0" + bytes([at])) for at in (0, 12, 255)),
]
"""Packets behind the head of an answer. No client may crash, hang or stop looking because of them."""
