"""The address of a socket, as text and as a value (docs/proofs.md, "The dialled address")."""

from __future__ import annotations

import ipaddress
import re
from contextlib import suppress
from dataclasses import dataclass

_TEXT = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):([1-9][0-9]{0,4})")


@dataclass(frozen=True)
class SocketAddress:
    """An IP address and a port. Texts of any form are equal if the address is the same."""

    ip: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int

    @classmethod
    def of(cls, name: tuple[object, ...]) -> SocketAddress:
        """Return what ``getsockname`` and ``getpeername`` of a TCP socket return, without an IPv6 zone.

        The zone names an interface, and each computer has names of its own. An IPv4 address that an IPv6 socket
        shows is the IPv4 address.
        """
        host, port = name[:2]
        return cls(_unmapped(ipaddress.ip_address(str(host).partition("%")[0])), int(str(port)))

    @classmethod
    def parse(cls, text: str) -> SocketAddress:
        """Return the address in ``192.168.1.10:7777`` or ``[fe80::1]:7777``.

        Raises:
            ValueError: the text has another form.
        """
        match = _TEXT.fullmatch(text)
        if match is not None and int(match[3]) < 65536:
            with suppress(ValueError):
                ip = ipaddress.IPv6Address(match[1]) if match[1] else ipaddress.IPv4Address(match[2])
                return cls(_unmapped(ip), int(match[3]))
        expected = "an address and a port such as 192.168.1.10:7777 or [fe80::1]:7777"
        raise ValueError(f"dialled is {text!r:.80}, expected {expected}")

    def __str__(self) -> str:
        return f"[{self.ip}]:{self.port}" if self.ip.version == 6 else f"{self.ip}:{self.port}"


def _unmapped(
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ip.ipv4_mapped or ip if isinstance(ip, ipaddress.IPv6Address) else ip
