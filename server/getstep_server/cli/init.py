"""The command `init`."""

from __future__ import annotations

import argparse
from pathlib import Path

from getstep_engines import GAMES
from getstep_server.config.contest import init_contest
from getstep_server.text import shell_command

from ._parser import EXIT_OK, folder_argument

_INIT = """\
Make a contest folder with two files: contest.toml, which has every setting with
an explanation, and an empty teams.toml. Each event is a tournament of its own,
with a game, a format (round_robin, gauntlet, swiss, knockout, ladder, match or
arena) and a table.

For a contest on the internet, contest.toml takes a TLS certificate, and names a
reverse proxy in front of the page: docs/internet.md says how.

examples:
  getstep-server init autumn --name "Autumn contest" --game hop
  getstep-server init pair --game hop --game linkage   # an event for each game
  getstep-server init class --game all         # all games, one combined table
  getstep-server init club --game linkage --format ladder
  getstep-server init lab --game hop --format arena   # open for weeks

games:
""" + "\n".join(f"  {game.name:<16}{game.title}" for game in GAMES.values())


def add_init(parser: argparse.ArgumentParser) -> None:
    parser.description = _INIT
    folder_argument(parser)
    parser.add_argument("--name", help="the contest's name (default: the folder's name)")
    parser.add_argument(
        "--game",
        action="append",
        metavar="GAME",
        help="the game of an event (default: hop); repeat it for more events, or give all for one event per game",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        default="round_robin",
        help="the format of all events (default: %(default)s); contest.toml explains its settings",
    )
    parser.set_defaults(command=_init)


def _init(args: argparse.Namespace) -> int:
    folder: Path = args.contest
    games = list(GAMES) if args.game == ["all"] else list(dict.fromkeys(args.game or ["hop"]))
    init_contest(folder, name=args.name or folder.resolve().name, games=games, format_=args.format)
    print(
        f"Made {folder / 'contest.toml'} and {folder / 'teams.toml'}. Next, add teams by name or from a class list:"
    )
    print(f"  {shell_command('teams', 'add', folder)} NAME [NAME ...]")
    print(f"  {shell_command('teams', 'import', folder, 'roster.csv')}")
    return EXIT_OK
