"""The command `export`. It has a module of its own because ratings import numpy."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from getstep_server.config.contest import Contest, load_contest
from getstep_server.config.event import ContestEvent
from getstep_server.config.names import event_named
from getstep_server.errors import UsageError
from getstep_server.reports.export import TABLES, WRITERS, CombinedStandings, DataSet, Games
from getstep_server.storage.store import Store
from getstep_server.text import escape_control_chars
from getstep_server.tournament.tournament import Tournament

from ._parser import EXIT_OK, folder_argument
from ._shared import readable_tournament, records_of, say_host_notes

_USAGE = """\
%(prog)s [-h] CONTEST
       (--matches | --standings | --crosstable | --ratings)
       [--event NAME] [--format FORMAT] [--output FILE]"""
"""argparse would not break the line of the group."""

_EXPORT = """\
Write matches, standings, the crosstable or ratings for other programs or for
paper. docs/records.md describes the records and the columns of each CSV.

formats:
  jsonl     one JSON object per line; for a match it is the record, unchanged
  csv       for spreadsheets; a text that looks like a formula gets an
            apostrophe in front
  text      for people; a match is a list of moves
  markdown  for a wiki or a README; not for matches

moves in csv and text:
  3,4           a square: row and column, from 0
  2,2-2,4-4,4   a path of hop: its squares
  RA1A2         a domino of linkage: its colour and two squares (columns A to
                G, rows 1 to 7), as in the original game
  Skip          the player had no legal move
  (missed_limit), (resigned)   a fault, and why the match ended

examples:
  getstep-server export autumn --matches > autumn.jsonl
  getstep-server export autumn --matches --format text --output autumn.txt
  getstep-server export autumn --crosstable --format csv
  getstep-server export autumn --standings --format markdown
  getstep-server export autumn --standings --event hop   # one of several events
"""


def add_export(parser: argparse.ArgumentParser) -> None:
    parser.usage = _USAGE
    parser.description = _EXPORT
    folder_argument(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--matches", action="store_const", dest="what", const="games", help="the records of all matches"
    )
    former = argparse.SUPPRESS  # the former name of --matches
    what.add_argument("--games", action="store_const", dest="what", const="games", help=former)
    standings = "the standings; of several events the combined table, unless --event names one"
    what.add_argument("--standings", action="store_const", dest="what", const="standings", help=standings)
    crosstable = "the results of each team against each other team"
    what.add_argument("--crosstable", action="store_const", dest="what", const="crosstable", help=crosstable)
    ratings = "the Elo ratings with their intervals"
    what.add_argument("--ratings", action="store_const", dest="what", const="ratings", help=ratings)
    parser.add_argument("--event", metavar="NAME", help="the event, if the contest has several")
    parser.add_argument(
        "--format", choices=tuple(WRITERS), default="jsonl", help="the format of the output (default: jsonl)"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to this file (default: standard output)")
    parser.set_defaults(command=_export)


def _export(args: argparse.Namespace) -> int:
    if (args.what, args.format) == ("games", "markdown"):
        raise UsageError("--format markdown with --matches, expected jsonl, csv or text")
    contest = load_contest(args.contest)
    with records_of(contest) as store:
        lines = WRITERS[args.format](_data_set(contest, store, args.what, args.event))
        if args.output is None:
            _print_lines(lines)
            return EXIT_OK
        try:
            with args.output.open("wb") as file:
                file.writelines(line + b"\n" for line in lines)
        except OSError as error:
            raise UsageError(f"{args.output}: {error.strerror or error}") from error
    return EXIT_OK


def _data_set(contest: Contest, store: Store, what: str, event_name: str | None) -> DataSet:
    """Return the data that the command line asks for."""
    if what == "games":
        store.check_end()  # SQLite passes over records that no intact page leads to
        readable = readable_tournament(contest, store)
        if readable is not None:
            say_host_notes(readable)
        return Games(contest, store)
    tournament = Tournament(contest, store.record_headers())
    say_host_notes(tournament)
    contest = tournament.contest
    if what == "standings" and event_name is None and len(contest.events) > 1:
        return CombinedStandings(tournament)
    return TABLES[what](tournament, _one_event(contest, event_name))


def _one_event(contest: Contest, name: str | None) -> ContestEvent:
    """Return the event with this name; without a name, the only event of the contest."""
    if name is None and len(contest.events) > 1:
        names = ", ".join(event.name for event in contest.events)
        raise UsageError(f"--event is missing: the contest has several events; give one of: {names}")
    return contest.events[0] if name is None else event_named(contest, name)


def _print_lines(lines: Iterator[bytes]) -> None:
    """Print lines unchanged to a file or a program; on a terminal, escape control characters."""
    if sys.stdout.isatty():
        for line in lines:
            print("\n".join(map(escape_control_chars, line.decode(errors="backslashreplace").split("\n"))))
        return
    sys.stdout.flush()  # the buffer below is another layer: what was printed before has to come first
    sys.stdout.buffer.writelines(line + b"\n" for line in lines)
    sys.stdout.buffer.flush()
