"""Who plays and where: arguments first, then the environment, then defaults."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass, field
from pathlib import Path

from ._errors import SetupError
from ._text import shown
from .wire import MAX_TEAM

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 7777

_WHERE = "Give it as --{name} on the command line, as {name}=... in getstep.play, or in the variable {variable}."


@dataclass(frozen=True)
class Login:
    """A team id and its token."""

    team: int
    token: str = field(repr=False)


@dataclass(frozen=True)
class Address:
    """Where the server is."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def find_address(host: str | None = None, port: int | str | None = None) -> Address:
    """The server's address, from the arguments, GETSTEP_HOST and GETSTEP_PORT, or the defaults.

    Raises:
        SetupError: the host or the port cannot be right.
    """
    host = host or os.environ.get("GETSTEP_HOST") or DEFAULT_HOST
    if not isinstance(host, str) or "/" in host or host.count(":") == 1 or not host.strip().isprintable():
        raise SetupError(
            f"The host is {shown(host)}, expected a bare name or address such as 192.168.1.10.\n"
            "The port goes into --port, port=... or GETSTEP_PORT."
        )
    number = port if port is not None else os.environ.get("GETSTEP_PORT") or DEFAULT_PORT
    return Address(host.strip(), _whole_number("port", number, 1, 65535))


def find_team(team: int | str | None = None) -> int | None:
    """The team id, from the argument or GETSTEP_TEAM; None if it is nowhere.

    Raises:
        SetupError: it is not a team id.
    """
    value = team if team is not None else os.environ.get("GETSTEP_TEAM") or None
    return None if value is None else _whole_number("team", value, 0, MAX_TEAM)


def find_token(token: str | None = None, token_file: str | os.PathLike[str] | None = None) -> str | None:
    """The token, from the arguments, GETSTEP_TOKEN or the file GETSTEP_TOKEN_FILE; None if it is nowhere.

    Raises:
        SetupError: the file cannot be read, or does not hold one token.
    """
    if token is not None:
        return _checked_token(token, "The token")
    if token_file is not None:
        return _token_in(Path(token_file))
    if os.environ.get("GETSTEP_TOKEN"):
        return _checked_token(os.environ["GETSTEP_TOKEN"], "The token in the variable GETSTEP_TOKEN")
    if os.environ.get("GETSTEP_TOKEN_FILE"):
        return _token_in(Path(os.environ["GETSTEP_TOKEN_FILE"]))
    return None


def find_login(
    team: int | str | None = None,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
) -> Login:
    """The login to play with.

    Raises:
        SetupError: the team or the token is missing or cannot be right; the message says where to put it.
    """
    found_team, found_token = find_team(team), find_token(token, token_file)
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


def _whole_number(name: str, value: object, lowest: int, highest: int) -> int:
    try:
        number = int(value.strip()) if isinstance(value, str) else value
    except ValueError:
        number = None
    if type(number) is not int or not lowest <= number <= highest:
        raise SetupError(f"The {name} is {shown(value)}, expected a whole number from {lowest} to {highest}.")
    return number


def _checked_token(token: object, what: str) -> str:
    text = token.strip() if isinstance(token, str) else ""
    if not text or len(text.split()) != 1 or not text.isprintable():
        raise SetupError(f"{what} should be one word such as kq3m-x7fd-29pt, as it is on the slip from the host.")
    return text


def _token_in(path: Path) -> str:
    """The one word in a text file, also as a Windows editor or shell writes it."""
    try:
        data = path.read_bytes()
        utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = data.decode("utf-16" if utf16 else "utf-8-sig")
    except (OSError, ValueError) as error:
        raise SetupError(
            f"The token file {shown(str(path))} cannot be read: {error}.\n"
            "Put the token from the host's slip into it, alone, as plain text."
        ) from error
    return _checked_token(text, f"The content of the token file {shown(str(path))}")
