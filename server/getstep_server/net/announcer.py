"""Announces a contest on the local network by multicast DNS, in a process of its own.

``python -m getstep_server.net.announcer HOST PORT NAME FENCE`` runs until its standard input ends, and takes the
announcement back then. So no announcement outlives the server, however that one dies. A computer that loses its
power is forgotten after LIFETIME_SECONDS. For each change the process writes a line of JSON:
``{"announced": NAME}``, with ``"taken_by": ADDRESSES`` if another computer announces the contest's name, or
``{"problem": TEXT}``.

It is a process, not a thread: any computer can send packets to the port of multicast DNS, and zeroconf parses them
all. In a thread, that would delay the judge.

The library zeroconf does what a responder needs: it looks for a free name, answers once per network, repeats itself
and says goodbye, on all interfaces (RFC 6762, sections 8 to 10).
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable

import ifaddr
import zeroconf

from getstep.wire import VERSION
from getstep_server.addresses import is_any
from getstep_server.children.parent import until_parent_ends

SERVICE = "_getstep._tcp.local."

LIFETIME_SECONDS = 120
"""The time for which other computers may remember the announcement. zeroconf's default for names is 75 minutes."""

CHECK_SECONDS = 10.0
"""The interval at which the addresses of this machine are read: a laptop changes its WLAN, or gets a new lease."""

LABEL_BYTES = 50
"""The bytes of the contest's name in the service's name. A label has 63; zeroconf adds a number to a taken name."""

COMPUTER_BYTES = 20
"""The bytes of this machine's name in the service's name, if the contest's name is taken."""

OTHER_MS = 1000
"""The time to ask who has taken the name. It has just answered, so its answer is mostly known already."""

NICENESS = 19
"""Added to the process's niceness. If both want the same core, the server gets 98 % of it."""

MAX_NAMED = 4
"""The addresses of another computer that are told: it may claim to have any number."""

NO_ADDRESS = "this machine has no IPv4 address on a network"
NO_MULTICAST = "this machine has no network with multicast"


def own_addresses(host: str) -> list[str]:
    """Return the IPv4 addresses at which other computers reach a server that listens on ``host``.

    If there are none, and it listens on all addresses, the one of this machine alone.
    """
    if not is_any(host):
        return [] if ":" in host else [host]
    found = [ip.ip for adapter in ifaddr.get_adapters() for ip in adapter.ips if isinstance(ip.ip, str)]
    outside = [ip for ip in found if not ip.startswith("127.")]
    return sorted(outside) or sorted(found)


def service_label(name: str, computer: str = "") -> str:
    """Return a contest's name as one label of a service's name, with the name of a computer if there is one."""
    if not computer:
        return _label(name, LABEL_BYTES)
    behind = f" ({_label(computer, COMPUTER_BYTES)})"
    return _label(name, LABEL_BYTES - len(behind.encode())) + behind


def _label(text: str, most: int) -> str:
    """Return a text without dots, at which zeroconf splits names, in at most so many bytes."""
    label = " ".join(text.replace(".", " ").split())
    return label.encode()[:most].decode("utf-8", "ignore").strip() or "getstep"  # the cut may be within a character


def announce(
    host: str,
    port: int,
    name: str,
    over: threading.Event,
    tell: Callable[[dict[str, str]], None],
    check_seconds: float = CHECK_SECONDS,
    fence: int = 0,
) -> None:
    """Announce a contest until ``over`` is set, again whenever the addresses of this machine change.

    Args:
        host: the address on which the server listens.
        port: its port.
        name: the contest's.
        over: ends it.
        tell: is called with each new state.
        fence: the server's fencing number; 0 for none.
        check_seconds: the interval at which addresses are read, and at which a failure is tried again.
    """
    told: dict[str, str] = {}
    while not over.is_set():
        here = own_addresses(host)
        announcement = _Announcement(here, port, name, fence)
        state = announcement.begin()
        if state != told:
            tell(state)
            told = state
        # New addresses (another network, a lease that has changed) need a new announcement.
        while not over.wait(check_seconds) and own_addresses(host) == here and "problem" not in state:
            pass
        announcement.end()


class _Announcement:
    def __init__(self, addresses: list[str], port: int, name: str, fence: int = 0) -> None:
        self._addresses = addresses
        self._name, self._computer = name, socket.gethostname().partition(".")[0]
        self._responder: zeroconf.Zeroconf | None = None
        self._service = zeroconf.ServiceInfo(
            SERVICE,
            f"{service_label(name)}.{SERVICE}",
            port=port,
            addresses=[socket.inet_aton(address) for address in addresses],
            properties={
                "txtvers": "1",
                "contest": name,
                "versions": str(VERSION),
                "host": self._computer,
                **({"fence": str(fence)} if fence else {}),
            },
            # Not the machine's own name, which its own responder announces.
            server=f"getstep-{secrets.token_hex(6)}.local.",
            host_ttl=LIFETIME_SECONDS,
            other_ttl=LIFETIME_SECONDS,
        )

    def begin(self) -> dict[str, str]:
        """Announce, and return the new state."""
        if not self._addresses:
            return {"problem": NO_ADDRESS}
        try:
            self._responder = zeroconf.Zeroconf(interfaces=self._addresses, ip_version=zeroconf.IPVersion.V4Only)
            taken = {}
            try:
                self._responder.register_service(self._service, allow_name_change=False)
            except zeroconf.NonUniqueNameException:
                # It may be another contest, or pretend to be this one: the host has to know.
                other = self._responder.get_service_info(SERVICE, self._service.name, timeout=OTHER_MS)
                taken = {"taken_by": ", ".join(other.parsed_addresses()[:MAX_NAMED]) if other else "unknown"}
                self._service.name = f"{service_label(self._name, self._computer)}.{SERVICE}"
                self._responder.register_service(self._service, allow_name_change=True)
            return {"announced": self._service.name.removesuffix(f".{SERVICE}"), **taken}
        except (OSError, zeroconf.Error) as error:
            return {"problem": f"{NO_MULTICAST} ({error})" if isinstance(error, OSError) else f"{error!r:.200}"}

    def end(self) -> None:
        if self._responder is not None:
            self._responder.close()  # it says goodbye for all services


def main() -> None:
    """Announce the contest of the arguments until standard input ends."""
    host, port, name, fence = sys.argv[1:]
    if hasattr(os, "nice"):
        os.nice(NICENESS)  # anybody on the network can make it work
    over = threading.Event()
    threading.Thread(target=_wait_for_end, args=(over,), daemon=True).start()
    announce(host, int(port), name, over, _tell, fence=int(fence))


def _wait_for_end(over: threading.Event) -> None:
    until_parent_ends()
    over.set()


def _tell(state: dict[str, str]) -> None:
    print(json.dumps(state), flush=True)  # a pipe is buffered, and the server waits for the line


if __name__ == "__main__":
    main()
