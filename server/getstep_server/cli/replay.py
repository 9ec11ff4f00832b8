"""The commands `replay`, `analyse` and `site`: matches to look at in a browser."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from getstep import SetupError
from getstep.analysis.command import add_search, show
from getstep.browser import open_in_browser
from getstep.replay import Replay, replay_data, replay_page
from getstep.text import Console
from getstep_server.api.visibility import VisibleGame
from getstep_server.config.contest import Contest, database_path, load_contest, running_path
from getstep_server.errors import ConfigError, UsageError
from getstep_server.reports.kept_parts import kept_parts
from getstep_server.reports.replays import match_replays
from getstep_server.reports.report import load_report_data
from getstep_server.reports.site import site_pages, without_hidden
from getstep_server.storage.database import StoreError
from getstep_server.storage.store import Store
from getstep_server.text import shell_command
from getstep_server.tournament.tournament import Tournament

from ._pages import write_folder, write_page
from ._parser import EXIT_OK, add_option, folder_argument
from ._shared import progress_bar, readable_tournament, records_of, say_notes

# --- replay -----------------------------------------------------------------------------------------------------

_REPLAY = """\
Write a replay of one or more matches and open it in a browser: the board, both
clocks, the time that each move took, and the move list with all faults. It is
one HTML file that needs no network. A match that is still running is shown up
to its latest move; call the command again for more.

It shows all that the bots noted and printed, which is for you and their teams:
publish the pages of getstep-server site instead.

In the replay: the arrow keys step, the space bar plays, Home and End go to the
start and the end. The address of a move, such as replay-7.html#move=37, is a
link to it.

examples:
  getstep-server replay autumn 7
  getstep-server replay autumn 7 12 31 --output final.html
  getstep-server replay autumn 7 --no-open   # write the file only
"""


def add_replay(parser: argparse.ArgumentParser) -> None:
    parser.description = _REPLAY
    folder_argument(parser)
    parser.add_argument("match", type=int, nargs="+", metavar="MATCH", help="the number of a match")
    where = "write to this file (default: replay-MATCH.html in the contest's folder; of several, replays.html)"
    add_option(parser, "--output", formerly="--out", type=Path, metavar="FILE", help=where)
    parser.add_argument("--no-open", action="store_true", help="do not open the file in a browser")
    parser.set_defaults(command=_replay)


def _replay(args: argparse.Namespace) -> int:
    folder: Path = args.contest
    contest = _contest(folder)
    numbers = list(dict.fromkeys(args.match))
    name = f"replay-{numbers[0]}.html" if len(numbers) == 1 else "replays.html"
    path: Path = folder / name if args.output is None else args.output
    with _records(folder) as store:
        tournament = None if contest is None else readable_tournament(contest, store)
        replays = [one for number in numbers for one in _found(store, number, folder, tournament)]
    title = f"{replays[-1].title}: {' – '.join(replays[-1].names)}" if len(numbers) == 1 else "Replays"
    write_page(path, replay_page(replay_data(replays, title=title[:1].upper() + title[1:])), "--output")
    opened = not args.no_open and open_in_browser(path.resolve().as_uri())
    print(f"{path}: {'opened' if opened else 'open it'} in a browser.")
    return EXIT_OK


# --- analyse ----------------------------------------------------------------------------------------------------

_ANALYSE = """\
Which moves gave away most? A search looks at each position of a match,
exhaustively near the end and by Monte Carlo tree search before. The three moves
that gave away most come first, with an interval, the board and the better
moves. A page is written that has the curve of the values, and the better moves
as games to step through. It changes no result, and takes one core.

examples:
  getstep-server analyse autumn 7
  getstep-server analyse autumn 7 --seconds 300 --open
"""


def add_analyse(parser: argparse.ArgumentParser) -> None:
    parser.description = _ANALYSE
    folder_argument(parser)
    parser.add_argument("match", type=int, metavar="MATCH", help="the number of a match")
    add_search(parser)
    parser.set_defaults(command=_analyse)


def _analyse(args: argparse.Namespace) -> int:
    folder: Path = args.contest
    contest = _contest(folder)
    with _records(folder) as store:
        tournament = None if contest is None else readable_tournament(contest, store)
        *_, latest = _found(store, args.match, folder, tournament)
    page: Path = args.html or folder / f"analysis-{args.match}.html"
    try:
        show(latest, page, Console(), seconds=args.seconds, open_page=args.open)
    except SetupError as error:
        raise UsageError(str(error)) from None
    return EXIT_OK


def _contest(folder: Path) -> Contest | None:
    """Return the contest; None if its files cannot be used but it has records: a game may not be installed.

    Raises:
        ConfigError: there are no records either.
    """
    try:
        return load_contest(folder)
    except ConfigError as error:
        if not database_path(folder).exists():
            raise
        print(f"getstep-server: {error}", file=sys.stderr)
        print("getstep-server: the replay is made from the records alone", file=sys.stderr)
        return None


def _records(folder: Path) -> Store:
    path = database_path(folder)
    if not path.exists():
        raise StoreError(f"{path}: no such file; nothing has been played yet")
    return Store(path, reading=True)


def _found(store: Store, number: int, folder: Path, tournament: Tournament | None) -> Iterator[Replay]:
    """Yield the replays of a match.

    Raises:
        StoreError: nothing of this match was played.
    """
    replays = match_replays(store, number, running_path(folder), tournament)
    if not replays:
        listing = shell_command("matches", "list", folder)
        raise StoreError(f"match {number}: not played yet, or no such match; see {listing}")
    yield from replays


# --- site -------------------------------------------------------------------------------------------------------

_SITE = """\
Write the whole contest as static pages, to publish on a web server or to carry
on a USB stick. They are the report with all tables and ratings, a page for each
team, and a replay of each match. Links are relative, and nothing comes from
other hosts.

Call it again to bring the pages up to date: pages that are no longer needed are
deleted, and other files in the folder stay.

Results that a freeze hides are not in them: call it again after the reveal.
The error texts of bots are not in them either: a replay says that a bot raised
an exception, and no more; --error-texts includes them. What bots note is in
the replays unless contest.toml says notes = "never".

examples:
  getstep-server site autumn                  # into autumn/public
  getstep-server site autumn --output /var/www/autumn
"""


def add_site(parser: argparse.ArgumentParser) -> None:
    parser.description = _SITE
    folder_argument(parser)
    into = "write into this folder (default: CONTEST/public)"
    add_option(parser, "--output", formerly="--out", type=Path, metavar="FOLDER", help=into)
    parser.add_argument(
        "--error-texts", action="store_true", help="write the error texts of bots into the replays, too"
    )
    parser.set_defaults(command=_site)


def _site(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    folder: Path = args.contest / "public" if args.output is None else args.output
    with (
        records_of(contest) as store,
        progress_bar("written") as progress,
        kept_parts(folder.parent, "site") as kept,
    ):
        data = without_hidden(load_report_data(contest, store), contest, store)
        seen = VisibleGame(data.tournament, error_texts=args.error_texts)
        count = write_folder(folder, site_pages(data, store, seen, progress, kept), "--output")
    say_notes(data.tournament.settings.notes())
    if data.frozen:
        after = shell_command("reveal", args.contest)
        say_notes([f"the results since the freeze are left out; write the site again after: {after}"])
    print(f"{folder / 'index.html'}: open it in a browser, or publish the folder ({count} files).")
    return EXIT_OK
