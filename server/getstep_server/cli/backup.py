"""The command `backup`."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

from getstep_server.config.contest import load_contest
from getstep_server.config.database_address import PostgresAddress
from getstep_server.errors import UsageError
from getstep_server.storage.backup import write_backup
from getstep_server.text import pluralize, shell_command

from ._parser import EXIT_OK, folder_argument
from ._shared import progress_bar, records_of

_BACKUP = """\
Copy a contest into a new folder, also while it runs: settings, teams, programs,
all records, and the turns of the matches that are played. The running server
waits for nothing. The folder is a contest that `run` resumes, on any computer.
It has the tokens of all teams: only you can read it, and it belongs on no
shared disk.

If the records are in PostgreSQL, those of the backup are in the folder itself.
`copy` puts them into an empty schema.

Never run the backup and the contest at the same time: bots and spectators would
see two contests.

examples:
  getstep-server backup autumn
  getstep-server backup autumn --to /media/stick/autumn
  getstep-server run autumn-2026-11-28-1405
"""


def add_backup(parser: argparse.ArgumentParser) -> None:
    parser.description = _BACKUP
    folder_argument(parser)
    to = "the new folder (default: the contest's name with day and time, beside it)"
    parser.add_argument("--to", type=Path, metavar="FOLDER", help=to)
    parser.set_defaults(command=_backup)


def _backup(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    now = datetime.now().astimezone()
    beside = args.contest.parent / f"{args.contest.resolve().name}-{now:%Y-%m-%d-%H%M}"
    target: Path = args.to or beside
    if target.exists() or not target.parent.is_dir():
        raise UsageError(f"--to {target}: expected a new folder in one that exists")
    with records_of(contest) as store, progress_bar("copied") as progress:
        try:
            count, digest = write_backup(contest, store, target, progress)
        except OSError as error:
            raise UsageError(f"{error.filename or target}: {error.strerror or error}") from error
    print(f"Copied {pluralize(count, 'record')} to {target}. The last hash is {digest}.")
    print(f"If this computer is lost, go on with: {shell_command('run', target)}")
    if isinstance(contest.database, PostgresAddress):
        back = shell_command("copy", target, "--to", "postgresql://...#schema")
        print(f"To have the records in PostgreSQL again, copy them into an empty schema first: {back}")
    return EXIT_OK
