"""The command `export`. It has a module of its own because ratings import numpy."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

from getstep_server.config.class_list import kept_lists
from getstep_server.config.contest import Contest, load_contest
from getstep_server.config.event import ContestEvent
from getstep_server.config.names import event_named
from getstep_server.errors import UsageError
from getstep_server.records.lost import is_archived
from getstep_server.reports.export import TABLES, WRITERS, CombinedStandings, DataSet, Games
from getstep_server.reports.grades import Grades, grade_file, grade_lines, scale_named
from getstep_server.storage.store import Store
from getstep_server.text import escape_control_chars, pluralize
from getstep_server.tournament.tournament import Tournament

from ._parser import EXIT_OK, event_option, folder_argument
from ._shared import readable_tournament, records_of, say_host_notes

GRADE_FORMATS = ("moodle", "gradescope", "excel")

_USAGE = """\
%(prog)s [-h] CONTEST
       (--matches | --standings | --crosstable | --ratings | --grades
        | --parquet | --npz)
       [--event NAME] [--format FORMAT] [--output FILE]
       [--scale SCALE] [--best POINTS] [--worst POINTS]"""
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
  headed    for people and programs; only for matches: each record as text with
            a header, like the PGN of chess. rescue reads it back, byte for byte

formats of grades, besides these:
  moodle      a CSV for Moodle's gradebook
  gradescope  a results.json for each team, in the folder --output
  excel       a CSV that Excel opens with a double click, with semicolons and
              decimal commas if this computer or the class list uses them

For learning programs, --parquet and --npz write a row for each turn of all
matches into the folder --output: the board as planes, the mask of legal
actions, the action, the result, time and estimate. docs/training.md describes
the columns. They need: pip install 'getstep-server[data]'

Grades have all columns of the class lists that teams import has read, e-mail
addresses included, and a row for each of their lines. Equal results have equal
grades: no lot decides one.

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
  getstep-server export autumn --parquet --output turns
  getstep-server export autumn --grades --format moodle --output grades.csv
  getstep-server export autumn --grades --scale score --best 20
  getstep-server export autumn --grades --scale 1.0=30,2.0=20,3.0=10
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
    grades = "a grade for each team; of several events those of the combined table, unless --event names one"
    what.add_argument("--grades", action="store_const", dest="what", const="grades", help=grades)
    for form, files in (("parquet", "a file for each game"), ("npz", "numbered files of numpy")):
        text = f"the turns of all matches for learning programs, {files}"
        what.add_argument(f"--{form}", action="store_const", dest="what", const=form, help=text)
    event_option(parser, "the event, if there are several")
    formats = (*WRITERS, *GRADE_FORMATS)
    shown = f"the format of the output: {', '.join(formats)} (default: jsonl)"
    parser.add_argument("--format", choices=formats, default="jsonl", metavar="FORMAT", help=shown)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to this file (default: standard output)")
    scale = (
        "grades by place (the default), by score, or the least score of each grade, such as A=30,B=20,C=0;"
        " the score is that of the table: the points, the total, in an arena the rating"
    )
    parser.add_argument("--scale", metavar="SCALE", default="place", help=scale)
    for name, default, whose in (("--best", 100.0, "best"), ("--worst", 0.0, "last")):
        text = f"the grade of the {whose} team, by place or by score (default: {default:g})"
        parser.add_argument(name, type=float, metavar="POINTS", default=default, help=text)
    parser.set_defaults(command=_export)


def _export(args: argparse.Namespace) -> int:
    if (args.what, args.format) == ("games", "markdown"):
        raise UsageError("--format markdown with --matches, expected jsonl, csv or text")
    if args.format == "headed" and args.what != "games":
        raise UsageError("--format headed, expected --matches with it")
    if args.format in GRADE_FORMATS and args.what != "grades":
        raise UsageError(f"--format {args.format}, expected --grades with it, or one of: {', '.join(WRITERS)}")
    contest = load_contest(args.contest)
    with records_of(contest) as store:
        if args.what in ("parquet", "npz"):
            return _write_turns(args, contest, store)
        if args.what == "grades":
            made = _grades(args, contest, store)
            if args.format == "gradescope":
                return _write_results(args, made)
            lines = grade_file(args.format, made)
        else:
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


def _write_turns(args: argparse.Namespace, contest: Contest, store: Store) -> int:
    """Write the turns of all matches for learning programs."""
    from getstep_server.reports.training_data import write_turns  # here: it needs an extra

    if args.output is None:
        raise UsageError(f"--{args.what} without --output, expected the folder for the files")
    event = None if args.event is None else event_named(contest, args.event).number
    try:
        files = write_turns(store, args.output, args.what, event)
    except OSError as error:
        raise UsageError(f"{error.filename or args.output}: {error.strerror or error}") from error
    found = pluralize(len(files.files), "file")
    print(f"{pluralize(files.rows, 'row')} in {found} in {args.output}: {', '.join(files.files) or 'no turns'}")
    if archived := sum(map(is_archived, store.record_headers())):
        print(f"Without the turns of {pluralize(archived, 'match')}, which the host has moved into an archive.")
    return EXIT_OK


def _grades(args: argparse.Namespace, contest: Contest, store: Store) -> Grades:
    try:
        scale = scale_named(args.scale, args.best, args.worst)
    except ValueError as error:
        raise UsageError(f"--scale {error}") from None
    if not (isfinite(args.best) and isfinite(args.worst)):
        raise UsageError(f"--best {args.best:g} --worst {args.worst:g}, expected two numbers")
    tournament = Tournament(contest, store.record_headers())
    say_host_notes(tournament)
    combined = args.event is None and len(tournament.contest.events) > 1
    event = None if combined else _one_event(tournament.contest, args.event)
    return Grades(tournament, grade_lines(tournament, event, scale), kept_lists(contest.folder))


def _write_results(args: argparse.Namespace, grades: Grades) -> int:
    """Write a file for each team, as Gradescope reads them."""
    if args.output is None:
        raise UsageError("--format gradescope without --output, expected the folder for the files of the teams")
    try:
        files = list(grades.gradescope(max(args.best, args.worst)))
        for name, content in files:
            path = args.output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except ValueError as error:
        raise UsageError(f"--scale {args.scale}: {error}") from None
    except OSError as error:
        raise UsageError(f"{error.filename or args.output}: {error.strerror or error}") from error
    print(f"{pluralize(len(files), 'file')} in {args.output}, one for each team: its id, then results.json.")
    return EXIT_OK


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
