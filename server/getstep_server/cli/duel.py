"""The command `duel`: matches between two bots, which a sequential test may end early."""

from __future__ import annotations

import argparse
import re
import tempfile
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import trio

from getstep.conventions import CONVENTIONS
from getstep.games import only_game
from getstep_server.bot_runner.processes import Bot
from getstep_server.config.contest import Contest
from getstep_server.errors import ContestStopped, UsageError
from getstep_server.events import EXCEPT_MOVES, Bus
from getstep_server.formats.match import MOST_AT_ONCE
from getstep_server.limits import MAX_SEATS
from getstep_server.reports.live_board import LiveBoard
from getstep_server.reports.progress import FRAMES_PER_SECOND
from getstep_server.reports.tables import describe_event
from getstep_server.runtime.run import RunOutcome

from ._cluster import add_dask, cluster_maker
from ._duel_cluster import add_programs, find_program, run_on_cluster
from ._duel_contest import DuelProgress, check_bots, duel_contest, find_bot, outcome_lines
from ._parser import EXIT_OK, EXIT_STOPPED
from ._shared import console, is_live, live_board, shell_command, spinner
from ._with_bots import run_with_bots

DEFAULT_GAME = "hop"
PAIRS, PAIRS_WITH_TEST, PAIRS_WATCHED = 100, 1000, 1
WATCH_MS = (100, 60_000)
TEST = {"elo0": 0.0, "elo1": 50.0, "alpha": 0.05, "beta": 0.05}
"""The settings of the sequential test, and their defaults."""

_MEANINGS = {
    "elo0": "the Elo difference of A to B under H0",
    "elo1": "the Elo difference of A to B under H1",
    "alpha": "the probability of the verdict H1 if H0 is true",
    "beta": "the probability of the verdict H0 if H1 is true",
}

_TIMES = {
    "move_seconds": "for each move (default: the game's limit)",
    "budget_seconds": "for all of a player's moves in a match together",
    "increment_seconds": "added to the budget after each answered turn",
}
"""The settings of the time control, as contest.toml has them."""

PAIRS_ON_CLUSTER = 32
_AT_ONCE = (
    f"pairs at the same time, 1 to {MAX_SEATS // 2}, with four processes for each (default: 1); with --dask 1 to"
    f" {MOST_AT_ONCE} (default: {PAIRS_ON_CLUSTER})"
)

_DUEL = f"""\
Compare two bots: play pairs of matches on this machine. In a pair, each bot is
the first player once. Each bot is a process of its own and plays over TCP. A
and B are bot files, as getstep play takes them, or names of sample bots.

The result is the score and the Elo difference with its 95 % interval. With
--sprt the duel stops as soon as a sequential probability ratio test decides
between H0 (A is --elo0 Elo stronger than B) and H1 (A is --elo1 Elo stronger).
The closer the two values are, the more pairs it takes: about 130 for 0 and {TEST["elo1"]:g},
and four times as many for half of that distance.

With --watch the terminal shows the matches on a board, one at a time. The bots
do not wait for it; Ctrl-C then skips the matches that are not shown yet. In a
pipe there is no board.

With --as the bots are programs of an original contest, which talk by its
convention. --as does not matter for a sample bot. This command is also called
match.

Bots that repeat the same matches cannot be compared; the result says so.

With --dask the pairs are played on the workers of a Dask cluster, --at-once of
them at the same time. A and B are programs as for getstep-server programs add:
files, folders or archives, which are built and tried here first. Each worker
proves its sandbox before it gets a program. With --sprt the duel ends with the
verdict: a match that is then being played does not count.

examples:
  getstep-server duel my_bot.py greedy --game hop --sprt
  getstep-server duel new.py old.py --sprt --elo0 -10 --elo1 10 --at-once 2
  getstep-server duel my_bot.py greedy --game hop --watch 500
  getstep-server duel greedy mcts --game pseudo_tonga --option size=6 --pairs 9
  getstep-server match ./p1 ./p2 --as csefest-console --watch 1000
  getstep-server duel ./my_program house_pseudo_tonga --as topcoder
  getstep-server duel new.zip old.zip --sprt --dask tcp://lab1:8786 --at-once 50

exit codes: 0 played, 1 a bot ended early, 2 the command cannot be used,
130 stopped with Ctrl-C
"""


def add_duel(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``duel``, which is also called ``match``."""
    parser.description = _DUEL
    parser.add_argument("bots", action="append", metavar="A", help="a bot's file, or the name of a sample bot")
    parser.add_argument("bots", action="append", metavar="B", help="the other bot; it may be the same")
    parser.add_argument("--game", help="the game (default: the only one that a bot plays, else hop)")
    both = f"both bots are programs that talk by this convention: {', '.join(CONVENTIONS)}"
    for flag, name, text in (
        ("--as", "conventions", both),
        ("--as-a", "convention_a", "A is a program of this convention"),
        ("--as-b", "convention_b", "B is a program of this convention"),
    ):
        action = "append" if name == "conventions" else "store"  # a second one would replace the first silently
        parser.add_argument(flag, dest=name, metavar="CONVENTION", choices=CONVENTIONS, action=action, help=text)
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=N",
        help="an option of the game, such as size=8, or size=6-16: drawn for each pair of games",
    )
    for name, meaning in _TIMES.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, metavar="S", help=meaning)
    parser.add_argument(
        "--pairs",
        type=int,
        metavar="N",
        help=f"the maximum number of pairs (default: {PAIRS}, with --sprt {PAIRS_WITH_TEST},"
        f" with --watch {PAIRS_WATCHED})",
    )
    parser.add_argument("--sprt", action="store_true", help="stop as soon as the test reaches a verdict")
    for name, meaning in _MEANINGS.items():
        parser.add_argument(f"--{name}", type=float, metavar="X", help=f"{meaning} (default: {TEST[name]:g})")
    parser.add_argument(
        "--watch", type=int, metavar="MS", help="show each match on a board, with MS milliseconds for each turn"
    )
    parser.add_argument("--at-once", type=int, metavar="K", help=_AT_ONCE)
    add_dask(parser)
    unprotected = "with --dask: play without the sandbox, if both programs are your own"
    parser.add_argument("--no-sandbox", action="store_true", help=unprotected)
    parser.add_argument("--seed", type=int, default=2019, help="the seed of the contest (default: 2019)")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the contest and the output of the bots here"
    )
    parser.add_argument("--plain", action="store_true", help="print plain lines instead of the live view")
    parser.set_defaults(command=_duel)


def _duel(args: argparse.Namespace) -> int:
    make_cluster = cluster_maker(args.dask)
    _check_cluster_options(args)
    pair, event = _pair(args), _event(args)
    at_once = _at_once(args)
    check_bots(pair, event["game"], at_once if make_cluster is None else 0)
    with _folder(args.keep) as folder:
        programs = None if make_cluster is None else {"sandbox": "none" if args.no_sandbox else "required"}
        contest, bots = duel_contest(Path(folder), pair, event, programs, at_once=at_once, seed=args.seed)
        terminal = console()
        live = is_live(terminal) and not args.plain
        watch = _watched(contest, args) if live else None
        turns_per_second = 1000 / args.watch if args.watch else 0
        frames = max(FRAMES_PER_SECOND, turns_per_second)
        progress = DuelProgress(contest, terminal, live=live, board=watch, frames_per_second=frames)
        progress.say(f"{contest.name}: {describe_event(contest.events[0], contest.file.time.lag_ms)}")
        bus = Bus()
        bus.subscribe(progress, EXCEPT_MOVES)
        play = partial(run_with_bots, contest, bus, bots)
        if make_cluster is not None:
            with spinner() as tick:
                add_programs(contest, bots, tick)
            play = partial(run_on_cluster, contest, bus, make_cluster)
        try:
            with progress.shown():
                outcome = trio.run(play)
                if watch is not None and outcome is RunOutcome.FINISHED:
                    _wait_until_shown(watch)
        except* ContestStopped:
            _say_outcome(contest, progress)
            raise
        _say_outcome(contest, progress)
        if args.keep is not None:
            progress.say(f"The contest is kept; to see a match, type: {shell_command('show', contest.folder, '1')}")
    if outcome is RunOutcome.FINISHED:
        return EXIT_OK
    progress.say("Stopped.")
    return EXIT_STOPPED


def _check_cluster_options(args: argparse.Namespace) -> None:
    if args.dask is None and args.no_sandbox:
        raise UsageError("--no-sandbox: without --dask the bots have no sandbox anyway; leave it out")
    if args.dask is not None and args.watch is not None:
        raise UsageError("--watch shows matches that this machine plays; leave it out with --dask")


def _at_once(args: argparse.Namespace) -> int:
    if args.at_once is not None:
        return int(args.at_once)
    return 1 if args.dask is None else PAIRS_ON_CLUSTER


def _pair(args: argparse.Namespace) -> list[Bot]:
    own, both = (args.convention_a, args.convention_b), _convention(args)
    find = find_bot if args.dask is None else find_program
    return [find(text, one or both) for text, one in zip(args.bots, own, strict=True)]


def _convention(args: argparse.Namespace) -> str | None:
    """Return the convention of both bots."""
    given: list[str] = args.conventions or []
    if len(given) > 1:
        each = " ".join(f"--as-{letter} {name}" for letter, name in zip("ab", given, strict=False))
        raise UsageError(f"--as is for both bots, and is given {len(given)} times; for one each, type {each}")
    return given[0] if given else None


def _game(args: argparse.Namespace) -> str:
    """Return the game that was asked for, or the only one that a program or a sample bot plays."""
    if args.game is not None:
        return str(args.game)
    name = _convention(args) or args.convention_a or args.convention_b
    if name is not None:
        return CONVENTIONS[name].game
    return next(
        (game for text in args.bots if (game := only_game(text)) and not Path(text).is_file()), DEFAULT_GAME
    )


def _watched(contest: Contest, args: argparse.Namespace) -> LiveBoard | None:
    return None if args.watch is None else live_board(contest, args.watch / 1000)


def _wait_until_shown(board: LiveBoard) -> None:
    """Wait for the board, which is slower than the bots; Ctrl-C skips the rest."""
    board.close()
    with suppress(KeyboardInterrupt):
        board.all_shown.wait()


def _folder(keep: Path | None) -> AbstractContextManager[str]:
    return tempfile.TemporaryDirectory(prefix="getstep-") if keep is None else nullcontext(str(keep))


def _say_outcome(contest: Contest, progress: DuelProgress) -> None:
    for line in outcome_lines(contest):
        progress.say(line)


def _event(args: argparse.Namespace) -> dict[str, Any]:
    """Return the event's table of contest.toml."""
    if args.watch is not None and not WATCH_MS[0] <= args.watch <= WATCH_MS[1]:
        raise UsageError(f"--watch {args.watch}, expected {WATCH_MS[0]} to {WATCH_MS[1]} milliseconds a turn")
    most = PAIRS_WITH_TEST if args.sprt else PAIRS if args.watch is None else PAIRS_WATCHED
    settings = {"pairs": most if args.pairs is None else args.pairs}
    event: dict[str, Any] = {"game": _game(args), "options": dict(map(_option, args.option))}
    times = {name: value for name in _TIMES if (value := getattr(args, name)) is not None}
    return {**event, **times, "settings": {**settings, **_test(args)}}


def _test(args: argparse.Namespace) -> dict[str, float]:
    given = {name: value for name in TEST if (value := getattr(args, name)) is not None}
    if given and not args.sprt:
        name, value = next(iter(given.items()))
        raise UsageError(f"--{name} {value:g}: there is no test without --sprt; give --sprt as well")
    return {**TEST, **given} if args.sprt else {}


def _option(text: str) -> tuple[str, int | str]:
    name, _, value = text.partition("=")
    if value.removeprefix("-").isdecimal():
        return name, int(value)
    if re.fullmatch(r"-?\d+--?\d+", value, re.ASCII):
        return name, value
    raise UsageError(f"--option {text!r}, expected a name and a whole number such as size=8, or a range: size=6-16")
