"""The network addresses of clients, as limits count them."""

from __future__ import annotations

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
