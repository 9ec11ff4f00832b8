"""Types of the values in contest.toml and teams.toml, shared by their tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

from msgspec import Meta

from getstep.wire import MAX_MS, MAX_NAME, MAX_TEAM
from getstep_server import validation
from getstep_server.text import escape_control_chars
from getstep_server.validation import Check


class TomlTable(validation.Model, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of settings, without unknown settings."""


def check_visible(value: str) -> None:
    """Raise ValueError if a text cannot be shown in one line: it is empty, padded or has control characters."""
    if not value or value != value.strip() or escape_control_chars(value) != value:
        raise ValueError("visible characters, without spaces around them")


def _check_host(value: str) -> None:
    check_visible(value)
    if not _is_host(value):
        raise ValueError("a host name or an IP address")


def _is_host(value: str) -> bool:
    """Return True if the resolver can encode a name: no label is too long, and none but the last is empty."""
    if value.isascii():  # the codec "idna" checks just that, and takes 1 ms to import
        *labels, last = map(len, value.split("."))
        return last < 64 and all(0 < length < 64 for length in labels)
    try:
        return bool(value.encode("idna"))
    except UnicodeError:
        return False


def _check_address(value: str) -> None:
    from ipaddress import ip_address  # here: only the classic wire's addresses need it

    try:
        ip_address(value)
    except ValueError:
        raise ValueError("an IP address such as 192.168.1.20") from None


def _check_outside_address(value: str) -> None:
    from getstep.wire import SocketAddress  # here: few contests have such an address, and it takes 3 ms to import

    with suppress(ValueError):  # an address without a port is allowed, too
        _check_address(value)
        return
    try:
        SocketAddress.parse(value)
    except ValueError:
        raise ValueError("an IP address such as 203.0.113.7, or one with a port: 203.0.113.7:17777") from None


def check_unique(values: Sequence[object]) -> None:
    """Raise ValueError if a list has duplicates."""
    if len(set(values)) < len(values):
        raise ValueError("each of them once")


def _check_ms(seconds: float) -> None:
    """Raise ValueError if the wire cannot state a time: it counts whole milliseconds, and 0 means "no limit"."""
    if 0 < seconds < 0.001:  # it would be sent as 0
        raise ValueError("at least 0.001")


def _check_network(value: str) -> None:
    from ipaddress import ip_network  # here: few contests have a proxy

    try:
        ip_network(value)
    except ValueError:
        raise ValueError("an IP address or a network, such as 127.0.0.1 or 10.1.0.0/16") from None


def _check_page_address(value: str) -> None:
    from urllib.parse import urlsplit  # as above

    try:
        found = urlsplit(value)
        fits = found.scheme in ("http", "https") and found.port != 0 and f"{found.scheme}://{found.netloc}" == value
    except ValueError:
        fits = False
    if not fits or "@" in value or not found.hostname or not _is_host(found.hostname):
        raise ValueError("the address of the page without a path, such as https://contest.example.org")


_OTHER_HEADERS = {
    *("host", "cookie", "origin", "authorization", "connection", "content-length", "transfer-encoding"),
    *("x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"),
}
"""Headers that browsers send, or that have another meaning."""


def _check_header(value: str) -> None:
    if not re.fullmatch("[A-Za-z0-9-]+", value) or value.lower() in _OTHER_HEADERS:
        raise ValueError("the name of a header that only the proxy sends, such as X-Remote-User")


Name = Annotated[str, Check(check_visible, max_length=MAX_NAME)]
Host = Annotated[str, Check(_check_host, max_length=MAX_NAME)]
Address = Annotated[str, Check(_check_address)]
FilePath = Annotated[str, Check(check_visible, max_length=1000)]
"""A file; a relative path begins in the contest's folder."""
Network = Annotated[str, Check(_check_network)]
PageAddress = Annotated[str, Check(_check_page_address, max_length=300)]
HeaderName = Annotated[str, Check(_check_header, max_length=64)]
OutsideAddress = Annotated[str, Check(_check_outside_address)]
Port = Annotated[int, Meta(ge=0, le=65535)]  # 0: the system chooses a free one
TeamId = Annotated[int, Meta(ge=0, le=MAX_TEAM)]
Seconds = Annotated[float, Check(_check_ms, gt=0, le=MAX_MS // 1000)]
Increment = Annotated[float, Check(_check_ms, ge=0, le=MAX_MS // 1000)]
