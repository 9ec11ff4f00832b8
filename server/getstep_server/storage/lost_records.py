"""Detects lost records: a contest's database has fewer than other files tell of, or none.

A power cut can leave a file with 0 bytes. A server that took it for a new contest would record no-shows for all.

The end of the chain can be lost, too, and the rest is valid. SQLite reads its log up to the first damaged frame,
and ignores the frames behind it silently. A backup of the database is as short. But `contest.log` tells of each
result after it was on record, and the journal has matches whose pairings were. So each of these matches must be on
record. What tells of them is read before the database, because a running server adds to both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from getstep_server.config.contest import Contest, database_path
from getstep_server.config.database_address import PostgresAddress
from getstep_server.errors import ConfigError, UsageError
from getstep_server.json_text import decode
from getstep_server.limits import LOG_FILE_BYTES, LOG_FILES_KEPT
from getstep_server.text import join_limited
from getstep_server.tournament.tournament import Tournament

from .opening import database_exists

_HEADER = b"SQLite format 3\0"
_TOLD = (b'"match_started"', b'"match_ended"')
_ENDED = b'"match_ended"'
_BLOCK = 1 << 20  # read in parts: a log may have hundreds of megabytes
_NAMED_CHARS = 200
"""Characters for the numbers of missing matches in a message."""

LOG_BYTES = LOG_FILE_BYTES * (1 + LOG_FILES_KEPT)
"""What is read of contest.log and its older files: all that a server keeps, which takes 0.2 s."""

END_BYTES = 1 << 16
"""What a table reads of them: about 150 results, in 0.4 ms."""


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
    raise ConfigError(
        f"{contest.database}: no records in it, and matches were played: {named} in {folder} {say} so;"
        f" {_advice(contest)}. To begin the contest anew instead: getstep-server run {folder} --anew"
    )


def _advice(contest: Contest) -> str:
    if isinstance(contest.database, PostgresAddress):
        return "put a backup of the schema back"
    folder = contest.folder
    return (
        f"put a backup of it back, or save what is left into a new folder with: getstep-server rescue {folder}"
        f" (a file of export --matches restores all its records: getstep-server rescue {folder}"
        " --records matches.jsonl)"
    )


# --- the end of the chain -----------------------------------------------------------------------------------------


class Told(NamedTuple):
    """What other files than the database tell of matches.

    Attributes:
        ended: by match, the times of day at which a result of it was on record.
        running: the matches in the journal.
    """

    ended: Mapping[int, set[str]]
    running: set[int]


NOTHING_TOLD = Told({}, set())


def told_of(contest: Contest, *, quick: bool = False) -> Told:
    """Read what other files tell of a contest's matches; call this before its records are read.

    Args:
        contest: the contest.
        quick: read the newest results only, for a table.
    """
    ended: dict[int, set[str]] = {}
    with suppress(OSError):  # it may be another user's
        for match, fields in logged_ends(contest.folder, END_BYTES if quick else LOG_BYTES):
            ended.setdefault(match, set()).add(str(fields.get("time")))
    running: set[int] = set()
    if not quick:
        from .journal import JournalError  # here and below: tables do not read the journal
        from .recovery import left_running

        with suppress(OSError, JournalError):  # a run that cannot resume its matches says why
            running = left_running(contest.running, ())
    return Told(ended, running)


def logged_ends(folder: Path, most: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the number of each match that `contest.log` says is over, and the line's fields; the oldest first.

    Args:
        folder: the contest's.
        most: the number of bytes to read, from the newest on.

    Raises:
        OSError: a file cannot be read.
    """
    parts = []
    for path in _logs(folder):
        size = path.stat().st_size
        parts.append((path, max(0, size - most)))
        most -= size
        if most <= 0:
            break
    for path, start in reversed(parts):
        with path.open("rb") as file:
            file.seek(start)
            if start:
                file.readline()  # the rest of a line
            for line in file:
                if _ENDED not in line:  # before parsing: most lines are about something else
                    continue
                try:
                    fields = decode(line)
                    yield int(fields["match"]), fields
                except (ValueError, KeyError, TypeError):
                    continue


def _logs(folder: Path) -> list[Path]:
    """Return `contest.log` and its older files, the newest first."""
    return sorted(folder.glob("contest.log*"), key=lambda path: path.name)


def missing_results(contest: Contest, told: Told, tournament: Tournament) -> str:
    """Return a message if results are not on record that were; "" if none is missing.

    Args:
        contest: the contest.
        told: read before the records.
        tournament: the state after all records.
    """
    # Lines of before belong to an earlier contest in the same folder, or are known to be lost.
    began = tournament.began
    recorded = Counter(match for match, _ in tournament.recorded)
    missing = set()
    for match, times in told.ended.items():
        # Without a time, lines of an earlier contest are not told apart: then one result of each match is enough.
        ended = sum(time >= began for time in times) if began else 1
        if ended > recorded[match]:
            missing.add(match)
    unknown = told.running - tournament.matches.keys()
    if not missing and not unknown:
        return ""
    what = []
    if missing:
        named = join_limited(list(map(str, sorted(missing))), ", ", _NAMED_CHARS)
        what.append(f"contest.log has results of {_matches(missing)} {named} that are not on record")
    if unknown:
        named = join_limited(list(map(str, sorted(unknown))), ", ", _NAMED_CHARS)
        what.append(f"the journal has turns of {_matches(unknown)} {named}, whose pairings are not on record")
    return (
        f"{contest.database}: the newest records are missing: {', and '.join(what)}; {_advice(contest)}."
        " To continue without them instead, so that these matches are played again:"
        f" getstep-server run {contest.folder} --accept-loss"
    )


def _matches(numbers: set[int]) -> str:
    return "match" if len(numbers) == 1 else "matches"


# --- setting aside ------------------------------------------------------------------------------------------------


def set_aside(contest: Contest) -> Path | None:
    """Move what an earlier contest has left behind into a folder of its own, and return that; None if nothing is.

    Raises:
        UsageError: the contest has records.
        StoreError: the database cannot be read.
        OSError: a file cannot be moved.
    """
    from .store import Store  # here and below: tables do not need what only this needs

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
    database = _with_companions(database_path(contest.folder))
    return _moved(contest, [*(path for path in database if path.exists()), *found])


def set_evidence_aside(contest: Contest, tournament: Tournament) -> Path | None:
    """Accept that results are missing: move what tells of them into a folder, with a copy of the database.

    The journal stays if it fits the records: its matches are resumed.

    Returns:
        The folder; None if no result is missing.

    Raises:
        OSError: a file cannot be moved or copied.
    """
    import shutil

    told = told_of(contest)
    if not missing_results(contest, told, tournament):
        return None
    fits = told.running <= tournament.matches.keys()
    target = _moved(contest, [*_logs(contest.folder), *([] if fits else [contest.running])])
    for path in _with_companions(database_path(contest.folder)):
        if path.exists():  # no connection is open in this process, whose locks this would drop; see `_evidence`
            shutil.copy2(path, target / path.name)
    return target


def _moved(contest: Contest, paths: Iterable[Path]) -> Path:
    """Move files of a contest into a new folder in it, and return that."""
    import shutil
    import time

    target = contest.folder / f"earlier-{time.strftime('%Y%m%d-%H%M%S')}"
    target.mkdir()
    for path in paths:
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
