"""The host's key to the console: a file in the contest's folder that only its owner can read.

It has two secrets. The *key* proves that somebody is the host. The *link* opens one session in a browser, and is
spent by that: an address stands in the history of a browser, and on the screen that a hall sees.
"""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path

from msgspec import Struct, ValidationError
from msgspec.json import decode, encode

from getstep_server.errors import ConfigError

_FILE = "host.key"
_MAX_BYTES = 1000


class HostKey(Struct, frozen=True):
    """Both secrets, 192 bits each. ``link`` is "" once it is spent."""

    key: str
    link: str = ""


def host_key(folder: Path) -> HostKey | None:
    """Return what the file of a contest has; None if there is none, or it is not readable.

    It is read at each request: a key that the host has replaced ends all sessions at once.
    """
    try:
        with (folder / _FILE).open("rb") as file:
            return decode(file.read(_MAX_BYTES), type=HostKey)
    except (OSError, ValidationError, ValueError):
        return None


def new_link(folder: Path, *, new_key: bool = False) -> str:
    """Return a link that opens one session; the link before it does no longer.

    Args:
        folder: of the contest.
        new_key: replace the key, too, which ends all sessions.

    Raises:
        ConfigError: the file cannot be written.
    """
    known = None if new_key else host_key(folder)
    found = HostKey(secrets.token_urlsafe(24) if known is None else known.key, secrets.token_urlsafe(24))
    _write(folder, found)
    return found.link


def spend_link(folder: Path, link: str) -> str | None:
    """Return the key if this is the link that is not spent, and spend it; else None."""
    found = host_key(folder)
    if found is None or not found.link or not hmac.compare_digest(found.link.encode(), link.encode()):
        return None
    _write(folder, HostKey(found.key))
    return found.key


def _write(folder: Path, found: HostKey) -> None:
    new = folder / f"{_FILE}.new"
    try:
        new.unlink(missing_ok=True)  # of a process that was killed: its mode may be another
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(encode(found))
        new.replace(folder / _FILE)  # in one step: the page reads it at any moment
    except OSError as error:
        raise ConfigError(f"{folder / _FILE}: cannot be written ({error.strerror or error})") from error
