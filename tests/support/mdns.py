"""Answers of multicast DNS, and a responder on the loopback interface: for tests of finding servers."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType

from getstep.client.discovery import FoundServer, SearchResult
from getstep.client.settings import Address
from tests.support.patience import PATIENCE_SECONDS

SERVICE = "_getstep._tcp.local"
A, PTR, TXT, SRV = 1, 12, 16, 33
RESPONSE = 0x8400


def name(text: str) -> bytes:
    """Return a name without compression."""
    labels = [label.encode() for label in text.split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def record(owner: bytes, kind: int, data: bytes, *, lifetime: int = 120, network: int = 0x8001) -> bytes:
    """Return one record."""
    return owner + struct.pack(">2HIH", kind, network, lifetime, len(data)) + data


def packet(number: int, *records: bytes, flags: int = RESPONSE, questions: bytes = b"", count: int = 0) -> bytes:
    """Return an answer to the question with a number; ``questions`` has ``count`` repeated ones."""
    return struct.pack(">6H", number, flags, count, len(records), 0, 0) + questions + b"".join(records)


def announced(
    instance: str = "Autumn",
    *,
    port: int = 7777,
    addresses: tuple[str, ...] = ("192.168.1.10",),
    contest: bytes | None = None,
    service: str = SERVICE,
    computer: bytes | None = None,
) -> list[bytes]:
    """Return the records of one server."""
    own, host = name(f"{instance}.{service}"), name(f"host-{port}.local")
    texts = [b"txtvers=1" if contest is None else b"contest=" + contest]
    if computer is not None:
        texts.append(b"host=" + computer)
    return [
        record(name(service), PTR, own),
        record(own, SRV, struct.pack(">3H", 0, 0, port) + host),
        record(own, TXT, b"".join(bytes([len(text)]) + text for text in texts)),
        *(record(host, A, socket.inet_aton(address)) for address in addresses),
    ]


def found(*servers: tuple[str, str, int], asked: bool = True) -> SearchResult:
    """Return the result of a search: contest, address and port of each server."""
    return SearchResult(
        tuple(FoundServer(contest, (Address(host, port),)) for contest, host, port in servers), asked
    )


class Responder:
    """Answers one question with some records, and then sends packets that say nothing until the search ends.

    So a search ends by the number of its packets, and no test waits for its seconds. Use it as a context manager.

    Args:
        answers: the records of a packet each.
        questions: answer the question when it comes for this time.
        other_port: send the answers from another port than the one that was asked.
    """

    def __init__(self, *answers: list[bytes], questions: int = 1, other_port: bool = False) -> None:
        self._answers = answers
        self._questions = questions
        self._other_port = other_port
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(PATIENCE_SECONDS)
        self.place: tuple[str, int] = self._socket.getsockname()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Responder:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        for _ in range(self._questions):
            asked, client = self._socket.recvfrom(9000)
        number = struct.unpack_from(">H", asked)[0]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            answering = other if self._other_port else self._socket
            for records in self._answers:
                answering.sendto(packet(number, *records), client)
        while not self._over.is_set():
            with suppress(OSError):  # the search is over, and its socket closed
                self._socket.sendto(b"nothing", client)
