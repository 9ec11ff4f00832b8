"""The commands `run`, `rehearse` and `demo`, which play a contest."""

from __future__ import annotations

import argparse
import socket
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import trio
from msgspec import structs

from getstep_engines import GAMES
from getstep_server.addresses import doubtful_address
from getstep_server.bot_runner.processes import Bot, Bots
from getstep_server.bot_runner.sample_bots import sample_bots
from getstep_server.cluster.address import cluster_address
from getstep_server.config.class_list import NewTeam
from getstep_server.config.contest import (
    Contest,
    contest_path,
    contest_text_without_database,
    init_contest,
    load_contest,
    teams_path,
)
from getstep_server.config.contestants_package import write_contestants_package
from getstep_server.config.event import describe_event, installed_game
from getstep_server.config.roster import add_teams
from getstep_server.decisions.starting import time_of_day
from getstep_server.errors import UsageError
from getstep_server.events import EXCEPT_MOVES, Bus, ContestStarted
from getstep_server.limits import DATABASE_DOUBT_SECONDS
from getstep_server.net.listener import file_limit, raise_file_limit
from getstep_server.programs.store import ProgramStore
from getstep_server.reports.progress import ProgressView
from getstep_server.reports.progress_state import duration
from getstep_server.reports.tables import all_tables
from getstep_server.runtime.presence import resume_patience
from getstep_server.runtime.run import MakeCluster, OpenContest, RunOutcome, freeze_long_lived, open_contest
from getstep_server.runtime.service_manager import ServiceManager
from getstep_server.runtime.start import StartCondition
from getstep_server.standby.marks import check_may_run
from getstep_server.standby.taking import TakeOver
from getstep_server.storage.contest_state import accept_loss, games_of, results_of, tournament_of
from getstep_server.storage.database import DatabaseError, DatabaseProblem, ServerAwayError
from getstep_server.storage.lock import ContestLock
from getstep_server.storage.lost_records import set_aside
from getstep_server.storage.recovery import left_running
from getstep_server.storage.store import Store
from getstep_server.text import join_limited, pluralize, shell_command
from getstep_server.tournament.settings_record import shortened
from getstep_server.tournament.tournament import Tournament
from getstep_server.web.listener import open_page_listener, page_address

from ._helper_processes import (
    Announcer,
    house_bot_file,
    keep_house_bots,
    keep_page,
    run_with_helpers,
    tell_other_hosts,
)
from ._parser import EXIT_FAILED, EXIT_OK, EXIT_STOPPED, folder_argument
from ._shared import console, is_live, live_board
from ._with_bots import run_with_bots
from .clusters import add_dask, cluster_maker
from .crash_demo import run_crash_demo
from .host_key import add_host_page, console_lines

_RETRY_SECONDS = 0.5  # a database's server that restarts takes seconds
HOSTED_CELLS = 200
"""Terminal cells for the teams with a program on this machine: 64 teams would fill a screen."""

# --- run --------------------------------------------------------------------------------------------------------


_RUN = """\
Play the contest: wait for the teams, play all matches, show the standings.

Start: the first match starts when all teams are here, or when you press Enter;
see --at and --now. A new round of a ladder waits for its teams, too, but no
longer than ten times absent_seconds, and not with --at or --now.

Missing teams: a match waits absent_seconds for a missing team; then the team
forfeits it. Other matches do not wait. A team that arrives later plays the
matches that it forfeited, unless contest.toml has no_show = "final".

Stop and resume: Ctrl-C stops the server, and the same command resumes the
contest, including matches in progress. This also works after a crash. The
server waits again for the teams that have matches left, but no longer than ten
times absent_seconds, and at least a minute. A service that restarts it should
use --now. Between two runs you may add teams, or remove
them from teams.toml.

Programs that teams have submitted play on this machine, or with --dask on other
ones. Each worker proves its sandbox first, and its matches are recorded here.

Contestants connect to the port (TCP): open it in this machine's firewall.
The contest is announced on the network by multicast DNS (UDP port 5353), so
getstep login finds it without an address; --no-announce switches this off.
Spectators open the live page, whose address is shown, in a browser; the port
is web_port in contest.toml. The page is a process of its own.

With tls_certificate and tls_key in contest.toml, the port and the page speak
TLS, and a renewed certificate is used without a restart: see docs/internet.md.

The host's console is part of the page, and open on this computer only, unless
--host-page says otherwise: start, pauses, rulings, teams, messages and files.
Its link is printed, and works once; host-key prints another one.

examples:
  getstep-server run autumn
  getstep-server run autumn --at 14:30
  getstep-server run autumn --port 8000 --plain > run.txt
  getstep-server run autumn --dask tcp://lab1:8786

exit codes: 0 the contest is over, 1 it had to stop, 2 the command or a file
cannot be used, or another server runs the contest, 130 stopped with Ctrl-C
"""


def add_run(parser: argparse.ArgumentParser) -> None:
    parser.description = _RUN
    add_run_options(parser)
    anew = "begin the contest anew after its records were lost; what is left of it is kept in a folder earlier-..."
    lost = parser.add_mutually_exclusive_group()
    lost.add_argument("--anew", action="store_true", help=anew)
    accept = "continue although results are missing; what tells of them is kept in a folder earlier-..."
    lost.add_argument("--accept-loss", action="store_true", help=accept)
    parser.set_defaults(command=_run)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the folder, and what `run_contest_of` reads."""
    folder_argument(parser)
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--at", metavar="HH:MM", help="start at this time of day, even if teams are missing")
    start.add_argument("--now", action="store_true", help="start at once, even if teams are missing")
    parser.add_argument("--host", help="listen on this address instead of the one in contest.toml")
    parser.add_argument("--port", type=int, help="listen on this port instead of the one in contest.toml")
    parser.add_argument("--classic-port", type=int, help="also accept classic clients on this port (hop only)")
    parser.add_argument("--web-port", type=int, help="serve the live page on this port instead of web_port")
    parser.add_argument("--no-web", action="store_true", help="serve no live page")
    add_host_page(parser)
    add_dask(parser)
    parser.add_argument("--no-house-bots", action="store_true", help="do not start the house bots of an arena")
    parser.add_argument("--no-announce", action="store_true", help="do not announce the contest on the network")
    parser.add_argument("--plain", action="store_true", help="print plain lines instead of the live view")


def _run(args: argparse.Namespace) -> int:
    return run_contest_of(args, _begin_again)


def _begin_again(contest: Contest, args: argparse.Namespace) -> None:
    """Put aside what is left of a contest whose records were lost, or accept that results are missing."""
    if args.anew:
        with ContestLock(contest.folder):  # before the folder changes: another server may run the contest
            check_may_run(contest)
            kept = set_aside(contest)
        print(
            "Nothing to put aside: the contest has not begun." if kept is None else f"The old files are in {kept}."
        )
    if args.accept_loss:
        with ContestLock(contest.folder):
            kept = accept_loss(contest)
        print(
            "No result is missing." if kept is None else f"The old log, and a copy of the records, are in {kept}."
        )


def run_contest_of(
    args: argparse.Namespace,
    begin: Callable[[Contest, argparse.Namespace], None] = lambda *_: None,
    take_over: TakeOver | None = None,
) -> int:
    """Play the contest that the arguments of `add_run_options` name, and return the exit code.

    Args:
        args: the arguments.
        begin: may change the folder: it is called when the command line has been checked.
        take_over: takes the contest over from another host.
    """
    contest = load_contest(args.contest).listening_on(
        host=args.host,
        port=args.port,
        classic_port=args.classic_port,
        web_port=args.web_port,
        host_page=args.host_page,
    )
    when = StartCondition(
        now=args.now,
        at=None if args.at is None else time_of_day(args.at, "--at"),
        on_enter=sys.stdin is not None and sys.stdin.isatty(),
    )
    make_cluster = cluster_maker(args.dask)
    begin(contest, args)
    with open_contest(contest, take_over) as opened:  # before the first line: another server may run the contest
        if take_over is not None and args.at is None and opened.tournament.matches:
            when = replace(when, now=True)  # each match waits for its own teams only
        return _run_opened(opened, args, when, make_cluster)


def _run_opened(
    opened: OpenContest, args: argparse.Namespace, when: StartCondition, make_cluster: MakeCluster | None
) -> int:
    contest = opened.contest
    progress = _progress(contest, plain=args.plain)
    _print_header(contest, opened.tournament, progress, when, on_cluster=make_cluster is not None)
    if args.dask is not None:
        progress.say(f"Matches between programs are played on a cluster: {cluster_address(args.dask)}")
    bus = Bus()
    bus.subscribe(progress, EXCEPT_MOVES)
    bus.subscribe(freeze_long_lived, [ContestStarted])
    listener = None if args.no_web else _page_listener(contest, progress)
    helpers: list[Callable[[], Awaitable[None]]] = []
    if listener is not None:
        opened = replace(opened, page_port=listener.getsockname()[1])
        helpers.append(partial(keep_page, contest, bus, listener))
    if (manager := ServiceManager.of(bus)) is not None:
        helpers.append(manager.run)
    if contest.house_bots and not args.no_house_bots:
        helpers.append(partial(keep_house_bots, contest, bus))
    helpers.append(partial(tell_other_hosts, contest))
    if not args.no_announce:
        helpers.append(partial(Announcer(contest, bus).run))
    with listener or nullcontext(), progress.shown():
        outcome = trio.run(run_with_helpers, opened, bus, when, helpers, make_cluster)
        if outcome is RunOutcome.STOPPED:
            progress.hurry()
    tournament, chain = _read_patiently(contest)
    if outcome is RunOutcome.FINISHED:
        _print_next_steps(contest, progress, tournament, chain)
    hint = f"Every finished match is on record; resume with: {shell_command('run', contest.folder)}"
    return _print_outcome(contest, progress, tournament, outcome, hint)


def _read_patiently(contest: Contest) -> tuple[Tournament, tuple[int, str]]:
    """Return the tournament on record and the chain's end; wait for a database's server that goes away just now.

    The contest is over and stored: an error here would look like a loss.
    """
    until = time.monotonic() + DATABASE_DOUBT_SECONDS
    while True:
        try:
            tournament = tournament_of(contest)
            with Store(contest.database, reading=True) as store:
                return tournament, store.chain()
        except (ServerAwayError, DatabaseError) as error:
            away = isinstance(error, ServerAwayError) or error.problem is DatabaseProblem.AWAY
            if not away or time.monotonic() > until:
                raise
            time.sleep(_RETRY_SECONDS)


def _page_listener(contest: Contest, progress: ProgressView) -> socket.socket | None:
    """Return the live page's socket, and print the page's address; without a free port the contest has no page."""
    server = contest.file.server
    try:
        listener = open_page_listener(server.host, server.web_port)
    except OSError as error:
        why = f"cannot listen on {server.host} port {server.web_port} or the ports after it"
        progress.say(f"! No live page: {why} ({error.strerror or error}); give another --web-port")
        return None
    progress.say_page(page_address(contest, listener))
    port = listener.getsockname()[1]
    for line in console_lines(contest, listener):
        progress.say(line)
    if server.web_port not in (0, port):  # 0: the system chooses, and the slips name no page
        progress.say(
            f"! Port {server.web_port} is taken: the live page is on port {port}. The page's address, the install"
            f" command and the QR code of slips for port {server.web_port} do not work: stop the other program and"
            f" start again, or set web_port = {port} in {contest.folder}/contest.toml and print the slips again"
        )
    try:
        write_contestants_package(contest)  # the command on the slips installs it from the page
    except OSError as error:
        progress.say(f"! The page has no package for contestants: {error.filename}: {error.strerror or error}")
    return listener


def _progress(contest: Contest, *, plain: bool, with_board: bool = False) -> ProgressView:
    terminal = console()
    live = is_live(terminal) and not plain
    return ProgressView(contest, terminal, live=live, board=live_board(contest) if live and with_board else None)


def _print_header(
    contest: Contest,
    tournament: Tournament,
    progress: ProgressView,
    when: StartCondition,
    *,
    on_cluster: bool = False,
) -> None:
    house = f" and {pluralize(len(contest.house_bots), 'house bot')}" if contest.house_bots else ""
    progress.say(f"{contest.name}: {pluralize(len(contest.contestants), 'team')}{house}")
    for event in contest.events:
        progress.say(f"  {describe_event(event, contest.file.time.lag_ms)}")
    if doubt := doubtful_address(contest.file.server.host):
        progress.say(f"! {doubt}")
    hosted = _hosted_teams(contest, progress, on_cluster=on_cluster)
    changed = tournament.settings.changes()
    for line in shortened(
        [f"Changed since the contest began: {change}; the change counts {change.holds}" for change in changed]
    ):
        progress.say(line)
    played, running = tournament.done, len(left_running(contest.running, tournament.recorded))
    seats = sum(team.seats for team in contest.teams.values())
    raise_file_limit()
    if file_limit() < seats + FILES_BESIDE_BOTS:
        progress.say(
            f"! This system lets the server open {file_limit():,} files, and {seats} bots may connect;"
            f" raise the limit first: ulimit -n {seats + FILES_BESIDE_BOTS}"
        )
    if is_over(contest, tournament):
        progress.say(f"The contest is over: {_all_played(played)}.")
        return
    where = f"Resumes after {pluralize(played, 'match')}" if played or running else ""
    where += f", {running} running" if running else ""
    if when.now or hosted >= set(contest.teams) or any(event.format.pairs_present for event in contest.events):
        start = "at once"
    elif when.at is not None:
        tomorrow = " tomorrow" if when.at.date() != datetime.now().date() else ""
        start = f"at {when.at:%H:%M}{tomorrow}"
    else:
        start = "when all teams are here"
        if where:
            most = duration(resume_patience(contest.file.start.absent_seconds))
            start = f"when all teams with matches left are here, at the latest in {most}"
    enter = ", or when you press Enter" if when.on_enter and start != "at once" else ""
    progress.say(f"{f'{where}. ' if where else ''}Starts {start}{enter}. Ctrl-C stops cleanly.")


def is_over(contest: Contest, tournament: Tournament) -> bool:
    """Return True if no match is left to play. An arena is never over: its host ends it."""
    if contest.is_open_ended or not tournament.total or tournament.done < tournament.total:
        return False
    if any(map(tournament.remaining_estimate, contest.events)):
        return False
    # The estimate does not know a team that was added since the last record.
    records = map(tournament.next_pairings, contest.events)
    return not any(record["matches"] for record in records if record is not None)


def _all_played(count: int) -> str:
    return "its only match is played" if count == 1 else f"all {count} matches are played"


FILES_BESIDE_BOTS = 400
"""The files that a server opens besides those for its bots: connections before login, and files of its own."""


def _hosted_teams(contest: Contest, progress: ProgressView, *, on_cluster: bool) -> set[int]:
    """Print which teams have a program that the host runs, and return their ids."""
    store = ProgramStore(contest.folder)
    versions = [store.current(team) for team in store.teams() if team in contest.teams]
    teams = {version.team: version for version in versions if version is not None}
    if teams:
        names = [f"{contest.team_name(team)} (version {version.number})" for team, version in teams.items()]
        where = "that the cluster runs" if on_cluster else "on this machine"
        progress.say(f"Programs {where}: {join_limited(names, ', ', HOSTED_CELLS)}")
        if contest.file.programs.sandbox == "none":
            progress.say('! They run WITHOUT A SANDBOX: contest.toml has sandbox = "none" under [programs]')
        else:
            progress.say("They run in the sandbox; getstep-server sandbox shows what it protects")
    return set(teams)


def _print_outcome(
    contest: Contest, progress: ProgressView, tournament: Tournament, outcome: RunOutcome, hint: str
) -> int:
    title = f"Standings after {pluralize(tournament.done, 'match')}"
    for table in all_tables(contest, tournament.tables(), title=title):
        progress.console.print(table)
    if outcome is RunOutcome.FINISHED:
        return EXIT_OK
    progress.say(f"Stopped. {hint}")
    return EXIT_STOPPED


def _print_next_steps(
    contest: Contest, progress: ProgressView, tournament: Tournament, chain: tuple[int, str]
) -> None:
    """Print the hash that proves later that the records are unchanged, and the command for the report."""
    length, digest = chain
    progress.say(f"Hash of the last of {length} records; keep it for verify --expect-hash:\n{digest}")
    progress.say(f"To write a page with all results: {shell_command('report', contest.folder)}")
    progress.say(f"To show the live page again: {shell_command('web', contest.folder)}")
    if tournament.frozen_at is not None:
        progress.say(f"To show the hidden results: {shell_command('reveal', contest.folder)}")


SAME = "The matches and the table are the same as without the crash."
DIFFERENT = "The matches or the table are NOT the same as without the crash."

# --- rehearse -------------------------------------------------------------------------------------------------


_REHEARSE = """\
Play a copy of a prepared contest on this machine, with a sample bot for each
seat of each team. The contest itself is only read: its records, tokens and
slips stay as they are. Nobody can connect to the copy, and no live page is
served. The copy has no programs that teams have submitted: a sample bot plays
for them, too.

Ctrl-C ends it at any time, and shows the table so far. The copy is removed
afterwards, unless --keep names a folder for it.

examples:
  getstep-server rehearse autumn --bots
  getstep-server rehearse autumn --bots --keep rehearsal
  getstep-server report rehearsal   # then: the page with all results
"""


def add_rehearse(parser: argparse.ArgumentParser) -> None:
    parser.description = _REHEARSE
    folder_argument(parser)
    parser.add_argument("--bots", action="store_true", help="sample bots play for all teams")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the copy in this new folder")
    parser.add_argument("--plain", action="store_true", help="print plain lines instead of the live view")
    parser.set_defaults(command=_rehearse)


def _rehearse(args: argparse.Namespace) -> int:
    if not args.bots:
        raise UsageError(
            f"who plays is missing; expected: {shell_command('rehearse', args.contest)} --bots."
            " To rehearse with the teams' own bots, copy the folder and run the copy"
        )
    prepared = load_contest(args.contest)
    with tempfile.TemporaryDirectory(prefix="getstep-") if args.keep is None else nullcontext("") as folder:
        contest, bots = rehearsal_of(prepared, Path(folder) / "rehearsal" if args.keep is None else args.keep)
        return _rehearse_copy(prepared, contest, bots, args)


def _rehearse_copy(prepared: Contest, contest: Contest, bots: Bots, args: argparse.Namespace) -> int:
    progress = _progress(contest, plain=args.plain, with_board=True)
    _print_header(contest, tournament_of(contest), progress, StartCondition())
    if contest.is_open_ended:
        progress.say("The contest has no end: Ctrl-C ends the rehearsal.")
    bus = Bus()
    bus.subscribe(progress, EXCEPT_MOVES)
    began = time.monotonic()
    with progress.shown():
        outcome = trio.run(run_with_bots, contest, bus, bots)
    seconds = time.monotonic() - began
    again = f"Start the rehearsal again with: {shell_command('rehearse', prepared.folder)} --bots"
    code = _print_outcome(contest, progress, tournament_of(contest), outcome, again)
    for line in what_to_look_at(prepared, contest, seconds):
        progress.say(line)
    if args.keep is not None:
        progress.say(f"All results of the rehearsal on one page: {shell_command('report', contest.folder)}")
    return code


def rehearsal_of(prepared: Contest, folder: Path) -> tuple[Contest, Bots]:
    """Make a copy of a contest without its records, on a free port of the loopback interface, and its bots.

    Raises:
        UsageError: the folder exists.
    """
    if folder.exists():
        raise UsageError(f"--keep {folder}: there is such a file or folder already; expected a new one")
    folder.mkdir(parents=True)
    contest_path(folder).write_text(contest_text_without_database(prepared.folder), encoding="utf-8")
    teams_path(folder).write_text(teams_path(prepared.folder).read_text(encoding="utf-8"), encoding="utf-8")
    # its bots are programs of this machine, which use no TLS
    server = structs.replace(prepared.file.server, database=None, tls_certificate=None, tls_key=None)
    copy = structs.replace(prepared, folder=folder, file=structs.replace(prepared.file, server=server))
    contest = copy.listening_on(host="127.0.0.1", port=0, classic_port=None)
    bots = {
        team.id: Bot(house_bot_file(contest.house_bots[team.id])) if team.id in contest.house_bots else bot
        for team, (_, bot) in zip(contest.teams.values(), lineup(max(2, len(contest.teams))), strict=False)
    }
    return contest, bots


def what_to_look_at(prepared: Contest, rehearsal: Contest, seconds: float) -> list[str]:
    """Return the lines after a rehearsal: what it has shown, and what it cannot show."""
    results = results_of(rehearsal)
    faults = sum(sum(result.faults) for result in results)
    lines = [
        f"The rehearsal: {pluralize(len(results), 'match')} in {duration(seconds)}. Sample bots answer at once; the"
        " bots of a contest may take all of their limits, which are above.",
    ]
    if faults:
        lines.append(
            f"! {pluralize(faults, 'fault')}: sample bots make none if they have the time;"
            " set longer limits, or see what else this machine does"
        )
    name = shell_command("run", prepared.folder)
    return [
        *lines,
        "Look at the table: are the teams, the games, the number of matches and the order of the table as you want"
        f" them? Change {contest_path(prepared.folder)} otherwise, and rehearse again.",
        f"Not rehearsed: the network. Start {name} and let one computer of the room connect to port"
        f" {prepared.file.server.port} before the contest.",
        f"{prepared.folder} is unchanged: nothing of this is on record there, and all tokens and slips hold.",
    ]


# --- demo -------------------------------------------------------------------------------------------------------


_DEMO = """\
Play a contest of all games between sample bots on this machine. Each bot is a
process of its own and plays over TCP. No preparation is needed, and all files
are removed afterwards. The first bot is greedy; each further one makes a random
move in more of its turns, and the last one in all.

examples:
  getstep-server demo                 # all games, half a minute
  getstep-server demo --game linkage --teams 12
  getstep-server demo --game hop --crash  # kill the server during the contest
"""


def add_demo(parser: argparse.ArgumentParser) -> None:
    parser.description = _DEMO
    parser.add_argument("--game", default="all", help=f"the game: all (the default) or one of: {', '.join(GAMES)}")
    parser.add_argument("--teams", type=int, default=6, help=f"the number of bots, 2 to {MOST_TEAMS} (default: 6)")
    parser.add_argument("--seed", type=int, default=2019, help="the seed of the drawing of lots (default: 2019)")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the contest and the output of the bots here"
    )
    parser.add_argument("--plain", action="store_true", help="print plain lines instead of the live view")
    parser.add_argument(
        "--crash",
        action="store_true",
        help="play again with a server that is killed halfway and started again, and compare the results",
    )
    parser.set_defaults(command=_demo)


def _demo(args: argparse.Namespace) -> int:
    games = demo_games(args.game)
    folders = tempfile.TemporaryDirectory(prefix="getstep-") if args.keep is None else nullcontext(str(args.keep))
    with folders as folder:
        code = _demo_undisturbed(Path(folder) / "demo", games, args)
        if code == EXIT_OK and args.crash:
            code = _demo_crash(Path(folder), games, args)
    return code


def _demo_undisturbed(folder: Path, games: list[str], args: argparse.Namespace) -> int:
    contest, bots = demo_contest(folder, games, args.teams, args.seed)
    progress = _progress(contest, plain=args.plain, with_board=True)
    _print_header(contest, tournament_of(contest), progress, StartCondition())
    bus = Bus()
    bus.subscribe(progress, EXCEPT_MOVES)
    with progress.shown():
        outcome = trio.run(run_with_bots, contest, bus, bots)
    return _print_outcome(
        contest, progress, tournament_of(contest), outcome, f"Start the demo again with: {shell_command('demo')}"
    )


def _demo_crash(folder: Path, games: list[str], args: argparse.Namespace) -> int:
    contest, bots = demo_contest(folder / "crash", games, args.teams, args.seed)
    progress = _progress(contest, plain=True)
    progress.say("\nThe same contest again, with a server in a process of its own, which is killed:")
    trio.run(run_crash_demo, contest, bots, progress.say)
    undisturbed = load_contest(folder / "demo")
    _print_outcome(contest, progress, tournament_of(contest), RunOutcome.FINISHED, "")
    same = games_of(contest.database) == games_of(undisturbed.database)
    same = same and tournament_of(contest).tables() == tournament_of(undisturbed).tables()
    progress.say(SAME if same else DIFFERENT)
    return EXIT_OK if same else EXIT_FAILED


# --- the contest of demo: sample bots of different strengths ----------------------------------------------------


NAMES = ("Ada", "Blaise", "Charles", "Dorothy", "Edsger", "Frances", "Grace", "Hedy", "Ivan", "John")
MOST_TEAMS = 40  # four of each name
FIRST_GAME = "hop"
"""The first game in a demo of all games: its matches are short and easy to watch."""


def demo_games(game: str) -> list[str]:
    """Return the names of the games that ``--game`` chooses.

    Raises:
        UsageError: no game of this name is installed.
    """
    if game == "all":
        # False comes first, and the others stay in their order
        return sorted(GAMES, key=lambda name: name != FIRST_GAME)
    return [installed_game(game).name]


def demo_contest(folder: Path, games: Sequence[str], teams: int, seed: int) -> tuple[Contest, Bots]:
    """Make a contest folder for the demo, on a free port of the loopback interface.

    Returns:
        The contest and its bots. Each bot is greedy, and makes a random move more often than the one before it.

    Raises:
        UsageError: the number of teams is out of range, or there is a contest already.
    """
    if not 2 <= teams <= MOST_TEAMS:
        raise UsageError(f"--teams {teams}, expected 2 to {MOST_TEAMS}")
    title = GAMES[games[0]].title if len(games) == 1 else "all games"
    init_contest(folder, name=f"getstep demo: {title}", games=games, seed=seed)
    players = lineup(teams)
    added = add_teams(folder, [NewTeam(name, "the demo") for name, _ in players])
    bots = {team.id: bot for team, (_, bot) in zip(added, players, strict=True)}
    return load_contest(folder).listening_on(host="127.0.0.1", port=0, classic_port=None), bots


def lineup(teams: int) -> list[tuple[str, Bot]]:
    """Return names and bots for two teams or more, each bot weaker than the one before it."""
    doubts = [round(100 * index / (teams - 1)) for index in range(teams)]  # from 0 to 100 % in equal steps
    return [(_name(index, doubt), _bot(doubt)) for index, doubt in enumerate(doubts)]


def _name(index: int, doubt: int) -> str:
    """Return the name of a team whose bot makes a random move in ``doubt`` of 100 turns."""
    again, name = divmod(index, len(NAMES))
    bot = {0: "greedy", 100: "random"}.get(doubt, f"hesitant {doubt} %")  # the two ends are the bots of these names
    return f"{NAMES[name]}{again + 1 if again else ''} ({bot})"


def _bot(doubt: int) -> Bot:
    # the two ends, as in `_name`
    name = {0: "greedy", 100: "random_bot"}.get(doubt, "hesitant")
    return Bot(sample_bots()[name], {"DOUBT": f"{doubt / 100:g}"})
