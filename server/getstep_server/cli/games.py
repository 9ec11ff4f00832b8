"""The action `matches list`: each match with its number, its teams and its state."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from getstep_server.config.contest import Contest, load_contest
from getstep_server.config.names import event_named, team_named
from getstep_server.errors import UsageError
from getstep_server.records.match import Match
from getstep_server.records.reasons import Reason
from getstep_server.reports.tables import score_text
from getstep_server.reports.text_table import Column, TextTable, truncate_middle
from getstep_server.storage.recovery import left_running
from getstep_server.text import shell_command
from getstep_server.tournament.tournament import Tournament

from ._parser import EXIT_OK, Commands, add_command, add_option, event_option, folder_argument
from ._shared import on_record, print_table

EVENT_CELLS = 14
"""Terminal cells of an event's name. The longest game has 14."""

OPEN, RUNNING = "open", "running"

_LIST = """\
List the matches of all pairings up to now, with the numbers that show, matches
adjudicate and matches rematch need. The states are:

  open              not played yet
  running           started and not over; after a stop or a crash it resumes
  cancelled         will not be played, because a team has withdrawn
  annulled          played, but does not count: a team was disqualified
  1–0, 0–1, ½–½     over: the first team won, the second won, or a draw
  0–0               over: both lost, such as when nobody came

In brackets is the reason, unless the game was played to its end; adjudicated
means by the host.

examples:
  getstep-server matches list autumn
  getstep-server matches list autumn --team Ada --open
"""


def add_match_list(actions: Commands[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Add ``list`` to the actions of ``matches``, and return its parser."""
    parser = add_command(actions, "list", "show the matches with their numbers", _LIST)
    folder_argument(parser)
    event_option(parser, "list the matches of one event")
    parser.add_argument("--team", metavar="TEAM", help="list the matches of this team only; its id or name")
    unfinished = "list open and running matches only"
    add_option(parser, "--unfinished", formerly="--open", action="store_true", help=unfinished)
    return parser


def list_matches(args: argparse.Namespace) -> int:
    tournament = on_record(load_contest(args.contest))
    contest = tournament.contest
    rows = list(_rows(contest, tournament, args))
    if rows:
        print_table(match_table(contest, rows))
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
        state = _state(tournament, match, running=match.number in running)
        wanted = not args.unfinished or state in (OPEN, RUNNING)
        if wanted and event in (None, match.event) and (team is None or team in match.teams):
            yield match, state


def _state(tournament: Tournament, match: Match, *, running: bool) -> str:
    if tournament.is_cancelled(match):
        return "annulled" if tournament.played_result(match) is not None else "cancelled"
    result = tournament.final_result(match)
    if result is not None:
        reason = "" if result.reason == Reason.FINISHED else f" ({result.reason})"
        return f"{score_text(result)}{reason}"
    return RUNNING if running else OPEN


def match_table(contest: Contest, rows: Sequence[tuple[Match, str]]) -> TextTable:
    """Return the list with one line for each match."""
    events = [truncate_middle(contest.event(match.event).name, EVENT_CELLS) for match, _ in rows]
    first, second = ([contest.team_name(match.teams[place]) for match, _ in rows] for place in (0, 1))
    columns = [
        Column("#", [str(match.number) for match, _ in rows]),
        Column("event", events, justify="left"),
        Column("round", [str(match.round) for match, _ in rows]),
        Column("first", first, names=True, justify="left"),
        Column("second", second, names=True, justify="left"),
        Column("state", [state for _, state in rows], justify="left"),
    ]
    if len(contest.events) == 1:
        del columns[1]
    return TextTable(columns, one_line_each=True)
