"""A mark in a contest's folder: it follows another host, has taken over from one, or was taken over.

`run` reads it before it plays. Without a mark, the folder is that of a host of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError
from msgspec.json import decode, encode

from getstep_server.config.contest import Contest
from getstep_server.config.database_address import PostgresAddress
from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_STANDBYS
from getstep_server.text import shell_command

_NAME = "standby.json"
_FOLLOWED = "followed"
_MAX_BYTES = 1000


class Mark(Struct, frozen=True, kw_only=True):
    """The part of a folder in a take-over.

    ``role`` is "follows": it is a copy of the contest of the host at this address; "took_over": it has taken over
    from that one, with this fencing number; "lost": that one has taken over from it. ``host`` is "" if its address
    is not known. ``name`` is that of a copy; ``rank`` and ``others`` are what its host has said last, see
    `messages.Standbys`.
    """

    role: Literal["follows", "took_over", "lost"]
    host: Annotated[str, Meta(max_length=255)]
    port: Annotated[int, Meta(ge=0, le=65535)]
    fence: Annotated[int, Meta(ge=0, lt=2**31)] = 0
    name: str = ""
    rank: Annotated[int, Meta(ge=0, lt=MAX_STANDBYS)] = 0
    others: Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=MAX_STANDBYS)] = ()


def read_mark(folder: Path) -> Mark | None:
    """Return the mark of a folder; None if it has none.

    Raises:
        ConfigError: there is one, and it cannot be read: the folder may be a copy.
    """
    path = folder / _NAME
    try:
        with path.open("rb") as file:
            return decode(file.read(_MAX_BYTES), type=Mark)
    except FileNotFoundError:
        return None
    except (OSError, ValidationError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}); it says whether this host may play") from error


def write_mark(folder: Path, mark: Mark) -> None:
    """Write the mark of a folder in one step.

    Raises:
        ConfigError: the folder cannot be written.
    """
    new = folder / f"{_NAME}.new"
    try:
        new.write_bytes(encode(mark))
        new.replace(folder / _NAME)
    except OSError as error:
        raise ConfigError(f"{folder / _NAME}: cannot be written ({error.strerror or error})") from error


def check_may_run(contest: Contest) -> None:
    """Check that this host may play the contest of a folder.

    Raises:
        ConfigError: another host plays it; the message says what to do.
    """
    folder = contest.folder
    mark = read_mark(folder)
    if mark is None or mark.role == "took_over":
        return
    if mark.role == "follows":
        raise ConfigError(
            f"{folder}: a copy of the contest that the host at {mark.host} plays. If that host is lost, take over"
            f" with: {shell_command('take-over', folder)}"
        )
    raise ConfigError(lost_text(contest, mark))


def own_fence(contest: Contest, recorded: int) -> int:
    """Return the fencing number of this host: with PostgreSQL, another host may have raised the number on record.

    Args:
        contest: the contest.
        recorded: the number on record.

    Raises:
        ConfigError: the mark cannot be read.
    """
    if not isinstance(contest.database, PostgresAddress):
        return recorded  # its records are of this folder alone
    mark = read_mark(contest.folder)
    return mark.fence if mark is not None and mark.role == "took_over" else 0


def check_fence(contest: Contest, recorded: int) -> None:
    """Check that no other host has raised the fencing number on record.

    Raises:
        ConfigError: another one has.
    """
    if recorded > own_fence(contest, recorded):
        raise ConfigError(lost_text(contest, Mark(role="lost", host="", port=0, fence=recorded)))


def lost_text(contest: Contest, mark: Mark) -> str:
    """Return what the host of a folder reads after another host has taken over from it."""
    folder = contest.folder
    if isinstance(contest.database, PostgresAddress):
        return (
            f"{folder}: another host has taken over this contest, with fencing number {mark.fence}. Each result"
            f" that was announced is in {contest.database}. To take over from that host once it is lost:"
            f" {shell_command('take-over', folder)}"
        )
    who, where = (f"the host at {mark.host}", mark.host) if mark.host else ("another host", "HOST")
    return (
        f"{folder}: {who} has taken over this contest, with fencing number {mark.fence}. Results of this folder"
        " that the other one does not have do not count. Keep this folder as it is: show, verify and web read it."
        f" To be the standby of the new host, follow it into a new folder: getstep-server follow {where} NEW_FOLDER"
    )


def note_copied(journal: Path, place: int) -> None:
    """Note beside the journal that a standby host has all records up to a place on its disk.

    Raises:
        OSError: the folder cannot be written.
    """
    new = journal / f"{_FOLLOWED}.new"
    new.write_text(str(place))
    new.replace(journal / _FOLLOWED)


def copied_place(journal: Path) -> int:
    """Return the place of the last record that a standby host has on its disk; 0 if that is not known."""
    try:
        with (journal / _FOLLOWED).open() as file:
            return int(file.read(20))
    except (OSError, ValueError):
        return 0


def forget_copied_after(journal: Path, place: int) -> None:
    """Forget what a standby host has if this host has only ``place`` records: they are of an older backup.

    Raises:
        OSError: the folder cannot be written.
    """
    if copied_place(journal) > place:
        note_copied(journal, 0)


def was_followed(journal: Path) -> bool:
    """Return True if a standby host ever had a copy of the contest."""
    return (journal / _FOLLOWED).exists()
