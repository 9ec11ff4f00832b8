"""A search: ask on each network of this computer, and collect the servers that answer."""

from __future__ import annotations

import ipaddress
import os
import secrets
import selectors
import socket
import struct
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from getstep.client.settings import Address

from .dns import Announcement, DnsError, parse_answer, question
from .limits import (
    MAX_ADDRESSES,
    MAX_INTERFACES,
    MAX_PACKET_BYTES,
    MAX_PACKETS,
    MAX_SHOWN,
)

GROUP = ("224.0.0.251", 5353)
"""The address of multicast DNS. Routers do not pass it on, so a search never leaves the local network."""

DISCOVERY_VARIABLE = "GETSTEP_DISCOVERY"
"""The variable by which tests let a client ask at an address and a port of their own (docs/conformance.md)."""

SEARCH_SECONDS = 1.0
"""The length of a search. A LAN answers in milliseconds; a sleeping WLAN card gets multicast within 0.3 s."""

ASK_AGAIN_SECONDS = 0.35
"""The time after which the question is sent once more: multicast on WLAN is not repeated if it is lost."""

TICK_SECONDS = 0.2
"""The longest single wait: on Windows, Ctrl-C does not interrupt one."""


@dataclass(frozen=True)
class FoundServer:
    """A server that has answered: what it calls its contest, and its addresses, the most likely one first.

    ``computer`` is what it calls its machine, empty if it is older.
    """

    contest: str
    addresses: tuple[Address, ...]
    computer: str = ""
    fence: int = 0
    """The fencing number that it claims; 0 for none. Only a hint where to connect first."""

    def __str__(self) -> str:
        where = ", ".join(map(str, self.addresses[:MAX_SHOWN])) + (", ..." if self.addresses[MAX_SHOWN:] else "")
        return f"{self.contest!r} at {where}" + (f" on {self.computer!r}" if self.computer else "")


@dataclass(frozen=True)
class SearchResult:
    """The servers that were found, sorted by name. ``asked`` is False if this computer has no network to ask."""

    servers: tuple[FoundServer, ...]
    asked: bool = True


@dataclass(frozen=True)
class Interface:
    """A network interface, by its index, or by its IPv4 address if there is one; index 0 is the system's choice."""

    index: int
    name: str
    address: str = ""

    @property
    def is_own(self) -> bool:
        """True if it leads to this computer itself: lo, lo0, and loopback_0 on Windows."""
        return self.name.startswith("lo") or self.address.startswith("127.")


DEFAULT = Interface(0, "")
"""The interface that the system chooses itself."""


def interfaces() -> list[Interface]:
    """Return the interfaces to ask, those with an IPv4 address first.

    A laptop with Windows lists two dozen, and most of them are filters and tunnels; a computer with containers has
    one without an address for each of them.
    """
    try:
        listed = [Interface(index, name) for index, name in socket.if_nameindex()]
    except (OSError, AttributeError):
        listed = []
    if sys.platform == "win32":
        return _by_address(_own_addresses(), listed)
    listed.sort(key=lambda interface: _address_of(interface.name) is None)
    return listed[:MAX_INTERFACES] or [DEFAULT]


def _by_address(addresses: Iterable[str], listed: Iterable[Interface]) -> list[Interface]:
    """Return an interface for each address; those of the list only if no address leads to a network."""
    known = [Interface(0, "", address) for address in addresses]
    if all(interface.is_own for interface in known):
        known += listed
    loopback = Interface(0, "", "127.0.0.1")
    return list(dict.fromkeys([*known[: MAX_INTERFACES - 1], loopback]))


def _own_addresses() -> list[str]:
    """Return the IPv4 addresses of this computer, as Windows knows them all by its own name."""
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET, socket.SOCK_DGRAM)
    except OSError:
        return []
    return [str(address[4][0]) for address in found]


_GET_ADDRESS = {"linux": 0x8915, "darwin": 0xC0206921}  # SIOCGIFADDR, which no module of Python has


def _address_of(name: str) -> str | None:
    """Return the IPv4 address of an interface; None if it has none, "" if the system does not tell."""
    request = _GET_ADDRESS.get(sys.platform)
    if request is None:
        return ""
    import fcntl  # here: Windows has none

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            answer = fcntl.ioctl(sock, request, name.encode().ljust(40, b"\0"))  # struct ifreq
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])  # behind the name, the family and the port


_INSIDE = ("docker", "br-", "virbr", "veth", "vmnet", "vboxnet", "podman", "cni")
"""The beginnings of the names of interfaces that lead to containers and virtual machines on this computer."""


def network_addresses() -> list[str]:
    """Return the IPv4 addresses of this computer at which others may reach it, the likeliest first.

    Those of loopback are left out. Addresses without a network (169.254) and those of containers come last.
    """
    if sys.platform == "win32":
        found = [("", address) for address in _own_addresses()]
    else:
        listed = [(name, _address_of(name)) for _, name in socket.if_nameindex()]
        found = [(name, address) for name, address in listed if address]
    outside = [(name, address) for name, address in found if not address.startswith("127.")]
    outside.sort(key=lambda one: one[0].startswith(_INSIDE) or one[1].startswith("169.254."))
    return list(dict.fromkeys(address for _, address in outside))


def search(
    seconds: float = SEARCH_SECONDS,
    networks: Iterable[Interface] | None = None,
    group: tuple[str, int] = GROUP,
) -> SearchResult:
    """Ask for servers, and return those that have answered after ``seconds``.

    Args:
        seconds: the length of the search; it does not end earlier, since another server may still answer.
        networks: the interfaces to ask, by default all.
        group: where to ask; tests have a responder of their own.
    """
    number = secrets.randbelow(1 << 16)
    here = _place_of_a_test()
    if here is not None:
        networks, group = [Interface(0, "lo")], here
    with ExitStack() as stack:
        asking = _Asking(number, group, interfaces() if networks is None else networks, stack)
        asking.send()
        began, again = time.monotonic(), False
        while asking.sockets and (left := began + seconds - time.monotonic()) > 0:
            if not again and seconds - left >= ASK_AGAIN_SECONDS:
                again = True
                asking.send()
            if not asking.receive(min(left, TICK_SECONDS)):
                break
    return SearchResult(_servers(asking.answers), bool(asking.sockets))


def _place_of_a_test() -> tuple[str, int] | None:
    """Return the address and the port in `DISCOVERY_VARIABLE`; None if there are none."""
    host, _, port = os.environ.get(DISCOVERY_VARIABLE, "").partition(":")
    return (host, int(port)) if port.isdecimal() and int(port) < 1 << 16 else None


class _Asking:
    """The sockets of a search, one for each interface, and the answers to them."""

    def __init__(
        self, number: int, group: tuple[str, int], networks: Iterable[Interface], stack: ExitStack
    ) -> None:
        self.sockets: dict[socket.socket, bool] = {}
        """With each socket, whether its interface is the one of this computer to itself."""
        self.answers: list[Announcement] = []
        self._number, self._group, self._left = number, group, MAX_PACKETS
        self._selector = stack.enter_context(selectors.DefaultSelector())
        refused = [interface for interface in networks if not self._add(interface, stack)]
        if refused:
            self._add(DEFAULT, stack)
        for sock in self.sockets:
            self._selector.register(sock, selectors.EVENT_READ)

    def _add(self, interface: Interface, stack: ExitStack) -> bool:
        """Open a socket for an interface. Return False if the system does not let this client choose it."""
        with suppress(OSError):
            sock = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            _choose_interface(sock, interface)
            sock.setblocking(False)
            self.sockets[sock] = interface.is_own
            return True
        return False

    def send(self) -> None:
        """Ask on all interfaces, and forget those on which that is impossible."""
        for sock in list(self.sockets):
            try:
                sock.sendto(question(self._number), self._group)
            except BlockingIOError:  # its buffer is full: the next time
                pass
            except OSError:  # the interface is down, or has no multicast
                self._selector.unregister(sock)
                del self.sockets[sock]

    def receive(self, seconds: float) -> bool:
        """Read what arrives within ``seconds``. Return False once the most were read, or with nobody to ask."""
        if not self.sockets:  # Windows selects among no sockets with WinError 10022
            return False
        for key, _ in self._selector.select(seconds):
            sock = key.fileobj
            if isinstance(sock, socket.socket) and self._left > 0:
                self._left -= 1
                with suppress(OSError):  # on Windows also what an earlier packet has caused
                    self._read(sock)
        return self._left > 0

    def _read(self, sock: socket.socket) -> None:
        packet, sender = sock.recvfrom(MAX_PACKET_BYTES)
        if sender[1] != self._group[1]:
            return
        with suppress(DnsError):
            for heard in parse_answer(packet, self._number):
                addresses = [text for text in heard.addresses if _usable(text, own=self.sockets[sock])]
                addresses.sort(key=lambda text: text != sender[0])  # what has answered can be reached
                if addresses:
                    self.answers.append(replace(heard, addresses=tuple(addresses)))


def _choose_interface(sock: socket.socket, interface: Interface) -> None:
    """Send multicast to an interface. Raises OSError."""
    if not interface.index and not interface.address:
        return
    if interface.address:
        choice = socket.inet_aton(interface.address)
    elif sys.platform == "win32":
        choice = struct.pack("!I", interface.index)
    else:
        choice = struct.pack("@4s4si", bytes(4), bytes(4), interface.index)  # struct ip_mreqn
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, choice)


def _usable(text: str, *, own: bool) -> bool:
    """Return True if a contest may be at an address; this computer's own only if it was asked itself."""
    address = ipaddress.IPv4Address(text)
    if address.is_loopback:
        return own
    return not (address.is_multicast or address.is_unspecified or address.is_reserved)


def _servers(answers: list[Announcement]) -> tuple[FoundServer, ...]:
    """Return each server once, also if it has answered on several networks. Answers with the same name and port are
    one server: which of the addresses is right, its proof shows."""
    first: dict[tuple[str, int], Announcement] = {}
    places: dict[tuple[str, int], dict[Address, None]] = {}
    for answer in answers:
        key = (answer.instance.lower(), answer.port)
        first.setdefault(key, answer)
        places.setdefault(key, {}).update(dict.fromkeys(Address(text, answer.port) for text in answer.addresses))
    found = [
        FoundServer(answer.contest, tuple(places[key])[:MAX_ADDRESSES], answer.computer, answer.fence)
        for key, answer in first.items()
    ]
    return tuple(sorted(found, key=lambda server: (server.contest, server.addresses[0].host)))
