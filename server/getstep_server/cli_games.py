"""The command that lists matches: their numbers, who plays, and what has become of each."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from ._cli import EXIT_OK, Commands, add_command, event_named, folder_argument, team_named, typed
from ._text import printable
from ._toml import ConfigError
from .contest import Contest, load_contest
from .run import tournament_of
from .schedule import Match
from .scoresheet import left_running
from .tables import console, winner_text
from .tournament import Tournament

WIDTH = 80
"""Columns of the list, also where there are more: it is read line by line."""

OPEN, RUNNING = "open", "running"

_LIST = """\
List the matches that were given out so far, with their numbers: show, games
adjudicate and games replay ask for one. Each is

  open              to be played
  running           begun, and not over; after a stop or a crash it goes on
  cancelled         not to be played: a team has withdrawn
  annulled          played, and counts for nobody: a team was disqualified
  Ada wins (...)    over, and how; adjudicated: by the host

examples:
  getstep-server games list autumn
  getstep-server games list autumn --team Ada --open
"""


def add_games_list(actions: Commands[argparse.ArgumentParser]) -> None:
    """Add list to the actions of ``games``."""
    parser = add_command(actions, "list", "show the matches with their numbers", _LIST)
    folder_argument(parser)
    parser.add_argument("--event", metavar="NAME", help="only this event's")
    parser.add_argument("--team", metavar="TEAM", help="only those of this team; its id or name")
    parser.add_argument("--open", action="store_true", help="only those that are open or running")
    parser.set_defaults(command=_games_list)


def _games_list(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    tournament = tournament_of(contest)
    rows = list(_rows(contest, tournament, args))
    if rows:
        terminal = console()
        terminal.print(_table(contest, rows, terminal.width), soft_wrap=False)
    elif tournament.matches:
        print("No match is like that.")
    else:
        print("Nothing has been given out yet: run does that, as its first act.")
    return EXIT_OK


def _rows(contest: Contest, tournament: Tournament, args: argparse.Namespace) -> Iterator[tuple[Match, str]]:
    """The matches that were asked for, each with what has become of it."""
    event = None if args.event is None else event_named(contest, args.event).number
    team = None if args.team is None else team_named(contest, args.team, "--team")
    if team is not None and team not in (*contest.teams, *contest.former):
        listing = typed("teams", "list", contest.folder)
        raise ConfigError(f"--team {args.team}: no team has this id; see {listing}")
    running = left_running(contest.running, tournament.recorded)
    for match in tournament.matches.values():
        state = _state(contest, tournament, match, running=match.number in running)
        wanted = not args.open or state in (OPEN, RUNNING)
        if wanted and event in (None, match.event) and (team is None or team in match.teams):
            yield match, state


def _state(contest: Contest, tournament: Tournament, match: Match, *, running: bool) -> str:
    if tournament.is_cancelled(match):
        return "annulled" if tournament.result(match) is not None else "cancelled"
    result = tournament.comes_to(match)
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
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table
