"""The commands `standings` and `crosstable`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from getstep_server.config.event import ContestEvent
from getstep_server.config.names import event_named
from getstep_server.reports.tables import all_tables, standings_table
from getstep_server.text import pluralize

from ._parser import EXIT_OK, event_option, folder_argument
from ._shared import contest_with_teams, on_record, pipe_width, print_event_tables, print_table

if TYPE_CHECKING:
    from getstep_server.reports.crosstable import CrosstableView

# --- standings --------------------------------------------------------------------------------------------------


_STANDINGS = """\
Show the standings of each event, also while the contest runs. If there are
several events, a combined table follows: in each event a team gets the
percentage of the other teams that it is ahead of.

The line below a table names the criteria that rank teams, in their order. Each
of them is a column.

examples:
  getstep-server standings autumn
  getstep-server standings autumn --event longest   # "Longest Path"
"""


def add_standings(parser: argparse.ArgumentParser) -> None:
    parser.description = _STANDINGS
    folder_argument(parser)
    event_option(parser, "show the table of one event")
    parser.set_defaults(command=_standings)


def _standings(args: argparse.Namespace) -> int:
    tournament = on_record(contest_with_teams(args.contest))
    contest = tournament.contest
    if args.event is None:
        title = f"{contest.name}, {pluralize(tournament.done, 'match')} played"
        for table in all_tables(contest, tournament.tables(), title=title):
            print_table(table)
        return EXIT_OK
    event = event_named(contest, args.event)
    print_table(standings_table(contest, event, tournament.table(event), title=f"{contest.name}, {event.heading}"))
    return EXIT_OK


# --- crosstable -------------------------------------------------------------------------------------------------


_CROSSTABLE = """\
Show the results of each team against each other team, also while the contest
runs. Rows and columns are the teams in the order of the standings. A cell has
a letter for each match. If the terminal is too narrow for that, it has the
points, and the opponents are split into blocks. In a pipe, a line is as long
as the terminal is wide, or has 200 columns if there is none.

examples:
  getstep-server crosstable autumn
  getstep-server crosstable autumn --event linkage
"""


def add_crosstable(parser: argparse.ArgumentParser) -> None:
    parser.description = _CROSSTABLE
    folder_argument(parser)
    event_option(parser, "show the crosstable of one event")
    parser.set_defaults(command=_crosstable)


def _crosstable(args: argparse.Namespace) -> int:
    from getstep_server.reports.crosstable import crosstable_table  # `standings` needs neither
    from getstep_server.tournament.crosstable import crosstable_of

    tournament = on_record(contest_with_teams(args.contest))

    def table_of(event: ContestEvent, title: str) -> CrosstableView:
        table = crosstable_of(tournament, event)
        return crosstable_table(tournament.contest, table, title=title, pipe_width=pipe_width())

    print_event_tables(tournament, args.event, table_of)
    return EXIT_OK
