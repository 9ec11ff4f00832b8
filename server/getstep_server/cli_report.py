"""The command that makes the html report."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._cli import EXIT_OK, Commands, add_command, folder_argument
from ._toml import ConfigError
from .cli_records import progress_bar, records_of
from .contest import load_contest

_REPORT = """\
Write the report: one html page for the browser, a phone or the printer, with
each event's standings, crosstable, ratings and incidents. It is one file that
needs no network. It may be made while the contest runs, and made again.

examples:
  getstep-server report autumn
  getstep-server report autumn --output autumn.html
"""


def add_report(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to the host's."""
    parser = add_command(commands, "report", "make an html page of everything", _REPORT)
    folder_argument(parser)
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to (default: CONTEST/report.html)")
    parser.set_defaults(command=_report)


def _report(args: argparse.Namespace) -> int:
    # Here and not above: it takes matplotlib, which nothing else needs and whose import takes half a second.
    from .report import as_html, look

    contest = load_contest(args.contest)
    path: Path = args.contest / "report.html" if args.output is None else args.output
    with records_of(contest) as store:
        seen = look(contest, store)
    with progress_bar("made") as progress:
        page = as_html(seen, progress)
    _put(path, page)
    print(f"{path}: open it in a browser, or print it from there.")
    return EXIT_OK


def _put(path: Path, page: str) -> None:
    """Write a new version beside the file, and put it in place in one step: who reloads it sees all or nothing."""
    place = path.resolve()
    if place.exists() and not place.is_file():
        raise ConfigError(f"{path}: a folder or a device, expected the name of a file")
    beside = place.with_name(f"{place.name}.new")
    try:
        beside.write_text(page, encoding="utf-8", newline="\n")
        beside.replace(place)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ConfigError(f"{path}: {error.strerror or error}") from error
