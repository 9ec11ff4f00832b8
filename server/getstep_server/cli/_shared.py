"""Helpers of several commands: finding a contest, and the terminal.

Every command that reads a contest imports this module. rich.progress takes 20 ms to import, so only a bar does it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from getstep_server.config.contest import Contest, load_contest, teams_path
from getstep_server.config.event import ContestEvent
from getstep_server.config.names import event_named
from getstep_server.errors import ConfigError
from getstep_server.records.record import RecordError
from getstep_server.reports.tables import PIPE_WIDTH
from getstep_server.storage.contest_state import tournament_and_problem
from getstep_server.storage.database import StoreError, not_there
from getstep_server.storage.lost_records import check_nothing_lost, has_database
from getstep_server.storage.store import Store
from getstep_server.text import escape_control_chars, fold, shell_command
from getstep_server.tournament.tournament import Tournament

if TYPE_CHECKING:
    from rich.console import Console

    from getstep_server.reports.crosstable import CrosstableView
    from getstep_server.reports.incident_report import IncidentsView
    from getstep_server.reports.live_board import LiveBoard
    from getstep_server.reports.text_table import TextTable


def renamed(command: Callable[[argparse.Namespace], int], now: str) -> Callable[[argparse.Namespace], int]:
    """Return a command that runs ``command`` and prints its new name, ``now``, on standard error."""

    def run(args: argparse.Namespace) -> int:
        print(f"getstep-server: this command was renamed; type: {shell_command(*now.split())}", file=sys.stderr)
        return command(args)

    return run


def contest_with_teams(folder: Path) -> Contest:
    """Read the contest in a folder.

    Raises:
        ConfigError: a file of the contest cannot be used, or it has no teams yet.
    """
    contest = load_contest(folder)
    if not contest.contestants:
        raise ConfigError(
            f"{teams_path(folder)}: no teams; add some with: {shell_command('teams', 'add', folder)} NAME"
        )
    return contest


def on_record(contest: Contest) -> Tournament:
    """Return a contest's tournament, and print the settings in which its files differ from the records.

    If the newest records are not what was written, a line says so.
    """
    tournament, problem = tournament_and_problem(contest)
    if problem:
        say_notes([f"{problem}. This table may be wrong; check it with: {shell_command('verify', contest.folder)}"])
    say_host_notes(tournament)
    return tournament


def readable_tournament(contest: Contest, store: Store) -> Tournament | None:
    """Return the tournament, or None if the records contradict each other; `verify` names that error."""
    try:
        return Tournament(contest, store.record_headers())
    except RecordError:
        return None


def say_host_notes(tournament: Tournament) -> None:
    """Print the notes on an output of the host: settings that were changed, results that are hidden."""
    frozen = "the page hides the results since the freeze, and this has all of them: do not show it to the teams"
    say_notes([*tournament.settings.notes(), *([] if tournament.frozen_at is None else [frozen])])


def say_notes(notes: Iterable[str]) -> None:
    """Print notes about the settings on standard error, which is not part of a table or an export."""
    for note in notes:
        print(f"getstep-server: {escape_control_chars(note)}", file=sys.stderr)


def events_named(contest: Contest, name: str | None) -> Sequence[ContestEvent]:
    """Return the event that ``--event`` names, or all events if it is not given."""
    return contest.events if name is None else (event_named(contest, name),)


def console() -> Console:
    """Return the host's terminal, or a pipe. Text is never markup, and lines are not wrapped in a pipe."""
    from rich.console import Console  # here: it takes 40 ms to import, and a table in a pipe does not need it

    plain = not sys.stdout.isatty()
    width = PIPE_WIDTH if plain else None
    return Console(markup=False, highlight=False, emoji=False, soft_wrap=plain, width=width)


def is_live(terminal: Console) -> bool:
    """Return True if the terminal can show a view that is drawn again and again."""
    return terminal.is_terminal and not terminal.is_dumb_terminal


def live_board(contest: Contest, move_seconds: float | None = None) -> LiveBoard:
    """Return the board of a running match for the live view; see `LiveBoard` for ``move_seconds``."""
    from getstep.drawing import viewer  # here: only a live view needs them
    from getstep_server.reports.live_board import LiveBoard

    return LiveBoard(contest, viewer.painter(sys.stdout.encoding, is_terminal=True), move_seconds=move_seconds)


def pipe_width() -> int:
    """Return the columns for a table in a pipe: those of the terminal that its reader has, or `PIPE_WIDTH`.

    A pager or ``head`` shows the lines on the terminal from which the command was started.
    """
    if (columns := os.environ.get("COLUMNS", "")).isdecimal() and int(columns) > 0:
        return int(columns)
    for stream in (sys.stderr, sys.stdin):
        with suppress(OSError, ValueError, AttributeError):  # not a terminal, closed, or none at all
            return os.get_terminal_size(stream.fileno()).columns or PIPE_WIDTH
    return PIPE_WIDTH


def print_table(table: TextTable | CrosstableView | IncidentsView) -> None:
    """Print a table: rich renders it on a terminal; a pipe gets plain lines, none of which is broken."""
    if sys.stdout.isatty():
        console().print(table)
    else:
        sys.stdout.write(table.plain())


def print_event_tables(
    tournament: Tournament, name: str | None, table_of: Callable[[ContestEvent, str], TextTable | CrosstableView]
) -> None:
    """Print a table of each event, or of the event with a name only; ``table_of`` gets the event and the title."""
    contest = tournament.contest
    for place, event in enumerate(events_named(contest, name)):
        if place:
            print()
        print_table(table_of(event, f"{contest.name}, {event.heading}"))


def print_folded(line: str, *, error: bool = False) -> None:
    """Print a line that has no command to copy: broken at spaces on a terminal, whole in a pipe."""
    text, output = escape_control_chars(line), sys.stderr if error else sys.stdout
    if output.isatty():
        import shutil

        text = "\n".join(fold(text, shutil.get_terminal_size().columns, indent=4))  # indented: still the same line
    print(text, file=output)


def print_address(terminal: Console, address: str) -> None:
    """Print the address of the live page; on a terminal that has room for it, with its QR code."""
    from getstep_server.reports.event_lines import page_line  # here: most commands print no address

    terminal.print(page_line(address))
    if is_live(terminal) and sys.stdout.encoding.lower() == "utf-8":
        from getstep_server.reports.qr_code import qr_code  # here: a pipe does not need it

        for line in qr_code(address):
            terminal.print(line)


@contextmanager
def progress_bar(done: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar with ``done`` n of m on standard error if that is a terminal; yield its update function."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    terminal = Console(stderr=True)
    columns = (TextColumn(done), BarColumn(), MofNCompleteColumn(separator=" of "))
    shown = terminal.is_terminal and not terminal.is_dumb_terminal
    with Progress(*columns, console=terminal, transient=True, disable=not shown) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def spinner() -> Iterator[Callable[[str], None]]:
    """Show what goes on, and for how long, on standard error if that is a terminal; yield its update function."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    terminal = Console(stderr=True, markup=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    shown = terminal.is_terminal and not terminal.is_dumb_terminal
    with Progress(*columns, console=terminal, transient=True, disable=not shown) as progress:
        task = progress.add_task("", total=None)
        yield lambda text: progress.update(task, description=text)


@contextmanager
def records_of(contest: Contest) -> Iterator[Store]:
    """Open a contest's database to read it.

    Raises:
        StoreError: the database does not exist yet, or cannot be read.
        ConfigError: there are no records, although matches were played.
    """
    if not has_database(contest):
        raise StoreError(f"{not_there(contest.database)}; nothing has been played yet")
    with Store(contest.database, reading=True) as store:
        if not store.chain()[0]:
            check_nothing_lost(contest)
        yield store
