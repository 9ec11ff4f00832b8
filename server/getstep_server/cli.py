"""The host's command: getstep-server."""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path

import trio
from rich.table import Table
from rich.text import Text

from getstep_engines import GAMES

from . import __version__
from ._toml import ConfigError
from .contest import Contest, add_team, add_teams, init_contest, load_contest, read_roster
from .demo import make_demo_contest, run_demo
from .director import ContestStopped
from .events import Bus
from .progress import Progress
from .results import standings
from .run import Ending, StartWhen, results_of, run_contest, with_ports
from .slips import as_html, as_text, lan_address
from .store import StoreError
from .tables import console, describe_game, describe_limit, standings_table

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_STOPPED = 0, 1, 2, 130

_EXAMPLES = """\
a whole contest:
  getstep-server init autumn --name "Autumn contest" --game hop
  getstep-server teams import autumn roster.csv
  getstep-server teams slips autumn            # a page per team, to print
  getstep-server run autumn                    # starts when all teams are there
  getstep-server standings autumn

nothing at hand yet?
  getstep-server demo

exit codes: 0 done, 1 failed, 2 a wrong command or contest folder, 130 stopped with Ctrl-C
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit."""
    sys.exit(run_command(arguments))


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    args = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = args.command
    code = EXIT_FAILED
    try:
        code = command(args)
    except* ConfigError as group:
        code = EXIT_USAGE
        _print_errors(group)
    except* (StoreError, ContestStopped, sqlite3.Error) as group:
        _print_errors(group)
    except* KeyboardInterrupt:
        code = EXIT_STOPPED
    return code


def _print_errors(group: BaseExceptionGroup[Exception]) -> None:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            _print_errors(error)
        else:
            print(f"getstep-server: {error}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="getstep-server",
        description="Host a bot contest on a LAN. A contest is a folder: contest.toml, teams.toml and its data.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"getstep-server {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_init(commands)
    _add_teams(commands)
    _add_run(commands)
    _add_standings(commands)
    _add_demo(commands)
    return parser


_Commands = argparse._SubParsersAction


def _folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("contest", type=Path, metavar="CONTEST", help="the contest's folder")


# --- init -----------------------------------------------------------------------------------------------------


def _add_init(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("init", help="make a contest folder", description="Make a contest folder.")
    _folder(parser)
    parser.add_argument("--name", help="what the contest is called (default: the folder's name)")
    parser.add_argument("--game", default="hop", help=f"one of: {', '.join(GAMES)} (default: hop)")
    parser.set_defaults(command=_init)


def _init(args: argparse.Namespace) -> int:
    folder: Path = args.contest
    init_contest(folder, name=args.name or folder.resolve().name, game=args.game)
    print(f"Made {folder / 'contest.toml'} and {folder / 'teams.toml'}. Next:")
    print(f"  getstep-server teams add {folder} NAME [NAME ...]     or: teams import {folder} roster.csv")
    print(f"  getstep-server run {folder}")
    return EXIT_OK


# --- teams ----------------------------------------------------------------------------------------------------


def _add_teams(commands: _Commands[argparse.ArgumentParser]) -> None:
    teams = commands.add_parser("teams", help="who takes part: add, import, list, slips")
    actions = teams.add_subparsers(required=True, metavar="ACTION")

    add = actions.add_parser("add", help="add teams by name", description="Add teams; each gets an id and a token.")
    _folder(add)
    add.add_argument("names", nargs="+", metavar="NAME")
    add.add_argument("--id", type=int, help="the team's id (with one NAME only; default: the lowest free one)")
    add.add_argument("--classic", action="store_true", help="may also play over the classic wire, without a token")
    add.set_defaults(command=_teams_add)

    roster = actions.add_parser(
        "import",
        help="add teams from a CSV file",
        description="Add teams from a CSV file: a name a line, or columns with a header 'id,name'.",
    )
    _folder(roster)
    roster.add_argument("roster", type=Path, metavar="ROSTER.CSV")
    roster.set_defaults(command=_teams_import)

    listing = actions.add_parser("list", help="show the teams")
    _folder(listing)
    listing.add_argument("--tokens", action="store_true", help="show the secret tokens as well")
    listing.set_defaults(command=_teams_list)

    slips = actions.add_parser(
        "slips",
        help="a page per team with all it has to type",
        description="Write a page per team with host, port, id, token and the commands to type.",
    )
    _folder(slips)
    slips.add_argument("--host", help="the address contestants type (default: this machine's on the LAN)")
    slips.add_argument("--text", action="store_true", help="print plain text instead of writing slips.html")
    slips.set_defaults(command=_teams_slips)


def _teams_add(args: argparse.Namespace) -> int:
    if args.id is not None and len(args.names) > 1:
        raise ConfigError(f"--id {args.id} with {len(args.names)} names, expected one name")
    if args.id is not None:
        added = [add_team(args.contest, args.names[0], team_id=args.id, classic=args.classic)]
    else:
        added = add_teams(args.contest, [(None, name) for name in args.names], classic=args.classic)
    for team in added:
        print(f"team {team.id}: {team.name}, token {team.token}")
    return EXIT_OK


def _teams_import(args: argparse.Namespace) -> int:
    added = add_teams(args.contest, read_roster(args.roster))
    print(f"{len(added)} teams added, ids {added[0].id} to {added[-1].id}. Print their slips with:")
    print(f"  getstep-server teams slips {args.contest}")
    return EXIT_OK


def _teams_list(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    table = Table(box=None, pad_edge=False)
    for column in ("id", "team", "classic", *(["token"] if args.tokens else [])):
        table.add_column(column)
    for team in contest.teams.values():
        classic = (team.classic_address or "yes") if team.classic else ""
        table.add_row(str(team.id), Text(team.name), classic, *([team.token] if args.tokens else []))
    console().print(table)
    return EXIT_OK


def _teams_slips(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    host = args.host or lan_address()
    if args.text:
        print(as_text(contest, host), end="")
        return EXIT_OK
    path = contest.folder / "slips.html"
    path.write_text(as_html(contest, host), encoding="utf-8")
    print(f"{len(contest.teams)} slips for host {host} in {path}: open it in a browser and print it.")
    return EXIT_OK


# --- run --------------------------------------------------------------------------------------------------------


def _add_run(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "run",
        help="play the contest, or what is left of it",
        description="Listen, wait for the teams, play, show the standings. Ctrl-C stops; the same command goes on.",
    )
    _folder(parser)
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--at", metavar="HH:MM", help="start at this time of day, whoever is there")
    start.add_argument("--now", action="store_true", help="start at once, whoever is there")
    parser.add_argument("--host", help="listen on this address instead of the one in contest.toml")
    parser.add_argument("--port", type=int, help="listen on this port instead of the one in contest.toml")
    parser.add_argument("--classic-port", type=int, help="also take classic clients on this port (hop only)")
    parser.add_argument("--plain", action="store_true", help="plain lines instead of the live view")
    parser.set_defaults(command=_run)


def _run(args: argparse.Namespace) -> int:
    contest = with_ports(load_contest(args.contest), host=args.host, port=args.port, classic_port=args.classic_port)
    when = StartWhen(now=args.now, at=_time_of_day(args.at), on_enter=sys.stdin is not None and sys.stdin.isatty())
    progress = _progress(contest, plain=args.plain)
    _say_hello(contest, progress, when)
    bus = Bus()
    bus.subscribe(progress)
    with progress.shown():
        ending = trio.run(run_contest, contest, bus, when)
    return _say_ending(contest, progress, ending)


def _progress(contest: Contest, *, plain: bool) -> Progress:
    terminal = console()
    return Progress(contest, terminal, live=terminal.is_terminal and not plain)


def _say_hello(contest: Contest, progress: Progress, when: StartWhen) -> None:
    progress.say(f"{contest.name}: {describe_game(contest.game, contest.options)}, {len(contest.teams)} teams")
    progress.say(f"Limit: {describe_limit(contest)}")
    if when.now:
        start = "at once"
    elif when.at is not None:
        start = f"at {when.at:%H:%M}"
    else:
        start = "when all teams are here"
    progress.say(f"Starts {start}{', or when you press Enter' if when.on_enter else ''}. Ctrl-C stops cleanly.")


def _say_ending(contest: Contest, progress: Progress, ending: Ending) -> int:
    results = results_of(contest)
    table = standings(list(contest.teams), results, scoring=contest.scoring)
    progress.console.print(standings_table(contest, table, title=f"Standings after {len(results)} matches"))
    if ending is Ending.FINISHED:
        return EXIT_OK
    progress.say(f"Stopped. Every finished match is kept; go on with: getstep-server run {contest.folder}")
    return EXIT_STOPPED


def _time_of_day(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        clock = datetime.strptime(text, "%H:%M").time()
    except ValueError:
        raise ConfigError(f"--at {text!r}, expected a time of day such as 14:30") from None
    now = datetime.now().astimezone()
    at = now.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0)
    return at if at > now else at + timedelta(days=1)


# --- standings --------------------------------------------------------------------------------------------------


def _add_standings(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("standings", help="show the table", description="Show the table as it stands.")
    _folder(parser)
    parser.set_defaults(command=_standings)


def _standings(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    results = results_of(contest)
    table = standings(list(contest.teams), results, scoring=contest.scoring)
    title = f"{contest.name}, {len(results)} matches played"
    console().print(standings_table(contest, table, title=title))
    return EXIT_OK


# --- demo -------------------------------------------------------------------------------------------------------


def _add_demo(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo",
        help="watch a small tournament between sample bots",
        description="Play a tournament between sample bots, each its own process, over TCP on this machine.",
    )
    parser.add_argument("--game", default="hop", help=f"all, or one of: {', '.join(GAMES)} (default: hop)")
    parser.add_argument("--teams", type=int, default=6, help="how many bots (default: 6)")
    parser.add_argument("--seed", type=int, default=2019, help="of the schedule (default: 2019)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the contest folder here")
    parser.add_argument("--plain", action="store_true", help="plain lines instead of the live view")
    parser.set_defaults(command=_demo)


def _demo(args: argparse.Namespace) -> int:
    games = list(GAMES) if args.game == "all" else [args.game]
    for game in games:
        with _demo_folder(args.keep) as folder:
            code = _demo_game(Path(folder) / game, game, args)
        if code != EXIT_OK:
            return code
    return EXIT_OK


def _demo_folder(keep: Path | None) -> AbstractContextManager[str]:
    return tempfile.TemporaryDirectory(prefix="getstep-") if keep is None else nullcontext(str(keep))


def _demo_game(folder: Path, game: str, args: argparse.Namespace) -> int:
    contest = make_demo_contest(folder, game, args.teams, args.seed)
    progress = _progress(contest, plain=args.plain)
    _say_hello(contest, progress, StartWhen())
    bus = Bus()
    bus.subscribe(progress)
    with progress.shown():
        ending = trio.run(run_demo, contest, bus)
    return _say_ending(contest, progress, ending)


if __name__ == "__main__":
    main()
