"""The commands `follow` and `take-over`."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from msgspec.structs import replace

from getstep.wire import new_nonce
from getstep_server.config.contest import Contest, contest_path, database_path, load_contest
from getstep_server.config.database_address import PostgresAddress, postgres_address
from getstep_server.config.host_key import host_key, keep_key
from getstep_server.errors import ConfigError, ContestStopped, UsageError
from getstep_server.standby.folder import CopyError, CopyFolder
from getstep_server.standby.follower import RETRY_SECONDS, FirstHost, Follower, HostRefusal, host_among
from getstep_server.standby.marks import Mark, read_mark, write_mark
from getstep_server.standby.messages import Standbys
from getstep_server.standby.taking import TakeOver, is_free, share_database
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.database import DatabaseError, StoreError
from getstep_server.storage.lock import ContestLock
from getstep_server.storage.store import Store
from getstep_server.text import shell_command

from ._parser import EXIT_OK, EXIT_STOPPED

KEY_VARIABLE = "GETSTEP_HOST_KEY"
DEFAULT_FOLDER = "standby"
DEFAULT_PAGE_PORT = 8080

_FOLLOW = """\
Keep a copy of a running contest on this computer, turn by turn, so that it can
take over if the host is lost. HOST is the address of the host's live page; the
port is 8080 unless you give one. The host's key is asked for, or taken from the
variable GETSTEP_HOST_KEY; on the host, getstep-server host-key CONTEST --key
prints it. The key does not cross the network; the copy is sent encrypted.

The copy is a contest's folder: verify, show and web read it meanwhile. If the
connection is lost, follow connects again until you stop it with Ctrl-C. The
same command goes on where it was.

If the host is lost, stop follow, and type getstep-server take-over FOLDER.
With --take-over-after SECONDS that happens by itself once the host has not
answered for so long, if the copy was complete before. If several computers
follow the host, one takes over, and the others follow that one.

If the host keeps its records in PostgreSQL, give its address with --database.
This computer then goes on with these records, and takes over only once the
lost host has no lock there any more.

examples:
  getstep-server follow 192.168.1.10
  getstep-server follow 192.168.1.10:8081 autumn-copy --take-over-after 20
  getstep-server follow 192.168.1.10 --take-over-after 20 \\
    --database "postgresql://db.example/contests#autumn"

exit codes: 0 took over, and the contest is over, 1 the host refuses or the
contest had to stop, 2 wrong usage or the folder cannot be used, 130 stopped
with Ctrl-C
"""

_TAKE_OVER = """\
Play the contest of which this folder has a copy, on this computer: the host
that played it is lost. This is a decision on record, with a higher fencing
number.
Then the contest goes on, as with run --now: a match waits only for its own two
teams. The options of run hold here, too.

Bots that look for the contest on the network find this computer, and check its
proof. All others need its address. A bot that has seen the higher number
refuses the lost host. If that one comes back, it is told, and stops.

Matches go on from the last turn that the copy has. What the lost host announced
in the second before, and the copy does not have, is played again.

With records in PostgreSQL, nothing that was announced is lost. The folder names
the database in its contest.toml, or --database does. This waits until the other
host has no lock there any more; a host that hangs loses it after 10 seconds.

examples:
  getstep-server take-over autumn-copy
  getstep-server take-over autumn-copy --by Grace
  getstep-server take-over autumn-copy \\
    --database "postgresql://db.example/contests#autumn"

exit codes: 0 the contest is over, 1 it had to stop, 2 the command or the folder
cannot be used, 130 stopped with Ctrl-C
"""


def add_follow(parser: argparse.ArgumentParser) -> None:
    parser.description = _FOLLOW
    parser.add_argument("host", metavar="HOST", type=_address, help="the address of the host's live page")
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=Path(DEFAULT_FOLDER),
        help=f"the copy (default: {DEFAULT_FOLDER})",
    )
    parser.add_argument(
        "--take-over-after", type=_seconds, metavar="SECONDS", help="take over once the host was lost for so long"
    )
    _add_database(parser)
    parser.set_defaults(command=_follow)


def add_take_over(parser: argparse.ArgumentParser) -> None:
    from .run import (
        add_run_options,  # here and below: it imports all that plays a contest, and a follower plays none
    )

    parser.description = _TAKE_OVER
    add_run_options(parser)
    parser.add_argument("--by", default="the host", metavar="NAME", help="who decides this, for the records")
    _add_database(parser)
    parser.set_defaults(command=_take_over)


def _add_database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--database",
        type=_database,
        metavar="ADDRESS",
        help="the first host's records in PostgreSQL: go on with them, and not with those of the copy",
    )


def _database(text: str) -> PostgresAddress:
    try:
        return postgres_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r:.200}, expected {error}") from None


def _address(text: str) -> tuple[str, int]:
    try:
        parts = urlsplit(text if "//" in text else f"//{text}")
        host, port = parts.hostname, parts.port or DEFAULT_PAGE_PORT
    except ValueError:
        host = None
    if not host or not host.isprintable():
        raise argparse.ArgumentTypeError(
            f"{text!r:.200}, expected an address such as 192.168.1.10 or 192.168.1.10:80"
        )
    return host, port


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 5 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r:.80}, expected 5 to 86400 seconds")
    return seconds


def _follow(args: argparse.Namespace) -> int:
    (host, port), folder = args.host, args.folder
    if args.database is not None and args.take_over_after is None:
        raise UsageError("--database, expected --take-over-after with it; take-over has --database, too")
    _check_folder(folder)
    first = FirstHost(host, port, _key(folder))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror or error}") from error
    with ContestLock(folder):
        keep_key(folder, first.key)
        known = read_mark(folder)
        mark = Mark(role="follows", host=host, port=port, name=known.name if known and known.name else new_nonce())
        with Store(database_path(folder)) as store:
            store.claim()
            copy = CopyFolder(folder, store, mark.name)
            try:
                while True:
                    _follow_until_lost(copy, mark, first.key, args)
                    if args.database is not None:
                        break
                    contest, mark = load_contest(folder), read_mark(folder) or mark
                    if (other := _other_host(contest, copy, mark, first.key)) is None:
                        break
                    _say(f"The host at {other} has taken over: this computer follows that one.")
                    mark = replace(mark, host=other.host, port=other.port)
            except KeyboardInterrupt:
                again = shell_command("take-over", folder)
                _say(f"Stopped. The copy has {copy.place} records. If the host is lost, take over with: {again}")
                return EXIT_STOPPED
            except (HostRefusal, CopyError) as error:
                raise ContestStopped(f"{mark.host}: {error}") from error
        if args.database is not None:
            share_database(folder, args.database)
    from .run import add_run_options, is_over

    contest = load_contest(folder)
    if is_over(contest, tournament_of(contest)):
        _say("The contest is over, and the copy is complete.")
        return EXIT_OK
    why = f"the host at {mark.host}:{mark.port} has not answered for {args.take_over_after:g} s"
    _say(f"{why[0].upper()}{why[1:]}: this computer takes over.")
    parser = argparse.ArgumentParser()
    add_run_options(parser)
    return _run_after("the standby rule", why, parser.parse_args([str(folder)]))


def _follow_until_lost(copy: CopyFolder, mark: Mark, key: str, args: argparse.Namespace) -> None:
    """Follow the host of a mark until it is lost; with a database, a host that has the lock there is not."""
    folder: Path = args.folder
    database: PostgresAddress | None = args.database
    write_mark(folder, mark)

    def note(standbys: Standbys) -> None:
        write_mark(folder, replace(mark, rank=standbys.rank, others=standbys.others))

    follower = Follower(copy, FirstHost(mark.host, mark.port, key), _say, note)
    told = ""
    while True:
        follower.run(args.take_over_after)
        if database is None:
            return
        try:
            if is_free(database):
                return
            news = f"The host plays on: it has the lock of the contest in {database}. This computer waits for it"
        except (StoreError, DatabaseError) as error:
            news = f"! {error}; tries again"
        if news != told:
            _say(news)
            told = news
        time.sleep(RETRY_SECONDS)


def _other_host(contest: Contest, copy: CopyFolder, mark: Mark, key: str) -> FirstHost | None:
    """Return another copy's computer that has taken over the contest; None if none does.

    Raises:
        HostRefusal: this copy cannot follow that one.
    """
    hosts = [FirstHost(other, contest.file.server.web_port, key) for other in mark.others]
    return host_among(hosts, copy, tournament_of(contest).fence)


def _check_folder(folder: Path) -> None:
    """Check that a folder is new, or a copy.

    Raises:
        UsageError: it is something else.
    """
    mark = read_mark(folder) if folder.is_dir() else None
    if mark is not None and mark.role == "follows":
        return
    if folder.exists() and (not folder.is_dir() or contest_path(folder).exists() or any(folder.iterdir())):
        raise UsageError(f"{folder}: there is something else already, expected a new folder or a copy")


def _key(folder: Path) -> str:
    """Return the host's key: of the variable, of the copy, or as it is typed."""
    known = host_key(folder)
    key = os.environ.get(KEY_VARIABLE, "").strip() or ("" if known is None else known.key)
    if not key and sys.stdin is not None and sys.stdin.isatty():
        key = getpass.getpass("The host's key: ").strip()
    if not key:
        raise UsageError(
            f"the host's key is missing: set the variable {KEY_VARIABLE}; on the host, getstep-server host-key"
            " CONTEST --key prints it"
        )
    return key


def _take_over(args: argparse.Namespace) -> int:
    if args.database is not None:
        with ContestLock(args.contest):
            share_database(args.contest, args.database)
    contest = load_contest(args.contest)
    mark = read_mark(args.contest)
    if mark is None and not isinstance(contest.database, PostgresAddress):
        raise UsageError(f"{args.contest}: no copy of another host's contest; play it with: getstep-server run")
    if mark is not None and mark.role == "follows" and isinstance(contest.database, Path):
        _check_other_hosts(contest, mark)
    who = f"the host at {mark.host}" if mark is not None and mark.host else "the other host"
    return _run_after(args.by.strip(), f"{who} is lost", args)


def _check_other_hosts(contest: Contest, mark: Mark) -> None:
    """Check that no other copy's computer has taken over, as far as it answers.

    Raises:
        ConfigError: one has.
    """
    key = host_key(contest.folder)
    if key is None or not mark.others:
        return
    with ContestLock(contest.folder), Store(contest.database, reading=True) as store:
        try:
            other = _other_host(contest, CopyFolder(contest.folder, store, mark.name), mark, key.key)
        except HostRefusal as error:
            raise ConfigError(f"another computer has taken over this contest: {error}") from error
    if other is not None:
        again = f"getstep-server follow {other} {contest.folder}"
        raise ConfigError(f"the host at {other} has taken over this contest. Follow that one: {again}")


def _run_after(by: str, why: str, args: argparse.Namespace) -> int:
    from .run import run_contest_of

    return run_contest_of(args, take_over=TakeOver(by, why, _say))


def _say(text: str) -> None:
    print(text, flush=True)
