"""The command ``getstep``: rules, new, wrapper, practice, login, check, play."""

from __future__ import annotations

import argparse
import io
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from getstep_engines import GAMES, Game, UnknownGameError

from . import _bot, starter
from ._check import check
from ._client import Client, finder_for
from ._errors import BotError, GetstepError, SetupError
from ._login_command import LOGIN_HELP, LOGOUT_HELP, login, logout
from ._practice_arguments import PRACTICE_HELP, add_convention, add_practice
from ._settings import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    FRIENDLY_PORT,
    Login,
    find_address,
    find_login,
    find_team,
    find_token,
)
from ._text import Console
from ._uncaught import error_text
from ._version import __version__
from .languages import LANGUAGES, Language, language_of, suffixes
from .languages import starter as starter_in

OVER, FAILED, USAGE, STOPPED = 0, 1, 2, 130
"""Exit codes: the contest is over or every check passed; refused or failed; usage or the bot's file; Ctrl-C."""

_DESCRIPTION = """\
Play in a getstep bot contest. You write one function, get_step(board, is_black), which returns a move.

The first five minutes:

  getstep rules hop                    read the rules
  getstep new my_bot.py --game hop     write a bot that already plays
  getstep practice my_bot.py           play it against a sample bot, at home
  getstep login                        type host, team id and token, once
  getstep check my_bot.py              test the connection and the bot
  getstep play my_bot.py               play until the contest is over

The host tells you the address, your team's id and its token, on a slip."""

_NEW = """\
Write a bot that already makes legal moves, with comments, as a starting point.
An existing file is never overwritten. For several games, each gets its own file,
and FILE calls the right one.

examples:
  getstep new my_bot.py --game hop
  getstep new my_bot.py --game hop --game linkage
  getstep new my_bot.py --game all

games:
"""

_RULES = """\
Print the rules of a game: the board, the moves, the end, the score and a worked example.

examples:
  getstep rules
  getstep rules hop"""

_WRAPPER = """\
A program of the TopCoder contest is a class with the methods init and move, without a main function. This
writes the main function that calls it, in a file beside it, and prints how to compile both and play. A Python
class needs no wrapper.

examples:
  getstep wrapper PseudoTonga.cpp
  getstep wrapper PseudoTonga.java
  getstep wrapper PseudoTonga.cs"""

_CHECK = """\
Check the host's name, the port, the server, your token and the time limits, and print one line for each.
With a bot file, also load it, time get_step on the first board of each game, and check its move by the rules.
Then it plays two whole games against random moves: they find an endless loop, an exception or a slow move
that comes later in a game. All of it takes less than 20 seconds. If your bot is playing, it is not disturbed.
The exit code is 0 if every check passed, else 1.

examples:
  getstep check my_bot.py                      after getstep login
  getstep check --host 192.168.1.10
  getstep check my_bot.py --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt"""

_HOST_HELP = f"the host's name or address (default: the saved one, else {DEFAULT_HOST}, else found on this network)"

_PLAY = """\
Load a bot file and play until the contest is over. You can start it before the contest: it waits for the
server. If the connection is lost, it reconnects automatically. Ctrl-C stops it.

Without --host, it looks for the contest on this network if the saved address, or 127.0.0.1, does not
answer. It plays there only if the server proves that it knows your token. With several contests, it lists
their addresses.

examples:
  getstep play my_bot.py                       after getstep login
  getstep play my_bot.py --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt
  getstep play my_bot.py --friendly            matches that count nowhere

With --friendly, people play against your bot on the page Play of the host's live page, one at a time. It does
not touch your seat in the contest: your other bot plays on. That page shows the whole command.

A program of an original contest plays unchanged, by the convention of that contest:
  getstep play ./my_program --as linkage --team 3

Other users of this computer can see the command line. To hide the token, put it into a file
(--token-file token.txt) or into the variable GETSTEP_TOKEN. The variables GETSTEP_HOST, GETSTEP_PORT,
GETSTEP_TEAM and GETSTEP_TOKEN_FILE work as well.

exit codes: 0 the contest is over, 1 refused or failed, 2 wrong usage or bot file, 130 stopped by Ctrl-C"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; ``arguments`` are by default those of the process."""
    _set_up_streams()
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
    console.warn(error_text(error))
    return code


def _new(options: argparse.Namespace, console: Console) -> int:
    games = list(GAMES) if options.game == ["all"] else list(dict.fromkeys(options.game or []))
    if not games:
        raise SetupError(f"Which game? Give --game and one of these, or all:\n{_game_list()}")
    for game in games:
        _game(game)
    language = language_of(options.file.suffix)
    if language is not None:
        return _new_in(language, options.file, games, console)
    path = _check_name(options.file)
    _write_new({file: text.encode() for file, text in _first_bot(path, games).items()})
    _print_next_steps(console, path, games)
    return OVER


def _write_new(files: Mapping[Path, bytes]) -> None:
    """Write files that must not be there yet: all of them or none.

    Raises:
        SetupError: one is there, or cannot be written.
    """
    for file in files:
        if file.exists():
            raise SetupError(f"{file} already exists; choose another name.")
    for file, content in files.items():
        try:
            with file.open("xb") as stream:
                stream.write(content)
        except OSError as error:
            raise SetupError(f"{file} cannot be written: {error.strerror or error}.") from None


def _new_in(language: Language, path: Path, games: list[str], console: Console) -> int:
    """Write a first bot in another language than Python, and the SDK's files beside it."""
    if not re.fullmatch(language.name_of_bot, path.stem):
        raise SetupError(f"{path.name} cannot be the name of a bot in {language.title}; use letters, digits and _.")
    if path.name in language.files:
        raise SetupError(f"{path.name} is a file of the SDK for {language.title}; choose another name.")
    if len(games) > 1:
        raise SetupError(
            f"A bot in {language.title} is written for one game at a time. To play several, write one, and add\n"
            "the functions of the others: the third parameter of yours says which game is played."
        )
    [game] = games
    if game not in language.games():
        listed = ", ".join(language.games())
        raise SetupError(f"There is no first bot for {game} in {language.title}; there are: {listed}.")
    sdk = {path.with_name(name): content for name, content in language.sdk_files()}
    kept = {file for file in sdk if file.exists()}
    bot = {path: starter_in(language, GAMES[game], path.stem).encode()}
    _write_new({**bot, **{file: content for file, content in sdk.items() if file not in kept}})
    console.say(f"Wrote {path}: a bot that plays {game} ({GAMES[game].summary}).")
    for file, content in sdk.items():
        if file not in kept:
            console.say(f"Wrote {file}, which the bot needs beside it.")
        elif file.read_bytes() != content:
            console.say(f"Kept {file}, which differs from that of this getstep {__version__}.")
    _print_build(console, language, path)
    return OVER


def _print_build(console: Console, language: Language, path: Path) -> None:
    """Print how to build the bot and play, on this system."""
    build = language.build_here()
    if build is None:
        tools = " nor ".join(build.tool for build in language.builds_here())
        console.say(f"This computer has no {tools}, which a bot in {language.title} takes. To install it:")
        console.say(f"  {language.install.get(sys.platform, language.install['linux'])}")
        build = language.builds_here()[0]
    folder = "" if path.parent == Path() else f" in {path.parent}"
    console.say(f"For the contest, type{folder} (the host tells you the address, your team's id and its token):")
    *building, run = build.commands(path)
    for line in building:
        console.say(f"  {line}")
    console.say(f"  {run} --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt")
    console.say(f"How to write bots in {language.title} is on the live page of the contest, at /{language.name}.")


def _game(name: str) -> Game:
    """Return the game with the name that ``--game`` or ``getstep rules`` gives.

    Raises:
        SetupError: no game of this name is installed.
    """
    try:
        return GAMES[name]
    except UnknownGameError as error:
        raise SetupError(f"{error}.") from None


def _rules(options: argparse.Namespace, console: Console) -> int:
    if options.game is None:
        console.say(f"Which rules? Give one of these:\n{_game_list()}")
        return USAGE
    console.say(_plain(_game(options.game).rules))
    return OVER


def _plain(markdown: str) -> str:
    """Return text for a terminal: without the marks of bold words, and with examples indented."""
    lines, inside = [], False
    for line in markdown.strip().splitlines():
        if line.startswith("```"):
            inside = not inside
        else:
            lines.append(f"    {line}" if inside else line.replace("**", ""))
    return "\n".join(lines)


def _first_bot(path: Path, games: list[str]) -> dict[Path, str]:
    """Return the files to write. For several games there is one for each, and ``path`` calls the right one."""
    if len(games) == 1:
        return {path: starter.one_game(GAMES[games[0]])}
    if not path.stem.isidentifier():
        raise SetupError(
            f"With several games, {path.name} imports one file for each, and Python cannot import"
            f" the name {path.stem!r}.\nUse letters, digits and _ only, for example {_importable(path.stem)}.py."
        )
    parts = {game: f"{path.stem}_{game}" for game in games}
    files = {path.with_name(f"{part}.py"): starter.one_game(GAMES[game]) for game, part in parts.items()}
    return {path: starter.several_games(parts), **files}


def _importable(stem: str) -> str:
    """Return a name like ``stem`` that Python can import."""
    name = "".join(char if f"_{char}".isidentifier() else "_" for char in stem)
    return name if name.isidentifier() else f"bot_{name}"


def _check_name(path: Path) -> Path:
    path = path if path.suffix else path.with_suffix(".py")
    if path.suffix != ".py":
        others = "".join(f" or {suffix}" for suffix in suffixes())
        raise SetupError(f"{path} is not the name of a bot's file; it must end in .py{others}.")
    if path.stem in ("getstep", "msgpack") or path.stem in sys.stdlib_module_names:
        raise SetupError(f"A file {path.name} would hide Python's own {path.stem}; choose another name.")
    return path


def _print_next_steps(console: Console, path: Path, games: list[str]) -> None:
    name = f'"{path}"' if " " in str(path) else str(path)
    if len(games) == 1:
        console.say(f"Wrote {path}: a bot that plays {games[0]} ({GAMES[games[0]].summary}).")
    else:
        console.say(f"Wrote {path}, and one file for each game beside it: {', '.join(games)}.")
    game = f" --game {games[0]}" if len(games) > 1 else ""
    console.say("Next, play it against a sample bot on this computer:")
    console.say(f"  getstep practice {name}{game}")
    console.say('The guide "A good bot in an hour" is on the live page of the contest, at /guide.')
    console.say("For the contest, type (the host tells you the address, your team's id and its token):")
    console.say("  getstep login")
    console.say(f"  getstep check {name}")
    console.say(f"  getstep play {name}")


def _check(options: argparse.Namespace, console: Console) -> int:
    def login() -> Login | None:
        team, token = find_team(options.team), find_token(options.token, options.token_file)
        return None if team is None and token is None else find_login(team, token)

    address, finder = find_address(options.host, options.port), finder_for(options.host, options.port, console)
    all_ok = check(address, login, options.bot, console, finder)
    return OVER if all_ok else FAILED


def _practice(options: argparse.Namespace, console: Console) -> int:
    from ._practice.command import practise  # here: the other commands need neither its boards nor its replays

    return practise(options, console)


def _wrapper(options: argparse.Namespace, console: Console) -> int:
    from ._program_file import write_wrapper  # here: no other command needs it

    write_wrapper(options.file, console)
    return OVER


def _play(options: argparse.Namespace, console: Console) -> int:
    friendly = options.friendly
    address = find_address(options.host, options.port or (FRIENDLY_PORT if friendly else None))
    login = find_login(options.team, options.token, options.token_file)
    # Only contests are announced on the network: a friendly bot goes to the given or the saved host.
    finder = None if friendly else finder_for(options.host, options.port, console)
    bot = _bot.load(options.bot, options.convention)
    Client(bot, address, login, console, finder=finder, friendly=friendly).run()
    return OVER


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps paragraphs to the terminal. Lines that begin with a space, such as commands, stay lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for is_prose, group in groupby(text.splitlines(), lambda line: line[:1].strip() != ""):
            block = list(group)
            lines += textwrap.wrap(" ".join(block), width) if is_prose else block
        return "".join(f"{indent}{line}\n" for line in lines)


def _parser() -> argparse.ArgumentParser:
    verbatim = _HelpFormatter
    parser = argparse.ArgumentParser("getstep", description=_DESCRIPTION, formatter_class=verbatim)
    parser.add_argument("--version", action="version", version=f"getstep {__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    new = commands.add_parser("new", help="write a first bot", description=_new_help(), formatter_class=verbatim)
    new.add_argument("file", type=Path, help="the file to write, such as my_bot.py")
    new.add_argument("--game", action="append", help="a game that it plays, repeatable; or all")
    new.set_defaults(run=_new)

    ruling = commands.add_parser(
        "rules", help="print the rules of a game", description=_RULES, formatter_class=verbatim
    )
    ruling.add_argument("game", nargs="?", help="the game, such as hop; without it, the games are listed")
    ruling.set_defaults(run=_rules)

    wrapping = commands.add_parser(
        "wrapper",
        help="write what runs a class of the TopCoder contest",
        description=_WRAPPER,
        formatter_class=verbatim,
    )
    wrapping.add_argument("file", type=Path, help="the class's file: .cpp, .java or .cs")
    wrapping.set_defaults(run=_wrapper)

    practising = commands.add_parser(
        "practice",
        help="play against sample bots on this computer",
        description=PRACTICE_HELP,
        formatter_class=verbatim,
    )
    add_practice(practising)
    practising.set_defaults(run=_practice)

    entering = commands.add_parser(
        "login",
        help="keep the host's address, your team and its token",
        description=LOGIN_HELP,
        formatter_class=verbatim,
    )
    _add_connection(entering)
    entering.set_defaults(run=login)

    leaving = commands.add_parser("logout", help="remove the kept login", description=LOGOUT_HELP)
    leaving.set_defaults(run=logout)

    checking = commands.add_parser(
        "check",
        help="test the connection to the contest, and your bot",
        description=_CHECK,
        formatter_class=verbatim,
    )
    checking.add_argument("bot", type=Path, nargs="?", help="your bot's file, such as my_bot.py")
    _add_connection(checking)
    checking.set_defaults(run=_check)

    playing = commands.add_parser(
        "play", help="play until the contest is over", description=_PLAY, formatter_class=verbatim
    )
    playing.add_argument("bot", type=Path, help="your bot's file, such as my_bot.py")
    add_convention(playing, "--as", "convention", "the bot is a program that talks by this convention: ")
    _add_connection(playing)
    playing.add_argument(
        "--friendly",
        action="store_true",
        help=f"play against people on the live page; --port is then its port for bots (default {FRIENDLY_PORT})",
    )
    playing.add_argument("--quiet", action="store_true", help="print problems only")
    playing.set_defaults(run=_play)
    return parser


def _add_connection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help=_HOST_HELP)
    parser.add_argument("--port", help=f"the host's port (default {DEFAULT_PORT})")
    parser.add_argument("--team", help="your team's id, a number")
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--token", help="your team's token")
    token.add_argument("--token-file", metavar="FILE", help="a text file that holds the token alone")


def _new_help() -> str:
    listed = ", ".join(f"{language.suffix} is {language.title}" for language in LANGUAGES.values())
    others = f"The ending of FILE says the language: .py is Python, {listed}.\n\n" if listed else ""
    return _NEW.replace("examples:\n", f"{others}examples:\n") + _game_list()


def _game_list() -> str:
    """Return a line for each game, and one for each installed game that cannot be used."""
    lines = [f"  {name:<16}{game.summary}" for name, game in GAMES.items()]
    return "\n".join([*lines, *(f"  {problem}" for problem in GAMES.problems())])


def _set_up_streams() -> None:
    """Escape characters in a bot's own output that the console cannot show, and flush after each line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace", line_buffering=True)
