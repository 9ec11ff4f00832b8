"""The commands that show tables: standings, crosstable and ratings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ._cli import EXIT_OK, Commands, add_command, contest_with_teams, event_named, folder_argument
from ._text import counted
from .contest import Contest
from .contest_event import ContestEvent
from .crosstable import crosstable_of, crosstable_table
from .run import tournament_of
from .tables import all_tables, console, ratings_table, standings_table

# --- standings --------------------------------------------------------------------------------------------------


_STANDINGS = """\
Show the tables as they stand, also while the contest runs: each event's, and
the combined one if there are several. There an event gives a team the share of
its other teams, in percent, that it stands before.

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
        title = f"{contest.name}, {counted(tournament.done, 'match')} played"
        for table in all_tables(contest, tournament.tables(), title=title):
            terminal.print(table)
        return EXIT_OK
    event = event_named(contest, args.event)
    terminal.print(standings_table(contest, event, tournament.table(event), title=f"{contest.name}, {event.name}"))
    return EXIT_OK


# --- crosstable -------------------------------------------------------------------------------------------------


_CROSSTABLE = """\
Show who did what against whom, also while the contest runs. Rows and columns
are the teams in the order of the standings. Of many teams a cell shows the
points, not each match, and opponents are split into blocks if the terminal is
narrow.
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
    for event in _events(contest, args.event):
        table = crosstable_of(tournament, event)
        terminal.print(crosstable_table(contest, table, title=f"{contest.name}, {event.name}"))
    return EXIT_OK


def _events(contest: Contest, name: str | None) -> Sequence[ContestEvent]:
    return contest.events if name is None else (event_named(contest, name),)


# --- ratings ----------------------------------------------------------------------------------------------------


_RATINGS = """\
Show how strong each team is, by the matches with a turn so far, and how sure
that is. The scale is Elo's: who is 400 points stronger wins ten times as often
as it loses; 0 is the mean. Behind each team is how likely it is that it is
stronger than the next; below 95 % the matches have not told the two apart. The
first player's advantage and the likelihood of a draw are estimated with them.

With more than 64 teams the intervals are of fewer replicates, for time's sake.
"""


def add_ratings(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to the host's."""
    parser = add_command(commands, "ratings", "show how strong the teams are, and how sure that is", _RATINGS)
    folder_argument(parser)
    parser.add_argument("--event", metavar="NAME", help="only this event's")
    parser.set_defaults(command=_ratings)


def _ratings(args: argparse.Namespace) -> int:
    contest = contest_with_teams(args.contest)
    tournament, terminal = tournament_of(contest), console()
    for event in _events(contest, args.event):
        terminal.print(ratings_table(tournament, event, title=f"{contest.name}, {event.name}"))
    return EXIT_OK
