"""The command ``getstep``: new, check, play."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template

from . import _bot
from ._check import check
from ._client import Client
from ._errors import BotError, GetstepError, SetupError
from ._games import GAMES, info
from ._settings import DEFAULT_HOST, DEFAULT_PORT, Login, find_address, find_login, find_team, find_token
from ._text import Console
from ._version import __version__

OVER, FAILED, USAGE, STOPPED = 0, 1, 2, 130
"""Exit codes: the contest is over or all is well; refused or failed; usage or the bot's file; Ctrl-C."""

_DESCRIPTION = """\
Play in a getstep bot contest. You write one function, get_step(board, is_black), which returns a move.

The first five minutes:

  getstep new my_bot.py --game hop                                   a bot that already plays
  getstep check my_bot.py --host 192.168.1.10 --team 7 --token T     is everything in place?
  getstep play my_bot.py --host 192.168.1.10 --team 7 --token T      play until the contest is over

The host tells you the address, your team's id and its token."""

_NEW = """\
Write a file with a bot that already makes legal moves, with comments, to begin from.
A file that exists is never overwritten. A bot for several games has a file for each,
and one that has the right one play.

examples:
  getstep new my_bot.py --game hop
  getstep new my_bot.py --game hop --game linkage
  getstep new my_bot.py --game all

games:
"""

_CHECK = """\
Say in one line each what is right and what is wrong: the host's name, the port, the server, your token, the
clocks. With a bot file, also load it, time get_step on the first board of each game, and look at the form of
its move; a get_step that is caught in a loop is broken off a second after the limit. Your bot may be playing
meanwhile: check does not disturb it. The exit code is 0 if all is well, else 1.

examples:
  getstep check --host 192.168.1.10
  getstep check my_bot.py --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt"""

_PLAY = """\
Load a bot file and play until the contest is over. Start it before the contest if you like: it waits for the
server, and comes back by itself when the connection is lost. Ctrl-C stops it.

example:
  getstep play my_bot.py --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt

Others on this computer can see the command line. To keep the token off it, put it into a file
(--token-file token.txt) or into the variable GETSTEP_TOKEN. The variables GETSTEP_HOST, GETSTEP_PORT,
GETSTEP_TEAM and GETSTEP_TOKEN_FILE work as well.

exit codes: 0 the contest is over, 1 refused or failed, 2 wrong usage or bot file, 130 stopped by Ctrl-C"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; ``arguments`` without the program's name, by default those of the process."""
    _never_fail_to_print()
    parser = _parser()
    options = parser.parse_args(arguments)
    console = Console(quiet=getattr(options, "quiet", False))
    if options.run is None:
        parser.print_help()
        return USAGE
    try:
        code: int = options.run(options, console)
    except (BotError, SetupError) as error:
        return _fail(console, error, USAGE)
    except GetstepError as error:
        return _fail(console, error, FAILED)
    except KeyboardInterrupt:
        console.say("Stopped.")
        return STOPPED
    return code


def _fail(console: Console, error: GetstepError, code: int) -> int:
    trace = getattr(error, "trace", "")
    console.warn(f"{trace}\ngetstep: {error}".lstrip())
    return code


def _new(options: argparse.Namespace, console: Console) -> int:
    games = list(GAMES) if options.game == ["all"] else list(dict.fromkeys(options.game or []))
    strange = [game for game in games if game not in GAMES]
    if strange or not games:
        asked = f"There is no game {strange[0]!r}." if strange else "Which game?"
        raise SetupError(f"{asked} Give --game and one of these, or all:\n{_games_listed()}")
    path = _named_like_a_bot(options.file)
    files = _first_bot(path, games)
    for file in files:
        if file.exists():
            raise SetupError(f"{file} exists and is left as it is; choose another name.")
    for file, text in files.items():
        try:
            with file.open("x", encoding="utf-8") as stream:
                stream.write(text)
        except OSError as error:
            raise SetupError(f"{file} cannot be written: {error.strerror or error}.") from None
    _say_next(console, path, games)
    return OVER


def _first_bot(path: Path, games: list[str]) -> dict[Path, str]:
    """The files of a first bot: for several games one for each, and ``path`` has the right one play."""
    if len(games) == 1:
        return {path: _template(f"{games[0]}.py")}
    if not path.stem.isidentifier():
        raise SetupError(
            f"With several games, --game all too, {path.name} imports a file for each, and {path.stem!r} is no name"
            f" that Python can import.\nUse letters, digits and _ only, for example {_importable(path.stem)}.py."
        )
    parts = {game: f"{path.stem}_{game}" for game in games}
    imports = "\n".join(f"import {part}" for part in sorted(parts.values()))
    bots = "\n".join(f'    "{game}": {part},' for game, part in parts.items())
    every = Template(_template("every_game.txt")).substitute(imports=imports, bots=bots)
    return {path: every, **{path.with_name(f"{part}.py"): _template(f"{game}.py") for game, part in parts.items()}}


def _importable(stem: str) -> str:
    """A name like ``stem`` that Python can import."""
    name = "".join(char if f"_{char}".isidentifier() else "_" for char in stem)
    return name if name.isidentifier() else f"bot_{name}"


def _template(name: str) -> str:
    """A file of the folder of templates."""
    return resources.files(__package__).joinpath("_templates", name).read_text(encoding="utf-8")


def _named_like_a_bot(path: Path) -> Path:
    path = path if path.suffix else path.with_suffix(".py")
    if path.suffix != ".py":
        raise SetupError(f"{path} is no name for a Python file; it should end in .py.")
    if path.stem in ("getstep", "msgpack") or path.stem in sys.stdlib_module_names:
        raise SetupError(f"A file {path.name} would hide Python's own {path.stem}; choose another name.")
    return path


def _say_next(console: Console, path: Path, games: list[str]) -> None:
    name = f'"{path}"' if " " in str(path) else str(path)
    login = "--host HOST --team TEAM --token TOKEN"
    if len(games) == 1:
        console.say(f"Wrote {path}: a bot that plays {games[0]} ({info(games[0]).title}).")
    else:
        console.say(f"Wrote {path} and a file beside it for each game: {', '.join(games)}.")
    console.say("The host tells you HOST, TEAM and TOKEN. Next, type:")
    console.say(f"  getstep check {name} {login}")
    console.say(f"  getstep play {name} {login}")


def _check(options: argparse.Namespace, console: Console) -> int:
    def login() -> Login | None:
        team, token = find_team(options.team), find_token(options.token, options.token_file)
        return None if team is None and token is None else find_login(team, token)

    well = check(find_address(options.host, options.port), login, options.bot, console)
    return OVER if well else FAILED


def _play(options: argparse.Namespace, console: Console) -> int:
    address = find_address(options.host, options.port)
    login = find_login(options.team, options.token, options.token_file)
    Client(_bot.load(options.bot), address, login, console).run()
    return OVER


def _parser() -> argparse.ArgumentParser:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("getstep", description=_DESCRIPTION, formatter_class=as_written)
    parser.add_argument("--version", action="version", version=f"getstep {__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    new = commands.add_parser(
        "new", help="write a first bot", description=_NEW + _games_listed(), formatter_class=as_written
    )
    new.add_argument("file", type=Path, help="the file to write, such as my_bot.py")
    new.add_argument("--game", action="append", help="the game it plays; again for another, or all")
    new.set_defaults(run=_new)

    checking = commands.add_parser(
        "check",
        help="say what is right and what is wrong",
        description=_CHECK,
        formatter_class=as_written,
    )
    checking.add_argument("bot", type=Path, nargs="?", help="your bot's file, such as my_bot.py")
    _add_connection(checking)
    checking.set_defaults(run=_check)

    playing = commands.add_parser(
        "play", help="play until the contest is over", description=_PLAY, formatter_class=as_written
    )
    playing.add_argument("bot", type=Path, help="your bot's file, such as my_bot.py")
    _add_connection(playing)
    playing.add_argument("--quiet", action="store_true", help="print problems only")
    playing.set_defaults(run=_play)
    return parser


def _add_connection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help=f"the host's name or address (default {DEFAULT_HOST}, this computer)")
    parser.add_argument("--port", help=f"the host's port (default {DEFAULT_PORT})")
    parser.add_argument("--team", help="your team's id, a number")
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--token", help="your team's token")
    token.add_argument("--token-file", metavar="FILE", help="a text file that holds the token alone")


def _games_listed() -> str:
    return "\n".join(f"  {name:<16}{game.title}" for name, game in GAMES.items())


def _never_fail_to_print() -> None:
    """Let a bot's own print escape what the console cannot show, and let each line be seen at once."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace", line_buffering=True)
