"""The host's command: getstep-server."""

from __future__ import annotations

import argparse
import io
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from getstep_engines import GAMES

from . import __version__
from ._cli import (
    EXIT_FAILED,
    EXIT_OK,
    EXIT_STOPPED,
    EXIT_USAGE,
    Commands,
    add_command,
    contest_with_teams,
    folder_argument,
    help_by_default,
    typed,
)
from ._text import counted, printable
from ._toml import ConfigError
from .attack import add_attack
from .cli_decisions import add_decisions, add_team_decisions
from .cli_match import add_match
from .cli_play import add_demo, add_run
from .cli_records import add_export, add_show, add_verify
from .cli_report import add_report
from .cli_tables import add_crosstable, add_ratings, add_standings
from .contest import init_contest, load_contest
from .game_record import RecordError
from .incident_report import as_json, by_culprit, incidents_table
from .journal import JournalError
from .limits import MAX_SEATS
from .registrar import ContestStopped
from .roster import Newcomer, add_teams, import_teams
from .run import incidents_of
from .slips import WHEEL, address_to_type, as_html, as_text
from .store import StoreError
from .tables import console

_EXAMPLES = """\
a whole contest:
  getstep-server init autumn --name "Autumn contest" --game hop
  getstep-server teams import autumn roster.csv
  getstep-server teams slips autumn            # a page per team, to print
  getstep-server run autumn                    # starts when all teams are there
  getstep-server standings autumn
  getstep-server crosstable autumn             # who did what against whom
  getstep-server ratings autumn                # how strong, and how sure that is
  getstep-server incidents autumn              # who broke the protocol
  getstep-server show autumn 7                 # a game move by move
  getstep-server export autumn --games --format csv > games.csv
  getstep-server report autumn                 # an html page of everything
  getstep-server verify autumn                 # does everything fit together?

when something goes wrong:
  getstep-server games list autumn --team Ada  # the numbers of her matches
  getstep-server games replay autumn 7 --why "the network failed"
  getstep-server games adjudicate autumn 7 --winner Ada --why "..."
  getstep-server teams withdraw autumn Ada --why "..."
  getstep-server decisions autumn

nothing at hand yet?
  getstep-server demo

which bot is stronger?
  getstep-server match my_bot.py greedy --sprt

exit codes: 0 done, 1 failed, 2 a wrong command or contest folder,
130 stopped with Ctrl-C
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that this terminal has no letters for is no reason to end
            stream.reconfigure(errors="backslashreplace")
    try:
        code = run_command(arguments)
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # that is a reader who has seen enough: `| head`
            print(f"getstep-server: {error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python's own last flush finds a way out
        code = EXIT_FAILED
    sys.exit(code)


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code.

    Raises:
        SystemExit: the command line is wrong, or asks for help.
    """
    args = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = args.command
    code = EXIT_FAILED
    try:
        code = command(args)
    except* ConfigError as group:
        code = EXIT_USAGE
        _print_errors(group)
    except* (StoreError, RecordError, JournalError, ContestStopped, sqlite3.Error) as group:
        _print_errors(group)
    except* KeyboardInterrupt:
        code = EXIT_STOPPED
    return code


def _print_errors(group: BaseExceptionGroup[Exception]) -> None:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            _print_errors(error)
        else:
            for line in str(error).split("\n"):
                print(f"getstep-server: {printable(line)}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="getstep-server",
        description="Host a bot contest on a LAN.\nA contest is a folder: contest.toml, teams.toml and its data.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"getstep-server {__version__}")
    help_by_default(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_init(commands)
    _add_teams(commands)
    add_run(commands)
    add_standings(commands)
    add_crosstable(commands)
    add_ratings(commands)
    _add_incidents(commands)
    add_demo(commands)
    add_match(commands)
    add_show(commands)
    add_export(commands)
    add_report(commands)
    add_verify(commands)
    add_decisions(commands)
    add_attack(commands)
    return parser


# --- init -----------------------------------------------------------------------------------------------------

_INIT = """\
Make a contest folder: contest.toml with every setting and what it means, and
an empty teams.toml. Each event is a tournament of its own: a game, a format
(round_robin, gauntlet, swiss, knockout, ladder or match), a table.

examples:
  getstep-server init autumn --name "Autumn contest" --game hop
  getstep-server init class --game all         # all games, one combined table
  getstep-server init club --game linkage --format ladder

games:
""" + "\n".join(f"  {game.name:<16}{game.title}" for game in GAMES.values())


def _add_init(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(commands, "init", "make a contest folder", _INIT)
    folder_argument(parser)
    parser.add_argument("--name", help="what the contest is called (default: the folder's name)")
    parser.add_argument(
        "--game",
        action="append",
        metavar="GAME",
        help="what is played (default: hop); give it again for another event, or all for one of each game",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        default="round_robin",
        help="who plays whom, in each event (default: %(default)s); contest.toml says what its settings are",
    )
    parser.set_defaults(command=_init)


def _init(args: argparse.Namespace) -> int:
    folder: Path = args.contest
    games = list(GAMES) if args.game == ["all"] else list(dict.fromkeys(args.game or ["hop"]))
    init_contest(folder, name=args.name or folder.resolve().name, games=games, format_=args.format)
    print(
        f"Made {folder / 'contest.toml'} and {folder / 'teams.toml'}. Next, add the teams, by name or from a list:"
    )
    print(f"  {typed('teams', 'add', folder)} NAME [NAME ...]")
    print(f"  {typed('teams', 'import', folder, 'roster.csv')}")
    return EXIT_OK


# --- teams ----------------------------------------------------------------------------------------------------

_SEATS = f"how many bots each may connect, and so play with at once (1 to {MAX_SEATS}; default: 1)"
_IMPORT = """\
Add all teams of a CSV file, or none if there is a mistake in it. A name a line
will do. With more columns, the first line names them, and those called name,
id and seats count. Save it as UTF-8, with commas, semicolons or tabs.

  id,name,room
  7,The Hoppers,101
  8,"Charles, and Co.",102
"""


def _add_teams(commands: Commands[argparse.ArgumentParser]) -> None:
    summary = "who takes part: add, import, list, slips; withdraw, disqualify, reinstate"
    teams = add_command(commands, "teams", summary, "The teams of a contest; they are kept in its teams.toml.")
    help_by_default(teams)
    actions = teams.add_subparsers(title="actions", metavar="ACTION")

    add = add_command(actions, "add", "add teams by name", "Add teams; each gets an id and a secret token.")
    folder_argument(add)
    add.add_argument("names", nargs="+", metavar="NAME", help="a team; in quotes if there are blanks in it")
    add.add_argument("--id", type=int, help="the team's id (with one NAME only; default: the lowest free one)")
    add.add_argument("--seats", type=int, default=1, metavar="N", help=_SEATS)
    add.add_argument("--classic", action="store_true", help="may also play over the classic wire, without a token")
    add.set_defaults(command=_teams_add)

    roster = add_command(actions, "import", "add teams from a class list", _IMPORT)
    folder_argument(roster)
    roster.add_argument("roster", type=Path, metavar="ROSTER.CSV", help="the class list")
    roster.set_defaults(command=_teams_import)

    listing = add_command(actions, "list", "show the teams", "Show the teams, without their tokens unless asked.")
    folder_argument(listing)
    listing.add_argument("--tokens", action="store_true", help="show the secret tokens as well")
    listing.set_defaults(command=_teams_list)

    slips = add_command(
        actions,
        "slips",
        "a page per team with all it has to type",
        "Write slips.html into the contest's folder: for each team a page with host,\n"
        "port, id, token and what to type.",
    )
    folder_argument(slips)
    slips.add_argument("--host", help="the address contestants type (default: this machine's on the LAN)")
    slips.add_argument("--text", action="store_true", help="print plain text instead of writing slips.html")
    slips.set_defaults(command=_teams_slips)
    add_team_decisions(actions)


def _teams_add(args: argparse.Namespace) -> int:
    if args.id is not None and len(args.names) > 1:
        raise ConfigError(f"--id {args.id} with {len(args.names)} names, expected one name")
    named = enumerate(args.names, start=1)
    newcomers = [Newcomer(name.strip(), f"NAME {n}", args.id, args.seats) for n, name in named]
    for team in add_teams(args.contest, newcomers, classic=args.classic):
        print(f"team {team.id}: {team.name}, token {team.token}")
    return EXIT_OK


def _teams_import(args: argparse.Namespace) -> int:
    added = import_teams(args.contest, args.roster)
    print(f"{counted(len(added), 'team')} added. To look at them, and to make their slips:")
    print(f"  {typed('teams', 'list', args.contest)}")
    print(f"  {typed('teams', 'slips', args.contest)}")
    return EXIT_OK


def _teams_list(args: argparse.Namespace) -> int:
    contest = contest_with_teams(args.contest)
    table = Table(box=None, pad_edge=False)
    table.add_column("id", justify="right", no_wrap=True)
    table.add_column("team")
    several = any(team.seats > 1 for team in contest.teams.values())
    shown = {"seats": several, "classic": True, "token": args.tokens}
    for column, wanted in shown.items():
        if wanted:
            table.add_column(column, justify="right" if column == "seats" else "left", no_wrap=True)
    for team in contest.teams.values():
        classic = (team.classic_address or "yes") if team.classic else ""
        cells = {"seats": str(team.seats), "classic": classic, "token": team.token}
        table.add_row(str(team.id), Text(team.name), *(cells[column] for column in cells if shown[column]))
    console().print(table)
    return EXIT_OK


def _teams_slips(args: argparse.Namespace) -> int:
    contest = contest_with_teams(args.contest)
    host = args.host or address_to_type(contest)
    if args.text:
        print(as_text(contest, host), end="")
        return EXIT_OK
    path = contest.folder / "slips.html"
    try:
        path.touch(mode=0o600)  # it holds secrets
        path.write_text(as_html(contest, host), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    print(f"{counted(len(contest.teams), 'slip')} for host {host} in {path}: open it in a browser and print it.")
    print(f"If contestants reach this machine under another address, give it with --host. They also need {WHEEL}:")
    print("README.md says how to make it. Then:")
    print(f"  {typed('run', args.contest)}")
    return EXIT_OK


# --- incidents --------------------------------------------------------------------------------------------------


_INCIDENTS = """\
Show what was hostile or refused in all runs, also while the contest runs: the
teams first, then strangers by address, each with its most frequent acts first.
Times are this machine's; with --json they are UTC, and the first bytes that
were sent are shown as well.
"""


def _add_incidents(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(commands, "incidents", "show who broke the protocol", _INCIDENTS)
    folder_argument(parser)
    parser.add_argument("--team", type=int, metavar="ID", help="only this team's")
    parser.add_argument("--json", action="store_true", help="a JSON object a line")
    parser.set_defaults(command=_incidents)


def _incidents(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    rows = by_culprit(row for row in incidents_of(contest) if args.team in (None, row.incident.team))
    if args.team is not None and not rows and args.team not in contest.teams:
        raise ConfigError(f"--team {args.team}: no team has this id")
    if args.json:
        for row in rows:
            print(as_json(contest, row))
    elif rows:
        terminal = console()
        terminal.print(incidents_table(contest, rows, terminal.width), soft_wrap=False)
    else:
        whose = "" if args.team is None else f" of {contest.team_name(args.team)}"
        print(f"No incidents{whose}: nothing hostile or refused has been recorded.")
    return EXIT_OK


if __name__ == "__main__":
    main()
