"""Moves the turns of old games out of the records into a file, and back; `archived` is the theory of it.

*The order.* The file is complete on disk before the decision is stored, and the decision before the first turns go.
Then the rows are replaced, some at a time, so that a running server waits for milliseconds only. If that is
interrupted, the next archive finishes it: both forms of a row are valid.

*Space.* SQLite keeps the pages that become free, and new records use them. Between two runs, `Store.shrink` gives
them back to the disk.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import trio
from msgspec import Struct

from getstep_server.config.contest import Contest
from getstep_server.errors import UsageError
from getstep_server.records.challenge import FRIENDLY
from getstep_server.records.decision import Decision, record_of_decision
from getstep_server.records.reasons import DecisionKind
from getstep_server.text import utc_time
from getstep_server.tournament.tournament import Tournament

from .archived import ArchiveFiles, kept_of, rows_between, shortened
from .contest_state import complete_tournament, load_tournament
from .database import StoreError, damaged
from .exported import is_proved
from .store import Conflict, Store, stored_record

Progress: TypeAlias = Callable[[int, int], None]

_REST_SECONDS = 0.01
"""The least time between two transactions: a running server stores its results there."""


class Archived(Struct, frozen=True):
    """What is in an archive: so many games, up to the record at place ``through``, in a file with this SHA-256."""

    games: int
    through: int
    sha256: str


def archive(
    contest: Contest, ended_before: float, target: Path, by: str, why: str, progress: Progress = lambda *_: None
) -> Archived | None:
    """Move the turns of old games into a new file; the contest may be running.

    The games are those before the first one that has ended at this time or later.

    Args:
        contest: the contest.
        ended_before: in seconds since the epoch.
        target: the file; its folder exists, and it does not.
        by: who decides that.
        why: the reason.
        progress: called with the places that are done, and that of the last record.

    Returns:
        What is in the file; None if there is nothing to move, and no file.

    Raises:
        UsageError: another archive was made at the same time.
        ConfigError, StoreError, RecordError, DatabaseError: the contest cannot be read or written.
        OSError: the file cannot be written.
    """
    complete_tournament(contest, quick=True)
    with Store(contest.database) as store:
        tournament = load_tournament(contest, store)
        known = tournament.archived_through
        through = max(known, _last_before(store.record_headers(), ended_before))
        games, sha256 = _write(store, through, target, progress)
        if not games:
            return None
        if through > known:
            covered, kept = kept_of(store, known, through)
            decision = Decision(
                DecisionKind.ARCHIVE,
                by,
                why,
                utc_time(time.time()),
                through=through,
                games=covered,
                kept=kept,
                sha256=sha256,
            )
            _decide(contest, store, tournament, decision)
        _shorten(store, through, progress)
    return Archived(games, through, sha256)


def _last_before(heads: Sequence[Mapping[str, Any]], ended_before: float) -> int:
    """Return the place of the last game before the first one that has ended at this time or later; 0 if none."""
    last = 0
    for place, fields in enumerate(heads, start=1):
        if fields.get("type") in ("game", FRIENDLY):
            if datetime.fromisoformat(fields["started"]).timestamp() + fields["seconds"] >= ended_before:
                break
            last = place
    return last


def _write(store: Store, through: int, target: Path, progress: Progress) -> tuple[int, str]:
    """Write all games with turns up to a place into a file that is on disk then; no file if there are none."""
    games, digest = 0, hashlib.sha256()
    part = target.with_name(f"{target.name}.part")
    try:
        with part.open("xb") as file:
            for row in rows_between(store, 0, through):
                if row[7]:
                    line = stored_record(row).line
                    if not is_proved(row):
                        raise damaged(store.path, f"the record at place {row[0]} is not what was written")
                    file.write(line + b"\n")
                    digest.update(line + b"\n")
                    games += 1
                progress(row[0], through)
            file.flush()
            os.fsync(file.fileno())
        if games:
            part.rename(target)
            _sync_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)
    return games, digest.hexdigest()


def _sync_folder(folder: Path) -> None:
    """Wait until the names of its files are on disk."""
    if os.name == "nt":
        return  # Windows cannot open a folder
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _decide(contest: Contest, store: Store, tournament: Tournament, decision: Decision) -> None:
    known = tournament.archived_through
    while True:
        if tournament.archived_through != known:
            raise UsageError("another archive was made at the same time; look at it, and try again with a new file")
        if objection := tournament.objection(decision):
            raise UsageError(objection)
        try:
            trio.run(partial(store.save, record_of_decision(contest, decision), based_on=tournament.place))
        except Conflict:  # a running server has stored a result
            tournament = load_tournament(contest, store)
        else:
            return


def _shorten(store: Store, through: int, progress: Progress) -> None:
    """Replace the rows with turns up to a place, some at a time."""
    after = 0
    while after < through and (rows := store.rows_after(after)):
        began = time.monotonic()
        after = rows[-1][0]
        if whole := [row for row in rows if row[7] and row[0] <= through]:
            store.replace([(shortened(row), row[9]) for row in whole])
            time.sleep(max(_REST_SECONDS, time.monotonic() - began))
        progress(min(after, through), through)


def restore(contest: Contest, files: ArchiveFiles, progress: Progress = lambda *_: None) -> int:
    """Put the turns in archives back into the records, and return the number of games.

    Raises:
        ConfigError, StoreError, RecordError, DatabaseError: the contest cannot be read or written.
    """
    complete_tournament(contest, quick=True)
    games, total = 0, len(files)
    with Store(contest.database) as store:
        for done, row in enumerate(files.rows(), start=1):
            rows = store.rows_after(row[0] - 1)[:1]
            short = shortened(row)
            if rows == [short]:
                store.replace([(row, short[9])])
                games += 1
            elif rows != [row]:
                raise StoreError(f"place {row[0]}: the record in the archive is not of this contest")
            progress(done, total)
    return games
