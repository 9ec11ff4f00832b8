"""The host's key to the console: a file in the contest's folder that only its owner can read.

It has two secrets. The *key* proves that a program is the host's. The *link* opens one session in a browser, and is
spent by that: an address stands in the history of a browser, and on the screen that a hall sees.
"""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import AbstractContextManager
from pathlib import Path

from msgspec import Struct, ValidationError
from msgspec.json import decode, encode

from getstep.wire import MAX_NAME
from getstep_server.errors import ConfigError, UsageError

from .fields import check_visible
from .locked import exclusively

_FILE = "host.key"
_MAX_BYTES = 1000

_HOST = "the host"
MAX_HOST_NAME = MAX_NAME - len(_HOST) - 1
"""The characters of a host's name: with the words before it, it is the author in a record."""


class HostKey(Struct, frozen=True):
    """Both secrets, 192 bits each. ``link`` is "" once it is spent; ``name`` is of the host who gets it, or ""."""

    key: str
    link: str = ""
    name: str = ""

    @property
    def author(self) -> str:
        """Who decides in the session that the link opens, as records say it."""
        return f"{_HOST} {self.name}" if self.name else _HOST


def host_key(folder: Path) -> HostKey | None:
    """Return what the file of a contest has; None if there is none, or it is not readable.

    It is read at each request: a key that the host has replaced ends all sessions at once.
    """
    try:
        with (folder / _FILE).open("rb") as file:
            return decode(file.read(_MAX_BYTES), type=HostKey)
    except (OSError, ValidationError, ValueError):
        return None


def bearer_key(folder: Path, *, new_key: bool = False) -> str:
    """Return the key for programs; make one if there is none yet.

    Args:
        folder: of the contest.
        new_key: replace the key, which ends all sessions, too.

    Raises:
        ConfigError: the file cannot be written.
    """
    with _locked(folder):
        known = None if new_key else host_key(folder)
        if known is None:
            known = HostKey(_secret())
            _write(folder, known)
        return known.key


def keep_key(folder: Path, key: str) -> None:
    """Let a copy of a contest have the key of its host.

    Raises:
        ConfigError: the file cannot be written.
    """
    with _locked(folder):
        known = host_key(folder)
        if known is None or known.key != key:
            _write(folder, HostKey(key))


def new_link(folder: Path, *, name: str = "", new_key: bool = False) -> str:
    """Return a link that opens one session; the link before it does no longer.

    Args:
        folder: of the contest.
        name: of the host who gets the link, as records say it.
        new_key: replace the key, too, which ends all sessions.

    Raises:
        UsageError: the name cannot be in a record.
        ConfigError: the file cannot be written.
    """
    if name:
        _check_name(name)
    with _locked(folder):
        known = None if new_key else host_key(folder)
        found = HostKey(_secret() if known is None else known.key, _secret(), name)
        _write(folder, found)
    return found.link


def spend_link(folder: Path, link: str) -> HostKey | None:
    """Return the key if this is the link that is not spent, and spend it; else None.

    Raises:
        ConfigError: the file cannot be written, so the link would open a second session.
    """
    if not _fits(host_key(folder), link):
        return None  # a guess takes no lock
    with _locked(folder):  # else a command that replaces the key at this moment would have done so in vain
        found = host_key(folder)
        if found is None or not _fits(found, link):
            return None
        _write(folder, HostKey(found.key))
        return found


def _fits(found: HostKey | None, link: str) -> bool:
    return found is not None and found.link != "" and hmac.compare_digest(found.link.encode(), link.encode())


def _secret() -> str:
    return secrets.token_urlsafe(24)


def _check_name(name: str) -> None:
    expected = f"at most {MAX_HOST_NAME} characters"
    try:
        check_visible(name)
    except ValueError as error:
        expected = str(error)
    else:
        if len(name) <= MAX_HOST_NAME:
            return
    raise UsageError(f"--name {name!r:.200}, expected {expected}")


def _locked(folder: Path) -> AbstractContextManager[None]:
    return exclusively(folder / f"{_FILE}.lock", "another command changes the host's key")


def _write(folder: Path, found: HostKey) -> None:
    new = folder / f"{_FILE}.new"
    try:
        new.unlink(missing_ok=True)  # of a process that was killed: its mode may be another
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(encode(found))
        new.replace(folder / _FILE)  # in one step: the page reads it at any moment
    except OSError as error:
        raise ConfigError(f"{folder / _FILE}: cannot be written ({error.strerror or error})") from error
