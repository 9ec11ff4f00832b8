"""What a reverse proxy says of its client: believed only from the addresses that contest.toml names.

A header such as ``X-Forwarded-For`` can be sent by anybody. From any other address these headers, and the one with
the user's name, are removed here, so no other module can believe them. From a trusted proxy they are bounded and
checked, and a request whose headers do not fit is refused: its proxy is not set up as docs/internet.md says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal, TypeAlias

from getstep_server.addresses import plain
from getstep_server.limits import MAX_FORWARDED
from getstep_server.text import escape_control_chars

Network: TypeAlias = IPv4Network | IPv6Network

_FOR, _PROTO, _HOST = "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"
_USER_CHARS = 254
"""The longest e-mail address (RFC 5321), which most single sign-ons use as a name."""


class BadProxyHeader(ValueError):  # noqa: N818 - the proxy's mistake
    """Raised when a trusted proxy sends something that cannot be used; the message is the answer."""


@dataclass(frozen=True, slots=True)
class Said:
    """What is known of a client by a trusted proxy, and the headers of its request without those of proxies.

    ``client`` and ``scheme`` are None if the proxy has not said them, or there is none.
    """

    headers: dict[str, str]
    client: str | None = None
    scheme: Literal["http", "https"] | None = None
    user: str = ""


class Proxies:
    """The trusted proxies.

    Args:
        networks: their addresses, or networks of them, such as 10.0.0.0/8.
        user_header: the header with the name of a user who is logged in at the proxy; None: it logs nobody in.
    """

    def __init__(self, networks: Iterable[str] = (), user_header: str | None = None) -> None:
        self._networks: Sequence[Network] = [ip_network(one) for one in networks]
        self._user_header = None if user_header is None else user_header.lower()
        self.trusts = lru_cache(maxsize=1024)(self._trusts)  # a parse takes 3 us, and proxies are few

    def _trusts(self, address: str) -> bool:
        """Return True if this is the address of a trusted proxy."""
        try:
            found = plain(address)
        except ValueError:  # a socket without an address
            return False
        return any(found in network for network in self._networks)

    def said(self, lines: Iterable[tuple[str, str]], proxy: str | None) -> Said:
        """Return what a trusted proxy says of its client.

        Args:
            lines: the headers of a request, their names in lower case.
            proxy: the address of the trusted proxy that has sent it; None: it came from somebody else.

        Raises:
            BadProxyHeader: a header is too long, is there twice, or has a value that it cannot have.
        """
        told: dict[str, list[str]] = {}
        headers: dict[str, str] = {}
        for name, value in lines:
            if name in (_FOR, _PROTO, _HOST) or name == self._user_header:
                told.setdefault(name, []).append(value)
            else:
                headers[name] = value
        if proxy is None:
            return Said(headers)
        host, scheme = _single(told, _HOST), _single(told, _PROTO)
        if host:
            headers["host"] = host  # `HostCheck` checks it, as one that a browser sends
        if scheme not in ("", "http", "https"):
            raise BadProxyHeader(f"{_PROTO} {scheme!r:.80}, expected http or https")
        return Said(
            headers,
            self._client(",".join(told.get(_FOR, []))),
            "https" if scheme == "https" else "http" if scheme else None,
            "" if self._user_header is None else _user(_single(told, self._user_header)),
        )

    def _client(self, text: str) -> str | None:
        """Return the last address that is no trusted proxy's: what stands before it, anybody may have written."""
        if not text:
            return None
        hops = [hop.strip() for hop in text.split(",")]
        if len(hops) > MAX_FORWARDED:
            raise BadProxyHeader(f"{_FOR} with {len(hops)} addresses, expected at most {MAX_FORWARDED}")
        client = ""
        for hop in reversed(hops):
            try:
                client = str(plain(hop.removeprefix("[").removesuffix("]")))
            except ValueError:
                raise BadProxyHeader(f"{_FOR} {hop!r:.80}, expected IP addresses without ports") from None
            if not self.trusts(client):
                break
        return client


NO_PROXIES = Proxies()


def _single(told: dict[str, list[str]], name: str) -> str:
    values = told.get(name, [])
    if len(values) > 1:
        raise BadProxyHeader(f"{name} is there {len(values)} times, expected it once")
    return values[0].strip() if values else ""


def _user(text: str) -> str:
    name = text.encode("latin-1").decode("utf-8", "replace")  # headers are bytes; a proxy sends UTF-8
    if len(name) > _USER_CHARS or escape_control_chars(name) != name:
        raise BadProxyHeader(f"the name of a user, expected at most {_USER_CHARS} visible characters")
    return name
