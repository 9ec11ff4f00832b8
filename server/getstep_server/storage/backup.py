"""Copies a contest into a new folder, also while a server runs it: a contest folder that `run` resumes.

The copy is the state of one moment, although its files are read one after the other, because of their order:

1. The journal, the newest segment first. So of each match it has the turns up to some moment without a gap, also of
   one that goes on in another process in between.
2. The records, in one snapshot of the database. A match that has ended since 1 is in them, and its turns in the
   journal are ignored, as after a crash between both. A match that has begun since 1 begins again.
3. The files of the host. Teams and programs are written there before the record that names them.

The server is not asked, and waits for nothing: a reader of the database blocks no writer.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from getstep_server.config.class_list import kept_path
from getstep_server.config.contest import (
    Contest,
    contest_path,
    contest_text_without_database,
    database_path,
    running_path,
    teams_path,
)
from getstep_server.config.invitations import invitations_path

from .journal import segments
from .store import Store, copy_records


def write_backup(
    contest: Contest, store: Store, target: Path, progress: Callable[[int, int], None] = lambda *_: None
) -> tuple[int, str]:
    """Copy a contest into a new folder, and return the number of records and the last hash.

    The folder has its name only when all is in it.

    Args:
        contest: the contest.
        store: its records.
        target: the folder; its parent exists, and it does not.
        progress: see `copy_records`.

    Raises:
        StoreError: the records cannot be read, or the copy differs from them.
        OSError: a file cannot be read or written.
    """
    with tempfile.TemporaryDirectory(prefix=f"{target.name}-", dir=target.parent) as home:
        made = Path(home, "backup")
        made.mkdir(mode=0o700)  # it has all tokens
        _copy_journal(contest.running, running_path(made))
        with Store(database_path(made)) as copy:
            copied = copy_records(store, copy, progress)
        contest_path(made).write_text(contest_text_without_database(contest.folder), encoding="utf-8")
        programs = [path for path in (contest.folder / "programs").rglob("*") if not path.is_symlink()]
        folder = contest.folder
        for path in (teams_path(folder), invitations_path(folder), kept_path(folder), *programs):
            if path.is_file():
                file = made / path.relative_to(folder)
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, file)
        made.rename(target)
    return copied


def _copy_journal(source: Path, target: Path) -> None:
    """Copy the segments of a journal, without a line that is only half written."""
    for path in reversed(segments(source)):
        with suppress(FileNotFoundError):  # deleted since: its matches are on record
            text = path.read_bytes()
            target.mkdir(exist_ok=True)
            (target / path.name).write_bytes(text[: text.rfind(b"\n") + 1])
