"""The question and the answers of DNS service discovery as bytes; no sockets."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from struct import error as struct_error
from struct import pack, unpack_from

from getstep.text import escape_control_chars
from getstep.wire import MAX_ID, MAX_NAME

from .limits import MAX_ADDRESSES, MAX_NAME_BYTES, MAX_POINTERS, MAX_QUESTIONS, MAX_RECORDS

SERVICE = (b"_getstep", b"_tcp", b"local")
_A, _PTR, _TXT, _SRV, _IN = 1, 12, 16, 33, 1
_ANSWER, _OPCODE, _ERROR = 0x8000, 0x7800, 0x000F
_UNICAST_OR_FLUSH = 0x8000  # the highest bit of a class: not part of the class in multicast DNS

Name = tuple[bytes, ...]


class DnsError(ValueError):
    """A packet is not an answer that this client can use."""


@dataclass(frozen=True)
class Announcement:
    """A server as it announces itself: the contest's name, the port and the IPv4 addresses. None of it is proved.

    ``instance`` is the name that no two honest servers of a network share, ``computer`` the name of the server's
    machine, empty if it is older, ``fence`` its fencing number. The names are safe to print.
    """

    instance: str
    contest: str
    port: int
    addresses: tuple[str, ...]
    computer: str = ""
    fence: int = 0


def question(number: int) -> bytes:
    """Return the packet that asks for all servers; its answers repeat the 16-bit ``number``."""
    name = b"".join(bytes([len(label)]) + label for label in SERVICE) + b"\0"
    return pack(">6H", number, 0, 1, 0, 0, 0) + name + pack(">2H", _PTR, _IN)


def parse_answer(packet: bytes, number: int) -> list[Announcement]:
    """Return the servers that an answer to ``question(number)`` announces.

    Raises:
        DnsError: the packet is not such an answer, or is longer or deeper than the limits.
    """
    try:
        return _announcements(_records(packet, number))
    except (struct_error, IndexError) as error:
        raise DnsError("the packet ends too early") from error


@dataclass(frozen=True)
class _Record:
    name: Name
    kind: int
    packet: bytes
    start: int
    end: int

    @property
    def data(self) -> bytes:
        return self.packet[self.start : self.end]


def _records(packet: bytes, number: int) -> list[_Record]:
    answered, flags, questions, *counts = unpack_from(">6H", packet)
    if answered != number or flags & (_ANSWER | _OPCODE | _ERROR) != _ANSWER:
        raise DnsError("not an answer to this question")
    if questions > MAX_QUESTIONS or sum(counts) > MAX_RECORDS:
        raise DnsError(f"{questions} questions and {sum(counts)} records")
    at, records = 12, []
    for _ in range(questions):
        at = _name(packet, at)[1] + 4  # its type and class
    for _ in range(sum(counts)):
        name, at = _name(packet, at)
        kind, network, lifetime, length = unpack_from(">2HIH", packet, at)
        start, at = at + 10, at + 10 + length  # after type, class, lifetime and length
        if at > len(packet):
            raise DnsError("a record ends after the packet")
        if lifetime and network & ~_UNICAST_OR_FLUSH == _IN:  # a lifetime of 0 takes a record back
            records.append(_Record(name, kind, packet, start, at))
    return records


def _name(packet: bytes, at: int) -> tuple[Name, int]:
    """Return the name at an offset, and the offset after it."""
    labels: list[bytes] = []
    after, lowest, size, pointers = None, at, 0, 0
    while length := packet[at]:
        if length >= 0xC0:
            after = at + 2 if after is None else after
            at = (length & 0x3F) << 8 | packet[at + 1]
            pointers += 1
            if at >= lowest or pointers > MAX_POINTERS:  # only backwards, so that no name is endless
                raise DnsError("a name with a wrong pointer")
            lowest = at
            continue
        label = packet[at + 1 : at + 1 + length]
        size += 1 + length
        if length >= 0x40 or len(label) < length or size >= MAX_NAME_BYTES:
            raise DnsError("a name of the wrong form")
        labels.append(label)
        at += 1 + length
    return tuple(labels), at + 1 if after is None else after


def _same(name: Name) -> Name:
    """Return a name in lower case: DNS does not tell upper and lower case apart."""
    return tuple(label.lower() for label in name)


def _announcements(records: list[_Record]) -> list[Announcement]:
    named: dict[Name, Name] = {}
    places: dict[Name, tuple[int, Name]] = {}
    texts: dict[Name, bytes] = {}
    addresses: dict[Name, list[str]] = {}
    for record in records:
        name = _same(record.name)
        if record.kind == _PTR and name == SERVICE:
            instance = _name(record.packet, record.start)[0]
            named.setdefault(_same(instance), instance)
        elif record.kind == _SRV:
            port = unpack_from(">H", record.data, 4)[0]  # after priority and weight
            places.setdefault(name, (port, _same(_name(record.packet, record.start + 6)[0])))
        elif record.kind == _TXT:
            texts.setdefault(name, record.data)
        elif record.kind == _A and len(record.data) == 4:
            addresses.setdefault(name, []).append(socket.inet_ntoa(record.data))
    found = []
    for name, instance in named.items():
        port, target = places.get(name, (0, ()))
        known = list(dict.fromkeys(addresses.get(target, [])))[:MAX_ADDRESSES]
        if len(instance) == len(SERVICE) + 1 and name[1:] == SERVICE and port and known:
            label, text = _printable(instance[0]), texts.get(name, b"")
            contest = _value(text, b"contest") or label
            computer, fence = _value(text, b"host"), _number(_value(text, b"fence"))
            found.append(Announcement(label, contest, port, tuple(known), computer, fence))
    return found


def _value(data: bytes, wanted: bytes) -> str:
    """Return a value of a TXT record, a series of strings ``name=value``; empty if it has no such name."""
    at = 0
    while at < len(data):
        key, _, value = data[at + 1 : at + 1 + data[at]].partition(b"=")
        if key.lower() == wanted:
            return _printable(value)
        at += 1 + data[at]
    return ""


def _number(text: str) -> int:
    """Return a fencing number; 0 for anything else."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else 0
    return number if number <= MAX_ID else 0


def _printable(text: bytes) -> str:
    """Return a name as a terminal can show it, in one line of bounded length."""
    return escape_control_chars(text.decode("utf-8", "replace")[:MAX_NAME])
