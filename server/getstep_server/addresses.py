"""Network addresses: those of clients, as limits count them, and those at which others reach a listener."""

from __future__ import annotations

import socket
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

PREFIX = 64
"""The bits of an IPv6 address that one computer cannot choose: it has as many addresses as it likes behind them."""


def plain(address: str) -> IPv4Address | IPv6Address:
    """Return an address that can be compared: to a dual-stack listener an IPv4 peer is ``::ffff:a.b.c.d``."""
    parsed = ip_address(address)
    return getattr(parsed, "ipv4_mapped", None) or parsed


@lru_cache(maxsize=4096)  # a flood comes from few addresses, and a parse takes 3 µs
def source_of(address: str) -> str:
    """Return the part of an address that stands for one computer: limits count by it.

    It is the whole address in IPv4, and the first 64 bits in IPv6. Link-local IPv6 addresses are counted whole,
    because all computers of a network have the same first 64 bits there.
    """
    try:
        found = plain(address)
    except ValueError:  # a stand-in of a test, or a socket without an address
        return address
    if isinstance(found, IPv6Address) and not found.is_link_local:
        return str(IPv6Network((int(found), PREFIX), strict=False))
    return str(found)


# --- listeners on all addresses ---------------------------------------------------------------------------------

_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared; nothing listens on them here
"""The hosts that mean "all addresses of this machine", and the loopback address of the same family."""


def is_any(host: str) -> bool:
    """Return True if a server that listens on ``host`` listens on all addresses of this machine."""
    return host in _LOOPBACK


def local_host(host: str) -> str:
    """Return the address at which processes of this machine reach a server that listens on ``host``.

    Windows refuses a connection to ``0.0.0.0``.
    """
    return _LOOPBACK.get(host, host)


def reachable_host(host: str) -> str:
    """Return the address at which other computers reach a server that listens on ``host``: people type it."""
    return lan_address() if is_any(host) else host


def lan_address() -> str:
    """Return this machine's address on the LAN, or its name if it has none.

    The routing table names it. Without a default route, as on a switch without a router, it is an interface's.
    """
    return _routed_address() or next(iter(_interface_addresses()), "") or socket.gethostname()


def web_address(host: str, port: int | None, scheme: str = "http") -> str:
    """Return the address of a page, such as ``http://192.168.1.10:8080/``; the port may be the usual one, None."""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}{'' if port is None else f':{port}'}/"


def doubtful_address(host: str) -> str:
    """Return why the address that contestants are told may be wrong, and what to do; "" if it is right."""
    if not is_any(host) or _routed_address():
        return ""
    found = _interface_addresses()
    if not found:
        return (
            f"this computer has no network, so its address is unknown and its name {socket.gethostname()} is shown;"
            " connect it to the network of the contest, and start again"
        )
    others = f" (others: {', '.join(found[1:4])})" if len(found) > 1 else ""
    return (
        f"this computer has no default route, so the address of an interface is shown: {found[0]}{others};"
        " if that is not on the network of the contest, give the right one with --host"
    )


def _interface_addresses() -> list[str]:
    from getstep.client.discovery import network_addresses  # here: nearly every computer has a default route

    return network_addresses()


def _routed_address() -> str:
    """Return the address from which this machine sends, by its routing table; "" if it has no route.

    Nothing is sent.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # `connect` on a UDP socket only looks up the route; the address is reserved for documentation
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return ""
