"""The host's command: getstep-server."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sqlite3
import subprocess
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
from ._text import printable
from ._toml import ConfigError
from .attack import add_attack
from .contest import Contest, init_contest, load_contest, teams_path
from .demo import make_demo_contest, run_demo
from .director import ContestStopped
from .events import SELDOM, Bus
from .game_record import RecordError
from .incident_report import as_json, by_culprit, incidents_table
from .journal import JournalError
from .progress import Progress
from .results import Result, Standing, standings
from .roster import Newcomer, add_teams, read_roster
from .run import Ending, StartWhen, incidents_of, results_of, run_contest
from .slips import WHEEL, address_to_type, as_html, as_text
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
  getstep-server incidents autumn              # who broke the protocol

nothing at hand yet?
  getstep-server demo

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


def _typed(*words: str | Path) -> str:
    """A command as one types it here."""
    return (subprocess.list2cmdline if os.name == "nt" else shlex.join)(["getstep-server", *map(str, words)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="getstep-server",
        description="Host a bot contest on a LAN.\nA contest is a folder: contest.toml, teams.toml and its data.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"getstep-server {__version__}")
    _help_by_default(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_init(commands)
    _add_teams(commands)
    _add_run(commands)
    _add_standings(commands)
    _add_incidents(commands)
    _add_demo(commands)
    add_attack(commands)
    return parser


_Commands = argparse._SubParsersAction


def _help_by_default(parser: argparse.ArgumentParser) -> None:
    """Have the command explain itself when it is typed alone."""

    def explain(_: argparse.Namespace) -> int:
        parser.print_help(sys.stderr)
        return EXIT_USAGE

    parser.set_defaults(command=explain)


def _add(
    commands: _Commands[argparse.ArgumentParser], name: str, summary: str, text: str
) -> argparse.ArgumentParser:
    """A command with its line in the list of commands and its own page of help."""
    as_written = argparse.RawDescriptionHelpFormatter
    return commands.add_parser(name, help=summary, description=text, formatter_class=as_written)


def _folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("contest", type=Path, metavar="CONTEST", help="the contest's folder")


# --- init -----------------------------------------------------------------------------------------------------

_INIT = """\
Make a contest folder: contest.toml with every setting and what it means, and
an empty teams.toml.

example:
  getstep-server init autumn --name "Autumn contest" --game hop

games:
""" + "\n".join(f"  {game.name:<16}{game.title}" for game in GAMES.values())


def _add_init(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(commands, "init", "make a contest folder", _INIT)
    _folder(parser)
    parser.add_argument("--name", help="what the contest is called (default: the folder's name)")
    parser.add_argument("--game", default="hop", help="what is played (default: hop)")
    parser.set_defaults(command=_init)


def _init(args: argparse.Namespace) -> int:
    folder: Path = args.contest
    init_contest(folder, name=args.name or folder.resolve().name, game=args.game)
    print(
        f"Made {folder / 'contest.toml'} and {folder / 'teams.toml'}. Next, add the teams, by name or from a list:"
    )
    print(f"  {_typed('teams', 'add', folder)} NAME [NAME ...]")
    print(f"  {_typed('teams', 'import', folder, 'roster.csv')}")
    return EXIT_OK


# --- teams ----------------------------------------------------------------------------------------------------

_IMPORT = """\
Add all teams of a CSV file, or none if there is a mistake in it. A name a line
will do. With more columns, the first line names them, and those called name
and id count. Save it as UTF-8, with commas, semicolons or tabs.

  id,name,room
  7,The Hoppers,101
  8,"Charles, and Co.",102
"""


def _add_teams(commands: _Commands[argparse.ArgumentParser]) -> None:
    summary = "who takes part: add, import, list, slips"
    teams = _add(commands, "teams", summary, "The teams of a contest; they are kept in its teams.toml.")
    _help_by_default(teams)
    actions = teams.add_subparsers(title="actions", metavar="ACTION")

    add = _add(actions, "add", "add teams by name", "Add teams; each gets an id and a secret token.")
    _folder(add)
    add.add_argument("names", nargs="+", metavar="NAME", help="a team; in quotes if there are blanks in it")
    add.add_argument("--id", type=int, help="the team's id (with one NAME only; default: the lowest free one)")
    add.add_argument("--classic", action="store_true", help="may also play over the classic wire, without a token")
    add.set_defaults(command=_teams_add)

    roster = _add(actions, "import", "add teams from a class list", _IMPORT)
    _folder(roster)
    roster.add_argument("roster", type=Path, metavar="ROSTER.CSV", help="the class list")
    roster.set_defaults(command=_teams_import)

    listing = _add(actions, "list", "show the teams", "Show the teams, without their tokens unless asked.")
    _folder(listing)
    listing.add_argument("--tokens", action="store_true", help="show the secret tokens as well")
    listing.set_defaults(command=_teams_list)

    slips = _add(
        actions,
        "slips",
        "a page per team with all it has to type",
        "Write slips.html into the contest's folder: for each team a page with host,\n"
        "port, id, token and what to type.",
    )
    _folder(slips)
    slips.add_argument("--host", help="the address contestants type (default: this machine's on the LAN)")
    slips.add_argument("--text", action="store_true", help="print plain text instead of writing slips.html")
    slips.set_defaults(command=_teams_slips)


def _teams_add(args: argparse.Namespace) -> int:
    if args.id is not None and len(args.names) > 1:
        raise ConfigError(f"--id {args.id} with {len(args.names)} names, expected one name")
    newcomers = [Newcomer(name.strip(), f"NAME {n}", args.id) for n, name in enumerate(args.names, start=1)]
    for team in add_teams(args.contest, newcomers, classic=args.classic):
        print(f"team {team.id}: {team.name}, token {team.token}")
    return EXIT_OK


def _teams_import(args: argparse.Namespace) -> int:
    added = add_teams(args.contest, read_roster(args.roster))
    print(f"{len(added)} teams added. Look at them, and make their slips, with:")
    print(f"  {_typed('teams', 'list', args.contest)}")
    print(f"  {_typed('teams', 'slips', args.contest)}")
    return EXIT_OK


def _teams_list(args: argparse.Namespace) -> int:
    contest = _contest_with_teams(args.contest)
    table = Table(box=None, pad_edge=False)
    table.add_column("id", justify="right", no_wrap=True)
    table.add_column("team")
    for column in ("classic", *(["token"] if args.tokens else [])):
        table.add_column(column, no_wrap=True)
    for team in contest.teams.values():
        classic = (team.classic_address or "yes") if team.classic else ""
        table.add_row(str(team.id), Text(team.name), classic, *([team.token] if args.tokens else []))
    console().print(table)
    return EXIT_OK


def _teams_slips(args: argparse.Namespace) -> int:
    contest = _contest_with_teams(args.contest)
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
    print(f"{len(contest.teams)} slips for host {host} in {path}: open it in a browser and print it.")
    print(f"If contestants reach this machine under another address, give it with --host. They also need {WHEEL}:")
    print("README.md says how to make it. Then:")
    print(f"  {_typed('run', args.contest)}")
    return EXIT_OK


def _contest_with_teams(folder: Path) -> Contest:
    contest = load_contest(folder)
    if not contest.teams:
        raise ConfigError(f"{teams_path(folder)}: no teams; add some with: {_typed('teams', 'add', folder)} NAME")
    return contest


# --- run --------------------------------------------------------------------------------------------------------


_RUN = """\
Listen, wait for the teams, play, show the standings. The first match begins
when all teams are there, or when you press Enter; see --at and --now. A team
that is missing when its match comes up is waited for as long as contest.toml
says, then loses that match. Ctrl-C stops; the same command goes on where it was.

Contestants have to reach the port (TCP): allow it in this machine's firewall.
"""


def _add_run(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(commands, "run", "play the contest, or what is left of it", _RUN)
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
    contest = load_contest(args.contest)
    contest = contest.listening_on(host=args.host, port=args.port, classic_port=args.classic_port)
    when = StartWhen(now=args.now, at=_time_of_day(args.at), on_enter=sys.stdin is not None and sys.stdin.isatty())
    progress = _progress(contest, plain=args.plain)
    _say_hello(contest, progress, when)
    bus = Bus()
    bus.subscribe(progress, SELDOM)
    with progress.shown():
        ending = trio.run(run_contest, contest, bus, when)
    goes_on = f"Every finished match is kept; go on with: {_typed('run', contest.folder)}"
    return _say_ending(contest, progress, ending, goes_on)


def _progress(contest: Contest, *, plain: bool) -> Progress:
    terminal = console()
    return Progress(contest, terminal, live=terminal.is_terminal and not terminal.is_dumb_terminal and not plain)


def _say_hello(contest: Contest, progress: Progress, when: StartWhen) -> None:
    progress.say(f"{contest.name}: {describe_game(contest.game, contest.options)}, {len(contest.teams)} teams")
    progress.say(f"Limit: {describe_limit(contest)}")
    played = len(results_of(contest))
    if played:
        start = f"at once, where it was: {played} matches are played"
    elif when.now:
        start = "at once"
    elif when.at is not None:
        tomorrow = " tomorrow" if when.at.date() != datetime.now().date() else ""
        start = f"at {when.at:%H:%M}{tomorrow}"
    else:
        start = "when all teams are here"
    enter = ", or when you press Enter" if when.on_enter and not played and not when.now else ""
    progress.say(f"Starts {start}{enter}. Ctrl-C stops cleanly.")


def _say_ending(contest: Contest, progress: Progress, ending: Ending, goes_on: str) -> int:
    results, table = _table(contest)
    title = f"Standings after {len(results)} matches"
    progress.console.print(standings_table(contest, table, title=title))
    if ending is Ending.FINISHED:
        return EXIT_OK
    progress.say(f"Stopped. {goes_on}")
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
    text = "Show the table as it stands, also while the contest runs."
    parser = _add(commands, "standings", "show the table", text)
    _folder(parser)
    parser.set_defaults(command=_standings)


def _standings(args: argparse.Namespace) -> int:
    contest = _contest_with_teams(args.contest)
    results, table = _table(contest)
    title = f"{contest.name}, {len(results)} matches played"
    console().print(standings_table(contest, table, title=title))
    return EXIT_OK


def _table(contest: Contest) -> tuple[list[Result], list[Standing]]:
    """The results, and the table of all teams: those too that have played and are no longer in teams.toml."""
    results = results_of(contest)
    teams = dict.fromkeys([*contest.teams, *(team for result in results for team in result.match.teams)])
    return results, standings(list(teams), results, scoring=contest.scoring)


# --- incidents --------------------------------------------------------------------------------------------------


_INCIDENTS = """\
Show what was hostile or refused in all runs, also while the contest runs: the
teams first, then strangers by address, each with its most frequent acts first.
Times are this machine's; with --json they are UTC, and the first bytes that
were sent are shown as well.
"""


def _add_incidents(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(commands, "incidents", "show who broke the protocol", _INCIDENTS)
    _folder(parser)
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


# --- demo -------------------------------------------------------------------------------------------------------


_DEMO = """\
Play a tournament between sample bots, each its own process, over TCP on this
machine. It needs nothing, and nothing is left of it.

examples:
  getstep-server demo
  getstep-server demo --game linkage --teams 4
  getstep-server demo --game all
"""


def _add_demo(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(commands, "demo", "watch a small tournament between sample bots", _DEMO)
    parser.add_argument("--game", default="hop", help=f"all, or one of: {', '.join(GAMES)} (default: hop)")
    parser.add_argument("--teams", type=int, default=6, help="how many bots (default: 6)")
    parser.add_argument("--seed", type=int, default=2019, help="of the schedule (default: 2019)")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the contest and what the bots printed here"
    )
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
    bus.subscribe(progress, SELDOM)
    with progress.shown():
        ending = trio.run(run_demo, contest, bus)
    return _say_ending(contest, progress, ending, "That was the demo.")


if __name__ == "__main__":
    main()
