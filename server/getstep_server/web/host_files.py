"""The files that a host loads from the console: each is made by a thread on the disk, and sent piece by piece."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from functools import partial
from math import isfinite
from pathlib import Path
from typing import IO

import trio

from getstep_server.config.class_list import kept_lists
from getstep_server.config.contest import Contest, load_contest
from getstep_server.errors import UsageError
from getstep_server.reports.export import TABLES, WRITERS, CombinedStandings
from getstep_server.reports.grades import Grades, grade_file, grade_lines, scale_named
from getstep_server.reports.report import as_html, load_report_data
from getstep_server.storage.backup import write_backup
from getstep_server.storage.database import not_there
from getstep_server.storage.lost_records import has_database
from getstep_server.storage.store import Store
from getstep_server.tournament.tournament import Tournament

from .http import BINARY, HTML, TEXT, Download

PIECE = 1 << 16

Query = Mapping[str, str]
Write = Callable[[Contest, Store, Query, IO[bytes]], None]


class HostFiles:
    """Makes files of a contest, one at a time: the disk and the processor are needed by others.

    Args:
        folder: of the contest.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._making = trio.CapacityLimiter(1)

    async def make(self, name: str, query: Query) -> Download | None:
        """Return a file; None if there is none of this name.

        Raises:
            UsageError: nothing is on record, or a parameter cannot be used.
            ConfigError, StoreError, RecordError: the contest cannot be read.
            OSError: there is no room on the disk.
        """
        if name not in _FILES:
            return None
        _, content_type, write = _FILES[name]
        file = await trio.to_thread.run_sync(partial(_made, self._folder, write, query), limiter=self._making)

        async def pieces() -> AsyncGenerator[bytes, None]:
            with file:
                while piece := await trio.to_thread.run_sync(file.read, PIECE):
                    yield piece

        return Download(name, content_type, pieces)


def _made(folder: Path, write: Write, query: Query) -> IO[bytes]:
    contest = load_contest(folder)
    if not has_database(contest):
        raise UsageError(f"{not_there(contest.database)}; there are files when the contest has begun")
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent
    try:
        with Store(contest.database, reading=True) as store:
            write(contest, store, query, file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _report(contest: Contest, store: Store, _: Query, file: IO[bytes]) -> None:
    file.write(as_html(load_report_data(contest, store)).encode())


def _standings(contest: Contest, store: Store, _: Query, file: IO[bytes]) -> None:
    tournament = Tournament(contest, store.record_headers())
    events = tournament.contest.events
    data = CombinedStandings(tournament) if len(events) > 1 else TABLES["standings"](tournament, events[0])
    _lines(WRITERS["csv"](data), file)


def _grades(contest: Contest, store: Store, query: Query, file: IO[bytes]) -> None:
    """Write the grades of all events together."""
    try:
        best, worst = (float(query.get(name, default)) for name, default in (("best", "100"), ("worst", "0")))
        scale = scale_named(query.get("scale", "place"), best, worst)
    except ValueError as error:
        raise UsageError(f"scale: {error}") from None
    if not (isfinite(best) and isfinite(worst)):
        raise UsageError(f"best {best:g} and worst {worst:g}, expected two numbers")
    format_ = query.get("format", "csv")
    if format_ not in GRADE_FORMATS:
        raise UsageError(f"format {format_!r:.80}, expected one of: {', '.join(GRADE_FORMATS)}")
    tournament = Tournament(contest, store.record_headers())
    event = None if len(tournament.contest.events) > 1 else tournament.contest.events[0]
    grades = Grades(tournament, grade_lines(tournament, event, scale), kept_lists(contest.folder))
    _lines(grade_file(format_, grades), file)


def _records(_: Contest, store: Store, __: Query, file: IO[bytes]) -> None:
    _lines((record.line for record in store.records()), file)


def _backup(contest: Contest, store: Store, _: Query, file: IO[bytes]) -> None:
    """Write a folder that `run` resumes, see `write_backup`."""
    with tempfile.TemporaryDirectory() as home, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        folder = Path(home, contest.folder.resolve().name)
        write_backup(contest, store, folder)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                packed.write(path, path.relative_to(home))


def _lines(lines: Iterable[bytes], file: IO[bytes]) -> None:
    file.writelines(line + b"\n" for line in lines)


GRADE_FORMATS = ("csv", "moodle", "excel")

_FILES: Mapping[str, tuple[str, str, Write]] = {
    "report.html": ("all results on one page, for a browser or a printer", HTML, _report),
    "standings.csv": ("the table", TEXT, _standings),
    "records.jsonl": ("all records, as the chain has them", TEXT, _records),
    "backup.zip": ("a folder that another computer resumes; it has the tokens of all teams", BINARY, _backup),
    "grades.csv": ("by place; the form below makes others", TEXT, _grades),
}
"""Each file with what it is, its type, and the function that writes it."""

FILES = {name: about for name, (about, _, _) in _FILES.items()}
