"""The commands with which a host corrects a contest: decisions about teams and matches, and their list."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from getstep_server.config.contest import Contest, load_contest
from getstep_server.decisions import making
from getstep_server.decisions.making import Made
from getstep_server.decisions.requests import Adjudicate, Disqualify, Forfeit, Reinstate, Rematch, Request, Withdraw
from getstep_server.records.decision import describe_decision
from getstep_server.storage.lock import server_of
from getstep_server.text import escape_control_chars, local_minute, shell_command

from ._parser import (
    EXIT_FAILED,
    EXIT_OK,
    Commands,
    Intermixed,
    add_command,
    add_hidden,
    event_option,
    folder_argument,
    help_by_default,
)
from ._shared import on_record, print_folded, renamed
from .games import add_match_list, list_matches

_BOTH = """
The decision is effective at once, also while the contest runs: the server reads
it within two seconds, and all tables follow it. It stays on record permanently,
with its reason and with the name of the person who made it; see decisions."""

_TEAMS: dict[type[Request], str] = {
    Withdraw: "their own wish",
    Disqualify: "copied another bot",
    Reinstate: "the bot is their own",
}
"""Examples of reasons, for the help."""

_ADJUDICATE = f"""\
{Adjudicate.text}{_BOTH}

examples:
  getstep-server matches adjudicate autumn 7 --winner Ada --why "our laptop"
  getstep-server matches adjudicate autumn 7 --winner draw --why "network"
  getstep-server matches adjudicate autumn 7 --winner Ada --scores 170 146 \\
      --why "as the screen said"
"""

_FORFEIT = f"""\
{Forfeit.text}{_BOTH}

example:
  getstep-server matches forfeit autumn 7 --team Ada --why "a second laptop"
"""

_REMATCH = f"""\
{Rematch.text}{_BOTH}

examples:
  getstep-server matches rematch autumn 5 9 12 --why "no network"
  getstep-server matches rematch autumn --team Late --no-shows --why "bus"
  getstep-server matches rematch autumn --no-shows --dry-run --why "switch"
"""

_MATCHES = """\
List matches, set the result of a match, or play matches again.

examples:
  getstep-server matches list autumn --team Ada
  getstep-server matches rematch autumn 7 --why "the network failed"
"""

_DECISIONS = """\
List the decisions of the host with their reasons, oldest first. Times are
local.

example:
  getstep-server decisions autumn
"""


# --- the commands -----------------------------------------------------------------------------------------------


def add_team_decisions(actions: Commands[argparse.ArgumentParser]) -> None:
    """Add ``withdraw``, ``disqualify`` and ``reinstate`` to the actions of ``teams``."""
    for request, reason in _TEAMS.items():
        kind = str(request.__struct_config__.tag)
        example = f'example:\n  getstep-server teams {kind} autumn Ada --why "{reason}"'
        parser = add_command(actions, kind, request.summary, f"{request.text}{_BOTH}\n\n{example}\n")
        folder_argument(parser)
        parser.add_argument("team", metavar="TEAM", help="the team's id or name")
        event_option(parser, "in one event instead of all")
        add_ruling_options(parser)
        parser.set_defaults(command=_decide_team, request=request)


def add_matches(parser: argparse.ArgumentParser) -> None:
    _add_actions(parser, current=True)


def add_games(parser: argparse.ArgumentParser) -> None:
    """Add the same actions to ``games``, the former name of ``matches``."""
    _add_actions(parser, current=False)


def add_decisions(parser: argparse.ArgumentParser) -> None:
    parser.description = _DECISIONS
    folder_argument(parser)
    parser.set_defaults(command=_list)


def _add_actions(parser: argparse.ArgumentParser, *, current: bool) -> None:
    parser.description = _MATCHES
    help_by_default(parser)
    actions: Commands[argparse.ArgumentParser] = parser.add_subparsers(
        title="actions", metavar="ACTION", parser_class=Intermixed
    )
    for action, add, command in (
        ("list", add_match_list, list_matches),
        ("adjudicate", _add_adjudicate, _adjudicate),
        ("forfeit", _add_forfeit, _forfeit),
        ("rematch", _add_rematch, _rematch),
    ):
        known = add(actions)
        known.set_defaults(command=command if current else renamed(command, f"matches {action}"))
    _add_replay(actions)


def _add_adjudicate(actions: Commands[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    parser = add_command(actions, "adjudicate", Adjudicate.summary, _ADJUDICATE)
    folder_argument(parser)
    parser.add_argument("match", type=int, metavar="MATCH", help="the number of the match")
    parser.add_argument(
        "--winner", required=True, metavar="TEAM", help="the id or name of the team that wins, or draw"
    )
    parser.add_argument(
        "--scores",
        nargs=2,
        type=int,
        metavar=("FIRST", "SECOND"),
        help="the scores of the first and the second player; needed where score differences count",
    )
    add_ruling_options(parser)
    return parser


def _add_forfeit(actions: Commands[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    parser = add_command(actions, "forfeit", Forfeit.summary, _FORFEIT)
    folder_argument(parser)
    parser.add_argument("match", type=int, metavar="MATCH", help="the number of the match")
    parser.add_argument("--team", required=True, metavar="TEAM", help="the id or name of the team that loses")
    add_ruling_options(parser)
    return parser


def _add_rematch(actions: Commands[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    parser = add_command(actions, "rematch", Rematch.summary, _REMATCH)
    folder_argument(parser)
    parser.add_argument("matches", nargs="*", type=int, metavar="MATCH", help="the number of a match")
    parser.add_argument("--team", metavar="TEAM", help="all matches of this team that are over; its id or name")
    parser.add_argument(
        "--no-shows",
        action="store_true",
        help="only matches forfeited by a team that did not come; with --team, by this team",
    )
    add_ruling_options(parser)
    return parser


def _add_replay(actions: Commands[argparse.ArgumentParser]) -> None:
    """Add the former name of ``rematch``, for one match."""
    parser = add_hidden(actions, "replay")
    folder_argument(parser)
    parser.add_argument("matches", nargs=1, type=int, metavar="MATCH")
    add_ruling_options(parser)
    parser.set_defaults(command=renamed(_rematch, "matches rematch"), team=None, no_shows=False)


def add_ruling_options(parser: argparse.ArgumentParser, why: str | None = None) -> None:
    """Add what all rulings have in common; ``why`` is the reason of one that needs none."""
    default = "" if why is None else f" (default: {why})"
    parser.add_argument(
        "--why",
        required=why is None,
        default=why,
        metavar="TEXT",
        help=f"the reason; it stays on record permanently{default}",
    )
    parser.add_argument(
        "--by", metavar="NAME", default=login(), help="the person who decides (default: your login name)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    parser.add_argument(
        "--yes", action="store_true", help="do not ask first; without a terminal no question is asked"
    )


def login() -> str:
    """Return the login name of the host, for the author of a decision."""
    try:
        return getpass.getuser()
    except (OSError, ImportError, KeyError):  # an account without a name
        return "the host"


# --- making decisions -------------------------------------------------------------------------------------------


def _decide_team(args: argparse.Namespace) -> int:
    request = args.request(team=args.team, event=args.event, by=args.by, why=args.why)
    return decide(args, request, {"team": "TEAM"})


def _adjudicate(args: argparse.Namespace) -> int:
    scores = None if args.scores is None else (args.scores[0], args.scores[1])
    request = Adjudicate(match=args.match, winner=args.winner, scores=scores, by=args.by, why=args.why)
    return decide(args, request)


def _forfeit(args: argparse.Namespace) -> int:
    return decide(args, Forfeit(match=args.match, team=args.team, by=args.by, why=args.why))


def _rematch(args: argparse.Namespace) -> int:
    matches, team, no_shows = tuple(args.matches), args.team, args.no_shows
    return decide(args, Rematch(matches=matches, team=team, no_shows=no_shows, by=args.by, why=args.why))


_LABELS = {"event": "--event", "match": "MATCH", "team": "--team", "winner": "--winner"}
"""The names of parameters on the command line, for messages."""


def decide(
    args: argparse.Namespace,
    request: Request,
    labels: Mapping[str, str] | None = None,
    told: Callable[[Made], None] | None = None,
) -> int:
    """Show what a request changes, ask for a yes in a terminal, put it on record, and return the exit code.

    Args:
        args: of the command, with those of `add_ruling_options`.
        request: what the command asks for.
        labels: the names of parameters on the command line, where they differ from those of most commands.
        told: prints what follows, instead of how the open matches are played.
    """
    labels, seen = {**_LABELS, **(labels or {})}, None
    asks = _is_terminal() and not args.yes
    if asks or args.dry_run:
        made = making.preview(args.contest, request, labels)
        if made.begun or args.dry_run:
            _print(made.preview.summary("Would be on record"), *made.preview.lines(made.after.contest))
        if args.dry_run:
            return EXIT_OK
        if made.begun and not _confirmed():  # before the start nothing is final: the host edits a file
            print("Nothing was put on record.")
            return EXIT_FAILED
        seen = made.preview.place if made.begun else None
    made = making.decide(args.contest, request, labels, seen=seen)
    if made.begun:
        _print(made.preview.summary("On record"))
    if seen is None:  # otherwise these lines have just been read
        _print(*made.preview.match_lines())
    if told is not None:
        told(made)
    elif request.changes_matches and made.after.open():
        print_folded(_how_they_are_played(made.after.contest))
    for number, problem in made.preview.skipped.items():
        print(escape_control_chars(f"Not played again: match {number}: {problem}"))
    return EXIT_OK


def _print(*lines: str) -> None:
    for line in lines:
        print_folded(line)


def _is_terminal() -> bool:
    """Return True if somebody can read a question and answer it; a script goes on without one."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _confirmed() -> bool:
    try:
        return input("Put this on record? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl-D
        return False


def _how_they_are_played(contest: Contest) -> str:
    """Return how the open matches are played: by the server that runs, or by one that the host starts."""
    if server_of(contest.folder) is not None:
        return "The server that runs this contest plays the open matches."
    command = f"lay the open matches with: {shell_command('run', contest.folder)}"
    # A server on another machine may use the same database in PostgreSQL.
    return f"P{command}" if isinstance(contest.database, Path) else f"If no server is running, p{command}"


# --- decisions --------------------------------------------------------------------------------------------------


def _list(args: argparse.Namespace) -> int:
    tournament = on_record(load_contest(args.contest))
    contest = tournament.contest
    for decision in tournament.decisions:
        match = None if decision.match is None else tournament.matches[decision.match]
        what = describe_decision(decision, contest, match)
        at = local_minute(datetime.fromisoformat(decision.at).timestamp())
        print_folded(f"{at}  {what}. {decision.by}: {decision.why}")
    if not tournament.decisions:
        print("No decisions: all results are as they were played.")
    return EXIT_OK
