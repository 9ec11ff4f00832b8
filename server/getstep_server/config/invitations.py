"""The invitations of a contest: links by which people sign their teams up, in a file that only its owner can read.

A link has a random key of 192 bits, which is shown once. The file has its hash only: somebody who reads the file,
or a copy of it, cannot sign a team up. Each invitation has an end, a number of teams that it is good for, and the
ids of those that have used it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, ValidationError
from msgspec.json import decode, encode

from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_INVITATIONS, MAX_INVITATIONS_FILE_BYTES

_FILE = "invitations.json"


class Invitation(Struct, frozen=True):
    """A link.

    Attributes:
        number: counts the invitations of a contest.
        sha256: of its key.
        uses: the number of teams that it is good for.
        until: the time of its end, in seconds since the epoch.
        by: who has made it, as records say it.
        teams: the ids of the teams that have signed up with it.
        revoked: True if the host has ended it.
    """

    number: int
    sha256: str
    uses: int
    until: float
    by: str
    teams: tuple[int, ...] = ()
    revoked: bool = False

    @property
    def author(self) -> str:
        """Who lets a team join that signs up with it, as records say it."""
        return f"invitation {self.number}"

    def closed(self, now: float) -> str:
        """Return why no team can sign up with it, at ``now`` seconds since the epoch; "" if one can."""
        if self.revoked:
            return "the host has revoked it"
        if now >= self.until:
            return "its time is over"
        if len(self.teams) >= self.uses:
            return "it has been used" if self.uses == 1 else f"{self.uses} teams have used it, which is the most"
        return ""


def invitations_path(folder: Path) -> Path:
    return folder / _FILE


def invitations(folder: Path) -> list[Invitation]:
    """Return the invitations of a contest in the order of their numbers.

    Raises:
        ConfigError: the file cannot be read.
    """
    path = invitations_path(folder)
    try:
        with path.open("rb") as file:
            text = file.read(MAX_INVITATIONS_FILE_BYTES + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    if len(text) > MAX_INVITATIONS_FILE_BYTES:
        raise ConfigError(f"{path}: expected at most {MAX_INVITATIONS_FILE_BYTES} bytes")
    try:
        return decode(text, type=list[Invitation])
    except (ValidationError, ValueError) as error:
        raise ConfigError(f"{path}: not the invitations of a contest ({error})") from error


def invitation_with(folder: Path, key: str) -> Invitation | None:
    """Return the invitation whose link has this key; None if there is none.

    Raises:
        ConfigError: the file cannot be read.
    """
    # The time of a comparison tells something about a hash, and a hash tells nothing about its key.
    known = {one.sha256: one for one in invitations(folder)}
    return known.get(_hash(key))


def new_invitation(number: int, uses: int, until: float, by: str) -> tuple[Invitation, str]:
    """Return an invitation, which is not stored yet, and the key of its link."""
    key = secrets.token_urlsafe(24)
    return Invitation(number, _hash(key), uses, until, by), key


@contextmanager
def invitations_written(folder: Path, changed: Sequence[Invitation]) -> Iterator[None]:
    """Write these invitations, new ones and changed ones; put the file back if the block fails.

    The caller holds `config.roster.roster_locked`. If there are too many, the oldest closed ones leave the file.

    Raises:
        ConfigError: the file cannot be read or written.
    """
    before = invitations(folder)
    after = {one.number: one for one in (*before, *changed)}
    now = time.time()
    closed = [number for number in sorted(after) if after[number].closed(now)]
    for number in closed[: max(0, len(after) - MAX_INVITATIONS)]:
        del after[number]
    _write(folder, [after[number] for number in sorted(after)])
    try:
        yield
    except BaseException:
        _write(folder, before)
        raise


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _write(folder: Path, found: Sequence[Invitation]) -> None:
    path = invitations_path(folder)
    new = folder / f"{_FILE}.new"
    try:
        new.unlink(missing_ok=True)  # of a process that was killed: its mode may be another
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(encode(found))
        new.replace(path)  # in one step: the page reads it at any moment
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror or error})") from error
