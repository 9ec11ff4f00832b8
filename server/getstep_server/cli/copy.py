"""The command `copy`."""

from __future__ import annotations

import argparse
from pathlib import Path

from getstep_server.config.contest import contest_path, database_path, load_contest
from getstep_server.config.database_address import DatabaseAddress, PostgresAddress, database_address
from getstep_server.errors import UsageError
from getstep_server.storage.contest_state import check_database
from getstep_server.storage.lock import ContestLock
from getstep_server.storage.store import Store, copy_records
from getstep_server.text import pluralize

from ._parser import EXIT_OK, folder_argument
from ._shared import progress_bar, records_of

_COPY = """\
Copy the records of a contest, hash for hash, from its folder to a schema of a
PostgreSQL server, or back. The contest must not run. Matches that were
interrupted stay in the folder, and go on with the copied records. Nothing is
deleted: the old records stay where they are, and contest.toml says which ones
count. Change it as the command prints, before you run the contest again.

A password belongs into ~/.pgpass or the variable PGPASSWORD, not into the
address: contest.toml may be shown to others.

examples:
  getstep-server copy autumn --to "postgresql://db.example/contests#autumn"
  getstep-server copy autumn --to autumn/contest.db     # back into the folder
  getstep-server copy autumn-2026-11-28-1405 --to "postgresql://...#autumn2"
"""


def add_copy(parser: argparse.ArgumentParser) -> None:
    parser.description = _COPY
    folder_argument(parser)
    to = "a PostgreSQL database and the schema in it, or the contest's own file contest.db"
    parser.add_argument("--to", required=True, type=_address, metavar="DATABASE", help=to)
    parser.set_defaults(command=_copy)


def _address(text: str) -> DatabaseAddress:
    try:
        return database_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r:.200}, expected {error}") from None


def _copy(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    target: DatabaseAddress = args.to
    if target == contest.database:
        raise UsageError(f"--to {target}: the records are there already")
    if isinstance(target, Path) and target.absolute() != database_path(contest.folder).absolute():
        raise UsageError(f"--to {target}, expected {database_path(contest.folder)}: where the contest looks for it")
    with ContestLock(contest.folder):  # no server may add records to the source during the copy
        with records_of(contest) as source, Store(target) as copy, progress_bar("copied") as progress:
            source.claim()
            count, digest = copy_records(source, copy, progress)
        check_database(target, lambda: False)
    print(f"Copied {pluralize(count, 'record')} to {target}. The last hash is {digest}.")
    if isinstance(target, PostgresAddress):
        print(f'Now write in {contest_path(contest.folder)}, in the table [server]: database = "{target}"')
    else:
        print(f"Now remove the line database = ... from the table [server] in {contest_path(contest.folder)}.")
    return EXIT_OK
