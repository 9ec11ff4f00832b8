"""The login and the server's address: from arguments, else the environment, else the saved login, else defaults."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass, field
from pathlib import Path

from getstep._errors import SetupError
from getstep.text import short_repr
from getstep.wire import MAX_TEAM, canonical_token

from . import saved_login
from .tls import parse_tls

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 7777
PAGE_PORT = 8080
"""The port of the live page, unless its host has chosen another one."""
FRIENDLY_PORT = 7780
"""The port of the live page for bots that play friendly matches."""

_WHERE = (
    "Give it as --{name} on the command line, as {name}=... in getstep.play, or in the variable {variable}.\n"
    "To save host, team and token permanently: getstep login"
)


@dataclass(frozen=True)
class Login:
    """A team id and its token."""

    team: int
    token: str = field(repr=False)


@dataclass(frozen=True)
class Address:
    """The server's host and port; ``tls`` is "" for none, `tls.ROOTS`, or a pin."""

    host: str
    port: int
    tls: str = ""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def find_address(host: str | None = None, port: int | str | None = None, tls: bool | str | None = None) -> Address:
    """Return the server's address: the arguments, GETSTEP_HOST, GETSTEP_PORT and GETSTEP_TLS, the saved one, or the
    defaults.

    The saved port and the saved TLS setting belong to the saved host: another host has the default port and no TLS.

    Raises:
        SetupError: the host, the port or the TLS setting is not valid.
    """
    host, default_port, saved_tls = host or os.environ.get("GETSTEP_HOST"), DEFAULT_PORT, ""
    if not host:
        saved = saved_login.load()
        host, default_port, saved_tls = (
            (saved.host, saved.port, saved.tls) if saved else (DEFAULT_HOST, DEFAULT_PORT, "")
        )
    if not isinstance(host, str) or "/" in host or host.count(":") == 1 or not host.strip().isprintable():
        raise SetupError(
            f"The host is {short_repr(host)}, expected a name or an address alone, such as 192.168.1.10.\n"
            "The port goes into --port, port=... or GETSTEP_PORT."
        )
    number = given_port(port)
    given_tls = tls if tls is not None else os.environ.get("GETSTEP_TLS") or None
    way = saved_tls if given_tls is None else parse_tls(given_tls)
    return Address(host.strip(), default_port if number is None else number, way)


def host_is_given(host: str | None = None) -> bool:
    """Return True if the user has named the host, in an argument or in GETSTEP_HOST: then no other is tried."""
    return bool(host or os.environ.get("GETSTEP_HOST"))


def given_port(port: int | str | None = None) -> int | None:
    """Return the port of the argument or of GETSTEP_PORT; None if there is neither.

    Raises:
        SetupError: it is not a port.
    """
    number = port if port is not None else os.environ.get("GETSTEP_PORT") or None
    return None if number is None else _parse_int("port", number, 1, 65535)


def find_team(team: int | str | None = None) -> int | None:
    """Return the team id, from the argument, GETSTEP_TEAM or the saved login; None if there is none.

    Raises:
        SetupError: the value is not a team id.
    """
    value = team if team is not None else os.environ.get("GETSTEP_TEAM") or None
    if value is None:
        saved = saved_login.load()
        return saved.team if saved else None
    return _parse_int("team", value, 0, MAX_TEAM)


def find_token(token: str | None = None, token_file: str | os.PathLike[str] | None = None) -> str | None:
    """Return the token, from the arguments, GETSTEP_TOKEN or the file GETSTEP_TOKEN_FILE; None if there is none.

    Raises:
        SetupError: the file cannot be read, or does not hold one token.
    """
    if token is not None:
        return _check_token(token, "The token")
    if token_file is not None:
        return _read_token_file(Path(token_file))
    if os.environ.get("GETSTEP_TOKEN"):
        return _check_token(os.environ["GETSTEP_TOKEN"], "The token in the variable GETSTEP_TOKEN")
    if os.environ.get("GETSTEP_TOKEN_FILE"):
        return _read_token_file(Path(os.environ["GETSTEP_TOKEN_FILE"]))
    return None


def find_login(
    team: int | str | None = None,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
) -> Login:
    """Return the login to play with. The saved token is used for the saved team only.

    Raises:
        SetupError: the team or the token is missing or not valid; the message says where to put it.
    """
    found_team, found_token = find_team(team), find_token(token, token_file)
    if found_team is not None and found_token is None:
        saved = saved_login.load()
        found_token = saved.token if saved is not None and saved.team == found_team else None
    if found_team is None:
        raise SetupError(
            "The team id is missing; the host gave your team one, a number such as 7.\n"
            + _WHERE.format(name="team", variable="GETSTEP_TEAM")
        )
    if found_token is None:
        raise SetupError(
            f"The token of team {found_team} is missing; it is on the slip from the host.\n"
            + _WHERE.format(name="token", variable="GETSTEP_TOKEN")
        )
    return Login(found_team, found_token)


def _parse_int(name: str, value: object, lowest: int, highest: int) -> int:
    try:
        number = int(value.strip()) if isinstance(value, str) else value
    except ValueError:
        number = None
    if type(number) is not int or not lowest <= number <= highest:
        raise SetupError(f"The {name} is {short_repr(value)}, expected a whole number from {lowest} to {highest}.")
    return number


def _check_token(token: object, what: str) -> str:
    text = canonical_token(token.strip()) if isinstance(token, str) else ""
    if not text or len(text.split()) != 1 or not text.isprintable():
        raise SetupError(f"{what} should be one word such as kq3m-x7fd-29pt, as it is on the slip from the host.")
    return text


def _read_token_file(path: Path) -> str:
    """Return the one word in a text file, also if a Windows editor or shell has written it."""
    try:
        data = path.read_bytes()
        utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = data.decode("utf-16" if utf16 else "utf-8-sig")
    except (OSError, ValueError) as error:
        raise SetupError(
            f"The token file {short_repr(str(path))} cannot be read: {error}.\n"
            "Put the token from the host's slip into it, alone, as plain text."
        ) from error
    return _check_token(text, f"The content of the token file {short_repr(str(path))}")
