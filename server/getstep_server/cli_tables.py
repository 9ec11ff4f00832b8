"""The commands that show tables: standings and crosstable."""

from __future__ import annotations

import argparse

from ._cli import EXIT_OK, Commands, add_command, contest_with_teams, event_named, folder_argument
from .crosstable import Crosstable, crosstable_table
from .run import tournament_of
from .tables import all_tables, console, standings_table

# --- standings --------------------------------------------------------------------------------------------------


_STANDINGS = """\
Show the tables as they stand, also while the contest runs: each event's, and the
combined one if there are several. There an event gives a team the share of its
other teams, in percent, that it stands before.

Under each table is what separates teams, in this order; each is a column.
"""


def add_standings(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to the host's."""
    parser = add_command(commands, "standings", "show the tables", _STANDINGS)
    folder_argument(parser)
    parser.add_argument("--event", metavar="NAME", help="only this event's table")
    parser.set_defaults(command=_standings)


def _standings(args: argparse.Namespace) -> int:
    contest = contest_with_teams(args.contest)
    tournament = tournament_of(contest)
    terminal = console()
    if args.event is None:
        title = f"{contest.name}, {tournament.done} matches played"
        for table in all_tables(contest, tournament.tables(), title=title):
            terminal.print(table)
        return EXIT_OK
    event = event_named(contest, args.event)
    terminal.print(standings_table(contest, event, tournament.table(event), title=f"{contest.name}, {event.name}"))
    return EXIT_OK


# --- crosstable -------------------------------------------------------------------------------------------------


_CROSSTABLE = """\
Show who did what against whom, also while the contest runs. Rows and columns are
the teams in the order of the standings. Of many teams a cell shows the points,
not each match, and opponents are split into blocks if the terminal is narrow.
"""


def add_crosstable(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to the host's."""
    parser = add_command(commands, "crosstable", "show who did what against whom", _CROSSTABLE)
    folder_argument(parser)
    parser.add_argument("--event", metavar="NAME", help="only this event's")
    parser.set_defaults(command=_crosstable)


def _crosstable(args: argparse.Namespace) -> int:
    contest = contest_with_teams(args.contest)
    tournament, terminal = tournament_of(contest), console()
    events = contest.events if args.event is None else (event_named(contest, args.event),)
    for event in events:
        table = Crosstable(event, tournament.table(event), tournament.results)
        terminal.print(crosstable_table(contest, table, title=f"{contest.name}, {event.name}"))
    return EXIT_OK
