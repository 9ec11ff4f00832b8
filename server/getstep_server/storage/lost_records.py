"""Detects lost records: a contest's database is empty or not there, and other files tell of matches.

A power cut can leave a file with 0 bytes. A server that took it for a new contest would record no-shows for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from getstep_server.config.contest import Contest, database_path
from getstep_server.config.database_address import PostgresAddress
from getstep_server.errors import ConfigError, UsageError

from .opening import database_exists

_HEADER = b"SQLite format 3\0"
_TOLD = (b'"match_started"', b'"match_ended"')
_BLOCK = 1 << 20  # read in parts: a log may have hundreds of megabytes


def has_database(contest: Contest) -> bool:
    """Return True if the contest has a database; it may have no records yet.

    Raises:
        ConfigError: it is empty or not there, although matches were played.
        StoreError: the database's server does not answer.
    """
    there = database_exists(contest.database)
    # An empty file is what SQLite leaves if it was killed before its first commit.
    if not there or (isinstance(contest.database, Path) and not contest.database.stat().st_size):
        check_nothing_lost(contest)
    return there


def check_nothing_lost(contest: Contest) -> None:
    """Check that a contest without records has not begun.

    Raises:
        ConfigError: other files say that it has; the message names them, and says what to do.
    """
    found = list(_evidence(contest))
    if not found:
        return
    folder = contest.folder
    named = ", ".join(path.name for path in found[:3])
    say = "says" if len(found) == 1 else "say"
    if isinstance(contest.database, PostgresAddress):
        rescue = "put a backup of the schema back"
    else:
        rescue = (
            f"put a backup of it back, or save what is left into a new folder with: getstep-server rescue {folder}"
            f" (a file of export --matches restores all its records: getstep-server rescue {folder}"
            " --records matches.jsonl)"
        )
    raise ConfigError(
        f"{contest.database}: no records in it, and matches were played: {named} in {folder} {say} so; {rescue}."
        f" To begin the contest anew instead: getstep-server run {folder} --anew"
    )


def set_aside(contest: Contest) -> Path | None:
    """Move what an earlier contest has left behind into a folder of its own, and return that; None if nothing is.

    Raises:
        UsageError: the contest has records.
        StoreError: the database cannot be read.
        OSError: a file cannot be moved.
    """
    import shutil  # here and below: tables need none of them
    import time

    from .store import Store

    with Store(contest.database, reading=True) as store:
        records = store.chain()[0] if database_exists(contest.database) else 0
    if records:
        raise UsageError(
            f"--anew: {contest.database} has {records} records; it is for a contest whose records are gone."
            " To play again from the beginning, make a new folder with: getstep-server init"
        )
    found = list(_evidence(contest))
    if not found:
        return None
    target = contest.folder / f"earlier-{time.strftime('%Y%m%d-%H%M%S')}"
    target.mkdir()
    database = _with_companions(database_path(contest.folder))
    for path in [*(path for path in database if path.exists()), *found]:
        shutil.move(path, target / path.name)
    return target


def _evidence(contest: Contest) -> Iterator[Path]:
    """Yield what tells of an earlier contest: its journal, its logs, copies of its database."""
    from .journal import segments

    folder = contest.folder
    # Never open these: SQLite may have them open in this process, and POSIX drops all locks of a process on a file
    # when it closes any descriptor of it. Readers would then rebuild contest.db-shm under the running server.
    own = _inodes(_with_companions(database_path(folder)))
    if segments(contest.running):
        yield contest.running
    for path in sorted(folder.glob("contest*")):
        if path.name.startswith("contest.log"):
            told = _contains(path, _TOLD)
        else:
            told = not _inodes([path]) & own and _is_database(path)
        if told:
            yield path


def _with_companions(database: Path) -> list[Path]:
    """Return the database's file, and those that SQLite keeps next to it."""
    return [database, *(database.with_name(f"{database.name}-{end}") for end in ("wal", "shm"))]


def _inodes(paths: Iterable[Path]) -> set[tuple[int, int]]:
    """Return what identifies the files, under whatever names: a copy may be a hard link."""
    found = set()
    for path in paths:
        with suppress(OSError):  # it was deleted just now
            status = path.stat()
            found.add((status.st_dev, status.st_ino))
    return found


def _contains(path: Path, words: tuple[bytes, ...]) -> bool:
    """Return True if a file has one of the ``words``, which may cross the border of two blocks."""
    try:
        with path.open("rb") as file:
            end = b""
            while block := file.read(_BLOCK):
                if any(word in end + block for word in words):
                    return True
                end = block[-max(map(len, words)) :]  # a word may lie across two blocks
    except OSError:
        return False
    return False


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_HEADER)) == _HEADER
    except OSError:
        return False
