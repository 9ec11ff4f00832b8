"""The arguments of ``getstep practice``. The command line needs them without what the command itself imports."""

from __future__ import annotations

import argparse
from pathlib import Path

from getstep_engines import GAMES

from .conventions import CONVENTIONS

PRACTICE_HELP = """\
Play whole games on this computer, with the rules, the time limits and the penalties of a contest. No host is
needed. The colours are swapped after each game. Then you see how often your bot won, its faults on the board
with what would have been legal, its slowest moves, and where the replays are: one html file for your browser.

Your bot and its opponent are a process each. A bot that hangs, crashes or prints disturbs nobody: it costs
its turn as in a contest, and you read where it was. A bot whose process has ended is started again for the
next game.

examples:
  getstep practice my_bot.py
  getstep practice my_bot.py --against mcts --games 4 --open
  getstep practice my_bot.py --against last_week.py --games 100 --limit 0.5
  getstep practice my_bot.py --game pseudo_tonga --option size=10
  getstep practice my_bot.py --watch
  getstep practice my_bot.py --human
  getstep practice my_bot.py --human --browser
  getstep practice ./my_program --as linkage --against greedy

exit codes: 0 no fault of your bot, 1 faults, 2 wrong usage or bot file, 130 stopped by Ctrl-C"""


def add_practice(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``getstep practice``."""
    parser.add_argument("bot", help="your bot's file, such as my_bot.py")
    parser.add_argument("--game", help="the game, such as hop (default: the one that the file names)")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help=f"an option of the game, as in contest.toml, repeatable: {_option_list()};"
        " a range such as size=6-16 is drawn for each two games",
    )
    opponent = parser.add_mutually_exclusive_group()
    opponent.add_argument(
        "--against",
        metavar="BOT",
        default="greedy",
        help="random, greedy (the default), mcts, hesitant, or a bot's file;"
        " for pseudo_tonga also house_pseudo_tonga, the opponent of the TopCoder contest",
    )
    add_convention(parser, "--as", "convention", "your bot is a program that talks by this convention: ")
    add_convention(parser, "--against-as", "against_convention", "and so is the opponent's: ")
    opponent.add_argument("--human", action="store_true", help="play against your bot yourself, without a clock")
    parser.add_argument(
        "--browser", action="store_true", help="with --human: on a board in your browser; needs getstep-server"
    )
    parser.add_argument("--games", type=int, help="how many games (default 10; 1 with --human)")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="time limit, in place of the game's own")
    parser.add_argument("--seed", help="a word or a number: the same one gives the same random moves")
    parser.add_argument("--watch", action="store_true", help="draw the games while they are played")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="the file for the replays (default my_bot-practice.html)"
    )
    parser.add_argument("--open", action="store_true", help="show the replays in your browser")


def add_convention(parser: argparse.ArgumentParser, flag: str, name: str, text: str) -> None:
    """Add the option that names a program's convention."""
    parser.add_argument(
        flag, dest=name, metavar="CONVENTION", choices=CONVENTIONS, help=text + ", ".join(CONVENTIONS)
    )


def _option_list() -> str:
    """Return the options of all games, and what their values may be."""
    found = [
        f"{game.name} has {option.name}, {option.allowed} ({option.help})"
        for game in GAMES.values()
        for option in game.options.values()
    ]
    return "; ".join(found).replace("%", "%%") or "no installed game has one"
