"""The action `matches list`: each match with its number, its teams and its state."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from getstep_server.config.contest import Contest, load_contest
from getstep_server.errors import UsageError
from getstep_server.records.match import Match
from getstep_server.records.reasons import Reason
from getstep_server.reports.tables import score_text
from getstep_server.reports.text_table import NAME_LEAST, truncate_middle
from getstep_server.storage.recovery import left_running
from getstep_server.text import cell_len, escape_control_chars
from getstep_server.tournament.tournament import Tournament

from ._parser import EXIT_OK, Commands, add_command, folder_argument
from ._shared import console, event_named, on_record, shell_command, team_named

EVENT_CELLS = 14
"""Terminal cells of an event's name. The longest game has 14."""

OPEN, RUNNING = "open", "running"

GAP = "  "

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
    parser.add_argument("--event", metavar="NAME", help="list the matches of this event only")
    parser.add_argument("--team", metavar="TEAM", help="list the matches of this team only; its id or name")
    parser.add_argument("--open", action="store_true", help="list open and running matches only")
    return parser


def list_matches(args: argparse.Namespace) -> int:
    tournament = on_record(load_contest(args.contest))
    contest = tournament.contest
    rows = list(_rows(contest, tournament, args))
    if rows:
        terminal = console()
        terminal.print(
            match_table(contest, rows, terminal.width if terminal.is_terminal else None), soft_wrap=False
        )
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
        wanted = not args.open or state in (OPEN, RUNNING)
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


def match_table(contest: Contest, rows: Sequence[tuple[Match, str]], width: int | None) -> Table:
    """Return the list with one line for each match. Names are shortened to ``width``; None leaves them whole."""
    several = len(contest.events) > 1
    events = [truncate_middle(contest.event(match.event).name, EVENT_CELLS) for match, _ in rows]
    before = {"#": [str(match.number) for match, _ in rows]}
    before |= {"event": events} if several else {}
    before |= {"round": [str(match.round) for match, _ in rows]}
    first, second = ([contest.team_name(match.teams[place]) for match, _ in rows] for place in (0, 1))
    states = {"state": [state for _, state in rows]}
    if width is not None:
        taken = sum(_width(heading, cells) + len(GAP) for heading, cells in (before | states).items())
        first, second = _beside(first, second, width - taken - len(GAP))
    table = Table(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0))
    columns = {**before, "first": first, "second": second, **states}
    for heading in columns:
        table.add_column(heading, justify="right" if heading in ("#", "round") else "left", no_wrap=True)
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*(Text(escape_control_chars(cell)) for cell in cells))
    return table


def _width(heading: str, cells: Sequence[str]) -> int:
    return max(map(cell_len, [heading, *cells]))


def _beside(first: list[str], second: list[str], room: int) -> tuple[list[str], list[str]]:
    """Return the names of both columns so that they fit: each has half of the room, or what the other leaves."""
    widths = _width("first", first), _width("second", second)
    return (
        [truncate_middle(name, max(NAME_LEAST, room // 2, room - widths[1])) for name in first],
        [truncate_middle(name, max(NAME_LEAST, room - room // 2, room - widths[0])) for name in second],
    )
