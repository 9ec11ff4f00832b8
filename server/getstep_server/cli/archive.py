"""The command `archive`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from getstep_server.config.contest import Contest, load_contest
from getstep_server.errors import ContestInUse, UsageError
from getstep_server.storage.archive import archive, restore
from getstep_server.storage.archived import ArchiveFiles
from getstep_server.storage.database import DatabaseError
from getstep_server.storage.lock import ContestLock
from getstep_server.storage.lost_records import has_database
from getstep_server.storage.store import Store
from getstep_server.text import pluralize, shell_command

from ._parser import EXIT_OK, folder_argument
from ._shared import progress_bar
from .decisions import add_ruling_options

_ARCHIVE = """\
Move the turns of old matches out of a contest into a file, also while it runs.
Results, standings, ratings and decisions stay, and `verify` still checks the
whole chain of records. Pages say that the turns are in an archive; replays of
these matches have none.

The file has the whole records, one a line, as `export --matches` writes them.
Each proves itself by its hash. Keep the file: nothing else has these turns.
`verify --archive FILE` replays the matches in it, `rescue --records FILE`
reads it, and --restore puts all turns back.

Who decides it, when and why is on record, with the SHA-256 of the file. The
database does not grow while it has free pages. They are given back to the disk
at once if no server runs the contest. Otherwise, repeat the command between
two runs.

examples:
  getstep-server archive lab --days 60 --to /backup/lab-2026-11.jsonl
  getstep-server archive lab --before 2026-09-01 --to /backup/lab-summer.jsonl
  getstep-server archive lab --restore /backup/lab-summer.jsonl
"""


def add_archive(parser: argparse.ArgumentParser) -> None:
    parser.description = _ARCHIVE
    folder_argument(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    before = "move the turns of matches that have ended before this day"
    what.add_argument("--before", metavar="YYYY-MM-DD", type=_day, help=before)
    what.add_argument("--days", metavar="N", type=_days, help="move those that have ended more than N days ago")
    back = "put the turns in this file back (may be given several times)"
    what.add_argument("--restore", metavar="FILE", type=Path, action="append", help=back)
    parser.add_argument("--to", metavar="FILE", type=Path, help="the new file, such as lab-2026-11.jsonl")
    add_ruling_options(parser, why="to free disk space")
    parser.set_defaults(command=_archive)


def _day(text: str) -> float:
    try:
        return datetime.strptime(text, "%Y-%m-%d").astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(f"{text!r:.80}, expected a day such as 2026-09-01") from None


def _days(text: str) -> float:
    if not (text.isascii() and text.isdigit() and len(text) <= 5):
        raise argparse.ArgumentTypeError(f"{text!r:.80}, expected whole days")
    return time.time() - 86_400 * int(text)


def archive_files(paths: Sequence[Path]) -> ArchiveFiles:
    """Return the files of archives that a command was given.

    Raises:
        UsageError: a file cannot be read, or is no archive.
    """
    try:
        return ArchiveFiles(paths)
    except OSError as error:
        raise UsageError(f"--archive {error.filename}: {error.strerror or error}") from error


def _archive(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    if not has_database(contest):
        raise UsageError(f"{args.contest}: nothing has been played yet")
    if args.restore is not None:
        return _restore(contest, args)
    target: Path | None = args.to
    if target is None or target.suffix != ".jsonl" or target.exists() or not target.parent.is_dir():
        raise UsageError(f"--to {target}: expected a new file whose name ends in .jsonl, in a folder that exists")
    ended_before = args.days if args.before is None else args.before
    try:
        with progress_bar("moved") as progress:
            made = archive(contest, ended_before, target, args.by, args.why, progress)
    except OSError as error:
        raise UsageError(f"--to {target}: {error.strerror or error}") from error
    if made is None:
        print("No match that is so old has turns in the contest: nothing was moved.")
    else:
        print(f"Moved the turns of {pluralize(made.games, 'match')} to {target}. SHA-256: {made.sha256}")
        check = shell_command("verify", contest.folder, "--archive", target)
        print(f"Keep this file: nothing else has these turns. Check it with: {check}")
    _shrink(contest)
    return EXIT_OK


def _shrink(contest: Contest) -> None:
    try:
        with ContestLock(contest.folder), Store(contest.database) as store:
            store.claim()
            store.shrink()
    except ContestInUse:
        print("The server that runs the contest uses the free space again. Between two runs, this command gives it")
        print("back to the disk.")
    except DatabaseError as error:
        print(f"The free space stays in the database: {error}")


def _restore(contest: Contest, args: argparse.Namespace) -> int:
    if args.to is not None:
        raise UsageError(f"--to {args.to}: expected none with --restore")
    with progress_bar("restored") as progress:
        games = restore(contest, archive_files(args.restore), progress)
    print(f"{pluralize(games, 'match')} have their turns again.")
    return EXIT_OK
