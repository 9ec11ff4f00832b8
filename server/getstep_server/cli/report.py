"""The command `report`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from getstep_server.api.visibility import VisibleGame
from getstep_server.config.contest import load_contest
from getstep_server.reports.kept_parts import kept_parts
from getstep_server.reports.match_pages import Links, match_pages, shared_files
from getstep_server.reports.report import as_html, load_report_data

from ._pages import page_target, write_folder, write_page
from ._parser import EXIT_OK, folder_argument
from ._shared import progress_bar, records_of, say_host_notes

_REPORT = """\
Write the report: one HTML page for a browser, a phone or a printer, with the
standings, crosstable, ratings and incidents of each event. It needs no network.
You can write it while the contest runs, as often as you like: what has not
changed since the last time is not made again.

Each result links to the replay of its match. The replays are in a folder next
to the page, such as report_matches for report.html: keep both together. Without
them the report is one file.

The report is for the host: it has the results that a freeze hides.

examples:
  getstep-server report autumn
  getstep-server report autumn --output autumn.html
  getstep-server report autumn --no-replays   # one file, to send by mail
"""


def add_report(parser: argparse.ArgumentParser) -> None:
    parser.description = _REPORT
    folder_argument(parser)
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write to this file (default: CONTEST/report.html)"
    )
    parser.add_argument("--no-replays", action="store_true", help="write one file, without replays")
    parser.set_defaults(command=_report)


def _report(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    path: Path = args.contest / "report.html" if args.output is None else args.output
    page_target(path, "--output")  # before the replays, which take most of the time
    with records_of(contest) as store:
        data = load_report_data(contest, store)
        say_host_notes(data.tournament)
        if not args.no_replays:
            folder = path.with_name(f"{path.stem}_matches")
            home = (contest.name, f"../{quote(path.name)}")
            with progress_bar("replays written") as progress:
                seen = VisibleGame(data.tournament, error_texts=True)
                pages = chain(shared_files(), match_pages(store, data.tournament, data.games, home, seen, progress))
                write_folder(folder, pages, "--output")
            played = {number for number, _ in data.tournament.recorded}
            data = replace(data, links=Links(matches=f"{folder.name}/", played=played))
    with progress_bar("written") as progress, kept_parts(path.parent, "report") as kept:
        page = as_html(data, progress, kept)
    write_page(path, page, "--output")
    where = "" if args.no_replays else f" Its replays are in {folder.name}: keep both together."
    print(f"{path}: open it in a browser, or print it from there.{where}")
    return EXIT_OK
