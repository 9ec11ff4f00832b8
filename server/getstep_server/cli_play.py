"""The commands that play: run and demo."""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path

import trio

from getstep_engines import GAMES

from ._cli import (
    EXIT_FAILED,
    EXIT_OK,
    EXIT_STOPPED,
    Commands,
    add_command,
    folder_argument,
    typed,
)
from ._text import counted
from ._toml import ConfigError
from .bot_processes import run_with_bots
from .contest import Contest, load_contest
from .demo import MOST_TEAMS, demo_contest, demo_games
from .demo_crash import games_of, run_crash_demo
from .events import SELDOM, Bus
from .progress import Progress
from .run import Ending, StartWhen, run_contest, tournament_of, tournament_to_go_on
from .scoresheet import left_running
from .store import Store
from .tables import all_tables, console, describe_event

# --- run --------------------------------------------------------------------------------------------------------


_RUN = """\
Listen, wait for the teams, play, show the standings. The first match begins
when all teams are there, or when you press Enter; see --at and --now. A team
that is missing when its match comes up is waited for as long as contest.toml
says, then loses that match; others do not wait. Teams may be added, or taken
out of teams.toml, between two runs. Ctrl-C stops; the same command goes on
where it was, in the middle of matches too, and so it does after a crash.

Contestants have to reach the port (TCP): allow it in this machine's firewall.
"""


def add_run(commands: Commands[argparse.ArgumentParser]) -> None:
    """The command that plays a contest."""
    parser = add_command(commands, "run", "play the contest, or what is left of it", _RUN)
    folder_argument(parser)
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
        if ending is Ending.STOPPED:
            progress.hurry()
    if ending is Ending.FINISHED:
        _say_what_is_left(contest, progress)
    goes_on = f"Every finished match is kept; go on with: {typed('run', contest.folder)}"
    return _say_ending(contest, progress, ending, goes_on)


def _progress(contest: Contest, *, plain: bool) -> Progress:
    terminal = console()
    return Progress(contest, terminal, live=terminal.is_terminal and not terminal.is_dumb_terminal and not plain)


def _say_hello(contest: Contest, progress: Progress, when: StartWhen) -> None:
    tournament = tournament_to_go_on(contest)
    progress.say(f"{contest.name}: {counted(len(contest.teams), 'team')}")
    for event in contest.events:
        progress.say(f"  {describe_event(event, contest.file.time.lag_ms)}")
    for change in tournament.changes():
        progress.say(f"Changed: {change}: it holds for what comes and for the table; what was given out stays")
    played, running = tournament.done, len(left_running(contest.running, tournament.recorded))
    if played or running:
        start = f"at once, where it was: {counted(played, 'match')} played"
        start += f", {running} running" if running else ""
    elif when.now:
        start = "at once"
    elif when.at is not None:
        tomorrow = " tomorrow" if when.at.date() != datetime.now().date() else ""
        start = f"at {when.at:%H:%M}{tomorrow}"
    else:
        start = "when all teams are here"
    enter = ", or when you press Enter" if when.on_enter and not (played or running or when.now) else ""
    progress.say(f"Starts {start}{enter}. Ctrl-C stops cleanly.")


def _say_ending(contest: Contest, progress: Progress, ending: Ending, goes_on: str) -> int:
    tournament = tournament_of(contest)
    title = f"Standings after {counted(tournament.done, 'match')}"
    for table in all_tables(contest, tournament.tables(), title=title):
        progress.console.print(table)
    if ending is Ending.FINISHED:
        return EXIT_OK
    progress.say(f"Stopped. {goes_on}")
    return EXIT_STOPPED


def _say_what_is_left(contest: Contest, progress: Progress) -> None:
    """The hash to keep elsewhere, so that nobody can put other records in the place of these; and the report."""
    with Store(contest.database) as store:
        length, digest = store.chain()
    progress.say(f"Hash of the {length} records, to check them by with verify --head:\n{digest}")
    progress.say(f"All of it as a page for the browser: {typed('report', contest.folder)}")


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


# --- demo -------------------------------------------------------------------------------------------------------


_DEMO = """\
Play a contest of all games between sample bots, each its own process, over TCP
on this machine. It needs nothing, and nothing is left of it. The bots are
greedy, and make a random move in more and more of their turns.

examples:
  getstep-server demo                 # all games, half a minute
  getstep-server demo --game linkage --teams 12
  getstep-server demo --game hop --crash  # the server is killed in the middle
"""


def add_demo(commands: Commands[argparse.ArgumentParser]) -> None:
    """The command that shows what this is about."""
    parser = add_command(commands, "demo", "watch a small tournament between sample bots", _DEMO)
    parser.add_argument("--game", default="all", help=f"all (the default), or one of: {', '.join(GAMES)}")
    parser.add_argument("--teams", type=int, default=6, help=f"how many bots, 2 to {MOST_TEAMS} (default: 6)")
    parser.add_argument("--seed", type=int, default=2019, help="of the schedule (default: 2019)")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the contest and what the bots printed here"
    )
    parser.add_argument("--plain", action="store_true", help="plain lines instead of the live view")
    parser.add_argument(
        "--crash",
        action="store_true",
        help="play it twice, once with a server that is killed halfway and started again, and compare",
    )
    parser.set_defaults(command=_demo)


def _demo(args: argparse.Namespace) -> int:
    games = demo_games(args.game)
    with _demo_folder(args.keep) as folder:
        code = _demo_undisturbed(Path(folder) / "demo", games, args)
        if code == EXIT_OK and args.crash:
            code = _demo_crash(Path(folder), games, args)
    return code


def _demo_folder(keep: Path | None) -> AbstractContextManager[str]:
    return tempfile.TemporaryDirectory(prefix="getstep-") if keep is None else nullcontext(str(keep))


def _demo_undisturbed(folder: Path, games: list[str], args: argparse.Namespace) -> int:
    contest, bots = demo_contest(folder, games, args.teams, args.seed)
    progress = _progress(contest, plain=args.plain)
    _say_hello(contest, progress, StartWhen())
    bus = Bus()
    bus.subscribe(progress, SELDOM)
    with progress.shown():
        ending = trio.run(run_with_bots, contest, bus, bots)
    return _say_ending(contest, progress, ending, "That was the demo.")


def _demo_crash(folder: Path, games: list[str], args: argparse.Namespace) -> int:
    contest, bots = demo_contest(folder / "crash", games, args.teams, args.seed)
    progress = _progress(contest, plain=True)
    progress.say("\nThe same again, with a server that is a process of its own, and killed:")
    trio.run(run_crash_demo, contest, bots, progress.say)
    undisturbed = load_contest(folder / "demo")
    _say_ending(contest, progress, Ending.FINISHED, "")
    same = games_of(contest.database) == games_of(undisturbed.database)
    same = same and tournament_of(contest).tables() == tournament_of(undisturbed).tables()
    progress.say("It is the table of the undisturbed tournament" if same else "It is NOT the table undisturbed")
    return EXIT_OK if same else EXIT_FAILED
