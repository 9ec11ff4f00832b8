"""The command `ratings`. It has a module of its own because it imports numpy."""

from __future__ import annotations

import argparse

from getstep_server.reports.ratings_table import ratings_table

from ._parser import EXIT_OK, event_option, folder_argument
from ._shared import contest_with_teams, on_record, print_event_tables

_RATINGS = """\
Show the Elo rating of each team with its 95 % interval, from the matches that
have at least one turn. A team that is rated 400 points higher wins ten times
as often as it loses; the mean is 0. The last column is the probability that
the team is stronger than the next one. Below 95 % the matches do not decide
which of the two is stronger. The first player's advantage and the frequency of
draws are estimated from the same matches.

For more than 64 teams the intervals use fewer bootstrap replicates, and for
more than 256 teams a normal approximation.

examples:
  getstep-server ratings autumn
  getstep-server ratings autumn --event linkage
"""


def add_ratings(parser: argparse.ArgumentParser) -> None:
    parser.description = _RATINGS
    folder_argument(parser)
    event_option(parser, "show the ratings of one event")
    parser.set_defaults(command=_ratings)


def _ratings(args: argparse.Namespace) -> int:
    tournament = on_record(contest_with_teams(args.contest))
    print_event_tables(tournament, args.event, lambda event, title: ratings_table(tournament, event, title=title))
    return EXIT_OK
