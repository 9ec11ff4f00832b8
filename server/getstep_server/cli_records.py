"""The commands that read records: show, export and verify."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ._cli import EXIT_FAILED, EXIT_OK, Commands, add_command, event_named, folder_argument
from ._text import counted, printable
from ._toml import ConfigError
from .contest import Contest, load_contest
from .contest_event import ContestEvent
from .export import (
    COMBINED,
    FORMATS,
    TABLES,
    games_as_csv,
    games_as_jsonl,
    games_as_text,
)
from .game_record import RecordError, parse
from .replay import DoesNotFit
from .show import WIDTH, shown_game
from .store import Store, StoreError
from .tables import console, result_line
from .tournament import Tournament
from .verify import Finding, Verified, verify

# --- show -------------------------------------------------------------------------------------------------------


_SHOW = """\
Show a game that is over: what it was about, and each turn with the time it
took and the board after it. games list shows the numbers of the matches.

examples:
  getstep-server show autumn 7
  getstep-server show autumn 7 --moves       # without the boards
  getstep-server show autumn 7 --attempt 1   # one that does not count
"""


def add_show(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to the host's."""
    parser = add_command(commands, "show", "show a game move by move", _SHOW)
    folder_argument(parser)
    parser.add_argument("match", type=int, metavar="GAME", help="the number of the match")
    parser.add_argument("--attempt", type=int, metavar="N", help="which attempt at it (default: the last one)")
    parser.add_argument("--moves", action="store_true", help="the turns alone, without boards")
    parser.set_defaults(command=_show)


def _show(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    with records_of(contest) as store:
        attempts = [record for record in store.records(args.match) if args.attempt in (None, record.attempt)]
        tournament = _tournament(contest, store)
    if not attempts and args.attempt is None and _unplayed(tournament, args.match):
        return EXIT_OK
    if not attempts:
        which = "" if args.attempt is None else f", attempt {args.attempt}"
        raise StoreError(f"match {args.match}{which} is not on record: it is not over, or there is none")
    terminal = console()
    try:
        for piece in shown_game(parse(attempts[-1].line), tournament, boards=not args.moves):
            with terminal.capture() as shown:
                terminal.print(piece, width=min(WIDTH, terminal.width), soft_wrap=False)
            print("\n".join(line.rstrip() for line in shown.get().splitlines()))
    except DoesNotFit as error:
        raise RecordError(f"match {args.match}, turn {error.turn}: {error}") from error
    return EXIT_OK


def _tournament(contest: Contest, store: Store) -> Tournament | None:
    """What has become of the matches; None if the records do not tell, which is for `verify` to name."""
    try:
        return Tournament(contest, store.heads())
    except RecordError:
        return None


def _unplayed(tournament: Tournament | None, number: int) -> bool:
    """Say what a match has come to that nobody has played; whether there is something to say."""
    match = None if tournament is None else tournament.matches.get(number)
    result = None if match is None or tournament is None else tournament.comes_to(match)
    if result is not None and tournament is not None:
        print(printable(f"What counts: {result_line(result, tournament.contest.team_name)}"))
    return result is not None


# --- export -----------------------------------------------------------------------------------------------------


_EXPORT = """\
Write games, standings, the crosstable or ratings for other programs, or for
paper. Records are described in records.md, with the columns of each CSV.

formats:
  jsonl     a JSON object a line; games are the records as they were sealed
  csv       for spreadsheets; a text that one would take for a formula begins
            with an apostrophe
  text      for people; games as move lists
  markdown  for a wiki or a README; not of games

moves, as text:
  a square is row,column from 0: 3,4; a path of hop its squares: 2,2-2,4-4,4;
  a domino of linkage the original's order: RA1A2 (colour, then two squares:
  columns A to G, rows 1 to 7). Skip: the player had no move. (missed_limit):
  a fault, (resigned): an end.

examples:
  getstep-server export autumn --games > autumn.jsonl
  getstep-server export autumn --games --format text --output autumn.txt
  getstep-server export autumn --crosstable --format csv
  getstep-server export autumn --standings --format markdown
  getstep-server export autumn --standings --event hop   # of one of several
"""


def add_export(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to the host's."""
    parser = add_command(commands, "export", "write games or tables to a file", _EXPORT)
    folder_argument(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--games", action="store_const", dest="what", const="games", help="all records of games")
    standings = "the table; of several events the combined one, unless --event names one"
    what.add_argument("--standings", action="store_const", dest="what", const="standings", help=standings)
    crosstable = "who did what against whom, in the order of the standings"
    what.add_argument("--crosstable", action="store_const", dest="what", const="crosstable", help=crosstable)
    ratings = "how strong the teams are, and how sure that is"
    what.add_argument("--ratings", action="store_const", dest="what", const="ratings", help=ratings)
    parser.add_argument("--event", metavar="NAME", help="whose table, if the contest has several events")
    parser.add_argument("--format", choices=FORMATS, default="jsonl", help="(default: jsonl)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to (default: standard output)")
    parser.set_defaults(command=_export)


def _export(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    with records_of(contest) as store:
        lines = _lines(contest, store, args.what, args.format, args.event)
        if args.output is None:
            _print_lines(lines)
            return EXIT_OK
        try:
            with args.output.open("wb") as file:
                file.writelines(line + b"\n" for line in lines)
        except OSError as error:
            raise ConfigError(f"{args.output}: {error.strerror or error}") from error
    return EXIT_OK


def _lines(contest: Contest, store: Store, what: str, form: str, event_name: str | None) -> Iterator[bytes]:
    if what == "games" and form == "markdown":
        raise ConfigError("--format markdown with --games, expected jsonl, csv or text")
    if what == "games" and form == "jsonl":
        return games_as_jsonl(store)
    tournament = Tournament(contest, store.heads())
    if what == "games":
        return {"csv": games_as_csv, "text": games_as_text}[form](store, tournament)
    if what == "standings" and event_name is None and len(contest.events) > 1:
        return COMBINED[form](tournament)
    return TABLES[what][form](tournament, _one_event(contest, event_name))


def _one_event(contest: Contest, name: str | None) -> ContestEvent:
    """The event with this name; the only one, if none is given."""
    if name is None and len(contest.events) > 1:
        names = ", ".join(event.name for event in contest.events)
        raise ConfigError(f"--event is missing: this table is of one event, expected one of: {names}")
    return contest.events[0] if name is None else event_named(contest, name)


def _print_lines(lines: Iterator[bytes]) -> None:
    """To a file or another program as they are; to a terminal, so that nothing in them does anything to it."""
    if sys.stdout.isatty():
        for line in lines:
            print("\n".join(map(printable, line.decode(errors="backslashreplace").split("\n"))))
        return
    sys.stdout.flush()
    sys.stdout.buffer.writelines(line + b"\n" for line in lines)
    sys.stdout.buffer.flush()


# --- verify -----------------------------------------------------------------------------------------------------


_VERIFY = """\
Check all that the standings rest on, also while the contest runs: the chain
of the records, every game by its rules, every time limit by the recorded
times, the results and the standings. The first thing that does not fit is
named, with the place of its record, its match and its turn.

A void attempt was broken off: the server failed, or the host called it off. One
that is overruled was played, but a decision or a rule has put something else
in its place, or has annulled it.

The chain ends in a hash, its head. Who has written that down elsewhere can be
sure with --head that these are still the same records, and what came later.

exit codes: 0 everything fits, 1 something does not
"""


def add_verify(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to the host's."""
    parser = add_command(commands, "verify", "check the records, the games and the standings", _VERIFY)
    folder_argument(parser)
    parser.add_argument("--head", metavar="HASH", type=_hash, help="the head as it was written down elsewhere")
    parser.set_defaults(command=_verify)


def _hash(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError(f"{text!r}, expected 64 hexadecimal digits")
    return text


def _verify(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    try:
        with records_of(contest) as store, progress_bar("verified") as progress:
            verified = verify(contest, store, head=args.head, progress=progress)
    except Finding as finding:
        print(f"DOES NOT FIT: {printable(str(finding))}")
        return EXIT_FAILED
    _print_verified(verified, head_given=args.head is not None)
    return EXIT_OK


def _print_verified(verified: Verified, *, head_given: bool) -> None:
    matches = [f"{verified.played} of {counted(verified.matches, 'match')} played"]
    matches += _counts({"cancelled": verified.cancelled, "annulled": verified.annulled})
    attempts = _counts({"void": verified.void, "overruled": verified.overruled})
    played = ", ".join(matches) + (f" (attempts beside these: {', '.join(attempts)})" if attempts else "")
    records, turns = counted(verified.records, "record"), counted(verified.turns, "turn")
    print(f"Everything fits: {records}, {played}, {turns} replayed.")
    if head_given:
        later = f"; {counted(verified.beyond, 'record')} came later" if verified.beyond else ", as its last"
        print(f"The hash that was written down is in the chain{later}.")
    print(f"head {verified.head}")


def _counts(counts: Mapping[str, int]) -> list[str]:
    return [f"{count} {what}" for what, count in counts.items() if count]


@contextmanager
def progress_bar(done: str) -> Iterator[Callable[[int, int], None]]:
    """Shows ``verified n of m`` on a terminal's standard error, which is no part of the result."""
    terminal = Console(stderr=True)
    columns = (TextColumn(done), BarColumn(), MofNCompleteColumn(separator=" of "))
    shown = terminal.is_terminal and not terminal.is_dumb_terminal
    with Progress(*columns, console=terminal, transient=True, disable=not shown) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


# --- shared -----------------------------------------------------------------------------------------------------


def records_of(contest: Contest) -> Store:
    """A contest's database, to be opened.

    Raises:
        StoreError: there is none yet.
    """
    if not contest.database.exists():
        raise StoreError(f"{contest.database}: not there; nothing has been played yet")
    return Store(contest.database)
