"""The command match: one bot against another, until the games have told who is stronger."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import trio

from ._cli import EXIT_OK, EXIT_STOPPED, Commands, add_command, typed
from ._toml import ConfigError
from .bot_processes import run_with_bots
from .contest import Contest
from .events import SELDOM, Bus
from .limits import MAX_SEATS
from .match_play import MatchProgress, find_bot, match_contest, outcome_lines
from .registrar import ContestStopped
from .run import Ending
from .tables import console, describe_event

PAIRS, PAIRS_OF_A_TEST = 100, 1000
TEST = {"elo0": 0.0, "elo1": 50.0, "alpha": 0.05, "beta": 0.05}
"""The settings of the sequential test, and their defaults."""

_MEANINGS = {
    "elo0": "by how much A is stronger under H0",
    "elo1": "and under H1",
    "alpha": "how often the verdict may be H1 where H0 is true",
    "beta": "how often it may be H0 where H1 is true",
}

_AT_ONCE = f"pairs at a time, 1 to {MAX_SEATS // 2}, with two processes of either bot for each (default: 1)"

_MATCH = f"""\
Play pairs of games between two bots, colours swapped within a pair: real
processes over TCP on this machine. A and B are bot files, as getstep play
takes them, or names of sample bots.

With --sprt it stops as soon as the games have told whether A is stronger, by a
sequential probability ratio test of H0 (A is --elo0 Elo stronger) against H1
(A is --elo1 Elo stronger). The closer the two, the more pairs it takes: some
130 for 0 and {TEST["elo1"]:g}, four times as many for half of that.

Bots that always play the same games cannot be tested; it says so.

examples:
  getstep-server match my_bot.py greedy --game hop --sprt
  getstep-server match new.py old.py --sprt --elo0 -10 --elo1 10 --at-once 2
  getstep-server match greedy mcts --game pseudo_tonga --option size=6 --pairs 9
"""


def add_match(commands: Commands[argparse.ArgumentParser]) -> None:
    """The command that plays one bot against another."""
    parser = add_command(commands, "match", "try one bot against another", _MATCH)
    parser.add_argument("bots", action="append", metavar="A", help="a bot's file, or a sample bot's name")
    parser.add_argument("bots", action="append", metavar="B", help="another one, or the same")
    parser.add_argument("--game", default="hop", help="what they play (default: hop)")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=N", help="an option of the game")
    parser.add_argument("--move-seconds", type=float, metavar="S", help="for each move (default: the game's limit)")
    parser.add_argument(
        "--pairs",
        type=int,
        metavar="N",
        help=f"the most that are played (default: {PAIRS}, with --sprt {PAIRS_OF_A_TEST})",
    )
    parser.add_argument("--sprt", action="store_true", help="stop as soon as the games have told")
    for name, meaning in _MEANINGS.items():
        parser.add_argument(f"--{name}", type=float, metavar="X", help=f"{meaning} (default: {TEST[name]:g})")
    parser.add_argument("--at-once", type=int, default=1, metavar="K", help=_AT_ONCE)
    parser.add_argument("--seed", type=int, default=2019, help="of the contest (default: 2019)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the contest here and keep it")
    parser.add_argument("--plain", action="store_true", help="plain lines instead of the live view")
    parser.set_defaults(command=_match)


def _match(args: argparse.Namespace) -> int:
    files, event = [find_bot(text) for text in args.bots], _event(args)
    with _folder(args.keep) as folder:
        contest, bots = match_contest(Path(folder), files, event, at_once=args.at_once, seed=args.seed)
        terminal = console()
        live = terminal.is_terminal and not terminal.is_dumb_terminal and not args.plain
        progress = MatchProgress(contest, terminal, live=live)
        progress.say(f"{contest.name}: {describe_event(contest.events[0], contest.file.time.lag_ms)}")
        bus = Bus()
        bus.subscribe(progress, SELDOM)
        try:
            with progress.shown():
                ending = trio.run(run_with_bots, contest, bus, bots)
        except* ContestStopped:
            _say_outcome(contest, progress)
            raise
        _say_outcome(contest, progress)
        if args.keep is not None:
            progress.say(f"Kept, for example for: {typed('show', contest.folder, '1')}")
    if ending is Ending.FINISHED:
        return EXIT_OK
    progress.say("Stopped.")
    return EXIT_STOPPED


def _folder(keep: Path | None) -> AbstractContextManager[str]:
    return tempfile.TemporaryDirectory(prefix="getstep-") if keep is None else nullcontext(str(keep))


def _say_outcome(contest: Contest, progress: MatchProgress) -> None:
    for line in outcome_lines(contest):
        progress.say(line)


def _event(args: argparse.Namespace) -> dict[str, Any]:
    """The event's table of contest.toml."""
    most = PAIRS_OF_A_TEST if args.sprt else PAIRS
    settings = {"pairs": most if args.pairs is None else args.pairs}
    event: dict[str, Any] = {"game": args.game, "options": dict(map(_option, args.option))}
    if args.move_seconds is not None:
        event["move_seconds"] = args.move_seconds
    return {**event, "settings": {**settings, **_test(args)}}


def _test(args: argparse.Namespace) -> dict[str, float]:
    given = {name: value for name in TEST if (value := getattr(args, name)) is not None}
    if given and not args.sprt:
        name, value = next(iter(given.items()))
        raise ConfigError(f"--{name} {value:g} without a test, expected --sprt as well")
    return {**TEST, **given} if args.sprt else {}


def _option(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not value.removeprefix("-").isdecimal():
        raise ConfigError(f"--option {text!r}, expected a name and a whole number such as size=8")
    return name, int(value)
