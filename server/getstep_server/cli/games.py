"""The action `matches list`: each match with its number, its teams and its state."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from getstep_server.config.contest import Contest, load_contest
from getstep_server.errors import UsageError
from getstep_server.records.match import Match
from getstep_server.reports.tables import winner_text
from getstep_server.storage.recovery import left_running
from getstep_server.text import escape_control_chars
from getstep_server.tournament.tournament import Tournament

from ._parser import EXIT_OK, Commands, add_command, folder_argument
from ._shared import console, event_named, on_record, shell_command, team_named

WIDTH = 80
"""Terminal columns of the list, also in a wider terminal: short lines are easier to read."""

OPEN, RUNNING = "open", "running"

_LIST = """\
List the matches of all pairings up to now, with the numbers that show, matches
adjudicate and matches rematch need. The states are:

  open              not played yet
  running           started and not over; after a stop or a crash it resumes
  cancelled         will not be played, because a team has withdrawn
  annulled          played, but does not count: a team was disqualified
  Ada wins (...)    over, with the reason; adjudicated means by the host

examples:
  getstep-server matches list autumn
  getstep-server matches list autumn --team Ada --open
"""


def add_match_list(actions: Commands[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Add ``list`` to the actions of ``matches``, and return its parser."""
    parser = add_command(actions, "list", "show the matches with their numbers", _LIST)
    folder_argument(parser)
    parser.add_argument("--event", metavar="NAME", help="list the matches of this event only")
    parser.add_argument("--team", metavar="TEAM", help="list the matches of this team only; its id or name")
    parser.add_argument("--open", action="store_true", help="list open and running matches only")
    return parser


def list_matches(args: argparse.Namespace) -> int:
    """Print the matches with their numbers."""
    tournament = on_record(load_contest(args.contest))
    contest = tournament.contest
    rows = list(_rows(contest, tournament, args))
    if rows:
        terminal = console()
        terminal.print(_table(contest, rows, terminal.width), soft_wrap=False)
    elif tournament.matches:
        print("No match fits these options.")
    else:
        print("There are no matches yet: run makes the pairings when it starts.")
    return EXIT_OK


def _rows(contest: Contest, tournament: Tournament, args: argparse.Namespace) -> Iterator[tuple[Match, str]]:
    """Yield the matches that the options choose, each with its state."""
    event = None if args.event is None else event_named(contest, args.event).number
    team = None if args.team is None else team_named(contest, args.team, "--team")
    if team is not None and team not in (*contest.teams, *contest.former_names):
        listing = shell_command("teams", "list", contest.folder)
        raise UsageError(f"--team {args.team}: no team has this id; see {listing}")
    running = left_running(contest.running, tournament.recorded)
    for match in tournament.matches.values():
        state = _state(contest, tournament, match, running=match.number in running)
        wanted = not args.open or state in (OPEN, RUNNING)
        if wanted and event in (None, match.event) and (team is None or team in match.teams):
            yield match, state


def _state(contest: Contest, tournament: Tournament, match: Match, *, running: bool) -> str:
    if tournament.is_cancelled(match):
        return "annulled" if tournament.played_result(match) is not None else "cancelled"
    result = tournament.final_result(match)
    if result is not None:
        return f"{winner_text(result, contest.team_name)} ({result.reason})"
    return RUNNING if running else OPEN


def _table(contest: Contest, rows: Sequence[tuple[Match, str]], width: int) -> Table:
    table = Table(box=None, pad_edge=False, width=min(width, WIDTH))
    table.add_column("#", justify="right", no_wrap=True)
    several = len(contest.events) > 1
    if several:
        table.add_column("event", overflow="fold", max_width=12)
    table.add_column("round", justify="right", no_wrap=True)
    for heading in ("first", "second"):
        table.add_column(heading, overflow="fold", max_width=20)
    table.add_column("state", overflow="fold", ratio=1)
    for match, state in rows:
        event = [contest.event(match.event).name] if several else []
        names = map(contest.team_name, match.teams)
        cells = [str(match.number), *event, str(match.round), *names, state]
        table.add_row(*(Text(escape_control_chars(cell)) for cell in cells))
    return table
